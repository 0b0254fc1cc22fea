"""Who is next among the requests that wait for a worker."""

import asyncio
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any

OLDEST_TURN = 4
"""Every so many items one of the oldest request is taken, however large it is: nobody starves."""
MEMORY = 32
"""Items over which the time of one is averaged."""


@dataclass(slots=True, eq=False)
class Job:
    """One request's items: those still waiting, those in the threads, and the results so far.

    ``most`` of its items are worked on at once; with those of other requests too, where these have an equal ``work``
    and it ``joins``.
    """

    work: Callable[[Sequence[Any]], Sequence[Any]]
    waiting: deque[tuple[int, Any]]
    results: list[Any]
    left: int
    done: asyncio.Future[None]
    since: float = 0.0
    """When it came, on the pool's clock."""
    most: int = 1
    joins: bool = False
    running: set[Future[Any]] = field(default_factory=set)
    """Its turns in the threads that it has for itself."""
    due: float = inf
    """Its deadline, on the event loop's clock."""
    place: tuple[int, float, int] = (0, inf, 0)
    """Its size, deadline and number: the order in which jobs are served."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One item, the request that it belongs to, and its place there."""

    job: Job
    index: int
    item: Any


def place(job: Job) -> tuple[int, float, int]:
    """Return where a job stands."""
    return job.place


class Lane:
    """The requests of one urgency: the smallest first, of equal ones the first that is due; at times the oldest.

    A small request so overtakes a large one, one that comes again for more those that came after it, and under overload
    some requests are done in time; if all took turns, all would be late together.
    """

    def __init__(self) -> None:
        """Begin with nobody."""
        self.waiting = 0
        self.item_s = 0.0
        self._learned = 0
        self._numbers = count()
        self._turns = 0
        self._by_age: dict[Job, None] = {}
        self._by_size: list[Job] = []

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The requests of which something waits."""
        return tuple(self._by_size)

    def put(self, job: Job) -> None:
        """Let a request take part."""
        job.place = (len(job.waiting), job.due, next(self._numbers))
        self._by_age[job] = None
        insort(self._by_size, job, key=place)
        self.waiting += len(job.waiting)

    def take(self) -> list[Entry]:
        """Return what is worked on next, together: items of one request, and of those that join it."""
        self._turns += 1
        first = self._first(self._turns)
        taken: list[Entry] = []
        for job in (first, *self._joining(first)):
            while job.waiting and len(taken) < first.most:
                taken.append(Entry(job, *job.waiting.popleft()))
            if not job.waiting:
                self._forget(job)
        self.waiting -= len(taken)
        return taken

    def short(self) -> tuple[int, float]:
        """Return how many items are missing from what would be worked on next, and since when the oldest has waited."""
        first = self._first(self._turns + 1)
        together = (first, *self._joining(first))
        missing = first.most - sum(len(job.waiting) for job in together)
        return max(0, missing), min(job.since for job in together)

    def give_back(self, entries: Sequence[Entry]) -> None:
        """Take back what was to be worked on, each request's items for itself from now on."""
        for entry in reversed(entries):
            entry.job.joins = False
            if entry.job in self._by_age:
                entry.job.waiting.appendleft((entry.index, entry.item))
                self.waiting += 1
            else:
                entry.job.waiting.append((entry.index, entry.item))
                self.put(entry.job)

    def drop(self, job: Job) -> None:
        """Forget what of a request has not begun."""
        if job in self._by_age:
            self.waiting -= len(job.waiting)
            job.waiting.clear()
            self._forget(job)

    def learn(self, seconds: float) -> None:
        """Take note of how long an item took in its thread."""
        self._learned = min(self._learned + 1, MEMORY)
        self.item_s += (seconds - self.item_s) / self._learned

    def wait_s(self, threads: int) -> float:
        """Return how long all that waits will take."""
        return self.waiting * self.item_s / threads

    def finish_s(self, size: int, threads: int, due: float = inf) -> float:
        """Return how long a new request of that size would take that is due then; 0 before enough was seen to tell."""
        if self._learned < MEMORY:
            return 0.0
        ahead = sum(len(job.waiting) for job in self._by_size if job.place[:2] <= (size, due))
        return (ahead + size) * self.item_s / threads

    def _first(self, turn: int) -> Job:
        return self._by_size[0] if turn % OLDEST_TURN else next(iter(self._by_age))

    def _joining(self, first: Job) -> list[Job]:
        if not first.joins:
            return []
        return [job for job in self._by_size if job is not first and job.joins and job.work == first.work]

    def _forget(self, job: Job) -> None:
        del self._by_age[job]
        del self._by_size[bisect_left(self._by_size, job.place, key=place)]
