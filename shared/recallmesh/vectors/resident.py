"""One bank's vectors in this process's memory, and the exact search over them."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recallmesh.columns.tagsets import TagSets
from recallmesh.core.arm import Vector
from recallmesh.core.memory import FactType
from recallmesh.core.tags import is_open
from recallmesh.core.vectors import VectorField, VectorHit, VectorQuery, vector_hit_of
from recallmesh.vectors.nearest import DIGITS
from recallmesh.vectors.payload import TYPES, Point, PointRows, micros, window_at

SCALE = 10**DIGITS
"""A score is held as a whole number of these parts: that is what ``score_of`` rounds to, at a third of the memory."""
KEPT = 4
"""Comparisons of a vector with the whole bank that are kept: the arms of a recall ask with the same one."""
LEAST_ROOM = 16
GROWTH = 1.25
UNIT_SLACK = 1e-6
"""How far from one the square of a length may be without that the vector is divided by it; Qdrant's own bound."""
TAG_SETS_SPARE = 64
"""Sets of tags that no memory has any more, beside one for each memory there is, before they are counted anew."""

_KINDS = tuple(FactType)
_CODE_OF = {kind: code for code, kind in enumerate(_KINDS)}
_NOT_BEGUN, _LONG_OVER = np.iinfo(np.int64).max, np.iinfo(np.int64).min
"""The start and the end of what is undated: it overlaps no window."""

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.intp]
Parts = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class ResidentBank:
    """Gives the answers that the index gives, for as long as it is told of every change. For several threads."""

    def __init__(self, dimensions: int, *, room: int = 0) -> None:
        """Start empty, with room for so many memories; it grows as it must."""
        room = max(room, LEAST_ROOM)
        self._lock = threading.Lock()
        self._number_of: dict[str, int] = {}
        self._vectors: dict[VectorField, Floats] = {
            field: np.empty((room, dimensions), np.float32) for field in VectorField
        }
        self._ids = np.empty(room, np.object_)
        self._windows = np.empty(room, np.object_)
        self._kinds = np.empty(room, np.int8)
        self._starts = np.empty(room, np.int64)
        self._ends = np.empty(room, np.int64)
        self._tags = np.empty(room, np.int32)
        self._tag_sets = TagSets()
        self._kept: OrderedDict[tuple[VectorField, Vector], Parts] = OrderedDict()

    def __len__(self) -> int:
        """Return how many memories there are."""
        return len(self._number_of)

    def put(self, points: PointRows) -> None:
        """Store points, in place of those of the same memories."""
        with self._lock:
            self._kept.clear()
            self._make_room(len(points.memory_ids))
            at = [self._number(memory_id) for memory_id in points.memory_ids]
            for field, vectors in ((VectorField.TEXT, points.text), (VectorField.CONTEXT, points.context)):
                held = self._vectors[field]
                held[at] = np.frombuffer(vectors, np.float32).reshape(len(at), held.shape[1])
            for number, time in zip(at, points.times, strict=True):
                self._windows[number] = window_at(time)
            self._starts[at] = [_NOT_BEGUN if start is None else start for start, _ in points.times]
            self._ends[at] = [_LONG_OVER if end is None else end for _, end in points.times]
            self._kinds[at] = [_CODE_OF[TYPES[fact_type]] for fact_type in points.types]
            self._tags[at] = [self._tag_sets.number(tags) for tags in points.tags]
            if len(self._tag_sets) > 2 * len(self._number_of) + TAG_SETS_SPARE:
                self._renumber_tags()

    def discard(self, memory_ids: Iterable[str]) -> None:
        """Take memories out; those not there are no error."""
        with self._lock:
            self._kept.clear()
            for memory_id in memory_ids:
                number = self._number_of.pop(memory_id, None)
                last = len(self._number_of)
                if number is not None and number != last:
                    for column in self._columns():
                        column[number] = column[last]
                    self._number_of[self._ids[number]] = number

    def search(self, query: VectorQuery) -> tuple[VectorHit, ...]:
        """Answer a query, best first, ties by memory id."""
        with self._lock:
            rows, parts = self._nearest(query)
            if not len(rows):
                return ()
            ids = self._ids[rows].tolist()
            kinds = [_KINDS[code] for code in self._kinds[rows].tolist()]
            windows = self._windows[rows].tolist() if query.times else [None] * len(ids)
        return tuple(map(vector_hit_of, zip(ids, (parts / SCALE).tolist(), kinds, windows, strict=True)))

    def _nearest(self, query: VectorQuery) -> tuple[Rows, Parts]:
        parts = self._compared(query.field, query.vector)
        passing = self._passing(query)
        rows = np.arange(len(parts)) if passing is None else np.flatnonzero(passing)
        found = parts[rows]
        if query.min_score is not None:
            near = found / SCALE >= query.min_score
            rows, found = rows[near], found[near]
        if len(rows) > query.limit:
            near = found >= np.partition(found, -query.limit)[-query.limit]  # with all that tie with the last
            rows, found = rows[near], found[near]
        order = np.argsort(-found, kind="stable")
        if _has_equals(found[order]):
            order = np.lexsort((self._ids[rows].astype(np.str_), -found))
        order = order[: query.limit]
        return rows[order], found[order]

    def _compared(self, field: VectorField, vector: Vector) -> Parts:
        asked = (field, vector)
        parts = self._kept.get(asked)
        if parts is None:
            # Row by row: a product of the matrix would start threads that wait for the next one at full speed. It gives
            # equal rows equal scores, and lets others run meanwhile.
            cosines = np.vecdot(self._vectors[field][: len(self._number_of)], unit(np.array([vector], np.float32))[0])
            # 32 bits by a million are exact in 64: this rounds as ``score_of`` does.
            parts = np.rint(cosines.astype(np.float64) * SCALE).astype(np.int32)
            self._kept[asked] = parts
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return parts

    def _passing(self, query: VectorQuery) -> Mask | None:
        count = len(self._number_of)
        tests: list[Mask] = []
        if query.fact_types:
            kinds = self._kinds[:count]
            tests.append(np.logical_or.reduce([kinds == _CODE_OF[kind] for kind in query.fact_types]))
        if query.window is not None:
            ends = self._starts if query.begins else self._ends
            tests.append(self._starts[:count] <= micros(query.window.end))
            tests.append(ends[:count] >= micros(query.window.start))
        if not is_open(query.tags):
            tests.append(self._tag_sets.passing(query.tags)[self._tags[:count]])
        excluded = [self._number_of[one] for one in query.exclude if one in self._number_of]
        if excluded:
            others = np.ones(count, np.bool_)
            others[excluded] = False
            tests.append(others)
        if not tests:
            return None
        return np.logical_and.reduce(tests) if len(tests) > 1 else tests[0]

    def _number(self, memory_id: str) -> int:
        number = self._number_of.setdefault(memory_id, len(self._number_of))
        self._ids[number] = memory_id
        return number

    def _make_room(self, more: int) -> None:
        room, count = len(self._ids), len(self._number_of)
        if count + more <= room:
            return
        room = max(count + more, int(room * GROWTH))
        self._vectors = {field: _grown(held, room, count) for field, held in self._vectors.items()}
        self._ids, self._windows = _grown(self._ids, room, count), _grown(self._windows, room, count)
        self._kinds, self._tags = _grown(self._kinds, room, count), _grown(self._tags, room, count)
        self._starts, self._ends = _grown(self._starts, room, count), _grown(self._ends, room, count)

    def _renumber_tags(self) -> None:
        held, tags = list(self._tag_sets), self._tags[: len(self._number_of)]
        self._tag_sets = TagSets()
        tags[:] = [self._tag_sets.number(held[number]) for number in tags.tolist()]

    def _columns(self) -> Sequence[npt.NDArray[Any]]:
        rest = (self._ids, self._windows, self._kinds, self._starts, self._ends, self._tags)
        return (*self._vectors.values(), *rest)


def rows_of(points: Sequence[Point]) -> PointRows:
    """Return points as the index stores them."""
    payloads = [point.payload for point in points]
    return PointRows(
        [point.memory_id for point in points],
        [payload["type"] for payload in payloads],
        [(payload.get("start"), payload.get("end")) for payload in payloads],
        [tuple(payload["tags"]) for payload in payloads],
        unit(np.array([point.text for point in points], np.float32)).tobytes(),
        unit(np.array([point.context for point in points], np.float32)).tobytes(),
    )


def unit(vectors: Floats) -> Floats:
    """Return vectors of length one, by the rule of the index: near enough to it, or zero, they stay as they are."""
    squares = np.vecdot(vectors, vectors)
    stays = (squares < np.finfo(np.float32).eps) | (np.abs(squares - np.float32(1)) <= UNIT_SLACK)
    lengths = np.sqrt(np.where(stays, np.float32(1), squares))
    return np.asarray(vectors / lengths[:, None], np.float32)


def _has_equals(ordered: Parts) -> bool:
    return bool((ordered[1:] == ordered[:-1]).any())


def _grown(column: npt.NDArray[Any], room: int, count: int) -> npt.NDArray[Any]:
    grown = np.empty((room, *column.shape[1:]), column.dtype)
    grown[:count] = column[:count]
    return grown
