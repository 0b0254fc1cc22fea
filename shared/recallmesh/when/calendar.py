"""Days, weeks, months and longer as windows, both ends included, in a given UTC offset; pure."""

from datetime import datetime, timedelta, tzinfo

from recallmesh.core.time import Occurrence, Precision, Window

TICK = timedelta(microseconds=1)
"""The smallest step of a datetime: a window's end is the last tick before the next one's start."""
MONTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120}
PRECISIONS = {
    "day": Precision.DAY,
    "week": Precision.WEEK,
    "month": Precision.MONTH,
    "quarter": Precision.QUARTER,
    "half": Precision.RANGE,
    "year": Precision.YEAR,
    "decade": Precision.DECADE,
}
CLOCK = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
"""Units shorter than a day."""
SEASON_START = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
"""Meteorological seasons of the northern hemisphere; a winter belongs to the year it begins in."""


def stretch(start: datetime, after: datetime, precision: Precision) -> Occurrence:
    """Return everything from ``start`` to just before ``after``."""
    return Occurrence(Window(start, after - TICK), precision)


def midnight(moment: datetime) -> datetime:
    """Return the start of the moment's day in its own offset."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def plus_months(start: datetime, months: int) -> datetime:
    """Return the first day of the month so many months later, at the same time of day."""
    count = start.year * 12 + start.month - 1 + months
    return start.replace(year=count // 12, month=count % 12 + 1, day=1)


def day(moment: datetime, offset: int = 0) -> Occurrence:
    """Return the day so many days from the moment's."""
    start = midnight(moment) + timedelta(days=offset)
    return stretch(start, start + timedelta(days=1), Precision.DAY)


def date(year: int, month: int, number: int, zone: tzinfo | None) -> Occurrence:
    """Return a day of the calendar; ``ValueError`` when there is none such."""
    return day(datetime(year, month, number, tzinfo=zone))


def unit(name: str, moment: datetime, offset: int = 0) -> Occurrence:
    """Return the calendar unit (minute, hour, day, week from Monday, …) so many units from the moment's."""
    if name == "day":
        return day(moment, offset)
    if name in CLOCK:
        start = moment.replace(second=0, microsecond=0) + CLOCK[name] * offset
        start = start.replace(minute=0) if name == "hour" else start
        return stretch(start, start + CLOCK[name], Precision.INSTANT)
    start = midnight(moment)
    if name == "week":
        start = start - timedelta(days=start.weekday()) + timedelta(weeks=offset)
        return stretch(start, start + timedelta(weeks=1), Precision.WEEK)
    months = MONTHS[name]
    begun = (start.year * 12 + start.month - 1) // months * months
    start = start.replace(year=begun // 12, month=begun % 12 + 1, day=1)
    start = plus_months(start, months * offset)
    return stretch(start, plus_months(start, months), PRECISIONS[name])


def month(year: int, number: int, zone: tzinfo | None) -> Occurrence:
    """Return a month of a year."""
    return unit("month", datetime(year, number, 1, tzinfo=zone))


def year(number: int, zone: tzinfo | None) -> Occurrence:
    """Return a whole year."""
    return unit("year", datetime(number, 1, 1, tzinfo=zone))


def quarter(number_of_year: int, number: int, zone: tzinfo | None) -> Occurrence:
    """Return a quarter (1 to 4) of a year."""
    return unit("quarter", datetime(number_of_year, number * 3 - 2, 1, tzinfo=zone))


def season(name: str, number_of_year: int, zone: tzinfo | None) -> Occurrence:
    """Return the season that begins in the year."""
    start = datetime(number_of_year, SEASON_START[name], 1, tzinfo=zone)
    return stretch(start, plus_months(start, 3), Precision.SEASON)


def weekend(moment: datetime, offset: int = 0) -> Occurrence:
    """Return Saturday and Sunday of the week so many weeks from the moment's."""
    monday = unit("week", moment, offset).window.start
    return stretch(monday + timedelta(days=5), monday + timedelta(days=7), Precision.RANGE)


def rolling(name: str, count: int, moment: datetime) -> Occurrence:
    """Return the stretch of so many units that ends at the moment."""
    if name in MONTHS:
        first = plus_months(moment, -count * MONTHS[name])
        last_day = (plus_months(first, 1) - timedelta(days=1)).day
        start = first.replace(day=min(moment.day, last_day))
    else:
        start = moment - timedelta(**{f"{name}s": count})
    return Occurrence(Window(start if name in CLOCK else midnight(start), moment), Precision.RANGE)


def half(number_of_year: int, number: int, zone: tzinfo | None) -> Occurrence:
    """Return the first or the second half of a year."""
    return unit("half", datetime(number_of_year, number * 6 - 5, 1, tzinfo=zone))


def span(first: Occurrence, last: Occurrence) -> Occurrence:
    """Return everything from the first to the last, both included; ``ValueError`` when they stand the other way."""
    if first.window.start > last.window.end:
        msg = "the first is after the last"
        raise ValueError(msg)
    return Occurrence(Window(first.window.start, last.window.end), Precision.RANGE)
