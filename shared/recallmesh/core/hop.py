"""Hops: what each call of a part took in one recall, and what of it was the wire's.

Who works on a recall lets its calls be noted (``noting``). Whoever calls a part takes a ``Turn`` for it; where the part
is elsewhere, the client of the wire weighs what it sends and gets in the turn's ``Load``. What a part calls in turn is
the part's own and noted nowhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import timedelta
from operator import attrgetter
from time import perf_counter
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Hop:
    """One call of a part of the mesh.

    ``start`` counts from when the recall came in. ``there``: the part is elsewhere; a call of one in this process sends
    nothing. ``inside`` is how much of ``duration`` the part worked on it, by its own account: from when it
    had the request to when it had written the answer. The rest is the wire's: writing, sending, waiting for a turn at
    either end, reading. Absent where the part does not say, as when it did not answer. ``sent`` and ``received`` are
    bytes of messages, without what HTTP/2 puts around them; absent where nobody counts them, as in a database's own
    driver. ``reason`` says why it failed; empty: it did not.
    """

    part: str
    method: str
    start: timedelta
    duration: timedelta
    there: bool = False
    inside: timedelta | None = None
    sent: int | None = 0
    received: int | None = 0
    reason: str = ""

    @property
    def wire(self) -> timedelta | None:
        """What was not the part's own work; absent where it does not say how much that was."""
        return None if self.inside is None else max(timedelta(), self.duration - self.inside)


class Load:
    """What one call of a part elsewhere weighs, over all its messages."""

    __slots__ = ("inside_s", "messages", "received", "sent")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.messages = 0
        self.sent = 0
        self.received = 0
        self.inside_s: float | None = None

    def carry(self, sent: int) -> None:
        """Add a message that is sent."""
        self.messages += 1
        self.sent += sent

    def carried(self, received: int, inside_s: float | None) -> None:
        """Add an answer, and how long the part says that it worked on it."""
        self.received += received
        if inside_s is not None:
            self.inside_s = (self.inside_s or 0.0) + inside_s


class Ended(NamedTuple):
    """A call that has ended, as it is noted: what it is made of is for those who ask."""

    part: str
    method: str
    began: float
    ended: float
    there: bool
    load: Load | None
    reason: str


class HopLog:
    """The hops of one recall, as they end."""

    __slots__ = ("_ended", "_zero")

    def __init__(self, zero: float) -> None:
        """Count from this moment of ``perf_counter``."""
        self._zero = zero
        self._ended: list[Ended] = []

    def add(self, call: Ended) -> None:
        """Take note of a call."""
        self._ended.append(call)

    def hops(self) -> tuple[Hop, ...]:
        """Return them in the order in which they began; what needed no message to a part elsewhere is none."""
        calls = sorted(self._ended, key=attrgetter("began"))
        return tuple(self._hop(call) for call in calls if call.load is None or call.load.messages or call.reason)

    def _hop(self, call: Ended) -> Hop:
        start, took = timedelta(seconds=call.began - self._zero), timedelta(seconds=call.ended - call.began)
        if not call.there:
            return Hop(call.part, call.method, start, took, inside=took, reason=call.reason)
        load, inside = call.load, None
        if load is not None and load.inside_s is not None:
            inside = timedelta(seconds=load.inside_s)
        sent, received = (None, None) if load is None else (load.sent, load.received)
        return Hop(call.part, call.method, start, took, call.there, inside, sent, received, call.reason)


_hand: ContextVar[HopLog | Load | None] = ContextVar("recallmesh_hop", default=None)
"""Where what is called now is noted, or weighed."""


@contextmanager
def noting(log: HopLog) -> Iterator[None]:
    """Let every call of a part that is made inside be noted."""
    token = _hand.set(log)
    try:
        yield
    finally:
        _hand.reset(token)


def load_in_hand() -> Load | None:
    """Return where the client of the wire adds what it carries; nothing where nobody asks."""
    held = _hand.get()
    return held if isinstance(held, Load) else None


class Turn:
    """One call of a part, from here on until its ``end``, in one task."""

    __slots__ = ("_log", "_token", "began", "load")

    def __init__(self, *, weighed: bool = False) -> None:
        """Begin; ``weighed``: a client of the wire is asked, which tells what it carries."""
        held = _hand.get()
        self._log = held if isinstance(held, HopLog) else None
        self.load = Load() if weighed else None
        self._token: Token[HopLog | Load | None] | None = None
        if weighed or self._log is not None:
            self._token = _hand.set(self.load)
        self.began = perf_counter()

    def end(self, part: str, method: str, *, there: bool, reason: str = "") -> float:
        """Take note of the call, if anybody does; returns its seconds."""
        ended = perf_counter()
        if self._token is not None:
            _hand.reset(self._token)
        if self._log is not None:
            self._log.add(Ended(part, method, self.began, ended, there, self.load, reason))
        return ended - self.began
