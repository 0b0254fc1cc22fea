"""What a client sends, read no faster than it is used, and whether the client is still there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from recallmesh.core.errors import FieldViolation, InvalidArgument, Overloaded
from recallmesh.core.gateway import Written

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
DISCONNECT = "http.disconnect"


class TooLarge(Exception):
    """The body is larger than it may be."""


class Room:
    """The bytes that the bodies of all requests may take together."""

    def __init__(self, most: int) -> None:
        """Begin with all of it free."""
        self._free = most

    def take(self, size: int) -> None:
        """Take so many bytes; fewer than none are given back.

        Raises:
            Overloaded: there are not so many.

        """
        if size > self._free:
            raise Overloaded("the door holds as many bytes as it may")
        self._free -= size


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive, room: Room) -> None:
        """Read from here, and hold in this room what was read and is not given back."""
        self._receive = receive
        self._room = room
        self._held = 0
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

    def forget(self) -> None:
        """Give the room back."""
        self._hold(0)

    async def whole(self, most: int) -> bytes:
        """Return all of it.

        Raises:
            TooLarge: it has more than ``most`` bytes.
            Overloaded: there is no room for it.

        """
        read = bytearray()
        async for chunk in self.chunks():
            read += chunk
            if len(read) > most:
                raise TooLarge
            self._hold(len(read))
        return bytes(read)

    async def lines(self, most: int) -> AsyncIterator[Written]:
        """Yield each line that is not blank, as soon as it is there.

        Raises:
            InvalidArgument: a line has more than ``most`` bytes.
            Overloaded: there is no room for it.

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
            self._hold(len(rest))
        if rest.strip():
            yield _written(rest, number + 1, most)

    def _hold(self, size: int) -> None:
        self._room.take(size - self._held)
        self._held = size


def _written(line: bytearray, number: int, most: int) -> Written:
    _check_size(line, number, most)
    return Written(bytes(line), number)


def _check_size(line: bytearray, number: int, most: int) -> None:
    if len(line) > most:
        raise InvalidArgument(FieldViolation("request", f"line {number}: is longer than {most} bytes"))
