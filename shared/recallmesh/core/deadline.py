"""The deadline of the call in hand: set at the door, read wherever work is passed on."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

_deadline: ContextVar[float | None] = ContextVar("recallmesh_deadline", default=None)


def remaining() -> float | None:
    """Return the seconds left for the call in hand, never negative; ``None`` when it has no deadline."""
    at = _deadline.get()
    return None if at is None else max(0.0, at - asyncio.get_running_loop().time())


def due() -> float:
    """Return the deadline of the call in hand, on the event loop's clock; infinity when it has none."""
    at = _deadline.get()
    return inf if at is None else at


@contextmanager
def within(seconds: float | None) -> Iterator[float | None]:
    """Give the work inside at most so many seconds; never more than an outer deadline leaves.

    Gives the deadline on the event loop's clock, nothing when there is none.
    """
    limits = [limit for limit in (seconds, remaining()) if limit is not None]
    at = asyncio.get_running_loop().time() + min(limits) if limits else None
    token = _deadline.set(at)
    try:
        yield at
    finally:
        _deadline.reset(token)
