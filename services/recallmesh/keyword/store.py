"""The keyword arm's store: what the arm asks of whatever keeps and ranks the words."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from recallmesh.core.arm import Indexed, Removal
from recallmesh.core.memory import ALL_FACT_TYPES, FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest

MATCHED_WORDS = 8
"""Words reported with a hit: for the trace, and people read no more."""


@dataclass(frozen=True, slots=True)
class KeywordDocument:
    """A memory as words.

    ``names`` are its entities' names and aliases, ``labels`` the words its tags give, ``dates`` its own time in words.
    """

    memory_id: str
    version: int
    fact_type: FactType
    text: str
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    dates: str = ""


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """What is looked for.

    ``text`` is data: no character of it means anything but itself. ``limit`` bounds the hits of each fact type.
    ``min_score`` is a floor, inclusive. Unless it is to be ``explained``, hits need not tell their matched words.
    """

    bank_uid: str
    text: str
    fact_types: tuple[FactType, ...] = ALL_FACT_TYPES
    tags: TagTest = EVERYTHING
    limit: int = 300
    min_score: float | None = None
    explained: bool = True


class KeywordHit(NamedTuple):
    """A memory that shares words with the query; ``matched`` are those words, the rarest first.

    A named tuple, as ``Hit`` is: hundreds are made for one search.
    """

    memory_id: str
    score: float
    fact_type: FactType
    matched: tuple[str, ...] = ()


hit_of: Callable[[tuple[str, float, FactType, tuple[str, ...]]], KeywordHit] = partial(tuple.__new__, KeywordHit)
"""Makes a hit of a whole row, for ``map``."""


class KeywordStore(Protocol):
    """Keeps words of memories and ranks them by BM25 with the statistics of their bank.

    Words are folded and stemmed, Chinese, Japanese and Korean found by pairs of characters; an identifier meets whole
    first and by part second. Function words add to a score but do not make a hit, except in a query that has two or
    more of them and nothing else: its hits hold them all. Implementations are safe for concurrent calls.
    """

    async def search(self, query: KeywordQuery) -> tuple[KeywordHit, ...]:
        """Return the hits of all asked types, best first, equal scores by memory id; an unknown bank has none.

        Every hit shares a term with the query, passes the tag test inside the index, and is of an asked type.

        Raises:
            StoreUnavailable: the store does not answer.

        """
        ...

    async def upsert(self, bank_uid: str, documents: tuple[KeywordDocument, ...]) -> None:
        """Store documents durably; when this returns, a search finds them. On an error part of them may be stored.

        One that is older than what is stored, or not newer than a removal of the same memory, changes nothing.

        Raises:
            StoreUnavailable: the call may be made again.

        """
        ...

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out for good, unless a newer version is stored; those not there are remembered as removed.

        Raises:
            StoreUnavailable: the call may be made again.

        """
        ...

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out, removals too; an unknown one is no error."""
        ...

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is stored of a bank, by memory id; removed memories are not listed."""
        ...

    async def check(self) -> None:
        """Return if the store can work now.

        Raises:
            StoreUnavailable: it cannot.

        """
        ...
