"""The credential of the call in hand: taken where a caller comes in, passed on with every call over the wire."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from recallmesh.core.errors import FieldViolation, InvalidArgument

KEY = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What a bearer key may be (RFC 6750, section 2.1); with that it can be no second header, and no other one."""
KEY_CHARS = 16_384
"""The most characters of a key: as much as a server takes of all metadata of one call."""

_key: ContextVar[str | None] = ContextVar("recallmesh_key", default=None)


def current_key() -> str:
    """Return the key that the call in hand bears; empty: it bears none."""
    return _key.get() or ""


def is_bearing() -> bool:
    """Tell whether it was said what the call in hand bears, be it nothing: then it bears nothing else."""
    return _key.get() is not None


def check_key(key: str, field: str) -> None:
    """Refuse what cannot be a key; an empty one is none.

    Raises:
        InvalidArgument: it cannot be a key. Says nothing of it: it may be one that was mistyped.

    """
    if key and (len(key) > KEY_CHARS or not KEY.fullmatch(key)):
        raise InvalidArgument(FieldViolation(field, "is no bearer key: letters, digits and - . _ ~ + / alone"))


@contextmanager
def bearing(key: str, field: str = "authorization") -> Iterator[None]:
    """Let the calls made inside bear a key; an empty one: none, whatever is borne outside. ``field`` is blamed.

    Raises:
        InvalidArgument: it cannot be a key.

    """
    check_key(key, field)
    token = _key.set(key)
    try:
        yield
    finally:
        _key.reset(token)
