"""The embedded vector index with the banks searched lately in this process: they are searched here, by one product."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from recallmesh.core.arm import Indexed, IndexEntry, Removal
from recallmesh.core.errors import MeshError
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery
from recallmesh.vectors.embedded import (
    INDEX_FROM,
    LOCK_WAIT_S,
    QUERIES_PER_CALL,
    RESIDENT_MEMORIES,
    EmbeddedVectorIndex,
    open_embedded_vectors,
)
from recallmesh.vectors.payload import Point
from recallmesh.vectors.residence import Residence
from recallmesh.vectors.resident import ResidentBank, rows_of

WAITED_FOR = 1_000
"""Memories of a bank that its first searches wait for, some 50 ms. The worker adds up in another order, and one score
in 200 differs in its last digit; but equal questions are to have equal answers: a small bank has one place."""
THREADS = 2
"""Searches of one bank go one after the other: they share what was compared."""

T = TypeVar("T")

_log = structlog.get_logger("recallmesh.vectors")


class NearVectorIndex:
    """Fulfils ``VectorIndex`` with the answers of the index in the worker process, whichever of the two gives them.

    A bank is read into memory at its first search, a large one beside it, and told of every write that the worker made.
    What is not sure to be what the worker has is let go: after a write that failed or was abandoned, and when a worker
    has ended.
    """

    def __init__(self, there: EmbeddedVectorIndex, *, dimensions: int, resident_memories: int) -> None:
        """Stand before an open index, and hold so many memories."""
        self._there = there
        self._dimensions = dimensions
        self._most = resident_memories
        self._residence = Residence(resident_memories)
        self._ended = there.ended
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._waits: dict[str, asyncio.Future[None]] = {}  # done when nobody need wait for the loading any more
        # Who writes a bank or reads a page of it: what is applied here is so in the worker's order.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="vectors-near")

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer here what is about banks that are here, the rest in the worker."""
        self._there.refuse_other_size(queries)
        asked = dict.fromkeys(query.bank_uid for query in queries)
        banks = {bank_uid: bank for bank_uid in asked if (bank := await self._find(bank_uid)) is not None}
        if not banks:
            return await self._there.search(queries)
        far = tuple(query for query in queries if query.bank_uid not in banks)
        here = iter(await self._search_here(banks, [query for query in queries if query.bank_uid in banks]))
        there = iter(await self._there.search(far))
        return tuple([next(here if query.bank_uid in banks else there) for query in queries])

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store in parts; on an error the parts before it stay."""
        for part in self._there.parts_of(bank_uid, entries):
            async with self._changing(bank_uid) as bank:
                news = await self._there.upsert_part(bank_uid, part)
                if bank is not None and news:
                    await self._run(partial(_put, bank, [part[place] for place in news]))

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out and remember the versions."""
        async with self._changing(bank_uid) as bank:
            gone = await self._there.delete_told(bank_uid, removals)
            if bank is not None and gone:
                await self._run(partial(bank.discard, gone))

    async def drop(self, bank_uid: str) -> None:
        """Take a bank out."""
        async with self._changing(bank_uid):
            self._residence.leave(bank_uid)
            await self._there.drop(bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List from the worker's catalog."""
        return await self._there.scan(bank_uid, page)

    async def check(self) -> None:
        """Return if the worker answers."""
        await self._there.check()

    async def close(self) -> None:
        """Stop reading banks, and let them go."""
        self._residence = Residence(0)
        for task in self._loading.values():
            task.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)

    async def _find(self, bank_uid: str) -> ResidentBank | None:
        if self._there.ended != self._ended:
            self._ended = self._there.ended
            self._residence.clear()
        bank = self._residence.search(bank_uid)
        if bank is not None:
            return bank
        if bank_uid not in self._loading and self._residence.is_due(bank_uid):
            self._waits[bank_uid] = asyncio.get_running_loop().create_future()
            task = self._loading[bank_uid] = asyncio.create_task(self._load(bank_uid), name="vectors of a bank")
            task.add_done_callback(lambda _: self._loaded(bank_uid))
        if bank_uid in self._waits:
            await asyncio.shield(self._waits[bank_uid])
        return self._residence.whole(bank_uid)

    def _loaded(self, bank_uid: str) -> None:
        del self._loading[bank_uid]
        self._wait_no_more(bank_uid)

    def _wait_no_more(self, bank_uid: str) -> None:
        wait = self._waits.pop(bank_uid, None)
        if wait is not None:
            wait.set_result(None)

    async def _search_here(
        self, banks: Mapping[str, ResidentBank], queries: Sequence[VectorQuery]
    ) -> list[tuple[VectorHit, ...]]:
        answers: list[tuple[VectorHit, ...]] = []
        for first in range(0, len(queries), QUERIES_PER_CALL):  # between the parts of a large one others have a turn
            answers += await self._run(partial(_answers, banks, queries[first : first + QUERIES_PER_CALL]))
        return answers

    async def _load(self, bank_uid: str) -> None:
        try:
            size = await self._there.size(bank_uid)
            bank = ResidentBank(self._dimensions, room=min(size, self._most))
            if size > WAITED_FOR:
                self._wait_no_more(bank_uid)
            if size and self._residence.admit(bank_uid, bank, size):
                await self._fill(bank_uid, bank)
        except MeshError as error:
            self._residence.refuse(bank_uid)
            _log.warning(
                "the vectors of a bank could not be read into memory, and stay with the worker", why=error.message
            )

    async def _fill(self, bank_uid: str, bank: ResidentBank) -> None:
        after: int | None = None
        whole = False
        try:
            while not whole:
                async with self._lock(bank_uid):
                    if self._residence.bank(bank_uid) is not bank:  # it was dropped, has grown too large, made room
                        return
                    rows, after = await self._there.rows(bank_uid, after)
                    await self._run(partial(bank.put, rows))
                    whole = after is None
                    if whole and self._residence.bank(bank_uid) is bank:
                        self._residence.complete(bank_uid)
        finally:
            if not whole and self._residence.bank(bank_uid) is bank:
                self._residence.leave(bank_uid)

    @asynccontextmanager
    async def _changing(self, bank_uid: str) -> AsyncIterator[ResidentBank | None]:
        async with self._lock(bank_uid):
            bank, done = self._residence.bank(bank_uid), False
            try:
                yield bank
                done = True
            finally:
                if not done:  # an error, or who asked has gone: it may be written or not
                    self._residence.leave(bank_uid)
            self._residence.resized(bank_uid)

    def _lock(self, bank_uid: str) -> asyncio.Lock:
        return self._locks.setdefault(bank_uid, asyncio.Lock())

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


@asynccontextmanager
async def open_near_vectors(
    path: Path,
    *,
    fingerprint: str,
    dimensions: int,
    index_from: int = INDEX_FROM,
    lock_wait_s: float = LOCK_WAIT_S,
    resident_memories: int = RESIDENT_MEMORIES,
) -> AsyncIterator[VectorIndex]:
    """Open the embedded index, with so many memories held in this process; 0: none.

    Raises:
        StoreUnavailable: another process has it open, or the directory cannot be used.
        EmbeddingMismatch: it has another size under the same fingerprint; nothing is touched.

    """
    async with open_embedded_vectors(
        path, fingerprint=fingerprint, dimensions=dimensions, index_from=index_from, lock_wait_s=lock_wait_s
    ) as there:
        if not resident_memories:
            yield there
            return
        near = NearVectorIndex(there, dimensions=dimensions, resident_memories=resident_memories)
        try:
            yield near
        finally:
            await near.close()


def _put(bank: ResidentBank, points: Sequence[Point]) -> None:
    bank.put(rows_of(points))


def _answers(banks: Mapping[str, ResidentBank], queries: Sequence[VectorQuery]) -> list[tuple[VectorHit, ...]]:
    return [banks[query.bank_uid].search(query) for query in queries]
