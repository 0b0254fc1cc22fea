"""Times that belong together: "between A and B", "from A to B", "since A", "the week before A"."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReading
from recallmesh.when import calendar
from recallmesh.when.calendar import TICK
from recallmesh.when.grammar import NEVER, Grammar, either

FIRST_YEAR = 1900
"""Where "before …" begins: earlier than anything a memory of ours tells."""
EARLIER_YEAR = 1000
"""Where "before …" begins for a time before that."""
LAST_YEAR = 2300
"""Where "after …" ends when its start lies ahead."""
YEAR = re.compile(r"\d{4}")
CLOSED = (".days", ".months", ".years")
"""Rules whose reading has both its ends already."""
WEEKDAY = ".weekday"
NEAR = 48
"""Characters before a time in which the words that open or bound it are looked for."""
WEEKEND = "weekend|wochenende|week-end|fin de semana|fim de semana|fine settimana"
SIDES = {"before": -1, "after": 1}


def join(text: str, points: list[TimeReading], grammar: Grammar, now: datetime) -> list[TimeReading]:
    """Make ranges of "between A and B", "from A to B", open ones of "since A", and "two weeks before A"."""
    joined: list[TimeReading] = []
    rest = iter(points)
    point = next(rest, None)
    while point is not None:
        following = next(rest, None)
        low = joined[-1].end if joined else 0
        before = text[max(low, point.begin - NEAR) : point.begin]
        whole = _range(text, before, point, following, grammar) if following is not None else None
        if whole is not None:
            joined.append(whole)
            following = next(rest, None)
        elif (anchored := _anchored(text, point, grammar)) is not None:
            if joined and joined[-1].end > anchored.begin:
                joined.pop()
            joined.append(anchored)
        else:
            joined.append(_open(text, before, point, grammar, now))
        point = following
    return joined


def names_year(named: str, grammar: Grammar) -> bool:
    """Tell whether a time tells its own year, in figures or from now."""
    return YEAR.search(named) is not None or (bool(grammar.years) and _year_words(grammar).search(named) is not None)


@cache
def compiled(source: str) -> re.Pattern[str]:
    """Make a pattern once: there are a few per language."""
    return re.compile(source, re.IGNORECASE)


def _year_words(grammar: Grammar) -> re.Pattern[str]:
    return compiled(either((*grammar.years, *grammar.eras)))


def _range(text: str, before: str, first: TimeReading, second: TimeReading, grammar: Grammar) -> TimeReading | None:
    gap = text[first.end : second.begin]
    if len(gap) > NEAR:
        return None
    closing = compiled(rf"\s{{0,3}}(?:{grammar.closing})").match(text, second.end)
    lead = _last(grammar.between, before, grammar)
    swappable = (lead is not None or closing is not None) and _between(grammar.both, gap, grammar)
    if not swappable:
        lead = _last(grammar.start, before, grammar)
        if not _between(grammar.to, gap, grammar):
            return None
    start, end = first.occurrence.window.start, second.occurrence.window.end
    if YEAR.search(text[second.begin : second.end]) and not YEAR.search(text[first.begin : first.end]):
        start = _same_year(start, second.occurrence.window.start)
    if start > end and first.rule.endswith(WEEKDAY) and second.rule.endswith(WEEKDAY):
        start -= timedelta(weeks=1)
    if start > end and swappable:
        start, end = second.occurrence.window.start, first.occurrence.window.end
    if start > end:
        return None
    begin = first.begin - (lead or 0)
    over = second.end if closing is None else closing.end()
    return TimeReading(Occurrence(Window(start, end), Precision.RANGE), begin, over, f"{grammar.language}.range")


def _between(pattern: str, gap: str, grammar: Grammar) -> bool:
    return compiled(rf"\s{{0,3}}(?:{pattern})\s{{0,3}}(?:(?:{grammar.article})\s{{0,3}})?$").match(gap) is not None


def _same_year(start: datetime, other: datetime) -> datetime:
    """Take the year of "June 2025" for the "May" before it; of "January 2025" the one before for "November"."""
    try:
        moved = start.replace(year=other.year)
        return moved if moved <= other else start.replace(year=other.year - 1)
    except ValueError:
        return start


def _open(text: str, before: str, point: TimeReading, grammar: Grammar, now: datetime) -> TimeReading:
    if point.rule.endswith(CLOSED):
        return point
    for side, lead, tail in _sides(text, before, point, grammar):
        try:
            whole = _side(side, point.occurrence.window, now)
        except OverflowError:
            return point  # at the ends of the calendar
        begin, end = point.begin - lead, tail or point.end
        return TimeReading(Occurrence(whole, Precision.RANGE), begin, end, f"{grammar.language}.{side}")
    return point


def _sides(text: str, before: str, point: TimeReading, grammar: Grammar) -> Iterator[tuple[str, int, int | None]]:
    for side in ("since", "after", "before", "until"):
        lead = _last(getattr(grammar, side), before, grammar)
        tail = compiled(rf"\s{{0,3}}(?:{grammar.tails.get(side, NEVER)})").match(text, point.end)
        if lead is not None or tail is not None:
            yield side, lead or 0, None if tail is None else tail.end()


def _side(side: str, window: Window, now: datetime) -> Window:
    """Return what is since, after, before or until a time."""
    if side == "since":
        return Window(window.start, now if window.start <= now else window.end)
    if side == "after":
        start = window.end + TICK
        horizon = now if now > start else datetime(LAST_YEAR, 1, 1, tzinfo=now.tzinfo)
        return Window(start, max(start, horizon))
    end = window.end if side == "until" else window.start - TICK
    year = FIRST_YEAR if end.year > FIRST_YEAR else EARLIER_YEAR
    return Window(min(datetime(year, 1, 1, tzinfo=now.tzinfo), end), end)


def _last(pattern: str, before: str, grammar: Grammar) -> int | None:
    """Return how far before a time the words begin that stand directly before it, if they are these."""
    near = before[-NEAR:]
    article = rf"(?:\s{{1,3}}(?:{grammar.article}))?" if grammar.spaced else ""
    edge = r"(?<!\w)" if grammar.spaced else ""
    found = compiled(rf"{edge}(?:{pattern}){article}\s{{0,3}}$").search(near)
    return None if found is None else len(near) - found.start()


def _anchored(text: str, point: TimeReading, grammar: Grammar) -> TimeReading | None:
    """Read "the week before 3 May" and "two days after 3 May": a length or a day told from a time."""
    if not grammar.spaced or point.rule.endswith(CLOSED):
        return None
    near = text[max(0, point.begin - NEAR) : point.begin]
    for side, step in SIDES.items():
        if _last(getattr(grammar, side), near, grammar) is None:
            continue
        found = _anchor(grammar, getattr(grammar, side)).search(near)
        if found is None:
            return None
        try:
            meant = _told_from(found, point.occurrence.window, step, grammar)
        except (ValueError, OverflowError, LookupError):
            return None
        if meant is not None:
            begin = point.begin - len(near) + found.start()
            return TimeReading(meant, begin, point.end, f"{grammar.language}.anchor")
    return None


def _anchor(grammar: Grammar, side: str) -> re.Pattern[str]:
    article = rf"(?:(?:{grammar.article})\s{{1,3}})"
    number = rf"(?:(?P<n>\d{{1,3}}|{either(grammar.numbers)})\s{{1,3}})"
    told = (
        rf"(?:{article}?{number}|{article})(?P<unit>{either(grammar.units)})"
        rf"|{article}?(?P<weekday>{either(grammar.weekdays)})|{article}?(?P<weekend>{WEEKEND})"
    )
    return compiled(rf"(?<!\w)(?:{told})\s{{1,3}}(?:{side})(?:\s{{1,3}}(?:{grammar.article}))?\s{{0,3}}$")


def _told_from(found: re.Match[str], window: Window, step: int, grammar: Grammar) -> Occurrence | None:
    edge = window.start if step < 0 else window.end
    if found["weekday"]:
        ahead = (grammar.weekdays[found["weekday"].casefold()] - edge.weekday()) % 7
        return calendar.day(edge, ahead - 7 if step < 0 else ahead or 7)
    if found["weekend"]:
        here = calendar.weekend(edge)
        apart = here.window.end < window.start if step < 0 else here.window.start > window.end
        return here if apart else calendar.weekend(edge, step)
    word = found["unit"].casefold()
    if found["n"] is not None:
        count = int(found["n"]) if found["n"].isdecimal() else grammar.numbers[found["n"].casefold()]
        return calendar.unit(grammar.units[word], edge, step * count)
    return _beside(word, window, step, grammar)


def _beside(word: str, window: Window, step: int, grammar: Grammar) -> Occurrence | None:
    """Return "the week before" a time: the calendar's and the days up to it, for people mean the one or the other."""
    name = grammar.units[word]
    if word[:-1] in grammar.units or name in calendar.CLOCK:
        return None  # "the years before 2020"
    beside = calendar.unit(name, window.start if step < 0 else window.end, step)
    if name == "day":
        return beside
    if step < 0:
        return Occurrence(Window(beside.window.start, window.start - TICK), Precision.RANGE)
    return Occurrence(Window(window.end + TICK, beside.window.end), Precision.RANGE)
