"""The local extractor: facts by rules, without any model (docs/adr/0011-local-extraction.md)."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.errors import NotReady
from recallmesh.core.memory import FactType
from recallmesh.core.when import TimeReader
from recallmesh.retain.cause import find_causes
from recallmesh.retain.dating import write_dates
from recallmesh.retain.entity import find_names, small_words
from recallmesh.retain.extraction import Fact, FoundName, Passage
from recallmesh.retain.finder import NameFinder, agree
from recallmesh.retain.speaker import Turn, addressee_of, is_agent, is_first_person, is_role, split_turns
from recallmesh.retain.statement import Question, Statement, closing_question, find_statements

_WORD = re.compile(r"\w+")
_NICKNAME = 2
_KIND_SHARE = 0.1
RULES = "local-4"
"""The rules' version, raised whenever they change, so that a document brought again is read again."""
_MODES = frozenset({ExtractionMode.CONCISE, ExtractionMode.VERBOSE, ExtractionMode.VERBATIM})


class LocalExtractor:
    """Names the speaker, writes out relative dates, keeps together what belongs together; the words stay as said."""

    modes = _MODES
    vision = False

    def __init__(self, times: TimeReader, names: NameFinder | None = None) -> None:
        """Read dates with ``times``; ask ``names`` for names too, where there is such a model."""
        self._times = times
        self._names = names
        self.fingerprint = RULES if names is None else f"{RULES}+{names.fingerprint}"

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
        sure = _sure_names(passages)
        facts = tuple(read(passage, mode, tuning, sure) for passage in passages)
        if self._names is None:
            return facts
        found = self._names.find([passage.text for passage in passages])
        return tuple(_named_too(told, names) for told, names in zip(facts, found, strict=True))

    def _whole(
        self, passage: Passage, _mode: ExtractionMode, tuning: RetainTuning, sure: Mapping[str, str]
    ) -> tuple[Fact, ...]:
        turns = split_turns(passage.text, passage.context)
        _, occurred = write_dates(passage.text, self._times, passage.now)
        fact_type = type_of(turns, passage.text, tuning)
        people = _people(turns, passage.context)
        found = _in_full(find_names(passage.text, {**sure, **people}), people)
        names = {name.name.casefold(): name for name in (*speakers_of(turns), *found)}
        return (Fact(passage.text, fact_type, occurred, tuple(names.values())),)

    def _facts(
        self, passage: Passage, mode: ExtractionMode, tuning: RetainTuning, sure: Mapping[str, str]
    ) -> tuple[Fact, ...]:
        turns = split_turns(passage.text, passage.context)
        people = _people(turns, passage.context)
        keep_all = mode is ExtractionMode.VERBOSE
        asked = self._asked(passage, turns, keep_all=keep_all)
        statements = find_statements(passage.text, turns, _words_of(people), asked=asked, keep_all=keep_all)
        known = {**sure, **people}
        causes = find_causes([(statement.text, statement.is_effect) for statement in statements])
        facts = []
        for statement, because in zip(statements, causes, strict=True):
            told, occurred = write_dates(statement.text, self._times, passage.now)
            text = _said(statement, told)
            own = is_agent(statement.speaker, tuning.agent_names) and is_first_person(statement.text)
            # The words as said: a date that was written in is no name.
            found = find_names(
                f"{statement.asked.text}\n{statement.text}" if statement.asked else statement.text, known
            )
            names = _with_person(statement.addressee, _in_full(found, people))
            names = _with_person(statement.speaker, names)
            facts.append(Fact(text, FactType.EXPERIENCE if own else FactType.WORLD, occurred, names, because))
        return tuple(facts)

    def _asked(self, passage: Passage, turns: tuple[Turn, ...], *, keep_all: bool) -> Question | None:
        """Return what another asked in the passage before, its dates written out."""
        before = passage.before
        question = None if before is None else question_of(before, keep_all=keep_all)
        if question is None or before is None or not turns or turns[0].speaker == question.speaker:
            return None
        return replace(question, text=write_dates(question.text, self._times, before.now)[0])


def question_of(passage: Passage, *, keep_all: bool) -> Question | None:
    """Return what a passage ends by asking; ``keep_all``: no sentence of it is left out as filler."""
    turns = split_turns(passage.text, passage.context)
    return closing_question(passage.text, turns, _words_of(_people(turns, passage.context)), keep_all=keep_all)


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


def _words_of(people: Mapping[str, str]) -> frozenset[str]:
    return frozenset(word for name in people for word in _WORD.findall(name.casefold()))


def _sure_names(passages: Sequence[Passage]) -> dict[str, str]:
    """Return the names that are certain somewhere in the call or the bank, with the kind most often told by the words.

    They are names at the start of a sentence too, unless the same word is also written small.
    """
    spelt: dict[str, str] = {}
    kinds: dict[str, Counter[str]] = {}
    small: set[str] = set()
    for passage in passages:
        people = _people(split_turns(passage.text, passage.context), passage.context)
        for name in (*find_names(passage.text, people), *passage.known):
            key = name.name.casefold()
            spelt.setdefault(key, name.name)
            kinds.setdefault(key, Counter())[name.kind] += 1
        small |= small_words(passage.text)
    told = {key: _kind_told(counts) for key, counts in kinds.items()}
    return {spelt[key]: kind for key, kind in told.items() if kind != "concept" or key not in small}


def _kind_told(counts: Counter[str]) -> str:
    # Few mentions tell the kind ("in Bergen"); one among very many is a slip ("in Harry Potter").
    told = [(count, kind) for kind, count in counts.items() if kind != "concept"]
    count, kind = max(told, default=(0, "concept"))
    return kind if count >= _KIND_SHARE * counts.total() else "concept"


def _in_full(names: tuple[FoundName, ...], people: dict[str, str]) -> tuple[FoundName, ...]:
    """Put Melanie for Mel, when she alone of those who talk is called so."""
    full = []
    for name in names:
        meant = [
            one for one in people if len(name.name) >= _NICKNAME and one.casefold().startswith(name.name.casefold())
        ]
        full.append(FoundName(meant[0], "person") if len(meant) == 1 else name)
    return tuple(dict.fromkeys(full))


def _with_person(person: str, names: tuple[FoundName, ...]) -> tuple[FoundName, ...]:
    kept = tuple(name for name in names if not is_role(name.name))
    if not person or is_role(person) or any(name.name.casefold() == person.casefold() for name in kept):
        return kept
    return (FoundName(person, "person"), *kept)


def _named_too(facts: tuple[Fact, ...], found: tuple[FoundName, ...]) -> tuple[Fact, ...]:
    """Add to each fact those of a passage's names that it holds."""
    return tuple(
        replace(fact, names=agree(fact.names, [name for name in found if _holds(fact.text, name.name)]))
        for fact in facts
    )


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _said(statement: Statement, told: str) -> str:
    # "You" is who is told so: the words alone do not say it.
    to = f" to {statement.addressee}" if statement.addressee and not is_role(statement.addressee) else ""
    text = f"{statement.speaker}{to}: {told}" if statement.speaker else told
    if statement.asked is None:
        return text
    asked = statement.asked
    return f"{asked.speaker}: {asked.text}\n{text}" if asked.speaker else f"{asked.text}\n{text}"
