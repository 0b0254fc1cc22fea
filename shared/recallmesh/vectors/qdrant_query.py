"""A question put to a Qdrant server, and its answer put in order."""

import math
from collections.abc import Sequence
from typing import NamedTuple, assert_never

from recallmesh.core.memory import FactType
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit, VectorQuery, vector_hit_of
from recallmesh.vectors.condition import (
    NEVER,
    All,
    AnyOf,
    AtLeast,
    AtMost,
    Condition,
    Count,
    Not,
    Some,
    query_condition,
)
from recallmesh.vectors.nearest import WIDER, breadth, score_of, store_floor, widest
from recallmesh.vectors.payload import END, START, TYPE, TYPES, moment_at
from recallmesh.vectors.qdrant_point import Mapped, is_memory_id, mask_of, turned


class Near(NamedTuple):
    """What a server says of a point that is near: its name, its cosine, and of its payload what was asked for."""

    name: str
    cosine: float
    fact_type: str = ""
    start: int | None = None
    end: int | None = None


class Question:
    """One query under way: what to ask the server, and whether its answer will do."""

    def __init__(self, query: VectorQuery) -> None:
        """Ask for one more than is wanted: it tells whether the last hit ties with one that was cut off."""
        self._query = query
        self._mask = mask_of(query.bank_uid)
        self._condition = query_condition(query)
        self._limit = query.limit + 1
        self._one_type = query.fact_types[0] if len(query.fact_types) == 1 else None
        self.answer: tuple[VectorHit, ...] | None = () if self._condition == NEVER else None
        """The hits, once they are known; nothing passes a condition that is never so, and it need not be asked."""

    @property
    def fields(self) -> list[str]:
        """Which fields of the payload the hits need: none where the query says their type and wants no times.

        To read the payloads would take the server longer than to compare the vectors.
        """
        wanted = [] if self._one_type else [TYPE]
        return [*wanted, START, END] if self._query.times else wanted

    def mapped(self) -> Mapped:
        """Return what to ask."""
        query, fields = self._query, self.fields
        asked: dict[str, object] = {
            "query": {"nearest": {"dense": {"data": query.vector}}},
            "using": query.field.value,
            "filter": self._filter(),
            "params": {"hnsw_ef": breadth(query.limit)},
            "limit": self._limit,
            "with_payload": {"include": {"fields": fields}} if fields else {"enable": False},
            "with_vectors": {"enable": False},
        }
        floor = store_floor(query)
        return asked if floor is None else asked | {"score_threshold": floor}

    def take(self, found: Sequence[Near]) -> None:
        """Take the server's answer; one that ends in a tie is asked for again, wider, so that ids decide the cut."""
        limit, query = self._limit, self._query
        tied = len(found) > query.limit and score_of(found[-1].cosine) == score_of(found[query.limit - 1].cosine)
        if tied and len(found) == limit < widest(query):
            self._limit = min(limit * WIDER, widest(query))
            return
        self.answer = self._hits(found)

    def _hits(self, found: Sequence[Near]) -> tuple[VectorHit, ...]:
        floor = -math.inf if self._query.min_score is None else self._query.min_score
        rows = sorted(
            (-score, turned(near.name, self._mask), near) for near in found if (score := score_of(near.cosine)) >= floor
        )
        return tuple(
            [
                vector_hit_of((memory_id, -score, self._one_type or _type(near), _window(near)))
                for score, memory_id, near in rows[: self._query.limit]
            ]
        )

    def _filter(self) -> Mapped:
        made = filter_of(self._condition)
        excluded = [turned(one, self._mask) for one in self._query.exclude if is_memory_id(one)]
        if not excluded:
            return made
        return {**made, "must_not": [{"has_id": {"has_id": [{"uuid": name} for name in excluded]}}]}


def filter_of(condition: Condition) -> Mapped:
    """Return a condition in Qdrant's language, with its parts at the top: a filter within the filter costs time."""
    parts = condition.parts if isinstance(condition, All) else (condition,)
    return {"must": [_condition(part) for part in parts]}


def _condition(condition: Condition) -> Mapped:  # noqa: PLR0911 - one line for each kind
    match condition:
        case AnyOf(key, (value,)):
            return {"field": {"key": key, "match": {"keyword": value}}}
        case AnyOf(key, values):
            return {"field": {"key": key, "match": {"keywords": {"strings": values}}}}
        case Count(key, value):
            return {"field": {"key": key, "match": {"integer": value}}}
        case AtLeast(key, value):
            return {"field": {"key": key, "range": {"gte": value}}}
        case AtMost(key, value):
            return {"field": {"key": key, "range": {"lte": value}}}
        case All(parts):
            return {"filter": {"must": [_condition(part) for part in parts]}}
        case Some(parts):
            return {"filter": {"should": [_condition(part) for part in parts]}}
        case Not(part):
            return {"filter": {"must_not": [_condition(part)]}}
        case _:
            assert_never(condition)


def _type(near: Near) -> FactType:
    return TYPES[near.fact_type]


def _window(near: Near) -> Window | None:
    if near.start is None or near.end is None:
        return None
    return Window(moment_at(near.start), moment_at(near.end))
