"""The temporal arm: memories of the window, by relevance but spread over it, then their neighbours in time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from recallmesh.core.arm import ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector, hit_of
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery
from recallmesh.temporal.neighbour import neighbours, sides
from recallmesh.temporal.spread import OUTSIDE, FindBucket, bucket_finder, cut_for, numbers_of, spread, turn_score

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
VAGUE = "some time around the window"
"""What is said of a memory whose time is known less exactly than the window."""


@dataclass(slots=True)
class _Found:
    """What the window holds of a fact type: the hits, best first, and the buckets they are in."""

    hits: Sequence[VectorHit]
    numbers: list[int]
    parts: tuple[Window, ...]
    bucket: FindBucket
    complete: bool
    """Whether there is nothing else in the window."""


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
        window, vector = query.window, query.vector
        fact_types = tuple(dict.fromkeys(query.fact_types))
        answers = await self._vectors.search(
            tuple(_question(query, vector, fact_type, window, _most(query)) for fact_type in fact_types)
        )
        found = {
            fact_type: self._placed(window, answer, complete=len(answer) < _most(query))
            for fact_type, answer in zip(fact_types, answers, strict=True)
        }
        more = await self._more(query, vector, window, found)
        highest = None if query.min_score is None else -query.min_score
        rows = [
            row
            for fact_type in fact_types
            for row in self._ranked(query, window, found[fact_type], more.get(fact_type, ()))
            if highest is None or row[0] <= highest
        ]
        rows.sort()
        explained = query.explained
        return tuple(
            [hit_of((memory_id, -score, because if explained else "", None)) for score, memory_id, because in rows]
        )

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

    def _placed(self, window: Window, hits: Sequence[VectorHit], *, complete: bool) -> _Found:
        times = (hit.time for hit in hits if hit.time is not None)
        parts = cut_for(window, self._buckets, times, complete=complete)
        bucket = bucket_finder(parts)
        return _Found(hits, numbers_of(hits, bucket), parts, bucket, complete)

    async def _more(
        self, query: ArmQuery, vector: Vector, window: Window, found: dict[FactType, _Found]
    ) -> dict[FactType, tuple[VectorHit, ...]]:
        """Ask for what a crowd kept out of the buckets or, where there is none, for what lies beside the window."""
        questions: list[tuple[FactType, VectorQuery]] = []
        for fact_type, inside in found.items():
            if not inside.complete:
                share = min(query.limit, -(-query.limit // len(inside.parts)))
                held = Counter(inside.numbers)
                # Only what begins there: what is longer than a bucket would answer for many, and leave no room.
                parts = [
                    (part, share * BUCKET_SLACK) for number, part in enumerate(inside.parts) if held[number] < share
                ]
                if sum(held[number] for number in range(len(inside.parts))) < query.limit:
                    parts.append((window, _most(query)))
                questions += [
                    (fact_type, _question(query, vector, fact_type, part, limit, begins=True)) for part, limit in parts
                ]
            elif inside.hits and len(inside.hits) < query.limit:
                questions += [
                    (fact_type, _question(query, vector, fact_type, part, query.limit, begins=part.start > window.end))
                    for part in sides(window, self._reach)
                ]
        answers = await self._vectors.search(tuple(question for _, question in questions)) if questions else ()
        more: dict[FactType, tuple[VectorHit, ...]] = {}
        for (fact_type, _), answer in zip(questions, answers, strict=True):
            more[fact_type] = more.get(fact_type, ()) + answer
        return more

    def _ranked(
        self, query: ArmQuery, window: Window, found: _Found, more: Sequence[VectorHit]
    ) -> list[tuple[float, str, str]]:
        """Return rows of negated score, memory id and why; no two are of one memory."""
        hits, numbers = found.hits, found.numbers
        known = {hit.memory_id for hit in hits} if more else set()
        new = {hit.memory_id: hit for hit in more if hit.memory_id not in known}.values()
        fresh = [hit for hit in new if hit.time is not None and found.bucket(hit.time) != OUTSIDE]
        if fresh:
            hits = sorted((*hits, *fresh), key=lambda hit: (-hit.score, hit.memory_id))
            numbers = numbers_of(hits, found.bucket)
        placed = spread(hits, numbers, query.limit)
        phrases = [f"in the window, {number + 1} of {len(found.parts)}" for number in range(len(found.parts))]
        phrases.append(VAGUE)
        rows = [(-turn_score(turn, hit.score), hit.memory_id, phrases[bucket]) for hit, bucket, turn in placed]
        if not rows or len(rows) == query.limit or len(fresh) == len(new):
            return rows
        seeds = sorted((place.hit for place in placed), key=lambda hit: (-hit.score, hit.memory_id))[:SEEDS]
        least = -rows[-1][0]
        linked = neighbours(new, seeds, window, self._reach, query.limit - len(rows))
        return rows + [(-least * link.closeness / 2, link.hit.memory_id, link.because) for link in linked]


def _most(query: ArmQuery) -> int:
    return min(LIMIT_MAX, query.limit * WHOLE_SLACK)


def _question(
    query: ArmQuery, vector: Vector, fact_type: FactType, window: Window, limit: int, *, begins: bool = False
) -> VectorQuery:
    return VectorQuery(
        bank_uid=query.bank_uid,
        vector=vector,
        fact_types=(fact_type,),
        tags=query.tags,
        window=window,
        limit=min(limit, LIMIT_MAX),
        begins=begins,
    )
