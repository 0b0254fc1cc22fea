"""A passage to a server that a test can block or close: the server itself is everybody's, and not to be stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Passage:
    """Passes bytes on, both ways. Blocked, it takes connections and answers nothing, as a paused server does."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def start(self) -> None:
        """Take connections; on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Take no more, and cut those there are."""
        self._server.close()
        for writer in tuple(self._writers):
            writer.close()
        await self._server.wait_closed()

    def block(self) -> None:
        self._open.clear()

    def unblock(self) -> None:
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._to)
        self._writers |= {writer, back}
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        self._writers -= {writer, back}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            await self._open.wait()
            writer.write(piece)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def open_passage(host: str, port: int) -> AsyncIterator[Passage]:
    passage = Passage(host, port)
    await passage.start()
    try:
        yield passage
    finally:
        passage.unblock()
        await passage.stop()
