"""Which fields of a JSON object do not fit a message, and why: for people, by the names that JSON has for them."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from recallmesh.core.errors import FieldViolation
from recallmesh.rpc.literal import is_unicode

WELL_KNOWN = "google.protobuf."
"""Messages that JSON writes as values of their own."""
DEEPEST = 90
"""How deep messages may be nested: below what protobuf's reader and Python's stack allow."""
SHOWN = 64
"""Characters of a name that is not known, when it is told."""
SNAKE = re.compile(r"_([a-z0-9])")
QUOTED = re.compile(r'(\["(?:[^"\\]|\\.)*"\])')
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
"""Both alphabets; protobuf's reader drops what is of neither, and so takes a ``data:`` URL for bytes."""
INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: "-2147483648 to 2147483647",
    FieldDescriptor.CPPTYPE_INT64: "-9223372036854775808 to 9223372036854775807",
    FieldDescriptor.CPPTYPE_UINT32: "0 to 4294967295",
    FieldDescriptor.CPPTYPE_UINT64: "0 to 18446744073709551615",
}
WANTED = {
    FieldDescriptor.TYPE_BOOL: "is neither true nor false",
    FieldDescriptor.TYPE_BYTES: "is no base64",
    FieldDescriptor.TYPE_STRING: "is no text",
    FieldDescriptor.TYPE_DOUBLE: "is no number",
    FieldDescriptor.TYPE_FLOAT: "is no number",
}
UNFIT = (json_format.ParseError, ValueError, TypeError, AttributeError, OverflowError, SystemError)
"""What protobuf's reader raises for values that do not fit; which of them, depends on the value. ``SystemError`` is for
a name that is not valid Unicode."""
EXAMPLES = {
    "google.protobuf.Timestamp": "is no time such as 2026-03-21T10:05:00Z",
    "google.protobuf.Duration": "is no duration such as 7200s",
}


def json_path(path: str) -> str:
    """Write a field's path as JSON names the fields: ``items[3].document_id`` is ``items[3].documentId``."""
    parts = QUOTED.split(path)
    return "".join(
        part if odd % 2 else SNAKE.sub(lambda found: found[1].upper(), part) for odd, part in enumerate(parts)
    )


def descriptor(kind: type[Message]) -> Descriptor:
    """Return what describes a message; its type depends on protobuf's implementation, what it can does not."""
    return cast("Descriptor", kind.DESCRIPTOR)


def field_of(kind: Descriptor, name: str) -> FieldDescriptor | None:
    """Return the field of either name: ``bankId`` or ``bank_id``."""
    if not is_unicode(name):  # which protobuf cannot look up
        return None
    return kind.fields_by_camelcase_name.get(name) or kind.fields_by_name.get(name)


def unknown(kind: Descriptor, name: str) -> str:
    """Say that there is no such field, and which may have been meant."""
    close = get_close_matches(name, [field.json_name for field in kind.fields], n=1)
    return f"is no field of {kind.name}{f'; did you mean {close[0]}?' if close else ''}"


def is_message(field: FieldDescriptor) -> bool:
    """Tell whether a field holds messages that JSON writes as objects with names of their own."""
    return field.message_type is not None and not field.message_type.full_name.startswith(WELL_KNOWN)


def is_map(field: FieldDescriptor) -> bool:
    """Tell whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def misspelt(value: object, kind: Descriptor, path: str = "", depth: int = 0) -> Iterator[FieldViolation]:
    """Yield what protobuf's reader would let pass, or would not tell the place of.

    That is: names that there are not or that exclude each other, messages nested too deeply, bytes that are no base64.
    """
    if depth > DEEPEST:
        yield FieldViolation(path, "is nested too deeply")
        return
    if not isinstance(value, Mapping):
        return
    seen: dict[str, str] = {}
    for name, inner in value.items():
        where = _below(path, name)
        field = field_of(kind, name)
        if field is None:
            yield FieldViolation(_below(path, name[:SHOWN]), unknown(kind, name[:SHOWN]))
            continue
        for group in _groups(field) if inner is not None else ():
            if group in seen:
                yield FieldViolation(where, f"excludes {seen[group]}: only one of them can be said")
            seen[group] = name
        if field.type == FieldDescriptor.TYPE_BYTES and isinstance(inner, str) and not BASE64.fullmatch(inner):
            yield FieldViolation(where, WANTED[field.type])
        if is_message(value_of(field)):
            for step, part in _parts(field, inner):
                yield from misspelt(part, _inside(field), f"{where}{step}", depth + 1)


def faults(value: object, kind: Descriptor, path: str = "") -> Iterator[FieldViolation]:
    """Yield every value that is not what its field takes."""
    if not isinstance(value, Mapping):
        yield FieldViolation(path or "request", f"is no object, which {kind.name} is written as")
        return
    for name, inner in value.items():
        field = field_of(kind, name)
        if field is not None and inner is not None:
            yield from _field_faults(field, inner, _below(path, name))


def _field_faults(field: FieldDescriptor, value: object, where: str) -> Iterator[FieldViolation]:
    if is_map(field):
        if not isinstance(value, Mapping):
            yield FieldViolation(where, "is no object")
            return
    elif field.is_repeated and not isinstance(value, list):
        yield FieldViolation(where, "is no list")
        return
    for step, part in _parts(field, value):
        if part is None:
            yield FieldViolation(f"{where}{step}", "is null, which a list or map cannot hold")
        elif is_message(value_of(field)):
            yield from faults(part, _inside(field), f"{where}{step}")
        else:
            yield from _leaf(field, step[2:-2], part, f"{where}{step}")


def _leaf(field: FieldDescriptor, key: str, value: object, where: str) -> Iterator[FieldViolation]:
    """Try one value alone, in a map under its key."""
    holder = GetMessageClass(cast("Descriptor", field.containing_type))()
    alone = {key: value} if is_map(field) else [value] if field.is_repeated else value
    try:
        json_format.ParseDict({field.json_name: alone}, holder)
    except UNFIT:
        yield FieldViolation(where, _wanted(value_of(field), value))


def _wanted(field: FieldDescriptor, value: object) -> str:
    """Say what a field takes."""
    if field.enum_type is not None:
        return f"is none of {', '.join(one.name for one in field.enum_type.values if one.number)}"
    if field.message_type is not None:
        return EXAMPLES.get(field.message_type.full_name, f"is no {field.message_type.name}")
    if field.cpp_type in INTEGERS:
        return f"is no whole number from {INTEGERS[field.cpp_type]}"
    if field.type == FieldDescriptor.TYPE_STRING and isinstance(value, str):
        return "is text that is not valid Unicode"
    return WANTED[field.type]


def value_of(field: FieldDescriptor) -> FieldDescriptor:
    """Return what says of what kind a field's values are: of a map, those that its keys have."""
    return cast("Descriptor", field.message_type).fields_by_name["value"] if is_map(field) else field


def _inside(field: FieldDescriptor) -> Descriptor:
    return cast("Descriptor", value_of(field).message_type)


def _groups(field: FieldDescriptor) -> Iterator[str]:
    """Yield what a field is known as among those that exclude each other: itself, and the oneof it belongs to."""
    yield field.full_name
    if field.containing_oneof is not None and len(field.containing_oneof.fields) > 1:
        yield field.containing_oneof.full_name


def _parts(field: FieldDescriptor, value: object) -> Iterator[tuple[str, object]]:
    """Yield the single values of a field, each with what its path has after the field's name."""
    if is_map(field):
        items = value.items() if isinstance(value, Mapping) else ()
        yield from ((f'["{key}"]', part) for key, part in items)
    elif field.is_repeated:
        yield from ((f"[{place}]", part) for place, part in enumerate(value if isinstance(value, list) else ()))
    else:
        yield "", value


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
