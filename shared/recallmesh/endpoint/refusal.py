"""What an endpoint's status means for whoever asked, and how what is too large is asked in parts."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from recallmesh.core.errors import MeshError, NotReady, Overloaded, StoreUnavailable
from recallmesh.endpoint.asking import TryAgain

R = TypeVar("R")

TOO_MANY = 429
TOO_LARGE = 413
LEAST_WAIT = timedelta(seconds=1)
"""When to come again, where the endpoint does not say."""

_PASSING = frozenset({408, 409, 425, 500, 502, 503, 504, 529})
_REFUSALS = {
    401: "refused this service's credential",
    403: "refused this service's credential",
    404: "knows no such model or address",
    TOO_LARGE: "takes no request as large as the smallest",
    424: "has a model that is not for this",
}


class TooLarge(Exception):
    """A request was refused for its size; ``error`` if it cannot be smaller."""

    def __init__(self, error: MeshError) -> None:
        """Keep it."""
        super().__init__(error.message)
        self.error = error


def meaning(what: str, status: int, wait_s: float | None = None) -> Exception:
    """Return what a status of ``what`` is to be raised as: to be tried again, or for good."""
    if status == TOO_MANY:
        later = LEAST_WAIT if wait_s is None else timedelta(seconds=wait_s)
        return TryAgain(Overloaded(f"{what} is asked too often", retry_after=later), wait_s)
    if status in _PASSING or status > 500:  # noqa: PLR2004 (what RFC 9110 leaves to the server)
        return TryAgain(StoreUnavailable(f"{what} failed (status {status})"), wait_s)
    refused = NotReady(f"{what} {_REFUSALS.get(status, f'refused the request (status {status})')}")
    return TooLarge(refused) if status == TOO_LARGE else refused


def uncut(_text: str) -> str:
    """Make a text no shorter."""
    return ""


async def in_parts(
    send: Callable[[tuple[str, ...]], Awaitable[tuple[R, ...]]],
    texts: tuple[str, ...],
    *,
    shorten: Callable[[str], str] = uncut,
) -> tuple[R, ...]:
    """Return one answer a text, in order: what is refused for its size is sent in halves, a text alone made shorter.

    So what comes of a text does not depend on those it was sent with. ``shorten`` makes nothing of what can be no
    shorter: then the refusal is raised.
    """
    try:
        return await send(texts)
    except TooLarge as refused:
        if len(texts) == 1:
            if not (shorter := shorten(texts[0])):
                raise refused.error from refused
            return await in_parts(send, (shorter,), shorten=shorten)
        half = len(texts) // 2
        first = await in_parts(send, texts[:half], shorten=shorten)
        return (*first, *await in_parts(send, texts[half:], shorten=shorten))
