"""How much is asked of an endpoint at once, and how much may wait for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence, Sized
from datetime import timedelta
from typing import Protocol, TypeVar

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import ArmTimeout, Overloaded

T = TypeVar("T", bound=Sized)
R = TypeVar("R")

LONGEST_RETRY_S = 60.0
LEARNED = 0.1
"""How much the latest request counts in the mean time of a text."""


class GateWatch(Protocol):
    """Is told how a gate fares."""

    def queued(self, waiting: int, /) -> None:
        """Take note of how many texts wait to be sent."""
        ...

    def ran(self, together: int, /) -> None:
        """Take note of how many texts a request had."""
        ...

    def done(self, waited_s: float, ran_s: float, /) -> None:
        """Take note of a request that is done, of its wait and of its time at the endpoint, seconds."""
        ...


class Gate:
    """Lets so many requests through at once; each is a batch of texts, and a call is as many batches as it needs.

    Urgent ones have places of their own, so that a query does not wait behind a bulk load. Beyond ``queue`` waiting
    texts a call is refused, unless nothing waits at all: however large, it may be served then. A call that is given up
    leaves at once, with all of its requests.
    """

    def __init__(
        self, what: str, *, in_flight: int, queue: int, watch: GateWatch, now: Callable[[], float] = time.perf_counter
    ) -> None:
        """Speak of the endpoint as ``what``."""
        self._what = what
        self._places = {urgent: asyncio.Semaphore(in_flight) for urgent in (False, True)}
        self._waiting = dict.fromkeys((False, True), 0)
        self._in_flight = in_flight
        self._queue = queue
        self._watch = watch
        self._now = now
        self._text_s = 0.0

    async def run(
        self, send: Callable[[T], Awaitable[R]], batches: Sequence[T], *, urgent: bool = False
    ) -> tuple[R, ...]:
        """Return what is answered to each batch, in order; the first failure is raised and ends the call.

        Raises:
            Overloaded: too much is waiting already.
            ArmTimeout: the deadline of the call in hand passed.

        """
        if not batches:
            return ()
        if remaining() == 0:
            raise ArmTimeout(f"no time is left for {self._what}")
        self._admit(sum(map(len, batches)), urgent=urgent)
        for batch in batches:
            self._count(len(batch), urgent=urgent)
        unsent = dict(enumerate(batches))

        async def through(place: int) -> R:
            came = self._now()
            async with self._places[urgent]:
                batch = unsent.pop(place)
                self._count(-len(batch), urgent=urgent)
                began = self._now()
                answer = await send(batch)
                took = self._now() - began
            self._text_s += LEARNED * (took / len(batch) - self._text_s)
            self._watch.ran(len(batch))
            self._watch.done(began - came, took)
            return answer

        tasks = [asyncio.create_task(through(place)) for place in range(len(batches))]
        try:
            async with asyncio.timeout(remaining()):
                return tuple(await asyncio.gather(*tasks))
        except TimeoutError as error:
            raise ArmTimeout(f"{self._what} did not answer in time") from error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for batch in unsent.values():
                self._count(-len(batch), urgent=urgent)

    def _count(self, more: int, *, urgent: bool) -> None:
        self._waiting[urgent] += more
        self._watch.queued(sum(self._waiting.values()))

    def _admit(self, count: int, *, urgent: bool) -> None:
        waiting = self._waiting[urgent]
        if not waiting or waiting + count <= self._queue:
            return
        wait_s = min(max(waiting * self._text_s / self._in_flight, 1.0), LONGEST_RETRY_S)
        raise Overloaded(
            f"{waiting} texts wait for {self._what}: {count} more are too many", retry_after=timedelta(seconds=wait_s)
        )
