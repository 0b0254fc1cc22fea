"""An arm: one way to search a bank. The port that the four arms, and any fifth, fulfil."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Protocol

from recallmesh.core.memory import ALL_FACT_TYPES, CausalLink, FactType, Mention
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.core.time import Occurrence, Window

Vector = tuple[float, ...]
"""A unit-length embedding. A tuple, since what crosses a port is frozen."""


class ArmName(StrEnum):
    """The arms of the mesh, in the order in which reports list them."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"


@dataclass(frozen=True, slots=True)
class ArmQuery:
    """What an arm is asked.

    ``limit`` bounds the hits of each fact type, in [1, 2000]. ``vector`` is the query's embedding, absent when no
    embedder answered; an arm that needs it then does what it can without. ``window`` is for the temporal arm.
    ``min_score`` is a floor on the arm's own score, inclusive. ``strategy`` names one of the arm's strategies; empty:
    its default. Unless it is to be ``explained``, hits need not say why they are there: of a thousand hits that takes
    as long as to find them, and nobody but a trace reads it.
    """

    bank_uid: str
    text: str
    vector: Vector | None = None
    window: Window | None = None
    fact_types: tuple[FactType, ...] = ALL_FACT_TYPES
    tags: TagTest = EVERYTHING
    limit: int = 300
    min_score: float | None = None
    strategy: str = ""
    explained: bool = True


class Hit(NamedTuple):
    """One answer of an arm. Scores of different arms must not be compared.

    A named tuple: thousands are made for one recall, each in a third of the time that a frozen dataclass takes.

    ``because`` is a short phrase for the trace (which entity, which link); empty when the arm has nothing to add.
    ``context_cosine`` is the cosine of the query and of the memory together with what was said just before it;
    absent where the arm did not compare them.
    """

    memory_id: str
    score: float
    because: str = ""
    context_cosine: float | None = None


hit_of: Callable[[tuple[str, float, str, float | None]], Hit] = partial(tuple.__new__, Hit)
"""Makes a hit of a whole row, at C's speed: for ``map`` over the thousand rows of a recall."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A memory as the arms index it; each takes what it needs.

    ``vector`` embeds the text, ``context_vector`` what was said before it in its document together with the text
    (the text alone where nothing was). Both are absent for arms that do not ask for vectors.
    """

    memory_id: str
    version: int
    text: str
    fact_type: FactType
    tags: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    causes: tuple[CausalLink, ...] = ()
    occurred: Occurrence | None = None
    mentioned: datetime | None = None
    document_id: str = ""
    position: int = 0
    vector: Vector | None = None
    context_vector: Vector | None = None

    @property
    def time(self) -> Window | None:
        """When it occurred, else the moment it was mentioned, else nothing."""
        if self.occurred is not None:
            return self.occurred.window
        return None if self.mentioned is None else Window(self.mentioned, self.mentioned)


@dataclass(frozen=True, slots=True)
class Removal:
    """A memory to take out of an index, unless the index has a version newer than this one."""

    memory_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Indexed:
    """One row of an index, for comparing it with the ledger."""

    memory_id: str
    version: int


class Arm(Protocol):
    """One way to search.

    Implementations are safe for concurrent calls and do their computing off the event loop.
    """

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Return the hits, best first; equal scores are ordered by memory id.

        At most ``query.limit`` hits of each asked fact type, each memory once, all of the bank, all passing the tag
        test and the floor. An unknown bank has no hits.

        Raises:
            StoreUnavailable: the arm's store does not answer.
            ArmTimeout: the deadline passed.

        """
        ...

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store the entries durably; when this returns, a search finds them.

        Idempotent. An entry older than what is stored, or than a removal of the same memory, changes nothing.

        Raises:
            StoreUnavailable: nothing or part was stored; the call may be made again.

        """
        ...

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out; those not there are no error. When this returns, no search finds them.

        Raises:
            StoreUnavailable: nothing or part was removed; the call may be made again.

        """
        ...

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out; an unknown one is no error."""
        ...

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is indexed of a bank, by memory id."""
        ...

    async def check(self) -> None:
        """Return if the arm can work now.

        Raises:
            StoreUnavailable: its store does not answer.
            EmbeddingMismatch: its store was made for another embedding model.

        """
        ...
