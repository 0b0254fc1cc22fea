"""What bounds a call at the door: its deadline, and how many are worked on at once."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from recallmesh.core.errors import Overloaded


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """The bounds of one server.

    ``deadline_s`` is for calls that bring no deadline, ``deadline_cap_s`` the longest that counts; ``stream_s`` is both
    for calls that answer in a stream. A call that takes a stream is as long as what comes: it has the deadline it
    brings and no other, and ends when nothing came for ``stream_s``. ``in_flight`` bounds the calls worked on at once,
    ``streams`` those that take or answer a stream: most of these wait, and must not keep others out while they do.
    ``retry_after_s`` is what is told who has no place. Seconds, all greater than 0.
    """

    deadline_s: float = 30.0
    deadline_cap_s: float = 300.0
    stream_s: float = 3600.0
    in_flight: int = 256
    streams: int = 256
    retry_after_s: float = 0.5

    def places(self, *, stream: bool) -> int:
        """Return how many calls there may be at once, or streams."""
        return self.streams if stream else self.in_flight

    def seconds(self, asked: float | None, *, takes: bool, streams: bool) -> float | None:
        """Return how long a call may take that asked for so much time: one that takes a stream, or answers in one."""
        if takes:
            return asked
        if streams:
            return self.stream_s if asked is None else min(asked, self.stream_s)
        return min(self.deadline_s if asked is None else asked, self.deadline_cap_s)


class Door:
    """Lets so many calls in at once."""

    def __init__(self, limits: DoorLimits) -> None:
        """Keep the bounds."""
        self.limits = limits
        self.leaving = asyncio.Event()
        """Set when the process leaves: calls that take a stream read no more of it."""
        self._inside = {True: 0, False: 0}

    @property
    def inside(self) -> int:
        """How many calls are being worked on, and streams open."""
        return sum(self._inside.values())

    @property
    def calls(self) -> int:
        """How many calls are being worked on that are no streams."""
        return self._inside[False]

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return self._inside[True]

    @contextmanager
    def admit(self, *, stream: bool) -> Iterator[None]:
        """Hold a place for the work inside; a call that takes or answers a ``stream`` has one of its own kind.

        Raises:
            Overloaded: there is none.

        """
        if self._inside[stream] >= self.limits.places(stream=stream):
            what = "streams as it keeps open" if stream else "calls as it can work on"
            raise Overloaded(f"the server has as many {what}", retry_after=timedelta(seconds=self.limits.retry_after_s))
        self._inside[stream] += 1
        try:
            yield
        finally:
            self._inside[stream] -= 1
