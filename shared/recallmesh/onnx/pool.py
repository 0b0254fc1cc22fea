"""Worker threads shared by concurrent requests: fair, bounded, and quick to drop what nobody waits for."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from recallmesh.core.deadline import due, remaining
from recallmesh.core.errors import ArmTimeout, Overloaded, StoreUnavailable
from recallmesh.onnx.lane import Entry, Job, Lane

T = TypeVar("T")
R = TypeVar("R")

SPARE = 1
"""Single items handed to the threads beyond their number, so that a finished one need not wait for the event loop."""
URGENT_RUN = 8
"""Urgent items in a row before a waiting patient one gets its turn: nobody starves."""
LONGEST_RETRY_S = 60.0


class PoolWatch(Protocol):
    """Is told how a pool fares."""

    def queued(self, waiting: int, /) -> None:
        """Take note of how many items have not begun."""
        ...

    def ran(self, together: int, /) -> None:
        """Take note of how many items were worked on together."""
        ...

    def done(self, waited_s: float, ran_s: float, /) -> None:
        """Take note of an item that is done, of its wait for a thread and of its share of the time there, seconds."""
        ...


class Unwatched:
    """Takes note of nothing."""

    def queued(self, _waiting: int, /) -> None:
        """Do nothing."""

    def ran(self, _together: int, /) -> None:
        """Do nothing."""

    def done(self, _waited_s: float, _ran_s: float, /) -> None:
        """Do nothing."""


UNWATCHED = Unwatched()


@dataclass(frozen=True, slots=True)
class Batching:
    """How items are worked on together: at most ``size``, for which the first waits ``wait_s`` seconds at most.

    By itself nothing waits: while the threads are at work, what comes adds up to the next batch.
    """

    size: int = 1
    wait_s: float = 0.0


ALONE = Batching()
"""Each item is worked on by itself."""


class WorkerPool:
    """Runs pure work on threads; results come in the order of the items.

    Work is taken item by item, or batch by batch, so a small request overtakes a large one at once; urgent ones go
    first.
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
        batching: Batching = ALONE,
    ) -> None:
        """Start no thread yet; they start as items come."""
        self._batching = batching
        self._spare = SPARE if batching.size == 1 else 0
        self._later: asyncio.TimerHandle | None = None
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
        return cast("tuple[R, ...]", await self._run(partial(_each, work), list(items), urgent=urgent, most=1))

    async def run_together(
        self,
        work: Callable[[Sequence[T]], Sequence[R]],
        items: Iterable[T],
        *,
        size: Callable[[T], int],
        urgent: bool = False,
    ) -> tuple[R, ...]:
        """Return the results of work that takes several items at once, those of other requests with equal work too.

        The items of a request are taken by ``size``, the largest first: those of like size come together, so that
        little of a batch is padding. Work that fails is done again for each request by itself.

        Raises:
            Overloaded, ArmTimeout, StoreUnavailable: as ``run`` does.

        """
        most = self._batching.size
        found = await self._run(work, list(items), urgent=urgent, most=most, size=size if most > 1 else None)
        return cast("tuple[R, ...]", found)

    async def _run(
        self,
        work: Callable[[Sequence[Any]], Sequence[Any]],
        items: list[Any],
        *,
        urgent: bool,
        most: int,
        size: Callable[[Any], int] | None = None,
    ) -> tuple[Any, ...]:
        self.check()
        if not items:
            return ()
        if remaining() == 0:
            raise ArmTimeout(f"no time is left for the {self._name}")
        lane = self._urgent if urgent else self._patient
        count = len(items)
        self._admit(lane, count)
        numbered = list(enumerate(items))
        if size is not None:
            numbered.sort(key=lambda entry: -size(entry[1]))
        done = asyncio.get_running_loop().create_future()
        job = Job(work, deque(numbered), [None] * count, count, done, self._now(), most, joins=most > 1)
        job.due = due()
        lane.put(job)
        self._fill()
        try:
            async with asyncio.timeout(remaining()):
                await job.done
        except TimeoutError as error:
            raise ArmTimeout(f"the {self._name} was not done in time") from error
        finally:
            self._abandon(job)
        return tuple(job.results)

    async def close(self) -> None:
        """Fail what waits and let the threads finish what they are at."""
        self._closed = True
        if self._later is not None:
            self._later.cancel()
        for job in (*self._urgent.jobs, *self._patient.jobs):
            self._end(job, self._closing())
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)

    def _admit(self, lane: Lane, count: int) -> None:
        if not lane.waiting:
            return
        left = remaining()
        full = lane.waiting + count > self._queue
        late = left is not None and lane.finish_s(count, self._threads, due()) > left
        if full or late:
            raise Overloaded(
                f"the {self._name} has {lane.waiting} texts waiting: {count} more are too many",
                retry_after=timedelta(seconds=min(max(lane.wait_s(self._threads), 1.0), LONGEST_RETRY_S)),
            )

    def _fill(self) -> None:
        loop = asyncio.get_running_loop()
        while self._busy < self._threads + self._spare and self.waiting:
            lane = self._next()
            if self._waits_for_more(lane):
                break
            entries = lane.take()
            future = self._executor.submit(self._timed, entries)
            self._busy += 1
            if all(entry.job is entries[0].job for entry in entries):
                entries[0].job.running.add(future)
            settle = partial(self._settle, lane, entries)
            future.add_done_callback(partial(loop.call_soon_threadsafe, settle))
        self._watch.queued(self.waiting)

    def _next(self) -> Lane:
        if self._urgent.waiting and (self._in_a_row < URGENT_RUN or not self._patient.waiting):
            self._in_a_row += 1
            return self._urgent
        self._in_a_row = 0
        return self._patient

    def _waits_for_more(self, lane: Lane) -> bool:
        if not self._batching.wait_s:
            return False
        missing, since = lane.short()
        left = since + self._batching.wait_s - self._now()
        if not missing or left <= 0:
            return False
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(left, self._fill)
        return True

    def _timed(self, entries: Sequence[Entry]) -> tuple[Sequence[Any], float, float]:
        start = self._now()
        results = entries[0].job.work([entry.item for entry in entries])
        return results, start, self._now() - start

    def _settle(self, lane: Lane, entries: list[Entry], future: Future[tuple[Sequence[Any], float, float]]) -> None:
        self._busy -= 1
        for entry in entries:
            entry.job.running.discard(future)
        if future.cancelled():  # its request has ended, or the pool is closing
            self._fail(entries, self._closing())
        elif error := future.exception():
            self._fail(entries, error, lane)
        else:
            results, start, seconds = future.result()
            self._watch.ran(len(entries))
            share = seconds / len(entries)
            for entry, result in zip(entries, results, strict=True):
                lane.learn(share)
                self._watch.done(start - entry.job.since, share)
                entry.job.results[entry.index] = result
                entry.job.left -= 1
                if not entry.job.left and not entry.job.done.done():
                    entry.job.done.set_result(None)
        if not self._closed:
            self._fill()

    def _fail(self, entries: Sequence[Entry], error: BaseException, lane: Lane | None = None) -> None:
        jobs = dict.fromkeys(entry.job for entry in entries)
        if len(jobs) > 1 and lane is not None and not self._closed:
            # Whose item it was is not known: each has them done again, by itself.
            lane.give_back([entry for entry in entries if not entry.job.done.done()])
            return
        for job in jobs:
            self._end(job, error)

    def _end(self, job: Job, error: BaseException) -> None:
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
async def open_pool(
    name: str, *, threads: int, queue: int, watch: PoolWatch = UNWATCHED, batching: Batching = ALONE
) -> AsyncIterator[WorkerPool]:
    """Open a pool of that many threads; 0: as many as this process may use cores."""
    pool = WorkerPool(name, threads=threads or cores(), queue=queue, watch=watch, batching=batching)
    try:
        yield pool
    finally:
        await pool.close()


def _each(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return [work(item) for item in items]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
