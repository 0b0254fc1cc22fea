"""Extraction as a port: what makes facts of passages, be it rules or an LLM."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recallmesh.core.bank import ExtractionMode, LabelKey, RetainTuning
from recallmesh.core.memory import FactType
from recallmesh.core.retain import Attachment
from recallmesh.core.time import Occurrence


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name in a fact, as written, and what it seems to be (person, organisation, place, product, concept).

    One of kind ``label`` is a label of the bank's vocabulary, ``key:value``; what is in no vocabulary is dropped.
    """

    name: str
    kind: str = "concept"


@dataclass(frozen=True, slots=True)
class Shown:
    """An image of a passage: behind how many characters of its text it stands, and itself."""

    at: int
    image: Attachment


@dataclass(frozen=True, slots=True)
class Passage:
    """What an extractor reads: a chunk, who spoke or what it is, and when it was said.

    ``now`` is what relative dates are relative to, in the speaker's UTC offset; absent: only full dates can be read.
    ``before`` is the passage before it in the same call and document: to understand this one by, not to make facts of.
    ``known`` are names of the bank that words of the text may mean. ``labels`` is the bank's vocabulary: labels that a
    fact has besides those that its text says letter by letter, which are found without the extractor. ``images`` are
    those in the text, in its order.
    """

    text: str
    context: str = ""
    now: datetime | None = None
    before: "Passage | None" = None
    known: tuple[FoundName, ...] = ()
    labels: tuple[LabelKey, ...] = ()
    images: tuple[Shown, ...] = ()


@dataclass(frozen=True, slots=True)
class Cause:
    """What caused a fact: the earlier or later fact of the same passage at ``index``, believed to a degree."""

    index: int
    weight: float


@dataclass(frozen=True, slots=True)
class Fact:
    """One self-contained statement of a passage; ``images`` are those that it was read off, by their place in it."""

    text: str
    fact_type: FactType = FactType.WORLD
    occurred: Occurrence | None = None
    names: tuple[FoundName, ...] = ()
    causes: tuple[Cause, ...] = ()
    images: tuple[int, ...] = ()


class Extractor(Protocol):
    """Makes facts of passages, off the event loop."""

    @property
    def fingerprint(self) -> str:
        """Name what shapes the facts besides the request: equal fingerprints, equal facts of equal passages."""
        ...

    @property
    def modes(self) -> frozenset[ExtractionMode]:
        """Name the modes it can work in."""
        ...

    @property
    def vision(self) -> bool:
        """Tell whether it reads images."""
        ...

    async def extract(
        self, passages: tuple[Passage, ...], mode: ExtractionMode, tuning: RetainTuning
    ) -> tuple[tuple[Fact, ...], ...]:
        """Return each passage's facts in the order of its text; none is an answer.

        Raises:
            NotReady: it cannot work in this mode, or a model behind it refuses us.
            StoreUnavailable: a model behind it does not answer; nothing may be stored.
            Overloaded: a model behind it is asked too often.
            ExtractionFailed: what a model answered cannot be used, whatever was tried.

        """
        ...
