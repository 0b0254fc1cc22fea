"""A real HTTP server on loopback that receives posts, and answers as a test says: late, wrongly, elsewhere."""

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

LONG_S = 30


@dataclass(frozen=True)
class Post:
    """What arrived."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> dict:
        return json.loads(self.body)

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]

    def is_signed_by(self, key: bytes) -> bool:
        """Check the signature as a receiver would, by hand."""
        signed = b".".join((self.event_id.encode(), self.headers["webhook-timestamp"].encode(), self.body))
        digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return f"v1,{digest}" in self.headers["webhook-signature"].split()


Answer = Callable[[Post], Awaitable[str]]


async def take(_post: Post) -> str:
    return "HTTP/1.1 204 No Content\r\n\r\n"


def always(status: str, *headers: str) -> Answer:
    async def answer(_post: Post) -> str:
        return "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", "content-length: 0", *headers, ""))

    return answer


async def never(_post: Post) -> str:
    await asyncio.sleep(LONG_S)
    return ""


async def garbage(_post: Post) -> str:
    return "this is no HTTP\r\n\r\n"


@dataclass
class Receiver:
    """The posts so far, and how the next ones are answered."""

    answer: Answer = take
    posts: list[Post] = field(default_factory=list)
    port: int = 0

    def url(self, host: str = "127.0.0.1", path: str = "/hook?x=1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            post = Post(head[0].split()[1], headers, body)
            self.posts.append(post)
            writer.write((await self.answer(post)).encode())
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def open_receiver(answer: Answer = take, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(answer)
    tasks: set[asyncio.Task] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(receiver.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tuple(tasks), return_exceptions=True)
