"""What the index and its worker process say to each other: calls and replies, each one length-prefixed pickle.

Both ends are this package, started one by the other over private pipes; nothing of a caller's is ever unpickled.
"""

import pickle
import struct
from dataclasses import dataclass
from typing import Any

HEADER = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Call:
    """One method of the worker's shelf with its arguments."""

    number: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a call: a value, or the name of a mesh error's class and its message."""

    number: int
    value: Any = None
    error: str = ""
    message: str = ""


def frame_of(message: Call | Reply) -> bytes:
    """Write a message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def message_in(body: bytes) -> Any:  # noqa: ANN401 -- the two ends know what they wait for
    """Read a message, given the bytes after its header."""
    return pickle.loads(body)  # noqa: S301 -- from our own child or parent, see above
