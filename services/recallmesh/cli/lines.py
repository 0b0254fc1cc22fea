"""Reading items from JSONL, with errors that name the line and the field."""

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from recallmesh.cli.pictures import read_picture
from recallmesh.core.entity import CONCEPT
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import Attachment, ContentBlock, NamedEntity, RetainItem
from recallmesh.core.time import as_utc
from recallmesh.retain.intake import item_violations

LINE_BYTES = 8 << 20
"""The longest line: what a text of CONTENT_BYTES may take when all of it is escaped, and room for the rest."""
HERE = Path()
FILE_KEY = b'"file"'
FIELDS = frozenset({"content", "time", "context", "document_id", "tags", "metadata", "entities"})
ENTITY = frozenset({"name", "kind", "resolve"})


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


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream.

    Raises:
        InvalidArgument: one is longer than LINE_BYTES.

    """
    number = 0
    while line := stream.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise InvalidArgument(FieldViolation(f"line {number}", f"is longer than {LINE_BYTES} bytes"))
        yield line


def read_items(lines: Iterable[bytes], *, folder: Path = HERE) -> Iterator[tuple[int, RetainItem]]:
    """Yield the item of every line that is not blank, with its line's number; see ``read_line``.

    Raises:
        InvalidArgument: a line is no such item; names the line and the field.

    """
    for number, line in enumerate(lines, start=1):
        item = read_line(line, f"line {number}", folder=folder)
        if item is not None:
            yield number, item


def read_line(line: bytes, where: str, *, folder: Path = HERE) -> RetainItem | None:
    """Read one line; nothing of a blank one. Pictures that it names are files in ``folder`` or below it.

    Raises:
        InvalidArgument: it is no item that could be kept; names the fields, below ``where``.

    """
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument(FieldViolation(where, f"is not UTF-8, at byte {error.start + 1}")) from error
    if not text.strip():
        return None
    item = _read_item(text, where, folder)
    violations = tuple(item_violations(where, item))
    if violations:
        raise InvalidArgument(*violations)
    return item


def _read_item(line: str, where: str, folder: Path) -> RetainItem:
    try:
        found = json.loads(line)
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
        content=_content(found, where, folder),
        time=None if time is None else moment(_text(found, "time", where), f"{where}.time"),
        timeless="time" in found and time is None,
        context=_text(found, "context", where),
        document_id=_text(found, "document_id", where),
        tags=_texts(found.get("tags"), f"{where}.tags"),
        metadata=_mapping(found.get("metadata"), f"{where}.metadata"),
        entities=_entities(found.get("entities"), f"{where}.entities"),
    )


def weight(line: bytes, *, folder: Path = HERE) -> int:
    """Return how many bytes a line is, the files that it names included."""
    if FILE_KEY not in line:
        return len(line)
    try:
        item = read_line(line, "line", folder=folder)
    except InvalidArgument:
        return len(line)
    attached = (block for block in (item.content if item else ()) if isinstance(block, Attachment))
    return len(line) + sum(len(block.data) for block in attached)


def _content(found: dict[str, Any], where: str, folder: Path) -> tuple[ContentBlock, ...]:
    blocks = found.get("content")
    if not isinstance(blocks, list):
        return (_text(found, "content", where, required=True),)
    return tuple(_block(block, f"{where}.content[{place}]", folder) for place, block in enumerate(blocks))


def _block(block: object, where: str, folder: Path) -> ContentBlock:
    match block:
        case str():
            return block
        case {"file": str(name), **rest} if not rest:
            return read_picture(_within(folder, name, f"{where}.file"), f"{where}.file")
        case {"media_type": str(media_type), "data": str(data), **rest} if not rest:
            try:
                return Attachment(media_type, base64.b64decode(data, validate=True))
            except ValueError as error:
                raise InvalidArgument(FieldViolation(f"{where}.data", "is no base64")) from error
    forms = 'a string, {"file": …} or {"media_type": …, "data": …}'
    raise InvalidArgument(FieldViolation(where, f"must be {forms}"))


def _within(folder: Path, name: str, field: str) -> Path:
    """Return the file of a name; lines may come from anywhere, and must not fetch what lies elsewhere."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise InvalidArgument(FieldViolation(field, f"{name!r} is not in the folder of the lines, nor below it"))
    return path


def _entities(value: object, where: str) -> tuple[NamedEntity, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidArgument(FieldViolation(where, "must be a list of names, or of objects with a name"))
    return tuple(_entity(one, f"{where}[{number}]") for number, one in enumerate(value))


def _entity(value: object, where: str) -> NamedEntity:
    if isinstance(value, str):
        return NamedEntity(value)
    if not isinstance(value, dict) or not set(value) <= ENTITY:
        raise InvalidArgument(FieldViolation(where, "must be a name, or an object of name, kind and resolve"))
    resolve = value.get("resolve", True)
    if not isinstance(resolve, bool):
        raise InvalidArgument(FieldViolation(f"{where}.resolve", "must be true or false"))
    return NamedEntity(_text(value, "name", where, required=True), _text(value, "kind", where) or CONCEPT, resolve)


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
