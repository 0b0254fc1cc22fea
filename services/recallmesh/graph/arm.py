"""The graph arm: finds what is tied to the entities a query names and to the memories near it."""

import asyncio
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from math import inf
from types import MappingProxyType

from recallmesh.core.arm import ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector, hit_of
from recallmesh.core.errors import FieldViolation, InvalidArgument, StoreUnavailable
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorField, VectorHit, VectorIndex, VectorQuery
from recallmesh.graph.activation import activate
from recallmesh.graph.expansion import expand
from recallmesh.graph.explorer import Explorer, Limits
from recallmesh.graph.neighbourhood import EMPTY, Neighbourhood, Ranking
from recallmesh.graph.neighbours import alike, batch_cosines
from recallmesh.graph.score import link_threshold
from recallmesh.graph.store import GraphStore, Node
from recallmesh.graph.walks import walk

LINK_EXPANSION = "link_expansion"
_Lists = tuple[Ranking, Ranking]
STRATEGIES: Mapping[str, Callable[[Neighbourhood], _Lists]] = MappingProxyType(
    {
        LINK_EXPANSION: expand,
        "bfs": lambda around: (activate(around), EMPTY),
        "mpfp": lambda around: (walk(around), EMPTY),
    }
)
"""What each strategy makes of a neighbourhood: a list, and a second one that follows it."""


class GraphArm:
    """Fulfils Arm over a graph store and, for seeds and semantic links, a vector index.

    Under ``link_expansion`` the score of a memory that was reached is its graph score in [0, 3]; that of a seed is 3
    plus its lifted cosine, so that seeds come first. Without a vector all scores are graph scores.
    ``cosine_mean`` and ``cosine_high`` describe the embedder's unrelated texts, as in EmbedderInfo.
    """

    def __init__(
        self,
        store: GraphStore,
        vectors: VectorIndex | None,
        *,
        cosine_mean: float,
        cosine_high: float,
        strategy: str = LINK_EXPANSION,
        neighbours: int = 10,
        recent: int = 50,
        hub_share: float = 0.1,
        origins: int = 10,
        reached_share: float = 0.2,
    ) -> None:
        """Search this store; the stores stay the caller's to close."""
        self._store = store
        self._limits = Limits(recent, hub_share, origins)
        self._vectors = vectors
        self._threshold = link_threshold(cosine_high)
        self._strategy = _strategy(strategy)
        self._neighbours = neighbours
        self._reached_share = reached_share
        self._explorer = Explorer(store, vectors, limits=self._limits, spread=max(0.0, cosine_high - cosine_mean))

    def over(self, vectors: VectorIndex, *, cosine_mean: float, cosine_high: float) -> "GraphArm":
        """Return an arm on the same store over the vectors of another model."""
        made = copy(self)
        made._vectors = vectors  # noqa: SLF001 - its own kind
        made._threshold = link_threshold(cosine_high)  # noqa: SLF001
        spread = max(0.0, cosine_high - cosine_mean)
        made._explorer = Explorer(self._store, vectors, limits=self._limits, spread=spread)  # noqa: SLF001
        return made

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Return the memories around what the query names and means, best first.

        Raises:
            InvalidArgument: the query names no strategy of this arm.
            StoreUnavailable: the graph store does not answer, or the vectors do not and the query names nothing.

        """
        rank = _strategy(query.strategy) if query.strategy else self._strategy
        query = replace(query, fact_types=tuple(dict.fromkeys(query.fact_types)))
        return await self._explorer.explore(query, lambda around: self._cut(query, around, *rank(around)))

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store the entries and link them to what they are like.

        When the vector index does not answer, they are stored without semantic links and the call fails all the same:
        they can be found meanwhile, and the same call made again adds the links.

        Raises:
            StoreUnavailable: nothing or part was stored; the call may be made again.

        """
        try:
            stored, failure = await self._stored_neighbours(bank_uid, entries), None
        except StoreUnavailable as error:
            stored, failure = {}, error
        nodes = await asyncio.to_thread(self._nodes, entries, stored)
        await self._store.put(bank_uid, nodes)
        if failure is not None:
            raise failure

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories and their links out."""
        await self._store.delete(bank_uid, removals)

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out."""
        await self._store.drop(bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is indexed of a bank."""
        return await self._store.scan(bank_uid, page)

    async def check(self) -> None:
        """Return if the graph store can work; without the vectors the arm still answers by name."""
        await self._store.check()

    def _cut(self, query: ArmQuery, around: Neighbourhood, first: Ranking, second: Ranking) -> tuple[Hit, ...]:
        """Cut both lists by fact type: the second gets the places it is due, and those the first leaves."""
        types, cosines = around.types, around.seeds.cosines
        due = int(query.limit * self._reached_share)
        highest = inf if query.min_score is None else -query.min_score
        seeds, reached = _by_type(first, types), _by_type(second, types)
        told = _told if query.explained else _untold
        kept: list[tuple[float, str, str]] = []
        for fact_type in query.fact_types:
            most = query.limit - min(len(reached[fact_type]), due)
            some = seeds[fact_type][:most]
            kept += told(some, first, highest)
            kept += told(reached[fact_type][: query.limit - len(some)], second, highest)
        kept.sort()
        return tuple(
            [hit_of((memory_id, -score, because, cosines.get(memory_id))) for score, memory_id, because in kept]
        )

    async def _stored_neighbours(
        self, bank_uid: str, entries: tuple[IndexEntry, ...]
    ) -> dict[str, tuple[VectorHit, ...]]:
        if self._vectors is None or not self._neighbours:
            return {}
        # One question for all that say the same: how near they are to each other the batch itself knows.
        same: dict[Vector, list[str]] = {}
        for entry in entries:
            if entry.vector is not None:
                same.setdefault(entry.vector, []).append(entry.memory_id)
        questions = tuple(
            VectorQuery(
                bank_uid,
                vector,
                VectorField.TEXT,
                limit=self._neighbours,
                min_score=self._threshold,
                exclude=tuple(memory_ids),
                times=False,
            )
            for vector, memory_ids in same.items()
        )
        answers = await self._vectors.search(questions) if questions else ()
        return {
            memory_id: hits for memory_ids, hits in zip(same.values(), answers, strict=True) for memory_id in memory_ids
        }

    def _nodes(self, entries: tuple[IndexEntry, ...], stored: Mapping[str, tuple[VectorHit, ...]]) -> tuple[Node, ...]:
        batch = batch_cosines(entries, self._threshold) if self._neighbours else {}
        return tuple(
            Node(
                entry,
                alike(
                    entry.memory_id,
                    batch.get(entry.memory_id, {}),
                    stored.get(entry.memory_id, ()),
                    threshold=self._threshold,
                    most=self._neighbours,
                ),
            )
            for entry in entries
        )


def _by_type(ranking: Ranking, types: Mapping[str, FactType]) -> dict[FactType, list[tuple[float, str]]]:
    rows: dict[FactType, list[tuple[float, str]]] = {fact_type: [] for fact_type in FactType}
    for row in ranking.rows:
        rows[types[row[1]]].append(row)
    return rows


def _told(rows: list[tuple[float, str]], ranking: Ranking, highest: float) -> list[tuple[float, str, str]]:
    told, plain = ranking.told, ranking.plain
    return [
        (score, memory_id, ranking.because(memory_id) if memory_id in told else plain)
        for score, memory_id in rows
        if score <= highest
    ]


def _untold(rows: list[tuple[float, str]], _ranking: Ranking, highest: float) -> list[tuple[float, str, str]]:
    return [(score, memory_id, "") for score, memory_id in rows if score <= highest]


def _strategy(name: str) -> Callable[[Neighbourhood], _Lists]:
    if name not in STRATEGIES:
        raise InvalidArgument(FieldViolation("strategy", f"must be one of {', '.join(sorted(STRATEGIES))}"))
    return STRATEGIES[name]
