"""The local extractor: facts by rules, without any model (docs/adr/0011-local-extraction.md)."""

import asyncio
import re

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.errors import NotReady
from recallmesh.core.memory import FactType
from recallmesh.core.when import TimeReader
from recallmesh.retain.cause import find_causes
from recallmesh.retain.dating import write_dates
from recallmesh.retain.entity import find_names
from recallmesh.retain.extraction import Fact, FoundName, Passage
from recallmesh.retain.speaker import Turn, addressee_of, is_agent, is_first_person, is_role, split_turns
from recallmesh.retain.statement import Statement, find_statements

_WORD = re.compile(r"\w+")
_NICKNAME = 2
_MODES = frozenset({ExtractionMode.CONCISE, ExtractionMode.VERBOSE, ExtractionMode.VERBATIM})


class LocalExtractor:
    """Names the speaker, writes out relative dates, keeps together what belongs together; the words stay as said."""

    # Raised whenever the rules change, so that a document brought again is read again.
    fingerprint = "local-1"
    modes = _MODES
    vision = False

    def __init__(self, times: TimeReader) -> None:
        """Read dates with ``times``."""
        self._times = times

    async def extract(
        self, passages: tuple[Passage, ...], mode: ExtractionMode, tuning: RetainTuning
    ) -> tuple[tuple[Fact, ...], ...]:
        """Return each passage's facts; computed in a thread."""
        if mode not in _MODES:
            raise NotReady(f"extraction mode {mode} needs an LLM extractor, and none is set up")
        return await asyncio.to_thread(self._extract, passages, mode, tuning)

    def _extract(
        self, passages: tuple[Passage, ...], mode: ExtractionMode, tuning: RetainTuning
    ) -> tuple[tuple[Fact, ...], ...]:
        read = self._whole if mode is ExtractionMode.VERBATIM else self._facts
        return tuple(read(passage, mode, tuning) for passage in passages)

    def _whole(self, passage: Passage, _mode: ExtractionMode, tuning: RetainTuning) -> tuple[Fact, ...]:
        turns = split_turns(passage.text, passage.context)
        _, occurred = write_dates(passage.text, self._times, passage.now)
        fact_type = type_of(turns, passage.text, tuning)
        return (Fact(passage.text, fact_type, occurred, _names(passage.text, turns, passage.context)),)

    def _facts(self, passage: Passage, mode: ExtractionMode, tuning: RetainTuning) -> tuple[Fact, ...]:
        turns = split_turns(passage.text, passage.context)
        people = _people(turns, passage.context)
        words = frozenset(word for name in people for word in _WORD.findall(name.casefold()))
        statements = find_statements(passage.text, turns, words, keep_all=mode is ExtractionMode.VERBOSE)
        known = {name.name: name.kind for name in find_names(passage.text, people)} | people
        causes = find_causes([(statement.text, statement.is_effect) for statement in statements])
        facts = []
        for statement, because in zip(statements, causes, strict=True):
            told, occurred = write_dates(statement.text, self._times, passage.now)
            text = _said(statement, told)
            own = is_agent(statement.speaker, tuning.agent_names) and is_first_person(statement.text)
            # The words as said: a date that was written in is no name.
            found = find_names(f"{statement.asked}\n{statement.text}", known)
            names = _with_speaker(statement.speaker, _in_full(found, people))
            facts.append(Fact(text, FactType.EXPERIENCE if own else FactType.WORLD, occurred, names, because))
        return tuple(facts)


def type_of(turns: tuple[Turn, ...], text: str, tuning: RetainTuning) -> FactType:
    """Return the fact type of a whole passage: the agent's own story only if nobody else speaks in it (SPEC T4)."""
    own = bool(turns) and all(is_agent(turn.speaker, tuning.agent_names) for turn in turns) and is_first_person(text)
    return FactType.EXPERIENCE if own else FactType.WORLD


def speakers_of(turns: tuple[Turn, ...]) -> tuple[FoundName, ...]:
    """Return the speakers who are named by a name, in order, each once."""
    names = dict.fromkeys(turn.speaker for turn in turns if turn.speaker and not is_role(turn.speaker))
    return tuple(FoundName(name, "person") for name in names)


def _people(turns: tuple[Turn, ...], context: str) -> dict[str, str]:
    people = [name.name for name in speakers_of(turns)]
    addressee = addressee_of(context)
    if addressee and not is_role(addressee):
        people.append(addressee)
    return dict.fromkeys(people, "person")


def _names(text: str, turns: tuple[Turn, ...], context: str) -> tuple[FoundName, ...]:
    people = _people(turns, context)
    found = _in_full(find_names(text, people), people)
    return tuple({name.name.casefold(): name for name in (*speakers_of(turns), *found)}.values())


def _in_full(names: tuple[FoundName, ...], people: dict[str, str]) -> tuple[FoundName, ...]:
    """Put Melanie for Mel, when she alone of those who talk is called so."""
    full = []
    for name in names:
        meant = [
            one for one in people if len(name.name) >= _NICKNAME and one.casefold().startswith(name.name.casefold())
        ]
        full.append(FoundName(meant[0], "person") if len(meant) == 1 else name)
    return tuple(dict.fromkeys(full))


def _with_speaker(speaker: str, names: tuple[FoundName, ...]) -> tuple[FoundName, ...]:
    kept = tuple(name for name in names if not is_role(name.name))
    if not speaker or is_role(speaker) or any(name.name.casefold() == speaker.casefold() for name in kept):
        return kept
    return (FoundName(speaker, "person"), *kept)


def _said(statement: Statement, told: str) -> str:
    text = f"{statement.speaker}: {told}" if statement.speaker else told
    return f"{statement.asked}\n{text}" if statement.asked else text
