"""Dates of a statement: relative ones written out beside their words, and the stretch of time it tells of."""

import re
from datetime import datetime

from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReader, TimeReading

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_SHORT = "%-d %B %Y"
_LONGEST_TOGETHER_DAYS = 31


def write_dates(text: str, reader: TimeReader, now: datetime | None) -> tuple[str, Occurrence | None]:
    """Return the text with "(7 May 2023)" after "yesterday", and when all it tells of happened.

    Without ``now`` only dates that name their year are read.
    """
    # With no moment to be relative to, any will do: what depends on it is left out.
    readings = reader.read_all(text, now or datetime.fromisoformat("2000-01-01T00:00:00+00:00"))
    kept = [reading for reading in readings if now is not None or _is_absolute(text, reading)]
    written = text
    for reading in reversed(kept):
        if not _is_absolute(text, reading):
            written = f"{written[: reading.end]} ({say(reading.occurrence)}){written[reading.end :]}"
    return written, _together([reading.occurrence for reading in kept])


def say(occurrence: Occurrence) -> str:
    """Return a stretch of time in words, as exactly as it is known."""
    start, end = occurrence.window.start, occurrence.window.end
    match occurrence.precision:
        case Precision.INSTANT | Precision.DAY:
            return start.strftime(_SHORT)
        case Precision.MONTH:
            return start.strftime("%B %Y")
        case Precision.YEAR:
            return start.strftime("%Y")
        case Precision.DECADE:
            return f"{start:%Y}s"
        case _:
            last = end.strftime(_SHORT)
            return last if start.date() == end.date() else f"{start.strftime(_SHORT)} to {last}"


def _is_absolute(text: str, reading: TimeReading) -> bool:
    return _YEAR.search(text, reading.begin, reading.end) is not None


def _together(occurrences: list[Occurrence]) -> Occurrence | None:
    """Return the narrowest of stretches within one another, a short stretch over all of them, else the first named."""
    if not occurrences:
        return None
    narrow = min(occurrences, key=lambda one: (one.window.days, one.window.start))
    if all(_is_within(narrow.window, one.window) for one in occurrences):
        return narrow
    whole = Window(min(one.window.start for one in occurrences), max(one.window.end for one in occurrences))
    # "The talk last week … since I began three years ago" is about last week, not about three years.
    return Occurrence(whole, Precision.RANGE) if whole.days <= _LONGEST_TOGETHER_DAYS else occurrences[0]


def _is_within(inner: Window, outer: Window) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
