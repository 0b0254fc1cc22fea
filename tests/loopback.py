"""A real server on a loopback port and a channel to it, for contract tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recallmesh.rpc.channel import Channel, open_channel
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.server import open_server


@asynccontextmanager
async def open_loopback(*hosted: Hosted, **server) -> AsyncIterator[Channel]:
    """Serve the parts and open a channel to them."""
    given = {"drain_s": 0.0, "grace_s": 0.5, "check_interval_s": 0.1} | server
    async with open_server("127.0.0.1:0", hosted, **given) as running, open_channel(f"127.0.0.1:{running.port}") as it:
        yield it
