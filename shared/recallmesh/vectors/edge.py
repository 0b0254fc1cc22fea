"""A qdrant-edge shard: made, searched and changed. The one file that knows ``qdrant_edge``.

Every call holds Python's global lock for as long as it takes (0.9.0), so a shard lives in the worker process.
"""

import math
import os
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, assert_never, cast
from uuid import UUID

import qdrant_edge as q

from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.vectors import VectorField, VectorQuery
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
from recallmesh.vectors.nearest import WIDER, breadth, full_scan_kilobytes, score_of, store_floor, widest
from recallmesh.vectors.payload import (
    BANK,
    END,
    MEMORY,
    START,
    TAG_COUNT,
    TAGS,
    TYPE,
    HitColumns,
    Point,
    PointRows,
    point_id,
)

RETURNED = [MEMORY, TYPE, START, END]
SYNC_TRIES = 5
"""How often the log's files are listed anew when one is no longer there under its name: it takes one now and then."""
FACES_MAX = 200_000
"""Points whose returned fields are kept in memory, about 0.3 KB each."""

Face = tuple[str, str, int | None, int | None]
"""What a hit tells of a point: memory id, type, start and end."""

PointName = int | UUID | str
EdgeCondition = q.FieldCondition | q.Filter


class Shard:
    """A shard in a directory. Writes are durable when they return. Not for concurrent use."""

    def __init__(self, path: Path, shard: q.EdgeShard) -> None:
        """Take over an open shard."""
        self._path = path
        self._shard = shard
        # Reading payloads takes as long as comparing vectors (3 of 7 ms for 900 hits): each is read once.
        self._faces: dict[int, Face] = {}

    def search(self, queries: Sequence[VectorQuery]) -> list[HitColumns]:
        """Answer each query, best first, ties by memory id."""
        conditions = [query_condition(query) for query in queries]
        asked = [number for number, condition in enumerate(conditions) if condition != NEVER]
        answers: list[HitColumns] = [([], [], [], []) for _ in queries]
        wide = {number: queries[number].limit + len(queries[number].exclude) + 1 for number in asked}
        while wide:
            requests = [_request(queries[number], conditions[number], limit) for number, limit in wide.items()]
            with _Translated():
                found = self._shard.query_batch(q.QueryBatchRequest(requests))
            again: dict[int, int] = {}
            for (number, limit), points in zip(wide.items(), found, strict=True):
                query = queries[number]
                kept = _without_excluded(points, query)
                if len(points) == limit < widest(query) and _tied(kept, query.limit):
                    again[number] = min(limit * WIDER, widest(query))
                else:
                    answers[number] = self._columns(kept, query)
            wide = again
        return answers

    def upsert(self, points: Sequence[Point]) -> None:
        """Store points, in place of those of the same ids."""
        edge_points = [
            q.Point(point.id, {"text": list(point.text), "context": list(point.context)}, dict(point.payload))
            for point in points
        ]
        self._update(q.UpdateOperation.upsert_points(edge_points))
        self._forget(point.id for point in points)

    def delete(self, point_ids: Sequence[int]) -> None:
        """Take points out."""
        self._update(q.UpdateOperation.delete_points(list(point_ids)))
        self._forget(point_ids)

    def drop(self, bank_uid: str) -> None:
        """Take all points of a bank out."""
        self._update(q.UpdateOperation.delete_points_by_filter(_filter(AnyOf(BANK, (bank_uid,)))))
        self._faces.clear()

    def copy_points(self, point_ids: Sequence[int], target: "Shard") -> None:
        """Bring these points of another shard up to date: stored as they are here, taken out where they are not."""
        with _Translated():
            records = self._shard.retrieve(list(point_ids), with_payload=True, with_vector=True)
        points = [q.Point(record.id, record.vector or {}, record.payload) for record in records]
        missing = set(point_ids) - set(_numbers(records))
        if points:
            target._update(q.UpdateOperation.upsert_points(points))  # noqa: SLF001 -- of the same class
        if missing:
            target.delete(sorted(missing))

    def holds(self, point_ids: Sequence[int]) -> set[int]:
        """Return those of the points that are there."""
        with _Translated():
            return set(_numbers(self._shard.retrieve(list(point_ids), with_payload=False, with_vector=False)))

    def size(self, bank_uid: str) -> int:
        """Return about how many points a bank has, off the index of banks: in 20 µs however many they are."""
        with _Translated():
            return self._shard.count(q.CountRequest(exact=False, filter=_filter(AnyOf(BANK, (bank_uid,)))))

    def rows(self, bank_uid: str, after: int | None, size: int) -> tuple[PointRows, int | None]:
        """Return the next points of a bank, from the first or a given one on, and the one to go on with if any is left.

        By their numbers: what is stored meanwhile is among the rest or before it, what is taken out in neither.
        """
        request = q.ScrollRequest(
            offset=after,
            limit=size,
            filter=_filter(AnyOf(BANK, (bank_uid,))),
            with_payload=[MEMORY, TYPE, START, END, TAGS],
            with_vector=True,
        )
        with _Translated():
            records, following = self._shard.scroll(request)
        return _rows(records), cast("int | None", following)

    def counts(self) -> tuple[int, int]:
        """Return the number of points, and of those that no HNSW graph holds."""
        with _Translated():
            info = self._shard.info()
        return info.points_count, info.points_count - info.indexed_vectors_count // len(VectorField)

    def flush(self) -> None:
        """Bring the segments up to the write-ahead log and cut that; costs a quarter of a second whatever changed."""
        with _Translated():
            self._shard.flush()

    def build(self) -> None:
        """Build HNSW graphs over what has none; half a second a thousand points, and nothing else runs."""
        with _Translated():
            self._shard.optimize()
            self._shard.flush()

    def close(self) -> None:
        """Flush and let go of the files."""
        with _Translated():
            self._shard.close()

    def _columns(self, points: Sequence[q.ScoredPoint], query: VectorQuery) -> HitColumns:
        numbers = _numbers(points)
        faces = self._faces
        if not faces.keys() >= set(numbers):
            faces = self._read_faces(numbers)
        floor = -math.inf if query.min_score is None else query.min_score
        scores = [score_of(point.score) for point in points]
        # A face begins with the memory id, of which a bank has no two: nothing after it is ever compared.
        rows = sorted((-score, faces[number]) for score, number in zip(scores, numbers, strict=True) if score >= floor)
        del rows[query.limit :]
        hits = [face for _, face in rows]
        times = [face[2:] for face in hits] if query.times else []
        return [face[0] for face in hits], [-score for score, _ in rows], [face[1] for face in hits], times

    def _read_faces(self, numbers: Sequence[int]) -> dict[int, Face]:
        unknown: list[PointName] = [number for number in numbers if number not in self._faces]
        if len(self._faces) + len(unknown) > FACES_MAX:
            self._faces.clear()
            unknown = list(numbers)
        with _Translated():
            records = self._shard.retrieve(unknown, with_payload=RETURNED, with_vector=False)
        faces = (_face(record.payload or {}) for record in records)
        self._faces |= zip(_numbers(records), faces, strict=True)
        return self._faces

    def _forget(self, point_ids: Iterable[int]) -> None:
        for number in point_ids:
            self._faces.pop(number, None)

    def _update(self, operation: q.UpdateOperation) -> None:
        with _Translated():
            self._shard.update(operation)
            # The log is mapped memory that the package leaves to the kernel to write: safe from a killed process, but
            # not from a power cut. All its files: a full one is closed and the next begun in the same update.
            sync_folder(self._path / "wal")


def create_shard(path: Path, dimensions: int, *, index_from: int) -> Shard:
    """Make an empty shard.

    A bank or a filter that leaves fewer than ``index_from`` points is always compared one by one, exactly.
    """
    threshold = full_scan_kilobytes(index_from, dimensions)
    vector = q.EdgeVectorParams(size=dimensions, distance=q.Distance.Cosine)
    config = q.EdgeConfig(
        vectors={field.value: vector for field in VectorField},
        # One graph for each bank (payload_m), none across banks (m): no search crosses them.
        hnsw_config=q.HnswIndexConfig(
            m=0, payload_m=16, ef_construct=100, full_scan_threshold=threshold, max_indexing_threads=1
        ),
        optimizers=q.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=threshold),
        payload_memory=q.Memory.Cached,
    )
    with _Translated():
        path.mkdir(parents=True)
        shard = q.EdgeShard.create(str(path), config)
        for key, parameters in (
            (BANK, q.KeywordIndexParams(is_tenant=True)),
            (TYPE, q.KeywordIndexParams(enable_hnsw=False)),
            (TAGS, q.KeywordIndexParams(enable_hnsw=False)),
            (TAG_COUNT, q.IntegerIndexParams(lookup=True, range=False, enable_hnsw=False)),
            (START, q.IntegerIndexParams(lookup=False, range=True, enable_hnsw=False)),
            (END, q.IntegerIndexParams(lookup=False, range=True, enable_hnsw=False)),
        ):
            shard.update(q.UpdateOperation.create_field_index(key, parameters))
        shard.flush()
    return Shard(path, shard)


def load_shard(path: Path) -> Shard:
    """Open a shard, with what its write-ahead log has beyond the last flush."""
    with _Translated():
        return Shard(path, q.EdgeShard.load(str(path)))


class _Translated:
    """Turns the package's errors into ours: it raises the bare class, told exactly, so that bugs pass through."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Translate."""
        if kind is Exception or isinstance(error, OSError):
            raise StoreUnavailable("the embedded vector index does not answer") from error


def _request(query: VectorQuery, condition: Condition, limit: int) -> q.QueryRequest:
    return q.QueryRequest(
        limit=limit,
        query=q.Query.Nearest(list(query.vector), using=query.field.value),
        filter=_filter(condition),
        params=q.SearchParams(hnsw_ef=breadth(limit)),
        score_threshold=store_floor(query),
        with_payload=False,
        with_vector=False,
    )


def _without_excluded(points: list[q.ScoredPoint], query: VectorQuery) -> list[q.ScoredPoint]:
    """Leave the excluded out: so many more were asked for, since a filter against ids makes a search take thrice."""
    if not query.exclude:
        return points
    excluded = {point_id(query.bank_uid, memory_id) for memory_id in query.exclude}
    return [point for point in points if point.id not in excluded]


def _tied(points: Sequence[q.ScoredPoint], limit: int) -> bool:
    return score_of(points[-1].score) == score_of(points[limit - 1].score)


def _numbers(points: Sequence[q.ScoredPoint | q.Record]) -> list[int]:
    # The package knows UUIDs too; here all points are named by numbers.
    return cast("list[int]", [point.id for point in points])


def _face(payload: Mapping[str, Any]) -> Face:
    # One string for each type: then a pickle of a thousand hits holds it once.
    return payload[MEMORY], sys.intern(payload[TYPE]), payload.get(START), payload.get(END)


def _rows(records: Sequence[q.Record]) -> PointRows:
    rows = PointRows([], [], [], [], b"", b"")
    text, context = array("f"), array("f")
    for record in records:
        memory_id, fact_type, start, end = _face(record.payload or {})
        rows.memory_ids.append(memory_id)
        rows.types.append(fact_type)
        rows.times.append((start, end))
        rows.tags.append(tuple((record.payload or {}).get(TAGS, ())))
        vectors = cast("dict[str, list[float]]", record.vector)  # made anew at each look
        text.fromlist(vectors[VectorField.TEXT])
        context.fromlist(vectors[VectorField.CONTEXT])
    return rows._replace(text=text.tobytes(), context=context.tobytes())


def _filter(condition: Condition) -> q.Filter:
    # A filter within the filter would cost a fifth of a search.
    parts = condition.parts if isinstance(condition, All) else (condition,)
    return q.Filter(must=[_edge_condition(part) for part in parts])


def _edge_condition(condition: Condition) -> EdgeCondition:  # noqa: PLR0911 -- one line for each kind
    match condition:
        case AnyOf(key, (value,)):
            return q.FieldCondition(key, match=q.MatchValue(value))
        case AnyOf(key, values):
            return q.FieldCondition(key, match=q.MatchAny(list(values)))
        case Count(key, value):
            return q.FieldCondition(key, match=q.MatchValue(value))
        case AtLeast(key, value):
            return q.FieldCondition(key, range=q.RangeFloat(gte=value))
        case AtMost(key, value):
            return q.FieldCondition(key, range=q.RangeFloat(lte=value))
        case All(parts):
            return q.Filter(must=[_edge_condition(part) for part in parts])
        case Some(parts):
            return q.Filter(should=[_edge_condition(part) for part in parts])
        case Not(part):
            return q.Filter(must_not=[_edge_condition(part)])
        case _:
            assert_never(condition)


def sync_folder(folder: Path) -> None:
    """Write a folder's files to the disk, and the folder.

    The package makes the next file of its log beside the call and only then gives it its name: a file that was listed
    may be there under another one.
    """
    for left in reversed(range(SYNC_TRIES)):
        try:
            for path in (*folder.iterdir(), folder):
                _sync(path)
        except FileNotFoundError:
            if not left:
                raise
        else:
            return


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
