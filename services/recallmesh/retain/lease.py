"""A lease on work that a dead worker's successor may take: kept while the work goes on, however long."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from recallmesh.core.errors import MeshError

_log = structlog.get_logger()
# Of a lease: two renewals may fail before it is over.
_RENEW_AT = 1 / 3


class Lease:
    """Time that a worker has for its work, prolonged again and again until the work is done."""

    def __init__(self, seconds: float, renew: Callable[[], Awaitable[bool]]) -> None:
        """Begin with so many seconds; ``renew`` asks for as many from now on, and tells whether they were given."""
        self._seconds = seconds
        self._renew = renew
        self._limit = asyncio.timeout(None)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep it while the work inside goes on, which is cancelled when it is lost.

        Raises:
            TimeoutError: it was lost, or could not be renewed in time.

        """
        async with asyncio.timeout(self._seconds) as self._limit:
            keeping = asyncio.create_task(self._keep())
            try:
                yield
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)

    def extend(self, since: float, *, held: bool) -> None:
        """Take note of a renewal that was asked for at a moment of the event loop's clock."""
        if not self._limit.expired():
            self._limit.reschedule(since + self._seconds if held else since)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._seconds * _RENEW_AT)
            began = asyncio.get_running_loop().time()
            try:
                held = await self._renew()
            except MeshError as error:
                _log.warning("lease.not_renewed", error=error.message)
            else:
                self.extend(began, held=held)
