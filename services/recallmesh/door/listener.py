"""Waits for the next answer for a while, and then goes on waiting for the same one."""

import asyncio
from collections.abc import AsyncGenerator


class Listener:
    """One who listens to a stream of answers."""

    def __init__(self, answers: AsyncGenerator[bytes, None]) -> None:
        """Begin to wait for the first."""
        self._answers = answers
        self._coming = self._next()

    async def come(self, timeout_s: float, unless: asyncio.Event) -> bool:
        """Wait for the next answer, the end or a fault: whether one is there before the time is up or it is over."""
        over = asyncio.ensure_future(unless.wait())
        try:
            await asyncio.wait((self._coming, over), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
        return self._coming.done()

    def check(self) -> None:
        """Raise the fault that has come, if one has."""
        if self._coming.done():
            self._coming.result()

    def take(self) -> bytes | None:
        """Return the answer that has come, nothing at the end, and begin to wait for the one after it."""
        answer = self._coming.result()
        if answer is not None:
            self._coming = self._next()
        return answer

    async def leave(self) -> None:
        """Listen no more."""
        self._coming.cancel()
        await asyncio.gather(self._coming, return_exceptions=True)

    def _next(self) -> asyncio.Future[bytes | None]:
        return asyncio.ensure_future(anext(self._answers, None))
