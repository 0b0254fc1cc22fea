"""The embedded vector index: qdrant-edge in a worker process, so that no search or build stops the event loop."""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from recallmesh.core.arm import Indexed, IndexEntry, Removal
from recallmesh.core.errors import EmbeddingMismatch, MeshError, StoreUnavailable, all_errors
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorHit, VectorQuery
from recallmesh.vectors.frame import HEADER, Call, Reply, frame_of, message_in
from recallmesh.vectors.payload import Point, PointRows, hits_of, point_of
from recallmesh.vectors.turns import Turns

INDEX_FROM = 20_000
"""Points without a graph from which graphs are built; as many are searched exactly in about 7 ms (384 dimensions)."""
RESIDENT_MEMORIES = 20_000
"""Memories whose vectors are held in this process too, in all banks together (``near``): about 3.4 KB each."""
POINTS_PER_CALL = 64
"""A write of this size takes the worker about 10 ms: no search waits longer for its turn."""
ROWS_PER_CALL = 128
"""Points read in a call: the worker takes 3 ms for them (384 dimensions)."""
QUERIES_PER_CALL = 16
"""A search of more is a large one: cut into parts, which let the small ones pass."""
STALL_S = 15.0
"""Seconds without a reply after which a worker that has work in hand must prove that it still can."""
CALLS_AT_ONCE = 2
"""Calls the worker has at hand: the next one is there when it is done, and an abandoned one need never be sent."""
LOCK_WAIT_S = 3.0
STOP_S = 30.0
PIPE_BYTES = 4 * 1024 * 1024

ERRORS = {error.__name__: error for error in all_errors()}


class EmbeddedVectorIndex:
    """Fulfils ``VectorIndex`` in a worker process of this one; a worker that dies is replaced at the next call."""

    def __init__(self, arguments: Sequence[str], *, dimensions: int) -> None:
        """Start workers with these arguments."""
        self._arguments = tuple(arguments)
        self._dimensions = dimensions
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._turns = Turns(at_once=CALLS_AT_ONCE)
        self._progress_at = 0.0
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._closed = False
        self.ended = 0
        """How many workers have ended: what was known of the index before need not be true any more."""

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer in as few calls of the worker as let others have their turn meanwhile."""
        if not queries:
            return ()
        self.refuse_other_size(queries)
        large = len(queries) > QUERIES_PER_CALL
        answers: list[tuple[VectorHit, ...]] = []
        while len(answers) < len(queries):
            # The worker answers as many of these as it has time for.
            part = queries[len(answers) : len(answers) + QUERIES_PER_CALL]
            answers += map(hits_of, await self._call("search", part, large=large))
        return tuple(answers)

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store in parts; on an error the parts before it stay."""
        for part in self.parts_of(bank_uid, entries):
            await self.upsert_part(bank_uid, part)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out and remember the versions."""
        await self.delete_told(bank_uid, removals)

    async def drop(self, bank_uid: str) -> None:
        """Take a bank out; its uid is never used again, so nothing of it is remembered."""
        await self._call("drop", bank_uid, large=True)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List from the catalog."""
        rows = await self._call("scan", bank_uid, page.after, page.size + 1)
        shown = tuple(Indexed(memory_id, version) for memory_id, version in rows[: page.size])
        return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")

    async def check(self) -> None:
        """Return if the worker answers, or is at work and answered others lately: busy is not down."""
        moved_lately = asyncio.get_running_loop().time() - self._progress_at < STALL_S
        if not (self._waiting and self._runs and moved_lately):
            await self._call("check")

    def refuse_other_size(self, queries: Iterable[VectorQuery]) -> None:
        """Raise ``EmbeddingMismatch`` if a vector has another size than the index."""
        for query in queries:
            if len(query.vector) != self._dimensions:
                raise EmbeddingMismatch(
                    f"a query vector has {len(query.vector)} dimensions, the index {self._dimensions}"
                )

    def parts_of(self, bank_uid: str, entries: Iterable[IndexEntry]) -> list[tuple[Point, ...]]:
        """Make the points of entries, in parts of which each is one call."""
        points = tuple(point_of(bank_uid, entry, self._dimensions) for entry in entries)
        return [points[first : first + POINTS_PER_CALL] for first in range(0, len(points), POINTS_PER_CALL)]

    async def upsert_part(self, bank_uid: str, points: tuple[Point, ...]) -> list[int]:
        """Store points in one call; returns the places of those that were news."""
        news: list[int] = await self._call("upsert", bank_uid, points, large=True)
        return news

    async def delete_told(self, bank_uid: str, removals: tuple[Removal, ...]) -> list[str]:
        """Take memories out as ``delete`` does; returns those that are not there any more by these removals."""
        if not removals:
            return []
        rows = tuple((removal.memory_id, removal.version) for removal in removals)
        gone: list[str] = await self._call("delete", bank_uid, rows, large=True)
        return gone

    async def size(self, bank_uid: str) -> int:
        """Return about how many memories of a bank there are."""
        size: int = await self._call("size", bank_uid)
        return size

    async def rows(self, bank_uid: str, after: int | None) -> tuple[PointRows, int | None]:
        """Return a part of what is stored of a bank, from a point on, and where to go on; others go first."""
        page: tuple[PointRows, int | None] = await self._call("rows", bank_uid, after, ROWS_PER_CALL, large=True)
        return page

    async def start(self) -> None:
        """Start a worker unless one runs."""
        async with self._starting:
            if self._closed:
                raise StoreUnavailable("the vector index is closed")
            if self._runs:
                return
            await self._stop()
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "recallmesh.vectors.worker",
                *self._arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=PIPE_BYTES,
                start_new_session=True,  # a Ctrl-C is for the parent, which then closes the pipe
            )
            self._process = process
            opened = None
            try:
                opened = await _read(process)
            finally:
                if opened is None or opened.error:
                    await self._stop()
            if opened is None:
                raise StoreUnavailable("the vector index's worker did not start")
            _raise_of(opened)
            self._reading = asyncio.create_task(self._read_replies(process), name="vector index replies")

    async def close(self) -> None:
        """Let the worker finish what it has, and end."""
        self._closed = True
        async with self._starting:
            await self._stop()

    @property
    def _runs(self) -> bool:
        return self._reading is not None and not self._reading.done()

    async def _call(self, method: str, *arguments: Any, large: bool = False) -> Any:  # noqa: ANN401 -- each caller knows its method
        await self._turns.take(large=large)
        number = next(self._numbers)
        # The turn ends when the worker is done, even where the caller has gone: else it would be sent ever more.
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        answered.add_done_callback(lambda _: self._turns.give_back(large=large))
        try:
            await self.start()
            process = self._process
            if process is None or process.stdin is None:
                raise StoreUnavailable("the vector index's worker is not running")
            frame = frame_of(Call(number, method, arguments))
            if not self._waiting:
                self._progress_at = asyncio.get_running_loop().time()
            self._waiting[number] = answered
            process.stdin.write(frame)
            await process.stdin.drain()
            reply = await asyncio.shield(answered)
        except (BrokenPipeError, ConnectionResetError) as error:
            self._waiting.pop(number, None)
            raise StoreUnavailable("the vector index's worker stopped") from error
        finally:
            if number not in self._waiting:
                answered.cancel()
        _raise_of(reply)
        return reply.value

    async def _read_replies(self, process: asyncio.subprocess.Process) -> None:
        try:
            while (reply := await _read(process)) is not None:
                self._progress_at = asyncio.get_running_loop().time()
                answered = self._waiting.pop(reply.number, None)
                if answered is not None:
                    answered.set_result(reply)
        finally:
            self.ended += 1
            for number, answered in self._waiting.items():
                answered.set_result(
                    Reply(number, error=StoreUnavailable.__name__, message="the vector index's worker stopped")
                )
            self._waiting.clear()

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
            with suppress(BrokenPipeError, ConnectionResetError):
                await process.stdin.wait_closed()
        try:
            async with asyncio.timeout(STOP_S):
                if self._reading is not None:
                    await asyncio.wait([self._reading])
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def open_embedded_vectors(
    path: Path,
    *,
    fingerprint: str,
    dimensions: int,
    index_from: int = INDEX_FROM,
    lock_wait_s: float = LOCK_WAIT_S,
) -> AsyncIterator[EmbeddedVectorIndex]:
    """Open the vectors of an embedding below ``path``, made where there are none.

    Raises:
        StoreUnavailable: another process has them open, or the directory cannot be used.
        EmbeddingMismatch: they have another size under the same fingerprint; nothing is touched.

    """
    arguments = ("--", str(path), fingerprint, str(dimensions), str(index_from), str(lock_wait_s))
    index = EmbeddedVectorIndex(arguments, dimensions=dimensions)
    await index.start()
    try:
        yield index
    finally:
        await index.close()


async def _read(process: asyncio.subprocess.Process) -> Reply | None:
    if process.stdout is None:
        return None
    try:
        size = HEADER.unpack(await process.stdout.readexactly(HEADER.size))[0]
        reply: Reply = message_in(await process.stdout.readexactly(size))
    except asyncio.IncompleteReadError:
        return None
    return reply


def _raise_of(reply: Reply) -> None:
    if reply.error:
        raise _error_of(reply)


def _error_of(reply: Reply) -> MeshError:
    return ERRORS[reply.error](reply.message)
