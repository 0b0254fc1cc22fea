"""Loops that run beside the calls: the outbox, the operations, what is due to be forgotten."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from recallmesh.core.errors import MeshError
from recallmesh.telemetry.guard import Guard

RESTART_S = 1.0
"""Seconds before a loop that a bug ended is started again: long enough to fill no log."""

_log = structlog.get_logger("recallmesh.loops")


@asynccontextmanager
async def running(guard: Guard, *loops: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run endless loops for as long as the context is open; one that a bug ends is started again."""
    tasks = [asyncio.create_task(_kept_running(guard, loop)) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _kept_running(guard: Guard, loop: Callable[[], Coroutine[Any, Any, None]]) -> None:
    # A bug must not stop for good what acknowledged writes wait for.
    while True:
        with suppress(MeshError):
            await guard.bounded(loop())
        _log.error("a loop ended; it is started again")
        await asyncio.sleep(RESTART_S)
