"""Moments as a language model writes them (2026, 2026-05, 2026-05-11, 2026-05-11T14:30), read as stretches of time."""

import re
from datetime import UTC, datetime, tzinfo

from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.when import calendar

_FORM = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2})"
    r"(?P<clock>[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?)?"
)
_FIRST_YEAR, _LAST_YEAR = 2, 9998
"""Within these a moment can be read in any UTC offset."""
_UNITS = ("week", "quarter", "decade")


def read_occurrence(start: str, end: str | None, zone: tzinfo | None) -> Occurrence:
    """Return the stretch from ``start`` to ``end``, both included as exactly as they are told.

    Without ``end`` it is that of ``start``. ``zone`` is the offset of what names none, UTC if there is none.

    Raises:
        ValueError: one of them is no moment, or they stand the wrong way round; says which in words for the model.

    """
    first = _read(start, zone or UTC)
    if end is None or end.strip() == start.strip():
        return first
    last = _read(end, zone or UTC)
    if last.window.end < first.window.start:
        raise ValueError(f"{start!r} is after {end!r}")
    window = Window(first.window.start, max(first.window.end, last.window.end))
    whole = [calendar.unit(name, window.start) for name in _UNITS]
    return next((one for one in whole if one.window == window), Occurrence(window, Precision.RANGE))


def _read(text: str, zone: tzinfo) -> Occurrence:
    match = _FORM.fullmatch(text.strip())
    if match is None or not _FIRST_YEAR <= int(match["year"]) <= _LAST_YEAR:
        raise ValueError(f"{text[:40]!r} is no date of the form 2026, 2026-05, 2026-05-11 or 2026-05-11T14:30")
    year, month, day = int(match["year"]), int(match["month"] or 0), int(match["day"] or 0)
    try:
        if match["clock"]:
            moment = datetime.fromisoformat(text.strip())
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
            return Occurrence(Window(moment, moment), Precision.INSTANT)
        if match["day"]:
            return calendar.date(year, month, day, zone)
        return calendar.month(year, month, zone) if match["month"] else calendar.year(year, zone)
    except ValueError as error:
        raise ValueError(f"{text[:40]!r} is no date of the calendar") from error
