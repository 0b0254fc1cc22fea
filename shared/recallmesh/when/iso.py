"""Dates in figures: the same in every language, but for 3/4/2026, which is read where the language tells how."""

import re
from collections.abc import Callable
from datetime import datetime

from recallmesh.core.time import Occurrence
from recallmesh.when import calendar

YEAR = r"(?P<year>(?:1[89]|2[0-2])\d\d)"
DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
MONTH = r"(?P<month>0?[1-9]|1[0-2])"
ISO_DAY = r"(?:1[89]|2[0-2])\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
CLOCK = r"T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?P<offset>Z|[+-]\d\d:?\d\d)?"
EDGE = r"(?<![0-9A-Za-z_À-ɏ/.:-])"
"""Not within a word or a number; Han, kana and Hangul may touch a date."""
END = r"(?![0-9A-Za-z_À-ɏ/:-]|\.\d)"
NUMBERED = "".join(
    f"(?<!{noun} )"
    for noun in (
        *("ticket", "tickets", "invoice", "order", "case", "issue", "version", "release", "room", "no", "no.", "nr."),
        *("nr", "#", "rechnung", "fall", "auftrag", "facture", "commande", "dossier", "factura", "pedido", "caso"),
        *("fattura", "ordine", "fatura", "processo", "factuur", "zaak"),
    )
).replace(".", r"\.")
"""What is numbered by year and month is not of that month: "invoice 2024-12"."""
FOUR = re.compile(r"\d{4}")
"""Every date in figures has its year."""
MOST_MONTHS = 12


def find_iso(text: str, now: datetime, *, day_first: bool = False) -> list[tuple[int, int, str, Occurrence]]:
    """Return every date in figures as (begin, end, rule, meaning).

    Years first (2026-04-03, 2026/4/3) and dots (3.4.2026, day first) mean one day everywhere. With slashes or hyphens,
    3/4/2026 is 3 April where the language writes ``day_first``; in English, and where the language is not
    certain, it is no date unless one number is over 12 or both are the same.
    """
    found: list[tuple[int, int, str, Occurrence]] = []
    if FOUR.search(text) is None:
        return found
    for rule, pattern, read in PATTERNS:
        for match in pattern.finditer(text):
            meant = _read(match, read, now, day_first=day_first)
            if meant is not None:
                found.append((match.start(), match.end(), rule, meant))
    return found


def _read(match: re.Match[str], read: "Reading", now: datetime, *, day_first: bool) -> Occurrence | None:
    try:
        return read(match, now, day_first)
    except (ValueError, OverflowError):
        return None


def _day(match: re.Match[str], now: datetime, _day_first: bool) -> Occurrence:  # noqa: FBT001 - one shape for all
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if match.groupdict().get("offset"):
        return calendar.day(datetime.fromisoformat(match.group()).astimezone(now.tzinfo))
    return calendar.date(year, month, day, now.tzinfo)


def _range(match: re.Match[str], now: datetime, _day_first: bool) -> Occurrence:  # noqa: FBT001
    first, last = (datetime.fromisoformat(match[name]) for name in ("first", "last"))
    zone = now.tzinfo
    return calendar.span(calendar.day(first.replace(tzinfo=zone)), calendar.day(last.replace(tzinfo=zone)))


def _week(match: re.Match[str], now: datetime, _day_first: bool) -> Occurrence:  # noqa: FBT001
    monday = datetime.fromisocalendar(int(match["year"]), int(match["week"]), 1)
    return calendar.unit("week", monday.replace(tzinfo=now.tzinfo))


def _quarter(match: re.Match[str], now: datetime, _day_first: bool) -> Occurrence:  # noqa: FBT001
    return calendar.quarter(int(match["year"]), int(match["quarter"]), now.tzinfo)


def _month(match: re.Match[str], now: datetime, _day_first: bool) -> Occurrence:  # noqa: FBT001
    return calendar.month(int(match["year"]), int(match["month"]), now.tzinfo)


def _figures(match: re.Match[str], now: datetime, day_first: bool) -> Occurrence | None:  # noqa: FBT001
    """Read 13/7/2024 and 7/13/2024; 7/8/2024 means different days to different people."""
    year, first, second = int(match["year"]), int(match["first"]), int(match["second"])
    if first > MOST_MONTHS >= second or first == second:
        return calendar.date(year, second, first, now.tzinfo)
    if second > MOST_MONTHS >= first:
        return calendar.date(year, first, second, now.tzinfo)
    return calendar.date(year, second, first, now.tzinfo) if day_first else None


Reading = Callable[[re.Match[str], datetime, bool], Occurrence | None]
PATTERNS: tuple[tuple[str, re.Pattern[str], Reading], ...] = tuple(
    (rule, re.compile(source, re.IGNORECASE), read)
    for rule, source, read in (
        ("iso_range", rf"{EDGE}(?P<first>{ISO_DAY})(?:/|\.\.)(?P<last>{ISO_DAY}){END}", _range),
        ("iso_day", rf"{EDGE}{YEAR}-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?:{CLOCK})?{END}", _day),
        ("iso_week", rf"{EDGE}{YEAR}-W(?P<week>0[1-9]|[1-4]\d|5[0-3]){END}", _week),
        ("iso_quarter", rf"{EDGE}{YEAR}-?Q(?P<quarter>[1-4]){END}", _quarter),
        ("iso_month", rf"{NUMBERED}{EDGE}{YEAR}-(?P<month>0[1-9]|1[0-2]){END}", _month),
        ("figures", rf"{EDGE}{YEAR}/{MONTH}/{DAY}{END}", _day),
        ("figures", rf"{EDGE}{DAY}\.\s?{MONTH}\.\s?{YEAR}{END}", _day),
        ("figures", rf"{EDGE}(?P<first>\d{{1,2}})([/-])(?P<second>\d{{1,2}})\2{YEAR}{END}", _figures),
    )
)
