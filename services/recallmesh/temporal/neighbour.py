"""Temporal links out of the window: what happened shortly before or after a hit inside it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit

NOTHING = timedelta(0)
MICROSECOND = timedelta(microseconds=1)
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory outside the window, near in time to one inside; ``closeness`` is in (0, 1], 1 for no gap."""

    hit: VectorHit
    closeness: float
    because: str


def sides(window: Window, reach: timedelta) -> tuple[Window, ...]:
    """Return the stretches just before and just after a window, as far as the calendar goes."""
    found = []
    if window.start - FIRST > MICROSECOND:
        before = window.start - MICROSECOND
        found.append(Window(max(FIRST, window.start - min(reach, window.start - FIRST)), before))
    if LAST - window.end > MICROSECOND:
        after = window.end + MICROSECOND
        found.append(Window(after, min(LAST, window.end + min(reach, LAST - window.end))))
    return tuple(found)


def neighbours(
    candidates: Iterable[VectorHit], seeds: Sequence[VectorHit], window: Window, reach: timedelta
) -> tuple[Neighbour, ...]:
    """Link the candidates outside the window to their closest seed; closest first, then nearer in meaning, then id."""
    found = [
        neighbour
        for candidate in {hit.memory_id: hit for hit in candidates}.values()
        if candidate.time is not None and not candidate.time.overlaps(window)
        for neighbour in _link(candidate, candidate.time, seeds, reach)
    ]
    return tuple(sorted(found, key=lambda item: (-item.closeness, -item.hit.score, item.hit.memory_id)))


def _link(candidate: VectorHit, time: Window, seeds: Sequence[VectorHit], reach: timedelta) -> Iterable[Neighbour]:
    gaps = [(_gap(time, seed.time), rank, seed) for rank, seed in enumerate(seeds) if seed.time is not None]
    if not gaps:
        return
    gap, _, seed = min(gaps)
    if gap < reach and seed.time is not None:
        side = "after" if time.start > seed.time.end else "before" if time.end < seed.time.start else "during"
        hours = gap / timedelta(hours=1)
        yield Neighbour(
            candidate, 1 - gap / reach, f"{hours:.3g} h {side} {seed.memory_id}" if gap else f"{side} {seed.memory_id}"
        )


def _gap(one: Window, other: Window) -> timedelta:
    return max(NOTHING, one.start - other.end, other.start - one.end)
