"""Whose turn it is to be worked on: a process does few calls at once well, and many badly."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import Overloaded

MEMORY = 32
"""Turns over which the time of one is averaged; before so many have ended, nobody is refused for want of time."""
LONGEST_RETRY_S = 60.0
KNOWN = 1_000
"""More of those who have nothing here now are not remembered while others have."""

Waiting = asyncio.Future[float]
"""Given the time at which the turn began."""


@dataclass(slots=True, eq=False)
class Share:
    """What somebody has had of the places, what he has of them now, and which of his calls wait, or whose of his."""

    inside: int = 0
    waiting: int = 0
    line: dict[Waiting, None] = field(default_factory=dict)
    parts: dict[Hashable, "Share"] = field(default_factory=dict)
    past: float = 0.0
    begun: float = 0.0
    """The sum of the times at which those inside began."""

    @property
    def active(self) -> bool:
        """Tell whether anything of his is here."""
        return bool(self.inside or self.waiting)

    def had(self, now: float) -> float:
        """Return for how many seconds he has held places, all together."""
        return self.past + self.inside * now - self.begun

    def part(self, name: Hashable, now: float) -> "Share":
        """Return a part. One who was away begins where he left, but not behind all that are here."""
        part = self.parts.get(name)
        if part is not None and part.active:
            return part
        here = [other.had(now) for other in self.parts.values() if other.active]
        if not here:
            self.parts, part = {}, None
        elif len(self.parts) > KNOWN:
            self.parts = {key: other for key, other in self.parts.items() if other.active}
        part = self.parts.setdefault(name, part or Share())
        part.past = max(part.past, min(here, default=part.past))
        return part


class Turns:
    """Lets so many calls be worked on ``at_once`` and as many wait as are said; the others are refused.

    Next is who has held the places for the least time so far, by tenant, and among a tenant's calls by bank and method;
    of these the first that came. So one with two callers is served beside one with a hundred, a small call beside large
    ones, and a short one waits for no more than the next place.

    Where too many wait, who is refused is of those with the most calls waiting. A call is refused at once too when its
    deadline would pass before its turn. One that is given up, or whose deadline passes, waits no longer.
    """

    def __init__(
        self, at_once: int, waiting: int, *, retry_after_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nobody; ``retry_after_s`` is the least that is told who is refused."""
        self._at_once = at_once
        self._most = waiting
        self._retry_after_s = retry_after_s
        self._now = now
        self._all = Share()
        self._turn_s = 0.0
        self._learned = 0

    @property
    def inside(self) -> int:
        """How many are worked on."""
        return self._all.inside

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._all.waiting

    @asynccontextmanager
    async def turn(self, tenant: str, thing: Hashable) -> AsyncIterator[None]:
        """Wait for a turn and hold it while inside; ``thing`` is what of the tenant's is asked for, and how.

        Raises:
            Overloaded: too many wait already, or it would come too late.

        """
        now = self._now()
        owner = self._all.part(tenant, now)
        path = (self._all, owner, owner.part(thing, now))
        if self._all.inside < self._at_once and not self._all.waiting:
            began = self._begin(path)
        else:
            began = await self._wait(path)
        try:
            yield
        finally:
            self._end(path, began)

    def _begin(self, path: Iterable[Share]) -> float:
        now = self._now()
        for share in path:
            share.inside += 1
            share.begun += now
        return now

    def _end(self, path: Iterable[Share], began: float) -> None:
        now = self._now()
        for share in path:
            share.inside -= 1
            share.begun -= began
            share.past += now - began
        self._learned = min(self._learned + 1, MEMORY)
        self._turn_s += (now - began - self._turn_s) / self._learned
        self._advance()

    async def _wait(self, path: tuple[Share, ...]) -> float:
        self._admit(path)
        turn: Waiting = asyncio.get_running_loop().create_future()
        path[-1].line[turn] = None
        for share in path:
            share.waiting += 1
        try:
            return await turn
        except asyncio.CancelledError:
            if turn in path[-1].line:
                self._leave(path, turn)
            elif not turn.cancelled() and turn.exception() is None:
                self._end(path, turn.result())
            raise

    def _leave(self, path: Iterable[Share], turn: Waiting) -> None:
        for share in path:
            share.waiting -= 1
            share.line.pop(turn, None)

    def _advance(self) -> None:
        while self._all.waiting and self._all.inside < self._at_once:
            now = self._now()
            path = [self._all]
            while path[-1].parts:
                path.append(
                    min((part for part in path[-1].parts.values() if part.waiting), key=lambda part: part.had(now))
                )
            turn = next(iter(path[-1].line))
            self._leave(path, turn)
            if not turn.done():  # else it was given up, and has not run since
                turn.set_result(self._begin(path))

    def _admit(self, path: tuple[Share, ...]) -> None:
        """Make room for one more to wait.

        Raises:
            Overloaded: there is none, or no time.

        """
        left, wait = remaining(), self._wait_s(path[1])
        if left is not None and wait > left:
            raise self._refusal("the server has so much to do that the call would come too late")
        if self._all.waiting < self._most:
            return
        longest = self._longest(path)
        if longest == path:
            raise self._refusal("the server has as many calls as it can work on")
        turn = next(reversed(longest[-1].line))
        self._leave(longest, turn)
        if not turn.done():
            turn.set_exception(
                self._refusal("the server has as many calls as it can work on, and others wait with fewer")
            )

    def _longest(self, newcomer: tuple[Share, ...]) -> tuple[Share, ...]:
        """Return whose line is the longest, the newcomer's call counted, which goes before its equals."""
        path = [self._all]
        while parts := path[-1].parts:
            path.append(max(parts.values(), key=lambda part: (part.waiting + (part in newcomer), part in newcomer)))
        return tuple(path)

    def _wait_s(self, owner: Share) -> float:
        """Return how long one more call of a tenant will wait, so far as can be told: turns go round the tenants."""
        if self._learned < MEMORY:
            return 0.0
        rivals = sum(1 for part in self._all.parts.values() if part.waiting and part is not owner)
        ahead = min(self._all.waiting, owner.waiting * (rivals + 1) + rivals)
        return (ahead + 1) * self._turn_s / self._at_once

    def _refusal(self, why: str) -> Overloaded:
        # Half of the time in which all who wait are served: who comes then keeps the server busy.
        wait = self._all.waiting * self._turn_s / self._at_once / 2
        return Overloaded(why, retry_after=timedelta(seconds=min(max(wait, self._retry_after_s), LONGEST_RETRY_S)))
