"""Worker threads shared by concurrent requests: fair, bounded, and quick to drop what nobody waits for."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import ArmTimeout, Overloaded, StoreUnavailable
from recallmesh.onnx.lane import Job, Lane

T = TypeVar("T")
R = TypeVar("R")

SPARE = 1
"""Items handed to the threads beyond their number, so that a finished one need not wait for the event loop."""
URGENT_RUN = 8
"""Urgent items in a row before a waiting patient one gets its turn: nobody starves."""
LONGEST_RETRY_S = 60.0


class PoolWatch(Protocol):
    """Is told how a pool fares."""

    def queued(self, waiting: int, /) -> None:
        """Take note of how many items have not begun."""
        ...

    def done(self, waited_s: float, ran_s: float, /) -> None:
        """Take note of an item that is done, of its wait for a thread and of its time there, seconds."""
        ...


class Unwatched:
    """Takes note of nothing."""

    def queued(self, _waiting: int, /) -> None:
        """Do nothing."""

    def done(self, _waited_s: float, _ran_s: float, /) -> None:
        """Do nothing."""


UNWATCHED = Unwatched()


class WorkerPool:
    """Runs pure work on threads; results come in the order of the items.

    Work is taken item by item, so a small request overtakes a large one at once; urgent ones go first.
    A request whose caller was cancelled or whose deadline passed leaves at once: only items already in a thread finish.
    Beyond ``queue`` waiting items of one urgency, or when it could not be done within its deadline,
    a request is refused, unless nothing waits at all: however large, it may be served then.
    All state is touched on the event loop only, hence no locks.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        queue: int,
        now: Callable[[], float] = time.perf_counter,
        watch: PoolWatch = UNWATCHED,
    ) -> None:
        """Start no thread yet; they start as items come."""
        self._watch = watch
        self._name = name
        self._threads = threads
        self._queue = queue
        self._now = now
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._urgent, self._patient = Lane(), Lane()
        self._in_a_row = 0
        self._busy = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """Items that have not begun."""
        return self._urgent.waiting + self._patient.waiting

    def check(self) -> None:
        """Return if work is taken.

        Raises:
            StoreUnavailable: the pool is closed.

        """
        if self._closed:
            raise self._closing()

    async def run(self, work: Callable[[T], R], items: Iterable[T], *, urgent: bool = False) -> tuple[R, ...]:
        """Return the results of the work on each item; the first failure is raised and ends the request.

        Raises:
            Overloaded: too much is waiting already.
            ArmTimeout: the deadline of the call in hand passed.
            StoreUnavailable: the pool is closed, or closes meanwhile.

        """
        self.check()
        numbered = deque(enumerate(items))
        if not numbered:
            return ()
        if remaining() == 0:
            raise ArmTimeout(f"no time is left for the {self._name}")
        lane = self._urgent if urgent else self._patient
        self._admit(lane, len(numbered))
        count = len(numbered)
        job = Job(work, numbered, [None] * count, count, asyncio.get_running_loop().create_future(), self._now())
        lane.put(job)
        self._fill()
        try:
            async with asyncio.timeout(remaining()):
                await job.done
        except TimeoutError as error:
            raise ArmTimeout(f"the {self._name} was not done in time") from error
        finally:
            self._abandon(job)
        return cast("tuple[R, ...]", tuple(job.results))

    async def close(self) -> None:
        """Fail what waits and let the threads finish what they are at."""
        self._closed = True
        for job in (*self._urgent.jobs, *self._patient.jobs):
            self._fail(job, self._closing())
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)

    def _admit(self, lane: Lane, count: int) -> None:
        if not lane.waiting:
            return
        left = remaining()
        full = lane.waiting + count > self._queue
        late = left is not None and lane.finish_s(count, self._threads) > left
        if full or late:
            raise Overloaded(
                f"the {self._name} has {lane.waiting} texts waiting: {count} more are too many",
                retry_after=timedelta(seconds=min(max(lane.wait_s(self._threads), 1.0), LONGEST_RETRY_S)),
            )

    def _fill(self) -> None:
        loop = asyncio.get_running_loop()
        while self._busy < self._threads + SPARE and self.waiting:
            lane = self._next()
            job, index, item = lane.take()
            future = self._executor.submit(self._timed, job, item)
            self._busy += 1
            job.running.add(future)
            settle = partial(self._settle, lane, job, index)
            future.add_done_callback(partial(loop.call_soon_threadsafe, settle))
        self._watch.queued(self.waiting)

    def _next(self) -> Lane:
        if self._urgent.waiting and (self._in_a_row < URGENT_RUN or not self._patient.waiting):
            self._in_a_row += 1
            return self._urgent
        self._in_a_row = 0
        return self._patient

    def _timed(self, job: Job, item: Any) -> tuple[Any, float, float]:  # noqa: ANN401 any work's items
        start = self._now()
        return job.work(item), start - job.since, self._now() - start

    def _settle(self, lane: Lane, job: Job, index: int, future: Future[tuple[Any, float, float]]) -> None:
        self._busy -= 1
        job.running.discard(future)
        if future.cancelled():  # its request has ended, or the pool is closing
            self._fail(job, self._closing())
        elif error := future.exception():
            self._fail(job, error)
        else:
            job.results[index], waited, seconds = future.result()
            lane.learn(seconds)
            self._watch.done(waited, seconds)
            job.left -= 1
            if not job.left and not job.done.done():
                job.done.set_result(None)
        if not self._closed:
            self._fill()

    def _fail(self, job: Job, error: BaseException) -> None:
        if not job.done.done():
            job.done.set_exception(error)
        self._abandon(job)

    def _closing(self) -> StoreUnavailable:
        return StoreUnavailable(f"the {self._name} is shutting down")

    def _abandon(self, job: Job) -> None:
        self._urgent.drop(job)
        self._patient.drop(job)
        for future in tuple(job.running):
            future.cancel()


@asynccontextmanager
async def open_pool(name: str, *, threads: int, queue: int, watch: PoolWatch = UNWATCHED) -> AsyncIterator[WorkerPool]:
    """Open a pool of that many threads; 0: as many as this process may use cores."""
    pool = WorkerPool(name, threads=threads or cores(), queue=queue, watch=watch)
    try:
        yield pool
    finally:
        await pool.close()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
