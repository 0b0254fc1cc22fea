"""Reading items from JSONL, with errors that name the line and the field."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import RetainItem
from recallmesh.core.time import as_utc

FIELDS = frozenset({"content", "time", "context", "document_id", "tags", "metadata"})


def moment(text: str, field: str) -> datetime:
    """Read an ISO 8601 time; one without an offset is UTC.

    Raises:
        InvalidArgument: it is none.

    """
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        description = f"{text!r} is not an ISO 8601 time such as 2026-03-21T10:05:00+01:00"
        raise InvalidArgument(FieldViolation(field, description)) from error
    return as_utc(read) if read.tzinfo is None else read


def read_items(lines: Iterable[str], first: int = 1) -> Iterator[tuple[int, RetainItem]]:
    """Yield the item of every line that is not blank, with its line's number; that of the first line is ``first``.

    Raises:
        InvalidArgument: a line is no such item; names the line and the field.

    """
    for number, line in enumerate(lines, start=first):
        if line.strip():
            yield number, _read_item(line, f"line {number}")


def _read_item(line: str, where: str) -> RetainItem:
    try:
        found = json.loads(line.removeprefix("\ufeff"))
    except RecursionError as error:
        raise InvalidArgument(FieldViolation(where, "is nested too deeply")) from error
    except json.JSONDecodeError as error:
        raise InvalidArgument(FieldViolation(where, f"is no JSON: {error.msg}, at column {error.colno}")) from error
    if not isinstance(found, dict):
        raise InvalidArgument(FieldViolation(where, "is no JSON object"))
    unknown = sorted(set(found) - FIELDS)
    if unknown:
        description = f"is no field of an item; there are {', '.join(sorted(FIELDS))}"
        raise InvalidArgument(FieldViolation(f"{where}.{unknown[0]}", description))
    time = found.get("time")
    return RetainItem(
        content=(_text(found, "content", where, required=True),),
        time=None if time is None else moment(_text(found, "time", where), f"{where}.time"),
        timeless="time" in found and time is None,
        context=_text(found, "context", where),
        document_id=_text(found, "document_id", where),
        tags=_texts(found.get("tags"), f"{where}.tags"),
        metadata=_mapping(found.get("metadata"), f"{where}.metadata"),
    )


def _text(found: dict[str, Any], field: str, where: str, *, required: bool = False) -> str:
    value = found.get(field)
    if value is None:
        if required:
            raise InvalidArgument(FieldViolation(f"{where}.{field}", "is required"))
        return ""
    if not isinstance(value, str):
        raise InvalidArgument(FieldViolation(f"{where}.{field}", "must be a string"))
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidArgument(FieldViolation(where, "must be a list of strings"))
    return tuple(value)


def _mapping(value: object, where: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArgument(FieldViolation(where, "must be an object of strings"))
    return {str(key): text if isinstance(text, str) else json.dumps(text) for key, text in value.items()}
