"""Spreading hits over a window: each part of it gets its best hit before any part gets its second. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Placed:
    """A hit in its bucket. ``bucket`` and ``turn`` count from 0; the bucket's best has turn 0."""

    hit: VectorHit
    bucket: int
    turn: int


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


def spread(hits: Iterable[VectorHit], window: Window, buckets: int) -> tuple[Placed, ...]:
    """Order the hits whose time overlaps the window by turns, within a turn by score, then id; each memory once."""
    filled: dict[int, list[tuple[float, str, VectorHit]]] = defaultdict(list)
    bucket = _buckets(window, buckets)
    for hit in {hit.memory_id: hit for hit in hits}.values():
        if hit.time is not None and hit.time.overlaps(window):
            filled[bucket(hit.time)].append((-hit.score, hit.memory_id, hit))
    # Rows compare by score and id, of which no two are the same: the hits themselves are never compared.
    rows = [
        (turn, score, memory_id, number, hit)
        for number, held in filled.items()
        for turn, (score, memory_id, hit) in enumerate(sorted(held))
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
    """Return what tells the bucket of a time: thousands are asked for, so the window's own figures are made once."""
    moments = _moments(window)
    count = min(buckets, moments)
    opens, closes = window.start, window.end

    def bucket(time: Window) -> int:
        start, end = max(time.start, opens), min(time.end, closes)
        offset = start - opens if start == end else ((start - opens) + (end - opens)) // 2
        return (offset // MICROSECOND) * count // moments

    return bucket


def _moments(window: Window) -> int:
    return (window.end - window.start) // MICROSECOND + 1
