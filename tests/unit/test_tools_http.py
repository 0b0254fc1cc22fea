# ruff: noqa: ARG002 - fakes keep their port's names
"""A toolbox over HTTP, in this process: what is cancelled, whose key a call bears, how the server ends."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from recallmesh.core.credential import current_key
from recallmesh.core.errors import Unauthenticated
from recallmesh.core.trace_context import current_trace
from recallmesh.tools import BankChoice, Ports, Toolbox
from recallmesh.tools.mcp import PATH, http_app
from recallmesh.tools.uvicorn import serve_http

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Slow:
    """A recaller that never answers, and tells when it is asked and when it is let go."""

    def __init__(self):
        self.asked, self.left = asyncio.Event(), asyncio.Event()

    async def recall(self, request):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()


class Porter:
    """A recaller that tells nothing but which key it was asked with."""

    async def recall(self, request):
        key = current_key()
        await asyncio.sleep(0)
        raise Unauthenticated(f"the key is {key} and {current_key()}")


@asynccontextmanager
async def served(recaller):
    listening, stop = socket.create_server(("127.0.0.1", 0)), asyncio.Event()
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    reached = asyncio.get_running_loop().create_future()
    reached.set_result(Ports(recaller, None, None))
    app = http_app(Toolbox(lambda: asyncio.shield(reached), BankChoice(("b",))), [host])
    serving = asyncio.create_task(serve_http(app, [listening], stop, grace_s=1))
    try:
        yield f"http://{host}{PATH}"
    finally:
        stop.set()
        async with asyncio.timeout(20):
            await serving


@asynccontextmanager
async def spoken_to(url, mode, key=""):
    async with (
        create_mcp_http_client(headers={"authorization": f"Bearer {key}"} if key else None) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@MODES
async def test_a_call_that_is_cancelled_stops_its_work(mode):
    slow = Slow()
    async with asyncio.timeout(30), served(slow) as url, spoken_to(url, mode) as client:
        call = asyncio.create_task(client.call_tool("recall", {"query": "q"}))
        await slow.asked.wait()
        call.cancel()
        await slow.left.wait()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.list_tools()).tools


@MODES
async def test_each_call_bears_the_key_of_its_own_agent(mode):
    async with served(Porter()) as url:

        async def told(key):
            async with spoken_to(url, mode, key) as client:
                result = await client.call_tool("recall", {"query": "q"})
                return result.content[0].text.split("\n")[0]

        keys = [f"key-{number}" for number in range(5)]
        assert await asyncio.gather(*map(told, keys)) == [f"The key is {key} and {key}." for key in keys]
        assert await told("") == "The key is  and ."


@MODES
async def test_each_call_is_part_of_the_trace_of_its_own_agent(mode):
    class Traced:
        async def recall(self, request):
            raise Unauthenticated(current_trace().trace_id or "none")

    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with served(Traced()) as url:
        for headers, told in (({"traceparent": parent}, parent[3:35]), ({}, "none")):
            async with (
                create_mcp_http_client(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode) as client,
            ):
                result = await client.call_tool("recall", {"query": "q"})
                assert told in result.content[0].text.lower()


@MODES
async def test_a_server_that_is_told_to_stop_does_so_with_a_call_in_hand(mode):
    slow = Slow()
    async with asyncio.timeout(40):
        async with served(slow) as url:
            agent = asyncio.create_task(_ask(url, mode))
            await slow.asked.wait()
        await slow.left.wait()
        agent.cancel()
        await asyncio.gather(agent, return_exceptions=True)


async def _ask(url, mode):
    async with spoken_to(url, mode) as client:
        await client.call_tool("recall", {"query": "q"})
