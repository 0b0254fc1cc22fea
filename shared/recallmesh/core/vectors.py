"""The vector index: nearest neighbours by cosine within a bank. Written by the semantic arm, read by three."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Protocol

from recallmesh.core.arm import Indexed, IndexEntry, Removal, Vector
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.core.time import Window


class VectorField(StrEnum):
    """Which of a memory's two vectors to compare with."""

    TEXT = "text"
    """The embedding of its text."""
    CONTEXT = "context"
    """The embedding of what was said before it and its text together."""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """One nearest-neighbour question.

    ``fact_types`` empty means all. ``window`` keeps memories whose own time overlaps it; undated ones never do.
    With ``begins`` it keeps those whose own time begins in it: of windows that share no moment, each memory is in one.
    ``min_score`` is a floor on the cosine, inclusive. ``exclude`` are memory ids that must not come.
    ``limit`` bounds the hits of the whole answer, in [1, 2000]. ``times`` false: the hits come without their times.
    """

    bank_uid: str
    vector: Vector
    field: VectorField = VectorField.TEXT
    fact_types: tuple[FactType, ...] = ()
    tags: TagTest = EVERYTHING
    window: Window | None = None
    limit: int = 300
    min_score: float | None = None
    exclude: tuple[str, ...] = ()
    times: bool = True
    begins: bool = False


class VectorHit(NamedTuple):
    """A near memory: its cosine, type and own time (absent where there is none, or none was asked for).

    A named tuple, as ``Hit`` is.
    """

    memory_id: str
    score: float
    fact_type: FactType
    time: Window | None = None


vector_hit_of: Callable[[tuple[str, float, FactType, Window | None]], VectorHit] = partial(tuple.__new__, VectorHit)
"""Makes a hit of a whole row, as ``hit_of`` does."""


class VectorIndex(Protocol):
    """Nearest neighbours by cosine, filtered inside the index."""

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer the questions in their order, each best first, ties by memory id; an unknown bank has no hits.

        Raises:
            StoreUnavailable: the index does not answer.

        """
        ...

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store entries with their vectors durably; older versions than the stored or removed ones change nothing.

        Raises:
            StoreUnavailable: nothing or part was stored; the call may be made again.
            EmbeddingMismatch: a vector has another size than the index.

        """
        ...

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out; those not there are no error."""
        ...

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out; an unknown one is no error."""
        ...

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is stored of a bank, by memory id."""
        ...

    async def check(self) -> None:
        """Return if the index can work now.

        Raises:
            StoreUnavailable: it does not answer.
            EmbeddingMismatch: it was made for another embedding model.

        """
        ...
