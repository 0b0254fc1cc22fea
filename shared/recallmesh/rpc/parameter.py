"""A request as a query string has it: a field each, repeated fields repeated, what is no plain value as JSON."""

from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.rpc.blame import SHOWN, field_of, is_map, is_message, unknown
from recallmesh.rpc.literal import strict

TRUTH = {"true": True, "false": False}


def object_from_pairs(pairs: Iterable[tuple[str, str]], kind: Descriptor) -> dict[str, Any]:
    """Return the JSON object that the names and texts mean.

    Raises:
        InvalidArgument: a name is no field, comes twice, or its text is no JSON where it has to be.

    """
    found: dict[str, Any] = {}
    wrong: list[FieldViolation] = []
    for name, text in pairs:
        field = field_of(kind, name)
        if field is None:
            wrong.append(FieldViolation(name[:SHOWN], unknown(kind, name[:SHOWN])))
        elif is_map(field) or is_message(field):
            if field.json_name in found:
                wrong.append(FieldViolation(name, "comes twice"))
            try:
                found[field.json_name] = strict(text)
            except InvalidArgument as error:
                wrong.extend(FieldViolation(name, f"{one.field} {one.description}") for one in error.violations)
            except (ValueError, RecursionError):
                wrong.append(FieldViolation(name, "is no JSON, which this field is written as"))
        elif field.is_repeated:
            found.setdefault(field.json_name, []).append(_plain(field, text))
        elif field.json_name in found:
            wrong.append(FieldViolation(name, "comes twice"))
        else:
            found[field.json_name] = _plain(field, text)
    if wrong:
        raise InvalidArgument(*wrong)
    return found


def _plain(field: FieldDescriptor, text: str) -> object:
    """Return a text as JSON would have it; what does not fit stays, and is told when it is read."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return TRUTH.get(text, text)
    if field.enum_type is not None and text.isascii() and text.isdigit():
        return int(text[:10])
    return text
