"""Lists cut into parts, so that no message is beyond the limit."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from google.protobuf.message import Message

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.call import built

Value = TypeVar("Value")
Written = TypeVar("Written", bound=Message)

PART_BYTES = MESSAGE_BYTES // 2
"""Of one part: room for what stands around it, and small enough that a part is not a long wait."""


def split(values: Iterable[Value], write: Callable[[Value], Written]) -> Iterator[list[Written]]:
    """Write the values, in parts of at most ``PART_BYTES`` (one value alone may be larger)."""
    part: list[Written] = []
    size = 0
    for value in values:
        message = built(partial(write, value))
        bytes_ = message.ByteSize()
        if part and size + bytes_ > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(message)
        size += bytes_
    if part:
        yield part


def split_texts(texts: Iterable[str], *, count: int) -> Iterator[list[str]]:
    """Cut texts into parts of at most ``count`` texts and ``PART_BYTES`` bytes."""
    part: list[str] = []
    size = 0
    for text in texts:
        try:
            bytes_ = len(text.encode())
        except UnicodeEncodeError as error:
            raise InvalidArgument(FieldViolation("texts", "hold text that is not valid Unicode")) from error
        if part and (size + bytes_ > PART_BYTES or len(part) == count):
            yield part
            part, size = [], 0
        part.append(text)
        size += bytes_
    if part:
        yield part
