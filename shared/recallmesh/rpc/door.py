"""What bounds a call at the door: its deadline, how many are in hand, and how many of these are worked on at once."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from recallmesh.core.errors import Overloaded
from recallmesh.core.principal import Right
from recallmesh.rpc.turns import Turns


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """The bounds of one server.

    ``deadline_s`` is for calls that bring no deadline, ``deadline_cap_s`` the longest that counts; ``stream_s`` is both
    for calls that answer in a stream. A call that takes a stream is as long as what comes: it has the deadline it
    brings and no other, and ends when nothing came for ``stream_s``. ``at_once`` bounds the callers' calls that are
    worked on at once, those that read and those that write apart; with those that wait for their turn there are
    ``in_flight`` of either at most. Calls within the mesh do not wait, and there are ``in_flight`` of them. Before it
    is known whose a call is, ``coming`` times as many may be held. ``streams`` bounds those that take or answer a
    stream: most of these wait, and must not keep others out while they do. ``retry_after_s`` is the least that is told
    who is refused. Seconds, all greater than 0.
    """

    deadline_s: float = 30.0
    deadline_cap_s: float = 300.0
    stream_s: float = 3600.0
    at_once: int = 256
    in_flight: int = 256
    coming: int = 1
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
    """Lets so many calls in at once, and has the callers' wait for their turn."""

    def __init__(self, limits: DoorLimits) -> None:
        """Keep the bounds."""
        self.limits = limits
        self.leaving = asyncio.Event()
        """Set when the process leaves: calls that take a stream read no more of it."""
        self._inside = {(stream, own): 0 for stream in (True, False) for own in (True, False)}
        at_once = min(limits.at_once, limits.in_flight)
        self.reads, self.writes = (
            Turns(at_once, limits.in_flight - at_once, retry_after_s=limits.retry_after_s) for _ in range(2)
        )

    @property
    def inside(self) -> int:
        """How many calls are in hand, and streams open."""
        return sum(self._inside.values())

    @property
    def own(self) -> int:
        """How many calls within the mesh are in hand."""
        return self._inside[False, True]

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return self._inside[True, False] + self._inside[True, True]

    @contextmanager
    def admit(self, *, stream: bool, own: bool = False) -> Iterator[None]:
        """Hold a place for a call; one that takes or answers a ``stream`` has one of its own kind, and the mesh's own.

        Raises:
            Overloaded: there is none.

        """
        places = self.limits.places(stream=stream) * (1 if stream or own else self.limits.coming)
        if self._inside[stream, own] >= places:
            what = "streams as it keeps open" if stream else "calls as it can work on"
            raise Overloaded(f"the server has as many {what}", retry_after=timedelta(seconds=self.limits.retry_after_s))
        self._inside[stream, own] += 1
        try:
            yield
        finally:
            self._inside[stream, own] -= 1

    def turns(self, right: Right) -> Turns:
        """Return where calls wait that ask for this right: who writes does not take the turns of those who read."""
        return self.reads if right is Right.RECALL else self.writes
