"""What each kind of phrase means: from a match to a stretch of time; pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from recallmesh.core.time import Occurrence
from recallmesh.when import calendar
from recallmesh.when.grammar import Grammar, Phrase

CENTURY = 100
FAR = 10_000
"""More units than this are no time that anybody remembers ("100000 years ago")."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The moment that relative words start from, and whether a time without its year lies in the past.

    A question about "May" means the last one; a statement about "11 May" means the nearest.
    """

    now: datetime
    past: bool


def read_match(match: re.Match[str], phrase: Phrase, grammar: Grammar, asked: Asked) -> Occurrence | None:
    """Return the stretch that a match means, nothing where it means none (30 February)."""
    try:
        return RULES[phrase.rule](_Words(match, grammar), phrase, asked)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class _Words:
    match: re.Match[str]
    grammar: Grammar

    def text(self, group: str) -> str:
        """Return what a slot matched, folded; empty when the template has no such slot."""
        found = self.match.groupdict().get(group) or ""
        return re.sub(r"\s+", " ", found.casefold())

    def number(self, group: str) -> int | None:
        """Return what a slot matched as a number."""
        found = self.text(group)
        if not found:
            return None
        if found.isdecimal():
            return int(found)
        return self.grammar.ordinals.get(found) or self.grammar.numbers[found]

    @property
    def month(self) -> int:
        """The number of the matched month."""
        return self.grammar.months[self.text("month")]


def _day(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del words
    return calendar.day(asked.now, phrase.offset)


def _ago(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence | None:
    count = words.number("n")
    name = phrase.unit or words.grammar.units[words.text("unit")]
    if count is None:
        count = 1
    if count > FAR:
        return None
    return calendar.unit(name, asked.now, phrase.offset * count)


def _rolling(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence | None:
    count = words.number("n") or 1
    name = phrase.unit or words.grammar.units[words.text("unit")]
    return None if count > FAR else calendar.rolling(name, count, asked.now)


def _unit(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    return calendar.unit(phrase.unit or words.grammar.units[words.text("unit")], asked.now, phrase.offset)


def _weekday(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    wanted = words.grammar.weekdays[words.text("weekday")]
    ahead = (wanted - asked.now.weekday()) % 7
    if phrase.offset > 0:
        return calendar.day(asked.now, ahead or 7)
    if phrase.offset < 0:
        return calendar.day(asked.now, ahead - 7)
    return calendar.day(asked.now, wanted - asked.now.weekday())


def _weekend(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del words
    return calendar.weekend(asked.now, phrase.offset)


def _date(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    number = words.number("day") or 0
    year = words.number("year")
    if year is not None:
        return calendar.date(year, words.month, number, asked.now.tzinfo)
    return _settled(lambda year: calendar.date(year, words.month, number, asked.now.tzinfo), asked)


def _month(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    year = words.number("year")
    if year is not None:
        return calendar.month(year, words.month, asked.now.tzinfo)
    if phrase.offset:
        return _before_now(lambda year: calendar.month(year, words.month, asked.now.tzinfo), asked.now, phrase.offset)
    return _settled(lambda year: calendar.month(year, words.month, asked.now.tzinfo), asked)


def _year(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    return calendar.year(words.number("year") or 0, asked.now.tzinfo)


def _quarter(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    number = words.number("quarter") or 0
    year = words.number("year")
    if year is not None:
        return calendar.quarter(year, number, asked.now.tzinfo)
    return _settled(lambda year: calendar.quarter(year, number, asked.now.tzinfo), asked)


def _season(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    name = words.grammar.seasons[words.text("season")]
    year = words.number("year")
    if year is not None:
        return calendar.season(name, year, asked.now.tzinfo)
    if phrase.offset:
        return _before_now(lambda year: calendar.season(name, year, asked.now.tzinfo), asked.now, phrase.offset)
    return _settled(lambda year: calendar.season(name, year, asked.now.tzinfo), asked)


def _decade(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    number = words.number("decade") or 0
    century = 0 if number >= CENTURY else (1900 if number > asked.now.year % CENTURY else 2000)
    return calendar.unit("decade", datetime(century + number, 1, 1, tzinfo=asked.now.tzinfo))


def _iso(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    year, month, day = (words.number(group) for group in ("year", "m", "day"))
    if day is None:
        return calendar.month(year or 0, month or 0, asked.now.tzinfo)
    return calendar.date(year or 0, month or 0, day, asked.now.tzinfo)


def _settled(make: Callable[[int], Occurrence], asked: Asked) -> Occurrence:
    """Choose the year: for a question the last time it began, for a statement the nearest."""
    made = [found for year in range(asked.now.year - 4, asked.now.year + 2) if (found := _made(make, year))]
    begun = [found for found in made if found.window.start <= asked.now]
    if asked.past:
        return begun[-1]
    return min(made, key=lambda found: _distance(found, asked.now))


def _before_now(make: Callable[[int], Occurrence], now: datetime, offset: int) -> Occurrence:
    made = [found for year in range(now.year - 4, now.year + 5) if (found := _made(make, year))]
    if offset < 0:
        return [found for found in made if found.window.end < now][-1]
    return next(found for found in made if found.window.start > now)


def _made(make: Callable[[int], Occurrence], year: int) -> Occurrence | None:
    try:
        return make(year)
    except ValueError:
        return None  # 29 February of another year


def _distance(found: Occurrence, now: datetime) -> timedelta:
    return max(found.window.start - now, now - found.window.end, timedelta())


Rule = Callable[[_Words, Phrase, Asked], Occurrence | None]

RULES: dict[str, Rule] = {
    "day": _day,
    "ago": _ago,
    "rolling": _rolling,
    "unit": _unit,
    "weekday": _weekday,
    "weekend": _weekend,
    "date": _date,
    "month": _month,
    "year": _year,
    "quarter": _quarter,
    "season": _season,
    "decade": _decade,
    "iso": _iso,
}
