"""How late the event loop is: everything that a process says waits for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from recallmesh.telemetry.metrics import Metrics

EVERY_S = 1.0


@asynccontextmanager
async def loop_watched(metrics: Metrics) -> AsyncIterator[None]:
    """Measure once a second, for as long as this is open, how much later than asked the loop wakes."""
    watching = asyncio.create_task(_watch(metrics))
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _watch(metrics: Metrics) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
