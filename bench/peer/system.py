"""What the two systems have in common: what is asked of each, and what is counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bench.locomo import Question
from recallmesh.core.retain import RetainItem

MODELS = "models"
"""The part of a system's CPU time that its models take, whichever process they run in."""
MAX_TOKENS = 4096


class Way(StrEnum):
    """How a question is answered."""

    PLAIN = "all arms, no reranking"
    LEAN = "meaning and words alone, no reranking"
    RERANKED = "reranked"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came: how long it took, and the turns whose memories it holds, best first."""

    wall_ms: float
    turns: tuple[str, ...]


class System(Protocol):
    """One of the systems, running."""

    name: str

    def create(self, bank: str) -> None:
        """Make a bank that keeps what it is given, unextracted."""
        ...

    def retain(self, bank: str, items: Sequence[RetainItem]) -> float:
        """Have items kept and searchable, in one call; returns the milliseconds."""
        ...

    def turn_to(self, bank: str, way: Way) -> None:
        """Have the bank answer in this way from now on."""
        ...

    def recall(self, bank: str, question: Question) -> Reply:
        """Ask, as of the question's own time, for ``MAX_TOKENS``."""
        ...

    def cpu_s(self) -> Mapping[str, float]:
        """Return the CPU seconds used so far, by part."""
        ...

    def memory_mib(self) -> Mapping[str, Mapping[str, float]]:
        """Return the memory held, by part and by kind."""
        ...
