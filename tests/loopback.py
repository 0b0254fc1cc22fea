"""A real server on a loopback port and a channel to it, for contract tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from recallmesh.core.errors import StoreUnavailable
from recallmesh.rpc.channel import Channel, open_channel
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.server import open_server

READY_S = 120
READY_STEP_S = 0.02


class Checked(Protocol):
    """Any port that says whether it can work."""

    check: Callable[[], Awaitable[None]]


@asynccontextmanager
async def open_loopback(*hosted: Hosted, **server) -> AsyncIterator[Channel]:
    """Serve the parts and open a channel to them."""
    given = {"drain_s": 0.0, "grace_s": 0.5, "check_interval_s": 0.1} | server
    async with open_server("127.0.0.1:0", hosted, **given) as running, open_channel(f"127.0.0.1:{running.port}") as it:
        yield it


async def until_ready(part: Checked) -> None:
    """Wait for a part to be ready; a server says so a moment after it listens."""
    async with asyncio.timeout(READY_S):
        while True:
            try:
                return await part.check()
            except StoreUnavailable:
                await asyncio.sleep(READY_STEP_S)
