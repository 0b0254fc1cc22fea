"""Judgement: what of a language model's account is believed, and what it is told to mend."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.entity import LABEL
from recallmesh.core.key import fold
from recallmesh.core.label import labels_of
from recallmesh.core.memory import FactType
from recallmesh.core.time import Occurrence
from recallmesh.retain.account import (
    Description,
    Descriptions,
    Facts,
    Name,
    Time,
    ToldFact,
    ToldPassage,
    read_account,
)
from recallmesh.retain.asking import Unusable
from recallmesh.retain.extraction import Cause, Fact, FoundName, Passage
from recallmesh.retain.local import type_of
from recallmesh.retain.moment import read_occurrence
from recallmesh.retain.speaker import is_agent, is_role, split_turns

One = TypeVar("One", ToldPassage, Description)

WEIGHTS = {"certain": 1.0, "likely": 0.7, "possible": 0.4}
"""How far a cause is believed, by what the model thinks of it: models say it better in words than in numbers."""
_WORD = re.compile(r"[^\W_]+")
# Words are compared by their beginnings, so that "adopted" is carried by "adopt"; shorter ones are on every page.
_STEM = 4
_FIRST_IDEOGRAPH = 0x2E80


@dataclass(slots=True)
class _Source:
    """A passage, as what may be said of it is measured by it."""

    passage: Passage
    tuning: RetainTuning
    faults: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that was shown with the passage, folded."""
        passage = self.passage
        before = passage.before.text if passage.before is not None else ""
        known = " ".join(name.name for name in passage.known)
        return fold(f"{passage.text} {passage.context} {before} {known} {' '.join(self.tuning.agent_names)}")

    def occurred(self, time: Time | None, where: str) -> Occurrence | None:
        """Return the time, or note what is wrong with it."""
        if time is None:
            return None
        now = self.passage.now
        try:
            return read_occurrence(time.start, time.end, None if now is None else now.tzinfo)
        except ValueError as error:
            self.faults.append(f"{where}.occurred: {error}")
            return None

    def labels(self, told: Sequence[str]) -> Iterator[FoundName]:
        """Yield those labels that the vocabulary has, each once."""
        allowed = labels_of(self.passage.labels)
        return (FoundName(label, LABEL) for label in dict.fromkeys(told) if label in allowed)


def facts_told(
    answer: dict[str, object], passages: Sequence[Passage], mode: ExtractionMode, tuning: RetainTuning
) -> tuple[tuple[Fact, ...], ...]:
    """Return each passage's facts as an answer tells them, or as far as its text carries them.

    Raises:
        Unusable: a passage is missing, a number means nothing, a date is none, a fact has nothing of its passage.

    """
    if mode is ExtractionMode.VERBATIM:
        return _described(answer, passages, tuning)
    told = _each(read_account(Facts, answer).passages, len(passages))
    faults: list[str] = []
    facts = []
    for number, (passage, one) in enumerate(zip(passages, told, strict=True), 1):
        source = _Source(passage, tuning)
        facts.append(_facts(one, source, f"passage {number}", is_free=mode is ExtractionMode.CUSTOM))
        faults += source.faults
    if faults:
        raise Unusable(*faults)
    return tuple(facts)


def _described(
    answer: dict[str, object], passages: Sequence[Passage], tuning: RetainTuning
) -> tuple[tuple[Fact, ...], ...]:
    told = _each(read_account(Descriptions, answer).passages, len(passages))
    faults: list[str] = []
    facts = []
    for number, (passage, one) in enumerate(zip(passages, told, strict=True), 1):
        source = _Source(passage, tuning)
        occurred = source.occurred(one.occurred, f"passage {number}")
        fact_type = type_of(split_turns(passage.text, passage.context), passage.text, tuning)
        names = (*_names(one.names, source.text, trusted=bool(passage.images)), *source.labels(one.labels))
        facts.append((Fact(passage.text, fact_type, occurred, names, images=tuple(range(len(passage.images)))),))
        faults += source.faults
    if faults:
        raise Unusable(*faults)
    return tuple(facts)


def _each(told: Sequence[One], count: int) -> list[One]:
    """Return what is told of each passage, each once: silence about one is not the same as nothing in it."""
    numbers = [one.passage for one in told]
    if sorted(numbers) != list(range(1, count + 1)):
        raise Unusable(f"passages: needs each of the numbers 1 to {count} once, and has {numbers[:50]}")
    return sorted(told, key=lambda one: one.passage)


def _facts(told: ToldPassage, source: _Source, where: str, *, is_free: bool) -> tuple[Fact, ...]:
    passage, tuning = source.passage, source.tuning
    # What is told twice is one fact; whichever of its numbers is meant.
    different: dict[str, ToldFact] = {}
    for one in told.facts:
        different.setdefault(_text(one), one)
    order = {said: index for index, said in enumerate(different)}
    places = {one.number: order[_text(one)] for one in told.facts}
    if len(places) != len(told.facts):
        source.faults.append(f"{where}: two facts have the same number")
    text = source.text
    carried = _marks(text)
    # What an image shows stands in no text.
    trusted = bool(passage.images)
    agents = {
        turn.speaker.casefold()
        for turn in split_turns(passage.text, passage.context)
        if is_agent(turn.speaker, tuning.agent_names)
    }
    facts = []
    for said, one in different.items():
        at = f"{where}, fact {one.number}"
        marks = _marks(fold(said))
        if not said:
            source.faults.append(f"{at}: is blank")
        elif marks and not (is_free or trusted or marks & carried):
            source.faults.append(f"{at}: has nothing of its passage; note only what the passage tells")
        source.faults += _wrong_numbers(one, places, len(passage.images), at)
        own = one.own and one.speaker is not None and one.speaker.casefold() in agents
        facts.append(
            Fact(
                said,
                FactType.EXPERIENCE if own else FactType.WORLD,
                source.occurred(one.occurred, at),
                (*_names(_with_speaker(one), text, trusted=trusted), *source.labels(one.labels)),
                _causes(one, places),
                tuple(sorted({number - 1 for number in one.images})),
            )
        )
    return tuple(facts)


def _wrong_numbers(fact: ToldFact, places: dict[int, int], images: int, at: str) -> Iterator[str]:
    for cause in fact.causes:
        if cause.fact not in places or places[cause.fact] == places[fact.number]:
            yield f"{at}: causes: {cause.fact} is no other fact of the passage"
    for number in fact.images:
        if not 1 <= number <= images:
            yield f"{at}: images: the passage has no image {number}"


def _causes(fact: ToldFact, places: dict[int, int]) -> tuple[Cause, ...]:
    weights: dict[int, float] = {}
    for cause in fact.causes:
        if cause.fact in places:
            index = places[cause.fact]
            weights[index] = max(weights.get(index, 0.0), WEIGHTS[cause.certainty])
    return tuple(Cause(index, weight) for index, weight in weights.items())


def _text(fact: ToldFact) -> str:
    """Return the fact in words: what happened, and of the rest what that leaves out."""
    text = _tidy(fact.what)
    said = _marks(fold(text))
    added = []
    for part in (fact.when, fact.where, fact.who, fact.why):
        words = _tidy(part or "")
        marks = _marks(fold(words))
        if marks and len(marks - said) * 2 > len(marks):
            added.append(words.rstrip("."))
            said |= marks
    return f"{text} ({'; '.join(added)})" if text and added else text


def _with_speaker(fact: ToldFact) -> list[Name]:
    speaker = _tidy(fact.speaker or "")
    if not speaker or is_role(speaker) or any(fold(one.name) == fold(speaker) for one in fact.names):
        return fact.names
    return [Name(name=speaker, kind="person"), *fact.names]


def _names(told: Sequence[Name], text: str, *, trusted: bool) -> Iterator[FoundName]:
    """Yield the names that the text carries, each once: by a word at least, since "Mel" may well be Melanie."""
    seen: set[str] = set()
    words = set(_WORD.findall(text))
    for one in told:
        name = _tidy(one.name)
        key = fold(name)
        if not name or is_role(name) or key in seen:
            continue
        seen.add(key)
        if trusted or key in text or any(word in words for word in _WORD.findall(key) if len(word) > 1):
            yield FoundName(name, one.kind)


def _marks(text: str) -> set[str]:
    """Return what two texts on one matter share: beginnings of words, and the signs of scripts without spaces."""
    marks: set[str] = set()
    for word in _WORD.findall(text):
        if ord(word[0]) >= _FIRST_IDEOGRAPH:
            marks.update(word)
        elif len(word) >= _STEM or word.isdecimal():
            marks.add(word[:_STEM])
    return marks


def _tidy(text: str) -> str:
    return " ".join(text.replace("\0", "").split())
