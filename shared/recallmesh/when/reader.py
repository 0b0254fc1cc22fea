"""The reader: finds the times in a text, in the language that explains the most of it, and refuses what is in doubt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recallmesh.core.time import Occurrence, Precision, Window, as_utc
from recallmesh.core.when import TimeReading
from recallmesh.when.calendar import TICK, plus_months
from recallmesh.when.doubt import is_doubtful, is_length
from recallmesh.when.grammar import Grammar
from recallmesh.when.iso import find_iso
from recallmesh.when.joint import compiled, join, names_year
from recallmesh.when.language import ALL, Candidate, likely
from recallmesh.when.rules import Asked, read_match

FULL_WIDTH = {ord("０") + digit: str(digit) for digit in range(10)}
"""The figures of Japanese and Chinese type, as wide as a character."""
SET_OFF = 512
"""Words of a kind (figures, months, …) in a question above which they are a table's: what it asks stands in others."""
MANY = 64
"""Matches in a question above which it is a document, and asks about no one period; also a bound of its cost."""
WEEKDAY, DATE = ".weekday", ".date"
APPOSED = re.compile(r"[\s,(（]{0,3}(?:(?:the|dem|den|der|le|el|il|dia|de) )?")
"""What stands between a weekday and the date that it only repeats: "Montag, dem 3. Mai"."""
WITHIN = re.compile(
    r",?\s{1,3}(?:(?:in|im|on|am|en|em|no|a|à|au|au mois de|nel|op|le|el|il|of|de)\s{1,3})?", re.IGNORECASE
)
"""What stands between a year and what lies in it: "last year in May"."""
OF_A_YEAR = (".month", ".date", ".season", ".quarter", ".half")
FROM_NOW = (".unit", ".weekday", ".weekday_of_week", ".weekend", ".ago", ".day", ".rolling")
NOON = timedelta(hours=12)


class GrammarTimeReader:
    """Reads times by tables of phrases; refuses what is ambiguous rather than guess.

    A text is read in one language, that which explains the most of it: of a text in two the times of one are found.
    """

    def __init__(self, grammars: Sequence[Grammar] = ALL) -> None:
        """Read by these languages, the first one always among those tried."""
        self._grammars = tuple(grammars)

    def read(self, text: str, now: datetime) -> TimeReading | None:
        """Return the period that a question asks about.

        Several times in it are one stretch from the first to the last: a window ranks and never filters. A relative
        time beside one dated day is relative to that ("last week, as told on 6 November 2023").
        """
        now = _aware(now)
        found, grammar = self._find(text, Asked(now, past=True), MANY)
        if len(found) > 1 and (there := _told_on(text, found, grammar)) is not None:
            found, _ = self._find(text, Asked(there, past=True), MANY)
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        start = min(reading.occurrence.window.start for reading in found)
        end = max(reading.occurrence.window.end for reading in found)
        rule = " + ".join(dict.fromkeys(reading.rule for reading in found))
        return TimeReading(Occurrence(Window(start, end), Precision.RANGE), found[0].begin, found[-1].end, rule)

    def read_all(self, text: str, now: datetime) -> tuple[TimeReading, ...]:
        """Return every time that a statement names."""
        found, _ = self._find(text, Asked(_aware(now), past=False), len(text))
        return tuple(found)

    def _find(self, text: str, asked: Asked, most: int) -> tuple[list[TimeReading], Grammar]:
        """Read by every likely language and keep what explains the most of the text, the likeliest first."""
        text = text.translate(FULL_WIDTH)
        best: list[TimeReading] = []
        language, covered = self._grammars[0], 0
        candidates = likely(text, self._grammars)
        orders = {_is_day_first(candidate) for candidate in candidates}
        dates = {day_first: find_iso(text, asked.now, day_first=day_first) for day_first in orders}
        for candidate in candidates:
            points = _points(text, candidate, asked, most, dates[_is_day_first(candidate)])
            found = join(text, points, candidate.grammar, asked.now)
            length = sum(reading.end - reading.begin for reading in found)
            if length > covered:
                best, language, covered = found, candidate.grammar, length
        return best, language


def _aware(now: datetime) -> datetime:
    return as_utc(now) if now.tzinfo is None else now


@dataclass(frozen=True, slots=True)
class _Found:
    """A match; without a meaning (30 February) it names no time, and nothing inside it does."""

    begin: int
    end: int
    rule: str
    meant: Occurrence | None
    lead: int = 0
    bound: bool = False


def _points(
    text: str, candidate: Candidate, asked: Asked, most: int, dates: list[tuple[int, int, str, Occurrence]]
) -> list[TimeReading]:
    """Return the single times, leftmost and longest first, without overlap; none where there are too many."""
    found = [_Found(*date) for date in dates]
    found.extend(_matches(text, candidate, asked, most))
    if len(found) > most:
        return []
    found.sort(key=lambda one: (one.begin, -one.end))
    kept: list[TimeReading] = []
    edge = 0
    for one in found:
        if one.begin >= edge and not (one.bound and (not kept or one.lead - kept[-1].end > 1)):
            edge = one.end
            if one.meant is not None:
                kept.append(TimeReading(one.meant, one.begin, one.end, one.rule))
    return _merged(text, kept, candidate.grammar)


def _is_day_first(candidate: Candidate) -> bool:
    return candidate.grammar.day_first and candidate.over_english


def _matches(text: str, candidate: Candidate, asked: Asked, most: int) -> list[_Found]:
    grammar = candidate.grammar
    found: list[_Found] = []
    spans = grammar.spans(text, SET_OFF if asked.past else len(text))
    for pattern, phrase, kind in grammar.patterns:
        if kind not in spans or (phrase.asked_only and not asked.past):
            continue
        if asked.past and is_length(phrase, text, grammar):
            continue
        for low, high in spans[kind]:
            for match in pattern.finditer(text, low, high):
                if not is_doubtful(match, phrase, text, grammar, own=candidate.over_all):
                    begin = max(match.start(), match.end("lead") if "lead" in pattern.groupindex else 0)
                    meant = read_match(match, phrase, grammar, asked)
                    rule = f"{grammar.language}.{phrase.rule}"
                    found.append(_Found(begin, match.end(), rule, meant, match.start(), phrase.bound))
                    if len(found) > most:
                        return found
    return found


def _merged(text: str, points: list[TimeReading], grammar: Grammar) -> list[TimeReading]:
    """Make one of a weekday and the date beside it, which tells more, and of a year and what lies in it."""
    merged: list[TimeReading] = []
    for point in points:
        one = _both(text, merged[-1], point, grammar) if merged else None
        if one is None:
            merged.append(point)
        else:
            merged[-1] = one
    return merged


def _both(text: str, first: TimeReading, second: TimeReading, grammar: Grammar) -> TimeReading | None:
    if APPOSED.fullmatch(text, first.end, second.begin):
        if first.rule.endswith(WEEKDAY) and second.rule.endswith((DATE, "figures")):
            return replace(second, begin=first.begin)
        if first.rule.endswith((DATE, "figures")) and second.rule.endswith(WEEKDAY):
            return replace(first, end=second.end)
    if WITHIN.fullmatch(text, first.end, second.begin):
        for year, part in ((first, second), (second, first)):
            named = text[part.begin : part.end]
            if year.occurrence.precision is Precision.YEAR and part.rule.endswith(OF_A_YEAR):
                if names_year(named, grammar) or (moved := _in_year(part.occurrence, year.occurrence)) is None:
                    return None
                return TimeReading(moved, first.begin, second.end, part.rule)
    return None


def _in_year(part: Occurrence, year: Occurrence) -> Occurrence | None:
    """Return the month, day or season of that year; nothing where it has none such (29 February)."""
    months = 12 * (year.window.start.year - part.window.start.year)
    if not months:
        return part
    start = part.window.start
    try:
        if part.precision is Precision.DAY:
            moved = start.replace(year=start.year + months // 12)
            return Occurrence(Window(moved, moved + timedelta(days=1) - TICK), part.precision)
        after = plus_months(part.window.end + TICK, months)
        return Occurrence(Window(plus_months(start, months), after - TICK), part.precision)
    except ValueError:
        return None


def _told_on(text: str, found: list[TimeReading], grammar: Grammar) -> datetime | None:
    """Return the dated day that relative times beside it start from, if there is one, and no "and" compares them."""
    dated = [one for one in found if one.occurrence.precision is Precision.DAY and not one.rule.endswith(FROM_NOW)]
    if len(dated) != 1 or not names_year(text[dated[0].begin : dated[0].end], grammar):
        return None
    if not all(one is dated[0] or one.rule.endswith(FROM_NOW) for one in found):
        return None
    if compiled(rf"(?:{grammar.both}|or|vs)").search(text, found[0].end, found[-1].begin):
        return None
    return dated[0].occurrence.window.start + NOON
