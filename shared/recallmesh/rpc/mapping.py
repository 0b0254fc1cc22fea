"""Messages as JSON, as protobuf maps them: what cannot be read is told with its place, what is not known is refused."""

import json
from itertools import islice
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.gateway import Asked, Parameters
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.blame import UNFIT, descriptor, faults, misspelt
from recallmesh.rpc.literal import strict
from recallmesh.rpc.parameter import object_from_pairs
from recallmesh.rpc.weighing import too_large

M = TypeVar("M", bound=Message)

TOLD = 20
"""The most fields that are told to be wrong at once."""
UNREADABLE = (*UNFIT, RecursionError)
"""What protobuf's reader raises for what does not fit."""


def message_from_json(asked: Asked, kind: type[M]) -> M:
    """Read a request.

    Raises:
        InvalidArgument: names every field that is wrong, or the place where it stops being JSON.

    """
    try:
        value = (
            object_from_pairs(asked.pairs, descriptor(kind)) if isinstance(asked, Parameters) else loaded(asked.text)
        )
        return _read(value, kind)
    except InvalidArgument as error:
        if isinstance(asked, Parameters) or not asked.line:
            raise
        told = (FieldViolation(one.field, f"line {asked.line}: {one.description}") for one in error.violations)
        raise InvalidArgument(*told) from error


def json_from_message(message: Message) -> bytes:
    """Write an answer on one line. Numbers, texts and lists are there when they are empty, too."""
    written = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return json.dumps(written, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def loaded(text: bytes) -> dict[str, Any]:
    """Read a JSON object; nothing at all is an empty one.

    Raises:
        InvalidArgument: it is none; says where.

    """
    try:
        value = strict(text.decode() or "{}")
    except UnicodeDecodeError as error:
        raise _wrong(f"is not valid UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise _wrong(f"is no JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise _wrong("is nested too deeply") from error
    except ValueError as error:
        raise _wrong("holds a number of too many digits") from error
    if not isinstance(value, dict):
        raise _wrong("is JSON, but no object")
    return value


def _read(value: dict[str, Any], kind: type[M]) -> M:
    message = kind()
    wrong = list(islice(misspelt(value, descriptor(kind)), TOLD))
    if wrong:
        raise InvalidArgument(*wrong)
    try:
        json_format.ParseDict(value, message)
    except UNREADABLE as error:
        told = list(islice(faults(value, descriptor(kind)), TOLD))
        told = told or [FieldViolation("request", "cannot be read as what this call takes")]
        raise InvalidArgument(*told) from error
    size = message.ByteSize()
    if size > MESSAGE_BYTES:
        raise InvalidArgument(too_large(size))
    return message


def _wrong(description: str) -> InvalidArgument:
    return InvalidArgument(FieldViolation("request", description))
