"""An endpoint of language models on loopback that speaks OpenAI's protocol, and misbehaves as it is told to."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    reader: asyncio.StreamReader

    @property
    def system(self) -> str:
        return self.body["messages"][0]["content"]

    @property
    def material(self) -> str:
        """The words of the first message of the asker, images left out."""
        content = self.body["messages"][1]["content"]
        return content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content)

    @property
    def last(self) -> str:
        return self.body["messages"][-1]["content"]

    @property
    def passages(self) -> list[tuple[int, dict[str, Any], str]]:
        """Number, head and text of each passage, read as a model would: by the fence that the rules name."""
        fence = re.search(r'"BEGIN (\w+) n"', self.system)[1]
        found = re.findall(
            rf"^BEGIN {fence} (\d+)\n(.*?)^text:\n(.*?)\nEND {fence} \1$", self.material, re.MULTILINE | re.DOTALL
        )
        return [(int(number), _head(head), text) for number, head, text in found]


def _head(lines: str) -> dict[str, Any]:
    pairs = (line.split(": ", 1) for line in lines.splitlines())
    return {key: value if key == "said" else json.loads(value) for key, value in pairs}


Act = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


def says(content: object, *, finish="stop", refusal=None, tokens=100) -> Act:
    """Answer as a model does: with text, or with an object as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return sends({"id": "c", "object": "chat.completion", "choices": choices, "usage": {"total_tokens": tokens}})


def sends(body: object, status=200, **headers) -> Act:
    async def act(_asked, writer):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        writer.write(_head_of(status, **{"Content-Length": str(len(data)), **headers}) + data)
        await writer.drain()

    return act


def complains(message: str, status=400, **headers) -> Act:
    return sends({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status, **headers)


def answers(make: Callable[[Asked], object]) -> Act:
    """Answer with what is made of the question."""

    async def act(asked, writer):
        await says(make(asked))(asked, writer)

    return act


async def resets(_asked, writer):
    writer.transport.abort()


async def breaks_off(_asked, writer):
    writer.write(_head_of(200, **{"Content-Length": "5000"}) + b'{"choices": [')
    await writer.drain()
    writer.close()


async def hangs(asked, _writer):
    await asked.reader.read()  # until the other side has gone


async def drips(_asked, writer):
    """Send a byte now and then: every single read is in time, the answer never is."""
    writer.write(_head_of(200, **{"Content-Length": "100000"}))
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def floods(_asked, writer):
    writer.write(_head_of(200))
    while not writer.is_closing():
        writer.write(b"x" * 65_536)
        await writer.drain()


def _head_of(status: int, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode()


@dataclass
class Endpoint:
    """Acts as scripted, one act a request; then as ``always``."""

    script: list[Act] = field(default_factory=list)
    always: Act | None = None
    asked: list[Asked] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    url: str = ""
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            asked = await _read(reader)
            self.asked.append(asked)
            act = self.script.pop(0) if self.script else self.always
            assert act is not None, "the endpoint was asked once too often"
            await act(asked, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            self.under_way -= 1
            if not self.under_way:
                self.idle.set()
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if line)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split()[1], headers, json.loads(body) if body else {}, reader)


@asynccontextmanager
async def open_endpoint(*script: Act, always: Act | None = None) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(list(script), always)
    running: set[asyncio.Task] = set()

    async def serve(reader, writer):
        running.add(asyncio.current_task())
        await endpoint.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield endpoint
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
