"""Lines as they come: read by a thread of their own, so that waiting for more of them blocks nobody."""

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Iterable
from threading import Thread

IDLE_S = 1.0
"""Seconds of silence after which what has come is handed on, so that `tail -f | recallmesh retain -` keeps up."""
AHEAD = 2
"""Packets read ahead at most: memory stays bounded however long the file is."""

_END = None


async def packets(lines: Iterable[str], size: int, *, idle_s: float = IDLE_S) -> AsyncIterator[tuple[str, ...]]:
    """Yield all lines, in order, in packets of ``size``, or of what there is when no more came for ``idle_s``.

    Raises what reading raised, after the lines before it.
    """
    queue: asyncio.Queue[str | BaseException | None] = asyncio.Queue(AHEAD * size)
    # A daemon: a read that waits for a person or a pipe cannot be cancelled, and must not keep the process.
    Thread(target=_read, args=(lines, queue, asyncio.get_running_loop()), daemon=True).start()
    packet: list[str] = []
    while True:
        try:
            line = await asyncio.wait_for(queue.get(), idle_s if packet else None)
        except TimeoutError:
            yield tuple(packet)
            packet = []
            continue
        if isinstance(line, str):
            packet.append(line)
            if len(packet) < size:
                continue
        if packet:
            yield tuple(packet)
            packet = []
        if isinstance(line, BaseException):
            raise line
        if line is _END:
            return


def _read(
    lines: Iterable[str], queue: asyncio.Queue[str | BaseException | None], loop: asyncio.AbstractEventLoop
) -> None:
    """Put every line into the queue, waiting where it is full; then the end, or what went wrong."""
    last: BaseException | None = _END
    try:
        for line in lines:
            if not _put(line, queue, loop):
                return
    except (OSError, ValueError) as error:  # a UnicodeDecodeError is a ValueError
        last = error
    _put(last, queue, loop)


def _put(
    entry: str | BaseException | None,
    queue: asyncio.Queue[str | BaseException | None],
    loop: asyncio.AbstractEventLoop,
) -> bool:
    putting = queue.put(entry)
    try:
        asyncio.run_coroutine_threadsafe(putting, loop).result()
    except (RuntimeError, concurrent.futures.CancelledError):
        putting.close()  # the loop has ended: nobody reads any more
        return False
    return True
