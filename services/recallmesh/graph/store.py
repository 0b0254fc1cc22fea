"""What the graph arm needs of a store: memories as nodes, their entities, and the links between them."""

from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar, overload

from recallmesh.core.arm import Indexed, IndexEntry, Removal
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest

_T = TypeVar("_T")
_U = TypeVar("_U")
_V = TypeVar("_V")


class LinkKind(StrEnum):
    """Why two memories are linked."""

    SEMANTIC = "semantic"
    """Their texts are alike; the same from both ends."""
    CAUSAL = "causal"
    """One was caused by the other; followed from both ends."""
    TEMPORAL = "temporal"
    """One comes just before the other in their document; not stored, read from their positions."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A semantic link of the memory that holds it, with a weight in [0.7, 1]."""

    memory_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Node:
    """A memory to store: the entry, and the memories its text is like."""

    entry: IndexEntry
    alike: tuple[Alike, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Which memories an answer may hold: those of the bank, of the fact types, passing the tag test."""

    bank_uid: str
    fact_types: tuple[FactType, ...]
    tags: TagTest = EVERYTHING


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity under one of its names: ``key`` is the folded name, ``memories`` how many memories mention it."""

    entity_id: str
    name: str
    key: str
    kind: str
    memories: int


@dataclass(frozen=True, slots=True)
class Names:
    """The entities found under the names asked for, and how many memories the bank has."""

    entities: tuple[NamedEntity, ...]
    memories: int


class Sighting(NamedTuple):
    """A memory that mentions an entity. A named tuple like the next two: thousands are made for one search."""

    memory_id: str
    fact_type: FactType
    entity_id: str


class Subject(NamedTuple):
    """An entity that a memory mentions; ``memories`` is how many mention it in all."""

    memory_id: str
    entity_id: str
    name: str
    memories: int


class Tie(NamedTuple):
    """That a memory mentions an entity."""

    memory_id: str
    entity_id: str


class Edge(NamedTuple):
    """A link as followed from ``source_id``. ``from_cause`` tells that a causal link was followed cause to effect."""

    source_id: str
    target_id: str
    target_type: FactType
    kind: LinkKind
    weight: float
    from_cause: bool = False


class GraphReads(Protocol):
    """How a ``GraphStore`` is read, inside a ``read``. An unknown bank reads as an empty one."""

    async def names(self, bank_uid: str, keys: tuple[str, ...], prefixes: tuple[str, ...]) -> Names:
        """Find the entities whose name or alias has one of the keys, or begins with one of the prefixes.

        A person of several names is also kept under "last, first". Prefixes yield at most 1000 names each. Only
        entities that a memory mentions are found. Ordered by key, then entity id.
        """
        ...

    async def mentioning(self, scope: Scope, entity_ids: tuple[str, ...], limit: int) -> tuple[Sighting, ...]:
        """Find the memories that mention the entities: of each entity and fact type the ``limit`` most recent.

        The work is bounded by what is asked for, not by how many memories mention an entity (a tag test excepted).
        """
        ...

    async def subjects(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Subject, ...]:
        """Tell what entities the memories mention."""
        ...

    async def ties(self, bank_uid: str, memory_ids: tuple[str, ...], entity_ids: tuple[str, ...]) -> tuple[Tie, ...]:
        """Tell which of the memories mention which of the entities, in no order."""
        ...

    async def edges(
        self, scope: Scope, memory_ids: tuple[str, ...], limit: int, kinds: Collection[LinkKind] = tuple(LinkKind)
    ) -> tuple[Edge, ...]:
        """Follow the links of these kinds from the memories: of each memory and kind the ``limit`` strongest.

        The memories that links lead to are in the scope; those they lead from need not be. Temporal links lead to the
        memory just before and the one just after in the same document, with weight 1.
        """
        ...

    @overload
    async def together(self, one: Coroutine[Any, Any, _T], other: Coroutine[Any, Any, _U], /) -> tuple[_T, _U]: ...
    @overload
    async def together(
        self, one: Coroutine[Any, Any, _T], other: Coroutine[Any, Any, _U], third: Coroutine[Any, Any, _V], /
    ) -> tuple[_T, _U, _V]: ...
    async def together(self, *works: Coroutine[Any, Any, Any]) -> tuple[Any, ...]:
        """Answer several of these questions, of which none needs another's answer: at once where the store can."""
        ...


class GraphStore(Protocol):
    """Keeps the graph of every bank. Safe for concurrent calls; reads see what was written before them.

    All methods raise StoreUnavailable when the store does not answer; a write then stored nothing or part of what it
    was given and may be made again. An unknown bank reads as an empty one.
    """

    async def put(self, bank_uid: str, nodes: tuple[Node, ...]) -> None:
        """Store nodes with their mentions and links durably, replacing what was stored of the same version.

        A node older than what is stored, or not newer than a removal of the same memory, changes nothing. A link may
        name a memory that is not there yet; it is followed once that memory is. A memory that is stored again in a
        newer version loses the semantic links that others had to its old text. Semantic links between live memories
        hold in both directions, whoever named them; the stronger of two counts. An entity is called
        as its newest mention calls it; names of mentions of one version add up.
        """
        ...

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out, unless newer than the removal, and remember the removal; those not there are no error."""
        ...

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out; an unknown one is no error."""
        ...

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List the memories of a bank, by memory id; removed ones are not listed."""
        ...

    async def read(self, work: Callable[["GraphReads"], Coroutine[Any, Any, _T]]) -> _T:
        """Do this work, which reads and computes, off the caller's event loop, and return what it returns.

        It may await the questions it is given to ask, and nothing else: there need be no event loop where it runs.
        One search reads eight times and computes in between: in one place, it pays for one way there and back.
        """
        ...

    async def check(self) -> None:
        """Return if the store can work now."""
        ...
