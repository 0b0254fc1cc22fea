"""The reading of queries for a time, on threads of its own: a long one delays no other work, nor waits for it."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime

from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.when import TimeReader, TimeReading

THREADS = 2
"""A query is read in about 1 ms, the longest in 5: two threads read more than a process can answer."""


class ThreadedTimes:
    """Fulfils ``QueryTimes``: reads at most as many queries at once as it has threads.

    Those that wait are bounded by the calls in hand: one whose call was given up is not read.
    """

    def __init__(self, reader: TimeReader, threads: Executor) -> None:
        """Read by this reader on these threads, which an ``open_times`` closes."""
        self._reader = reader
        self._threads = threads

    async def read(self, text: str, now: datetime) -> TimeReading | None:
        """Return the period that a query asks about (see ``TimeReader.read``)."""
        try:
            future = asyncio.get_running_loop().run_in_executor(self._threads, self._reader.read, text, now)
        except RuntimeError as error:  # the executor's word for being shut down
            raise StoreUnavailable("recall is shutting down") from error
        return await future


@asynccontextmanager
async def open_times(reader: TimeReader, *, threads: int = THREADS) -> AsyncIterator[ThreadedTimes]:
    """Open threads for the reading of queries; what is under way at the end is read to its end."""
    executor = ThreadPoolExecutor(threads, thread_name_prefix="times")
    try:
        yield ThreadedTimes(reader, executor)
    finally:
        await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)
