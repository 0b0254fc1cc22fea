"""Spreading hits over a window: each part of it gets its best hit before any part gets its second. Pure."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit

MICROSECOND = timedelta(microseconds=1)
OPEN_ENDED = timedelta(days=3653)
"""Windows longer than a decade ("before 2023", "since 1990") are not cut evenly: nearly all of it is empty."""
LAST_PART = timedelta(days=1)
"""The last part of an open-ended window of which not all is known."""
OUTSIDE = -1
FindBucket = Callable[[Window], int]


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


def cut_for(window: Window, buckets: int, times: Iterable[Window], *, complete: bool) -> tuple[Window, ...]:
    """Cut a window for what it holds, or, if it holds more than these times, for what is likely.

    An open-ended one into the stretch that the times fill and what lies before and after it; if they are not all, into
    parts that grow with their age, so that days, months and years all have some.
    """
    if window.end - window.start <= OPEN_ENDED or buckets < 3:  # noqa: PLR2004 - one, and the two beside it
        return cut(window, buckets)
    if not complete:
        return cut_by_age(window, buckets)
    held = [time for time in times if window.start <= time.start and time.end <= window.end]
    if not held:
        return cut(window, buckets)
    filled = Window(min(time.start for time in held), max(time.end for time in held))
    before = (Window(window.start, filled.start - MICROSECOND),) if window.start < filled.start else ()
    after = (Window(filled.end + MICROSECOND, window.end),) if filled.end < window.end else ()
    return (*before, *cut(filled, buckets - len(before) - len(after)), *after)


@lru_cache(64)
def cut_by_age(window: Window, buckets: int) -> tuple[Window, ...]:
    """Cut a long window into parts of which each reaches the same number of times as far back as the one after it."""
    length = window.end - window.start
    factor = (length / LAST_PART) ** (1 / (buckets - 1))
    begins = [window.end - LAST_PART * factor**number for number in range(buckets - 2, -1, -1)]
    return tuple(
        Window(start, after - MICROSECOND)
        for start, after in pairwise([window.start, *begins, window.end + MICROSECOND])
    )


def bucket_finder(parts: Sequence[Window]) -> FindBucket:
    """Return what tells the bucket of a time: that of the middle of what it shares with the window.

    What is known less exactly than the window (less than half of it lies there: a fact of the year, for a window of a
    day) could fall anywhere and would fall in the middle. It has one bucket of its own after all others,
    ``len(parts)``: at each turn one of them may come, and no number of them takes a place that an exact one is due.
    What shares no moment with the window is ``OUTSIDE``.
    """
    opens, closes = parts[0].start, parts[-1].end
    vague = len(parts)
    # Comparing with where the buckets begin is several times as fast as dividing differences.
    begins = [part.start for part in parts]

    def bucket(time: Window) -> int:
        start, end = time.start, time.end
        if start > closes or end < opens:
            return OUTSIDE
        if start is not end:  # most are moments, made of one
            first, last = max(start, opens), min(end, closes)
            if 2 * (last - first) < end - start:
                return vague
            start = first + (last - first) // 2
        return bisect_right(begins, start) - 1

    return bucket


def numbers_of(hits: Iterable[VectorHit], bucket: FindBucket) -> list[int]:
    """Return the buckets of hits, as many."""
    return [OUTSIDE if hit.time is None else bucket(hit.time) for hit in hits]


def spread(hits: Sequence[VectorHit], numbers: Sequence[int], most: int) -> list[Placed]:
    """Order hits, given best first with their buckets, by turns and within a turn as they are given."""
    taken: dict[int, int] = {}
    turns: list[list[Placed]] = []
    for hit, number in zip(hits, numbers, strict=True):
        if number == OUTSIDE:
            continue
        turn = taken.get(number, 0)
        taken[number] = turn + 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(Placed(hit, number, turn))
    return [place for turn in turns for place in turn][:most]


def turn_score(turn: int, cosine: float) -> float:
    """Give a place a score in (0, 1]: a lower turn always beats a higher one, within a turn the nearer hit wins.

    Turn t has the stretch from 1/(t+2) to 1/(t+1), of which the cosine takes its share.
    """
    low, high = 1 / (turn + 2), 1 / (turn + 1)
    return low + (high - low) * (1 + min(max(cosine, -1.0), 1.0)) / 2


def _moments(window: Window) -> int:
    return (window.end - window.start) // MICROSECOND + 1
