"""A passage to a server that a test can block or close: the server itself is everybody's, and not to be stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Passage:
    """Passes bytes on, both ways. Blocked, it takes connections and answers nothing, as a paused server does."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        """Take connections; on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Take no more, and cut those there are."""
        self._server.close()
        passing = tuple(self._passing)
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)
        await self._server.wait_closed()

    def block(self) -> None:
        self._open.clear()

    def unblock(self) -> None:
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._passing.add(task)
        try:
            there, back = await asyncio.open_connection(*self._to)
            try:
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(self._pass_on(reader, back))
                    ways.create_task(self._pass_on(there, writer))
            finally:
                back.transport.abort()
        except (asyncio.CancelledError, OSError, ExceptionGroup):
            pass  # the connection was cut, by a side or by the test
        finally:
            writer.transport.abort()
            self._passing.discard(task)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            await self._open.wait()
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


@asynccontextmanager
async def open_passage(host: str, port: int) -> AsyncIterator[Passage]:
    passage = Passage(host, port)
    await passage.start()
    try:
        yield passage
    finally:
        passage.unblock()
        await passage.stop()
