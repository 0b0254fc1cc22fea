"""A memory as a point of a Qdrant server: its id, its place in time, what it carries; and what is left once removed."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.vectors import VectorField
from recallmesh.vectors.payload import BANK, NUMBER_BYTES, Point

ORDER = "order"
"""Twice the version, and one more for a removal at that version: of two states of a point the higher one is the later.

One number, so that the server can compare and write in one step, whoever else writes.
"""
GRAVE = "grave"
"""The bank of a removed memory. It is not under ``BANK``: no search and no list has to leave the removed out."""
REMOVED_AT = "removed_at"
"""When a memory was removed, in whole seconds since 1970."""

Mapped = Mapping[str, Any]
"""A message of Qdrant's protocol as plain values; only the adapter knows its classes."""

HEAD = 19
"""Characters of a UUID's first 64 bits, with the hyphen after them: the part that a memory and its point have alike."""
LOWEST = "0000-000000000000"
_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def mask_of(bank_uid: str) -> int:
    """Return the 64 bits that tell a bank's points from those of another bank's memories of the same ids."""
    return int.from_bytes(hashlib.blake2b(bank_uid.encode(), digest_size=NUMBER_BYTES).digest())


def turned(name: str, mask: int) -> str:
    """Return the point of a memory, and the memory of a point: the last 64 bits turned by the bank's.

    So no payload is read to tell which memory a hit is, and points lie in the order of their memories' ids, but for
    those whose first 64 bits are the same.
    """
    low = f"{int(name[HEAD:23] + name[24:], 16) ^ mask:016x}"
    return f"{name[:HEAD]}{low[:4]}-{low[4:]}"


def is_memory_id(text: str) -> bool:
    """Tell whether a text is a UUID in canonical form, as every memory's id is."""
    return _CANONICAL.fullmatch(text) is not None


def point_name(memory_id: str, mask: int) -> str:
    """Return the point of a memory.

    Raises:
        InvalidArgument: the id is no UUID in canonical form.

    """
    if not is_memory_id(memory_id):
        raise InvalidArgument(FieldViolation("memory_id", "is no UUID in canonical form"))
    return turned(memory_id, mask)


def first_from(memory_id: str) -> str:
    """Return the lowest point that this memory, or one after it, can have in any bank."""
    return memory_id[:HEAD] + LOWEST


def stored_order(version: int) -> int:
    """Return the order of a memory that is stored at a version."""
    return 2 * version


def removed_order(version: int) -> int:
    """Return the order of a memory that was removed at a version: later than what is stored at the same one."""
    return 2 * version + 1


def version_of(order: int) -> int:
    """Return the version that an order is of."""
    return order // 2


def stored_point(point: Point, mask: int) -> Mapped:
    """Return the point of a memory that is stored."""
    payload = {name: _value(value) for name, value in point.payload.items()}
    payload[ORDER] = _value(stored_order(point.version))
    vectors = {
        VectorField.TEXT.value: {"dense": {"data": point.text}},
        VectorField.CONTEXT.value: {"dense": {"data": point.context}},
    }
    name = point_name(point.memory_id, mask)
    return {"id": {"uuid": name}, "payload": payload, "vectors": {"vectors": {"vectors": vectors}}}


def removed_point(bank_uid: str, memory_id: str, version: int, mask: int, *, at: int) -> Mapped:
    """Return what is left of a memory that was removed: no vectors, so that no search finds it."""
    payload = {GRAVE: _value(bank_uid), ORDER: _value(removed_order(version)), REMOVED_AT: _value(at)}
    # An empty table of vectors, not none: the server refuses a point that says nothing of vectors.
    return {"id": {"uuid": point_name(memory_id, mask)}, "payload": payload, "vectors": {"vectors": {}}}


def may_take_place(bank_uid: str, order: int) -> Mapped:
    """Return the condition on what lies there for a state of this order to take its place.

    It is not later; and it is the bank's own: a memory id that falls on another bank's point changes nothing there.
    """
    return {
        "must": [{"field": {"key": ORDER, "range": {"lte": order}}}],
        "should": [_keyword(BANK, bank_uid), _keyword(GRAVE, bank_uid)],
    }


def all_of_bank(bank_uid: str) -> Mapped:
    """Return the condition that everything of a bank fulfils, the removed too."""
    return {"should": [_keyword(BANK, bank_uid), _keyword(GRAVE, bank_uid)]}


def shown_of_bank(bank_uid: str) -> Mapped:
    """Return the condition that everything stored of a bank fulfils."""
    return {"must": [_keyword(BANK, bank_uid)]}


def removed_before(at: int) -> Mapped:
    """Return the condition that removals before a moment fulfil, in whole seconds since 1970."""
    return {"must": [{"field": {"key": REMOVED_AT, "range": {"lt": at}}}]}


ANY_STORED: Mapped = {"must_not": [{"is_empty": {"key": BANK}}]}
"""The condition that all stored memories fulfil, whatever their bank."""


def _keyword(key: str, value: str) -> Mapped:
    return {"field": {"key": key, "match": {"keyword": value}}}


def _value(value: object) -> Mapped:
    match value:
        case str():
            return {"string_value": value}
        case int():
            return {"integer_value": value}
        case list():
            return {"list_value": {"values": [_value(one) for one in value]}}
        case _:
            raise TypeError(f"a payload has no {type(value).__name__}")
