"""Temporal links out of the window: what happened shortly before or after a hit inside it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import itemgetter

from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit

NOTHING = timedelta(0)
MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
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
    candidates: Iterable[VectorHit], seeds: Sequence[VectorHit], window: Window, reach: timedelta, most: int
) -> list[Neighbour]:
    """Link the candidates outside the window to their closest seed, of seeds that are given best first.

    At most so many: closest first, then nearer in meaning, then by id.
    """
    dated = [(seed.time, -rank, seed) for rank, seed in enumerate(seeds) if seed.time is not None]
    if not dated:
        return []
    # All seeds share a moment with the window: to what lies before it, the one that begins first is the closest.
    first = min(dated, key=lambda row: (row[0].start, -row[1]))
    last = max(dated, key=lambda row: (row[0].end, row[1]))
    found: list[tuple[timedelta, float, str, VectorHit, str]] = []
    for candidate in {hit.memory_id: hit for hit in candidates}.values():
        time = candidate.time
        if time is None or time.overlaps(window):
            continue
        if time.end < window.start:
            gap, side, (_, _, seed) = first[0].start - time.end, "before", first
        else:
            gap, side, (_, _, seed) = time.start - last[0].end, "after", last
        if gap <= NOTHING:
            gap, side = NOTHING, "during"
            seed = max((row for row in dated if row[0].overlaps(time)), key=lambda row: row[1])[2]
        if gap < reach:
            found.append((gap, -candidate.score, candidate.memory_id, candidate, f"{side} {seed.memory_id}"))
    found.sort(key=itemgetter(0, 1, 2))
    return [
        Neighbour(candidate, 1 - gap / reach, f"{gap / HOUR:.3g} h {side}" if gap else side)
        for gap, _, _, candidate, side in found[:most]
    ]
