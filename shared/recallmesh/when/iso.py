"""Dates in figures, the same in every language; a date that could be read two ways is no date."""

import re
from datetime import datetime

from recallmesh.core.time import Occurrence
from recallmesh.when import calendar

YEAR = r"(?P<year>(?:1[89]|2[0-2])\d\d)"
DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
MONTH = r"(?P<month>0?[1-9]|1[0-2])"
EDGE = r"(?<![0-9A-Za-z_À-ɏ/.:-])"
"""Not within a word or a number; Han, kana and Hangul may touch a date."""
END = r"(?![0-9A-Za-z_À-ɏ/:-]|\.\d)"
PATTERNS = (
    (
        "iso_day",
        re.compile(rf"{EDGE}{YEAR}-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?:T[\d:.+Z-]+)?{END}"),
    ),
    ("iso_month", re.compile(rf"{EDGE}{YEAR}-(?P<month>0[1-9]|1[0-2]){END}")),
    ("year_first_day", re.compile(rf"{EDGE}{YEAR}/{MONTH}/{DAY}{END}")),
    ("dotted_day", re.compile(rf"{EDGE}{DAY}\.\s?{MONTH}\.\s?{YEAR}{END}")),
    ("slashed_day", re.compile(rf"{EDGE}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/{YEAR}{END}")),
)


def find_iso(text: str, now: datetime) -> list[tuple[int, int, str, Occurrence]]:
    """Return every date in figures as (begin, end, rule, meaning)."""
    found = []
    for rule, pattern in PATTERNS:
        for match in pattern.finditer(text):
            meant = _read(match, now)
            if meant is not None:
                found.append((match.start(), match.end(), rule, meant))
    return found


def _read(match: re.Match[str], now: datetime) -> Occurrence | None:
    groups = match.groupdict()
    year = int(groups["year"])
    try:
        if "first" in groups:
            return _slashed(year, int(groups["first"]), int(groups["second"]), now)
        if "day" not in groups:
            return calendar.month(year, int(groups["month"]), now.tzinfo)
        return calendar.date(year, int(groups["month"]), int(groups["day"]), now.tzinfo)
    except ValueError:
        return None


def _slashed(year: int, first: int, second: int, now: datetime) -> Occurrence | None:
    """Read 13/7/2024 and 7/13/2024; 7/8/2024 means different days to different people."""
    most = 12
    if first > most >= second:
        return calendar.date(year, second, first, now.tzinfo)
    if second > most >= first or first == second:
        return calendar.date(year, first, second, now.tzinfo)
    return None
