"""When an endpoint is asked again: what fails in passing is, while there is time and it does not say otherwise."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import structlog

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import MeshError, Overloaded
from recallmesh.core.time import as_utc

T = TypeVar("T")

TRIES = 4
"""How often a request is sent at most, when it fails in passing."""
LONGEST_WAIT_S = 60.0
"""An endpoint that says to come again later than this is not waited for."""

_log = structlog.get_logger()


class TryAgain(Exception):
    """A try failed in passing: ``error`` if it stays so, ``wait_s`` if the endpoint said how long to wait."""

    def __init__(self, error: MeshError, wait_s: float | None = None) -> None:
        """Keep both."""
        super().__init__(error.message)
        self.error = error
        self.wait_s = wait_s


class Asking:
    """Sends the requests of one endpoint, each again if it fails in passing; what is sent must be safe to send twice.

    ``first_pause_s`` is left before the second try, each pause after is twice the one before, and up to half of it is
    left to chance. Whoever asks while the endpoint wants to be left alone waits as well. Each try holds ``place``,
    which may bound how many are under way; absent: nothing does.
    """

    def __init__(
        self,
        what: str,
        *,
        first_pause_s: float,
        random: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        place: AbstractAsyncContextManager[object] | None = None,
    ) -> None:
        """Speak of the endpoint as ``what``, in the log."""
        self._what = what
        self._first_pause_s = first_pause_s
        self._random = random
        self._sleep = sleep
        self._place = nullcontext() if place is None else place
        self._not_before = 0.0

    async def ask(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return what the endpoint answers.

        Raises:
            MeshError: what a try said it would be, if it stays so.

        """
        pause = self._first_pause_s
        for left in reversed(range(TRIES)):
            try:
                async with self._place:
                    await self._wait_turn()
                    return await send()
            except TryAgain as failed:
                wait = pause * (0.5 + self._random() / 2) if failed.wait_s is None else failed.wait_s
                time = remaining()
                if not left or wait > LONGEST_WAIT_S or (time is not None and wait >= time):
                    raise failed.error from failed
                _log.info("endpoint.retried", endpoint=self._what, error=failed.error.message, wait_s=wait)
                if isinstance(failed.error, Overloaded):
                    # Whoever else is about to ask would be refused as well.
                    self._not_before = max(self._not_before, asyncio.get_running_loop().time() + wait)
                await self._sleep(wait)
                pause *= 2
        raise AssertionError  # the last try returns or raises

    async def _wait_turn(self) -> None:
        wait = self._not_before - asyncio.get_running_loop().time()
        if wait > 0:
            await self._sleep(wait)


def retry_after_s(said: str, now: datetime) -> float | None:
    """Return the seconds that a ``Retry-After`` says to wait, if it does: a number, or until a date (RFC 9110)."""
    said = said.strip()
    if said.isdecimal():
        return float(said)
    try:
        until: datetime = as_utc(parsedate_to_datetime(said))
    except ValueError:
        return None
    return max(0.0, (until - now).total_seconds())
