"""Lines as they come: read by a thread of their own, so that waiting for more of them blocks nobody."""

import asyncio
import concurrent.futures
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock, Thread

from recallmesh.core.errors import MeshError

IDLE_S = 1.0
"""Seconds of silence after which what has come is handed on, so that `tail -f | recallmesh retain -` keeps up."""
AHEAD = 1
"""Whole packets that wait to be taken: memory stays bounded however long the file is."""

Packet = tuple[bytes, ...]
_END = None


@dataclass(slots=True)
class Cut:
    """Where packets end: first after the numbers of lines in ``sizes``, then after ``lines`` or ``size`` bytes.

    ``weigh`` says how many bytes a line counts for.
    """

    lines: int
    size: int = 1 << 20
    sizes: deque[int] = field(default_factory=deque)
    weigh: Callable[[bytes], int] = len

    def is_whole(self, lines: int, size: int) -> bool:
        """Tell whether a packet of so many lines and bytes ends here."""
        if self.sizes:
            if lines < self.sizes[0]:
                return False
            self.sizes.popleft()
            return True
        return lines >= self.lines or size >= self.size


async def packets(lines: Iterable[bytes], cut: Cut, *, idle_s: float = IDLE_S) -> AsyncIterator[Packet]:
    """Yield all lines, in order, in packets, or what there is of one when no more came for ``idle_s``.

    Raises what reading raised, after the lines before it.
    """
    whole: asyncio.Queue[Packet | BaseException | None] = asyncio.Queue(AHEAD)
    begun = _Begun(cut)
    # A daemon: a read that waits for a person or a pipe cannot be cancelled, and must not keep the process.
    Thread(target=_read, args=(lines, begun, whole, asyncio.get_running_loop()), daemon=True).start()
    while True:
        try:
            packet = await asyncio.wait_for(whole.get(), idle_s)
        except TimeoutError:
            # A packet that became whole meanwhile comes first; until it is taken the thread begins no other.
            if whole.empty() and (part := begun.part()):
                yield part
            continue
        if isinstance(packet, BaseException):
            raise packet
        if packet is _END:
            return
        yield packet


class _Begun:
    """The packet that a thread fills, and that is taken as it is when no more comes."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._lock = Lock()
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, line: bytes) -> Packet:
        """Add a line; returns the packet if it is whole, else nothing."""
        weight = self._cut.weigh(line)
        with self._lock:
            self._lines.append(line)
            self._size += weight
            return self._taken() if self._cut.is_whole(len(self._lines), self._size) else ()

    def part(self) -> Packet:
        """Return what has come; nothing while it has an end that was set beforehand."""
        with self._lock:
            return () if self._cut.sizes else self._taken()

    def rest(self) -> Packet:
        """Return what has come, when no more will."""
        with self._lock:
            return self._taken()

    def _taken(self) -> Packet:
        lines, self._lines, self._size = tuple(self._lines), [], 0
        return lines


def _read(
    lines: Iterable[bytes],
    begun: _Begun,
    whole: asyncio.Queue[Packet | BaseException | None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Put every packet into the queue, waiting where it is full; then the end, or what went wrong."""
    last: BaseException | None = _END
    try:
        for line in lines:
            packet = begun.add(line)
            if packet and not _put(packet, whole, loop):
                return
    except (OSError, ValueError, MeshError) as error:
        last = error
    rest = begun.rest()
    if not rest or _put(rest, whole, loop):
        _put(last, whole, loop)


def _put(
    entry: Packet | BaseException | None,
    queue: asyncio.Queue[Packet | BaseException | None],
    loop: asyncio.AbstractEventLoop,
) -> bool:
    putting = queue.put(entry)
    try:
        asyncio.run_coroutine_threadsafe(putting, loop).result()
    except (RuntimeError, concurrent.futures.CancelledError):
        putting.close()  # the loop has ended: nobody reads any more
        return False
    return True
