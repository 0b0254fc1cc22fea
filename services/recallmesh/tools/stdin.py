"""Lines of standard input as they come, read so that a process that is told to end need not wait for another one."""

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

READ_BYTES = 65_536
AHEAD = 16
"""Lines that are read before anybody has asked for them."""
ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""What a backslash begins in JSON: two halves of a character, the first group: one half alone, or anything else."""


class Lines(AsyncIterator[str]):
    """The lines of a file descriptor, from a thread of its own that the process does not wait for when it ends."""

    def __init__(self, descriptor: int) -> None:
        """Read this descriptor once ``start`` is called."""
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)
        self._closed = False

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._follow, name="stdin", daemon=True).start()

    def close(self) -> None:
        """Read no more: what waits for room goes away."""
        self._closed = True
        self._room.release()

    async def __anext__(self) -> str:
        """Return the next line."""
        line = await self._read.get()
        self._room.release()
        if line is None:
            raise StopAsyncIteration
        return line

    def _follow(self) -> None:
        held: list[bytes] = []
        while piece := self._piece():
            *lines, rest = piece.split(b"\n")
            for line in lines:
                joined = b"".join((*held, line))
                held.clear()
                if not self._hand_over(whole(joined.decode("utf-8", "replace"))):
                    return
            held.append(rest)
        if last := b"".join(held):
            self._hand_over(whole(last.decode("utf-8", "replace")))
        self._hand_over(None)

    def _piece(self) -> bytes:
        try:
            return os.read(self._descriptor, READ_BYTES)
        except OSError:
            return b""

    def _hand_over(self, line: str | None) -> bool:
        """Wait until there is room for a line; returns false when nobody reads any more."""
        self._room.acquire()
        if self._closed:
            return False
        try:
            self._loop.call_soon_threadsafe(self._read.put_nowait, line)
        except RuntimeError:
            return False
        return True


def whole(line: str) -> str:
    """Write half a character as the one that stands for what cannot be read: the whole line could not be, otherwise.

    Programmes that cut texts by UTF-16 units send such halves, and nobody would get an answer.
    """
    if "\\ud" not in line and "\\uD" not in line:
        return line
    return ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], line)


@contextmanager
def open_lines() -> Iterator[Lines]:
    """Take standard input over: whoever reads it meanwhile, a process begun here among them, reads nothing."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    lines = Lines(own)
    lines.start()
    try:
        yield lines
    finally:
        lines.close()
        os.dup2(own, 0)
