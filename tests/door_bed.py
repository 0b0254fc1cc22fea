"""The JSON door over real sockets, in front of a gateway that does what a test says."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import httpx

from recallmesh.core.gateway import Caller, Method
from recallmesh.door.calls import Leaving
from recallmesh.door.starlette import build_app
from recallmesh.door.uvicorn import open_server
from recallmesh.rpc.listening import bound

METHODS = {
    name: Method(name, takes, streams, reads)
    for name, takes, streams, reads in (
        ("/t.S/Get", False, False, True),
        ("/t.S/Put", False, False, False),
        ("/t.S/Watch", False, True, True),
        ("/t.S/Load", True, False, False),
        ("/t.S/Talk", True, True, False),
    )
}


@dataclass
class ScriptedGateway:
    """Answers by a function of a test's own, and remembers what it was asked and how calls ended."""

    answers: object = None
    asked: list = field(default_factory=list)
    callers: list = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ready: Exception | None = None
    full: Exception | None = None
    """Why there is no place."""
    methods = METHODS

    def description(self):
        return b'{"openapi": "3.1.0"}'

    def caller(self, headers):
        return Caller(headers.get("x-request-id", "made"), (), headers.get("x-request-timeout-ms", ""))

    @contextmanager
    def place(self, _method):
        if self.full is not None:
            raise self.full
        yield

    async def call(self, _method, asked, caller):
        self.callers.append(caller)
        self.begun.set()
        try:
            async with aclosing(self.answers(self._noted(asked))) as answers:
                async for answer in answers:
                    yield answer
        finally:
            self.ended.set()

    async def _noted(self, asked):
        async for one in asked:
            self.asked.append(one)
            yield one

    async def check(self):
        if self.ready is not None:
            raise self.ready


@dataclass
class Bed:
    """A door that is open, and a client of it."""

    gateway: ScriptedGateway
    leaving: Leaving
    address: str
    client: httpx.AsyncClient
    seen: list


@asynccontextmanager
async def open_bed(answers, **more) -> AsyncIterator[Bed]:
    gateway, leaving, seen = ScriptedGateway(answers), Leaving(), []
    given = {"heartbeat_s": 0.05, "hosts": (), "cors_origins": ()} | {
        key: value for key, value in more.items() if key not in ("drain_s", "grace_s")
    }
    app = build_app(gateway, leaving, observe=lambda *one: seen.append(one), **given)
    ending = {"drain_s": more.get("drain_s", 0.0), "grace_s": more.get("grace_s", 1.0)}
    taken = bound("127.0.0.1:0", "listen")
    address = f"127.0.0.1:{taken.getsockname()[1]}"
    async with open_server(app, leaving, taken, **ending), open_client(address) as client:
        yield Bed(gateway, leaving, address, client, seen)


def open_client(address: str) -> httpx.AsyncClient:
    """Open a client of the test's own, which no proxy of the machine comes between."""
    return httpx.AsyncClient(base_url=f"http://{address}", timeout=20, trust_env=False)


async def echo(asked):
    """Answer each request with itself."""
    async for one in asked:
        yield one.text if hasattr(one, "text") else json.dumps(dict(one.pairs)).encode()


def events(text: str) -> list[tuple[str, object]]:
    """Return the events of a stream: what each is called, and its data."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith(":")]
        said = dict(line.split(": ", 1) for line in lines)
        if said:
            found.append((said.get("event", "message"), json.loads(said["data"])))
    return found
