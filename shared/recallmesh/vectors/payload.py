"""What is stored beside a memory's vectors, and how a moment becomes a number there."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple, TypedDict

from recallmesh.core.arm import IndexEntry, Vector
from recallmesh.core.errors import EmbeddingMismatch
from recallmesh.core.memory import FactType
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit, vector_hit_of

MEMORY = "memory"
BANK = "bank"
TYPE = "type"
TAGS = "tags"
TAG_COUNT = "tag_count"
"""Number of distinct tags: with it a filter can say "these and no others" and "none"."""
START = "start"
END = "end"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NUMBER_BYTES = 8
"""The store names points by 64 bits or by UUIDs; those become Python objects for each hit, at half a search's cost."""


class Payload(TypedDict, total=False):
    """A point's payload, by the names above; an undated memory has neither start nor end."""

    memory: str
    bank: str
    type: str
    tags: list[str]
    tag_count: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Point:
    """A memory as the index stores it."""

    id: int
    memory_id: str
    version: int
    payload: Payload
    text: Vector
    context: Vector


class PointRows(NamedTuple):
    """Points of one bank in columns, as they lie in the index, for whoever keeps them in memory.

    The vectors are of length one, as the index stores them: 32-bit numbers of this machine, one vector after the other.
    """

    memory_ids: list[str]
    types: list[str]
    times: list[tuple[int | None, int | None]]
    tags: list[tuple[str, ...]]
    text: bytes
    context: bytes


HitColumns = tuple[list[str], list[float], list[str], list[tuple[int | None, int | None]]]
"""An answer's hits on their way between processes: memory ids, scores, types, and starts with ends.

Lists of plain values are written and read several times as fast as objects; the last is empty where no times were
asked for.
"""
WINDOWS_KEPT = 16_384
"""Times kept as they were read, about 0.3 KB each: a search over time asks for the same memories twice."""
TYPES = {fact_type.value: fact_type for fact_type in FactType}
"""Looked up for every hit: calling the enum takes five times as long."""


def micros(moment: datetime) -> int:
    """Return the whole microseconds since 1970, negative before; nothing of a ``datetime`` is lost."""
    return (moment - EPOCH) // MICROSECOND


def moment_at(number: int) -> datetime:
    """Undo ``micros``, in UTC."""
    return EPOCH + number * MICROSECOND


def point_id(bank_uid: str, memory_id: str) -> int:
    """Name the point of a memory: the same memory id in two banks (an imported copy) is two points.

    A digest, so that a repeated write finds its point whatever was lost. Among ten million memories two have the same
    64 bits with a chance of 1 in 370,000.
    """
    return int.from_bytes(hashlib.blake2b(f"{bank_uid}\0{memory_id}".encode(), digest_size=NUMBER_BYTES).digest())


def point_of(bank_uid: str, entry: IndexEntry, dimensions: int) -> Point:
    """Make the point of an entry.

    Raises:
        EmbeddingMismatch: a vector is missing or of another size than the index.

    """
    text = _sized(entry.vector, dimensions)
    tags = sorted(set(entry.tags))
    payload: Payload = {
        "memory": entry.memory_id,
        "bank": bank_uid,
        "type": entry.fact_type.value,
        "tags": tags,
        "tag_count": len(tags),
    }
    time = entry.time
    if time is not None:
        payload["start"] = micros(time.start)
        payload["end"] = micros(time.end)
    context = text if entry.context_vector is None else _sized(entry.context_vector, dimensions)
    return Point(point_id(bank_uid, entry.memory_id), entry.memory_id, entry.version, payload, text, context)


def hits_of(columns: HitColumns) -> tuple[VectorHit, ...]:
    """Read an answer's hits."""
    memory_ids, scores, types, times = columns
    kinds = map(TYPES.__getitem__, types)
    windows = map(window_at, times) if times else repeat(None)
    return tuple(map(vector_hit_of, zip(memory_ids, scores, kinds, windows, strict=False)))


@lru_cache(WINDOWS_KEPT)
def window_at(time: tuple[int | None, int | None]) -> Window | None:
    """Read a start and an end; a memory without is undated."""
    start, end = time
    if start is None or end is None:
        return None
    first = moment_at(start)
    return Window(first, first if end == start else moment_at(end))


def _sized(vector: Vector | None, dimensions: int) -> Vector:
    if vector is None:
        raise EmbeddingMismatch("an entry has no vector; the index needs one")
    if len(vector) != dimensions:
        raise EmbeddingMismatch(f"a vector has {len(vector)} dimensions, the index {dimensions}")
    return vector
