"""The temporal arm: memories of the window, by relevance but spread over it, then their neighbours in time."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import chain

from recallmesh.core.arm import ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery
from recallmesh.temporal.neighbour import neighbours, sides
from recallmesh.temporal.spread import cut, filled, spread, turn_score

BUCKETS = 12
LINK_REACH = timedelta(hours=24)
SEEDS = 50
"""How many of the best in the window are linked to what lies outside."""
WHOLE_SLACK = 2
"""The window is asked for twice the hits wanted: most buckets then have their share, and only the others are asked."""
BUCKET_SLACK = 2
"""A bucket is asked for twice its share: long memories answer for many buckets and count in one."""
LIMIT_MAX = 2000
"""The most that one question to the vectors may ask for."""


class TemporalArm:
    """Fulfils ``Arm`` by reading the semantic arm's vectors, in at most two batches.

    It has no index of its own, so ``index``, ``remove`` and ``drop`` are done as soon as they are called. Without a
    window there is nothing to search for, without a vector no relevance to choose by: both have no hits.
    A score says the turn in which a hit was taken from its bucket, and within the turn the cosine; hits outside the
    window score below all within, by closeness in time.
    """

    def __init__(self, vectors: VectorIndex, *, buckets: int = BUCKETS, link_reach: timedelta = LINK_REACH) -> None:
        """Read these vectors; cut windows into so many buckets; link over less than ``link_reach``."""
        self._vectors = vectors
        self._buckets = buckets
        self._reach = link_reach

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Ask for the whole window; then for the buckets left without their share, or for its sides if it has room."""
        if query.window is None or query.vector is None or not query.fact_types:
            return ()
        fact_types = tuple(dict.fromkeys(query.fact_types))
        most = _most(query)
        whole = await self._vectors.search(
            tuple(_question(query, query.vector, fact_type, query.window, most) for fact_type in fact_types)
        )
        inside = dict(zip(fact_types, whole, strict=True))
        more = await self._more(query, query.vector, query.window, inside)
        hits = chain.from_iterable(
            self._ranked(query, query.window, inside[fact_type], more.get(fact_type, ())) for fact_type in fact_types
        )
        floor = query.min_score
        kept = (hit for hit in hits if floor is None or hit.score >= floor)
        return tuple(sorted(kept, key=lambda hit: (-hit.score, hit.memory_id)))

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Nothing to do: the semantic arm writes the vectors and their times."""

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Nothing to do: the semantic arm takes them out."""

    async def drop(self, bank_uid: str) -> None:
        """Nothing to do: the semantic arm drops the bank."""

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what the vectors hold."""
        return await self._vectors.scan(bank_uid, page)

    async def check(self) -> None:
        """Return if the vectors can be searched."""
        await self._vectors.check()

    async def _more(
        self, query: ArmQuery, vector: Vector, window: Window, inside: dict[FactType, tuple[VectorHit, ...]]
    ) -> dict[FactType, tuple[VectorHit, ...]]:
        share = min(query.limit, -(-query.limit // self._buckets))
        questions: list[tuple[FactType, VectorQuery]] = []
        for fact_type, found in inside.items():
            parts: Sequence[Window] = ()
            limit = query.limit
            if len(found) >= _most(query):
                held = filled(found, window, self._buckets)
                parts = [part for number, part in enumerate(cut(window, self._buckets)) if held[number] < share]
                limit = min(query.limit, share * BUCKET_SLACK)
            elif found and len(found) < query.limit:
                parts = sides(window, self._reach)
            questions += [(fact_type, _question(query, vector, fact_type, part, limit)) for part in parts]
        answers = await self._vectors.search(tuple(question for _, question in questions)) if questions else ()
        more: dict[FactType, tuple[VectorHit, ...]] = {}
        for (fact_type, _), answer in zip(questions, answers, strict=True):
            more[fact_type] = more.get(fact_type, ()) + answer
        return more

    def _ranked(
        self, query: ArmQuery, window: Window, inside: Sequence[VectorHit], more: Sequence[VectorHit]
    ) -> Iterable[Hit]:
        placed = spread(chain(inside, more), window, self._buckets)[: query.limit]
        buckets = len(cut(window, self._buckets))
        phrases = [f"in the window, {number + 1} of {buckets}" for number in range(buckets)]
        hits = [Hit(hit.memory_id, turn_score(turn, hit.score), phrases[bucket]) for hit, bucket, turn in placed]
        if not hits or len(hits) == query.limit:
            return hits
        seeds = sorted((place.hit for place in placed), key=lambda hit: (-hit.score, hit.memory_id))[:SEEDS]
        least = hits[-1].score
        linked = neighbours(more, seeds, window, self._reach)[: query.limit - len(hits)]
        return hits + [Hit(link.hit.memory_id, least * link.closeness / 2, link.because) for link in linked]


def _most(query: ArmQuery) -> int:
    return min(LIMIT_MAX, query.limit * WHOLE_SLACK)


def _question(query: ArmQuery, vector: Vector, fact_type: FactType, window: Window, limit: int) -> VectorQuery:
    return VectorQuery(
        bank_uid=query.bank_uid, vector=vector, fact_types=(fact_type,), tags=query.tags, window=window, limit=limit
    )
