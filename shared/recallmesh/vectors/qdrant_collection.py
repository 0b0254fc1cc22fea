"""The collection of an embedding model on a Qdrant server: its name, its shape, and what is wrong with one found."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from recallmesh.core.vectors import VectorField
from recallmesh.vectors.nearest import full_scan_kilobytes
from recallmesh.vectors.payload import BANK, END, START, TAG_COUNT, TAGS, TYPE
from recallmesh.vectors.qdrant_point import GRAVE, ORDER, REMOVED_AT, Mapped

SCHEMA = 1
"""The shape that this version makes and needs; counted up with every change of it."""
OLDEST_SERVER = (1, 17)
"""The first server whose upserts are conditional (1.16) in every way that is used here; an older one would ignore the
condition and let an old version take a newer one's place."""
M, PAYLOAD_M, EF_CONSTRUCT = 0, 16, 100
"""One graph for each bank (``PAYLOAD_M`` links), none across banks: no search crosses them."""
NAME_CHARS = 100
SCHEMA_KEY, FINGERPRINT_KEY, DIMENSIONS_KEY = "schema", "fingerprint", "dimensions"
"""What a collection's metadata says."""
MIGRATE = "run: recallmesh migrate"
COSINE = "Cosine"

_PLAIN = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_CHARS}}}")


@dataclass(frozen=True, slots=True)
class FieldIndex:
    """An index over a field of the payload: its kind in Qdrant's words, and its parameters."""

    kind: str
    parameters: Mapping[str, bool]


FIELD_INDEXES: Mapping[str, FieldIndex] = {
    # What is of one bank lies together on the disk, and each bank has links of its own in the graph.
    BANK: FieldIndex("Keyword", {"is_tenant": True}),
    TYPE: FieldIndex("Keyword", {"enable_hnsw": False}),
    TAGS: FieldIndex("Keyword", {"enable_hnsw": False}),
    GRAVE: FieldIndex("Keyword", {"enable_hnsw": False}),
    TAG_COUNT: FieldIndex("Integer", {"lookup": True, "range": False, "enable_hnsw": False}),
    START: FieldIndex("Integer", {"lookup": False, "range": True, "enable_hnsw": False}),
    END: FieldIndex("Integer", {"lookup": False, "range": True, "enable_hnsw": False}),
    ORDER: FieldIndex("Integer", {"lookup": False, "range": True, "enable_hnsw": False}),
    REMOVED_AT: FieldIndex("Integer", {"lookup": False, "range": True, "enable_hnsw": False}),
}
"""Every field that a filter names: a server in strict mode refuses others, and elsewhere they cost a full scan."""


@dataclass(frozen=True, slots=True)
class Found:
    """A collection as a server tells it.

    ``sizes`` and ``distances`` are by the name of the vector; ``indexes`` are the indexed fields with their kinds, and
    ``tenants`` those that are tenant indexes. ``schema`` is 0 where none is noted: its making was not finished.
    ``points`` counts the removed too, roughly.
    """

    name: str
    schema: int = 0
    fingerprint: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    distances: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, str] = field(default_factory=dict)
    tenants: frozenset[str] = frozenset()
    points: int = 0


def collection_name(prefix: str, fingerprint: str, dimensions: int) -> str:
    """Name the collection of a model: a changed model has another one, beside the old."""
    plain = _PLAIN.fullmatch(fingerprint) is not None
    model = fingerprint if plain else hashlib.sha256(fingerprint.encode()).hexdigest()[:24]
    return f"{prefix}-{model}-{dimensions}"


def wrong_shape(found: Found, dimensions: int) -> str:
    """Say why vectors of this size cannot be kept in a collection; empty: they can."""
    for one in VectorField:
        size, distance = found.sizes.get(one.value), found.distances.get(one.value)
        if size is None:
            return f"it has no vectors named {one.value!r}"
        if size != dimensions:
            return f"its vectors have {size} dimensions, those of the embedder {dimensions}"
        if distance != COSINE:
            return f"its vectors are compared by {distance}, not by cosine"
    return ""


def lacking(found: Found) -> tuple[str, ...]:
    """Return the fields without the index that they need."""
    return tuple(
        key
        for key, wanted in FIELD_INDEXES.items()
        if found.indexes.get(key) != wanted.kind or (wanted.parameters.get("is_tenant") and key not in found.tenants)
    )


def creation(name: str, fingerprint: str, dimensions: int, *, index_from: int) -> Mapped:
    """Return what makes a collection; a bank or a filter that leaves fewer points than that is compared exactly."""
    threshold = full_scan_kilobytes(index_from, dimensions)
    # Vectors and payloads on the disk: the kernel keeps in memory what is asked, the vectors of the banks in use, which
    # lie together. The graph and the payload indexes are in memory: every search walks them.
    vector = {"size": dimensions, "distance": COSINE, "on_disk": True}
    return {
        "collection_name": name,
        "vectors_config": {"params_map": {"map": {one.value: vector for one in VectorField}}},
        "hnsw_config": {
            "m": M,
            "payload_m": PAYLOAD_M,
            "ef_construct": EF_CONSTRUCT,
            "full_scan_threshold": threshold,
            "on_disk": False,
        },
        "optimizers_config": {"indexing_threshold": threshold},
        "on_disk_payload": True,
        "metadata": {
            FINGERPRINT_KEY: {"string_value": fingerprint},
            DIMENSIONS_KEY: {"integer_value": dimensions},
        },
    }


def completion(name: str) -> Mapped:
    """Return what says that a collection is whole; the last step of its making."""
    return {"collection_name": name, "metadata": {SCHEMA_KEY: {"integer_value": SCHEMA}}}


def indexing(name: str, key: str) -> Mapped:
    """Return what indexes a field."""
    index = FIELD_INDEXES[key]
    parameters = {f"{index.kind.lower()}_index_params": index.parameters}
    return {
        "collection_name": name,
        "wait": True,
        "field_name": key,
        "field_type": f"FieldType{index.kind}",
        "field_index_params": parameters,
    }


def is_old(version: str) -> bool:
    """Tell whether a server is too old; a version that cannot be read is not (a build from source)."""
    parts = re.match(r"v?(\d+)\.(\d+)", version)
    return parts is not None and (int(parts[1]), int(parts[2])) < OLDEST_SERVER


def other_size(names: Iterable[str], prefix: str, fingerprint: str, dimensions: int) -> int | None:
    """Return in which other size a collection among these has vectors of a model; absent: in none."""
    stem = collection_name(prefix, fingerprint, dimensions).removesuffix(str(dimensions))
    sizes = (name.removeprefix(stem) for name in names if name.startswith(stem))
    return next((int(size) for size in sizes if size.isdecimal() and int(size) != dimensions), None)
