"""What a client sends, read no faster than it is used, and whether the client is still there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.gateway import Written

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
DISCONNECT = "http.disconnect"


class TooLarge(Exception):
    """The body is larger than it may be."""


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive) -> None:
        """Read from here."""
        self._receive = receive
        self._read = asyncio.Event()
        self._left = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what comes; a client that leaves midway is waited for until ``gone`` has ended the call."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == DISCONNECT:
                self._left.set()
                self._read.set()
                await asyncio.get_running_loop().create_future()
            yield message.get("body", b"")
            more = message.get("more_body", False)
        self._read.set()

    def skip(self) -> None:
        """Leave it unread: what is asked is not in it."""
        self._read.set()

    async def gone(self) -> None:
        """Return when the client has left."""
        await self._read.wait()
        while not self._left.is_set():
            if (await self._receive())["type"] == DISCONNECT:
                self._left.set()

    async def whole(self, most: int) -> bytes:
        """Return all of it.

        Raises:
            TooLarge: it has more than ``most`` bytes.

        """
        read = bytearray()
        async for chunk in self.chunks():
            read += chunk
            if len(read) > most:
                raise TooLarge
        return bytes(read)

    async def lines(self, most: int) -> AsyncIterator[Written]:
        """Yield each line that is not blank, as soon as it is there.

        Raises:
            InvalidArgument: a line has more than ``most`` bytes.

        """
        number, rest = 0, bytearray()
        async for chunk in self.chunks():
            rest += chunk
            if b"\n" in chunk:
                *whole, rest = rest.split(b"\n")
                for line in whole:
                    number += 1
                    if line.strip():
                        yield _written(line, number, most)
            _check_size(rest, number + 1, most)
        if rest.strip():
            yield _written(rest, number + 1, most)


def _written(line: bytearray, number: int, most: int) -> Written:
    _check_size(line, number, most)
    return Written(bytes(line), number)


def _check_size(line: bytearray, number: int, most: int) -> None:
    if len(line) > most:
        raise InvalidArgument(FieldViolation("request", f"line {number}: is longer than {most} bytes"))
