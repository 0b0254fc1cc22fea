"""Whose turn it is at the worker: small calls before the parts of large ones, which are still never left out."""

import asyncio
from collections import deque

SMALL_IN_A_ROW = 4
"""Small calls that may go before a large one that waits: a load of searches slows writes down but stops none."""


class Turns:
    """At most ``at_once`` calls are under way, one of them large.

    A caller that takes a turn for each part of a large call goes behind the others every time. For one event loop.
    """

    def __init__(self, *, at_once: int) -> None:
        """Start with nobody under way."""
        self._free = at_once
        self._large_free = 1
        self._small: deque[asyncio.Future[None]] = deque()
        self._large: deque[asyncio.Future[None]] = deque()
        self._in_a_row = 0

    async def take(self, *, large: bool) -> None:
        """Return when it is the caller's turn; it then owes a ``give_back``. One that is cancelled owes nothing."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._large if large else self._small).append(turn)
        self._advance()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.give_back(large=large)
            raise

    def give_back(self, *, large: bool) -> None:
        """End a turn."""
        self._free += 1
        self._large_free += large
        self._advance()

    def _advance(self) -> None:
        while self._free:
            _skip_cancelled(self._small)
            _skip_cancelled(self._large)
            large_can = bool(self._large and self._large_free)
            if self._small and not (large_can and self._in_a_row >= SMALL_IN_A_ROW):
                self._in_a_row = self._in_a_row + 1 if self._large else 0
                turn = self._small.popleft()
            elif large_can:
                self._in_a_row = 0
                self._large_free -= 1
                turn = self._large.popleft()
            else:
                return
            self._free -= 1
            turn.set_result(None)


def _skip_cancelled(waiting: deque[asyncio.Future[None]]) -> None:
    while waiting and waiting[0].cancelled():
        waiting.popleft()
