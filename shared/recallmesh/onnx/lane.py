"""Who is next among the requests that wait for a worker."""

import asyncio
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Any

OLDEST_TURN = 4
"""Every so many items one of the oldest request is taken, however large it is: nobody starves."""
MEMORY = 32
"""Items over which the time of one is averaged."""


@dataclass(slots=True, eq=False)
class Job:
    """One request's items: those still waiting, those in the threads, and the results so far."""

    work: Callable[[Any], Any]
    waiting: deque[tuple[int, Any]]
    results: list[Any]
    left: int
    done: asyncio.Future[None]
    since: float = 0.0
    """When it came, on the pool's clock."""
    running: set[Future[tuple[Any, float, float]]] = field(default_factory=set)
    place: tuple[int, int] = (0, 0)
    """Its size and its number: the order in which jobs are served."""


def place(job: Job) -> tuple[int, int]:
    """Return where a job stands."""
    return job.place


class Lane:
    """The requests of one urgency: the smallest first, equal ones as they came, and now and then the oldest.

    A small request so overtakes a large one, and under overload some requests are done in time; if all took turns,
    all would be late together.
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
        job.place = (len(job.waiting), next(self._numbers))
        self._by_age[job] = None
        insort(self._by_size, job, key=place)
        self.waiting += len(job.waiting)

    def take(self) -> tuple[Job, int, Any]:
        """Return the next item, with its request and its place there."""
        self._turns += 1
        job = self._by_size[0] if self._turns % OLDEST_TURN else next(iter(self._by_age))
        index, item = job.waiting.popleft()
        self.waiting -= 1
        if not job.waiting:
            self._forget(job)
        return job, index, item

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

    def finish_s(self, size: int, threads: int) -> float:
        """Return how long a new request of that size would take; 0 before enough was seen to tell."""
        if self._learned < MEMORY:
            return 0.0
        ahead = sum(len(job.waiting) for job in self._by_size if job.place[0] <= size)
        return (ahead + size) * self.item_s / threads

    def _forget(self, job: Job) -> None:
        del self._by_age[job]
        del self._by_size[bisect_left(self._by_size, job.place, key=place)]
