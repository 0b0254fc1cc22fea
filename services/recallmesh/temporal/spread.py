"""Spreading hits over a window: each part of it gets its best hit before any part gets its second. Pure."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit

MICROSECOND = timedelta(microseconds=1)
OUTSIDE = -1


class Placed(NamedTuple):
    """A hit in its bucket. ``bucket`` and ``turn`` count from 0; the bucket's best has turn 0."""

    hit: VectorHit
    bucket: int
    turn: int


@lru_cache(256)
def cut(window: Window, buckets: int) -> tuple[Window, ...]:
    """Cut a window into equal buckets that share no moment; fewer if it has fewer microseconds."""
    moments = _moments(window)
    count = min(buckets, moments)
    # Offset o is in bucket o * count // moments; so bucket i starts at the least o that gives i.
    starts = [-(-i * moments // count) for i in range(count)] + [moments]
    return tuple(
        Window(window.start + first * MICROSECOND, window.start + (after - 1) * MICROSECOND)
        for first, after in pairwise(starts)
    )


def bucket_of(window: Window, buckets: int, time: Window) -> int:
    """Return the bucket that holds the middle of what the time shares with the window."""
    return _buckets(window, buckets)(time)


def filled(hits: Iterable[VectorHit], window: Window, buckets: int) -> Counter[int]:
    """Count the hits of each bucket."""
    bucket = _buckets(window, buckets)
    return Counter([bucket(hit.time) for hit in hits if hit.time is not None])


def spread(hits: Iterable[VectorHit], window: Window, buckets: int) -> tuple[Placed, ...]:
    """Order the hits whose time overlaps the window by turns, within a turn by score, then id; each memory once."""
    held: dict[int, list[tuple[float, str, VectorHit]]] = defaultdict(list)
    bucket = _buckets(window, buckets)
    for hit in {hit.memory_id: hit for hit in hits}.values():
        if hit.time is not None:
            held[bucket(hit.time)].append((-hit.score, hit.memory_id, hit))
    held.pop(OUTSIDE, None)
    # Rows compare by score and id, of which no two are the same: the hits themselves are never compared.
    rows = [
        (turn, score, memory_id, number, hit)
        for number, listed in held.items()
        for turn, (score, memory_id, hit) in enumerate(sorted(listed))
    ]
    rows.sort()
    return tuple([Placed(hit, number, turn) for turn, _, _, number, hit in rows])


def turn_score(turn: int, cosine: float) -> float:
    """Give a place a score in (0, 1]: a lower turn always beats a higher one, within a turn the nearer hit wins.

    Turn t has the stretch from 1/(t+2) to 1/(t+1), of which the cosine takes its share.
    """
    low, high = 1 / (turn + 2), 1 / (turn + 1)
    return low + (high - low) * (1 + min(max(cosine, -1.0), 1.0)) / 2


def _buckets(window: Window, buckets: int) -> Callable[[Window], int]:
    """Return what tells the bucket of a time, OUTSIDE where it shares no moment with the window."""
    opens, closes = window.start, window.end

    # Comparing with where the buckets begin is several times as fast as dividing differences.
    begins = [part.start for part in cut(window, buckets)]

    def bucket(time: Window) -> int:
        start, end = time.start, time.end
        if start > closes or end < opens:
            return OUTSIDE
        if start is not end:  # most are moments, made of one
            start, end = max(start, opens), min(end, closes)
            start += (end - start) // 2
        return bisect_right(begins, start) - 1

    return bucket


def _moments(window: Window) -> int:
    return (window.end - window.start) // MICROSECOND + 1
