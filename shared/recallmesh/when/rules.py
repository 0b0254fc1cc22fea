"""What each kind of phrase means: from a match to a stretch of time; pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from recallmesh.core.time import Occurrence
from recallmesh.when import calendar
from recallmesh.when.grammar import Grammar, Phrase
from recallmesh.when.numeral import read_han

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
        return RULES[phrase.rule](_Words(match, grammar, asked.now.year), phrase, asked)
    except (ValueError, OverflowError, LookupError):
        return None  # LookupError: a letter that only looks like one of the table's ("ı"), or a day of no year


@dataclass(frozen=True, slots=True)
class _Words:
    match: re.Match[str]
    grammar: Grammar
    this_year: int

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
        for era, begun in self.grammar.eras.items():
            if found.startswith(era):
                return begun + self._year_of_reign(found.removeprefix(era))
        named = self.grammar.ordinals.get(found) or self.grammar.numbers.get(found)
        return named or read_han(found)

    @staticmethod
    def _year_of_reign(found: str) -> int:
        if found == "元":
            return 1
        return int(found) if found.isdecimal() else read_han(found)

    def month(self, group: str = "month") -> int:
        """Return the number of the matched month."""
        found = self.text(group) or self.text("month_figure")
        return self.grammar.months.get(found) or self._number_of(found)

    @staticmethod
    def _number_of(found: str) -> int:
        """Return the number that a month is called by (7月, 7)."""
        number = found if found.isdecimal() else found[:-1].strip()
        return int(number) if number.isdecimal() else read_han(number)

    @property
    def unit(self) -> str:
        """The matched unit."""
        return self.grammar.units[self.text("unit")]

    @property
    def year(self) -> int | None:
        """The year, be it a number or told from now."""
        told = self.text("rel")
        return self.this_year + self.grammar.years[told] if told else self.number("year")


def _day(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del words
    return calendar.day(asked.now, phrase.offset)


def _ago(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence | None:
    count = words.number("n")
    name = phrase.unit or words.unit
    if count is None:
        count = 1
    if count > FAR:
        return None
    return calendar.unit(name, asked.now, phrase.offset * count)


def _rolling(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence | None:
    count = words.number("n") or 1
    name = phrase.unit or words.unit
    return None if count > FAR else calendar.rolling(name, count, asked.now)


def _unit(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    return calendar.unit(phrase.unit or words.unit, asked.now, phrase.offset)


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


def _weekend_gone(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    """Read "at the weekend": in a question the last one that began."""
    del words, phrase
    here = calendar.weekend(asked.now)
    return here if here.window.start <= asked.now else calendar.weekend(asked.now, -1)


def _date(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    number = words.number("day") or 0
    year = words.year
    if year is not None:
        return calendar.date(year, words.month(), number, asked.now.tzinfo)
    return _settled(lambda year: calendar.date(year, words.month(), number, asked.now.tzinfo), asked)


def _month(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    year = words.year
    if year is not None:
        return calendar.month(year, words.month(), asked.now.tzinfo)
    if phrase.offset:
        return _before_now(lambda year: calendar.month(year, words.month(), asked.now.tzinfo), asked.now, phrase.offset)
    return _settled(lambda year: calendar.month(year, words.month(), asked.now.tzinfo), asked)


def _year(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    return calendar.year(words.year or 0, asked.now.tzinfo)


def _quarter(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    number = words.number("quarter") or 0
    year = words.year
    if year is not None:
        return calendar.quarter(year, number, asked.now.tzinfo)
    return _settled(lambda year: calendar.quarter(year, number, asked.now.tzinfo), asked)


def _half(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    year = words.year
    if year is not None:
        return calendar.half(year, phrase.offset, asked.now.tzinfo)
    return _settled(lambda year: calendar.half(year, phrase.offset, asked.now.tzinfo), asked)


def _season(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    name = words.grammar.seasons[words.text("season")]
    year = words.year
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


def _days(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    """Read "from 3 to 9 March"."""
    del phrase
    first, last = words.number("first") or 0, words.number("day") or 0

    def make(year: int) -> Occurrence:
        start = calendar.date(year, words.month(), first, asked.now.tzinfo)
        return calendar.span(start, calendar.date(year, words.month(), last, asked.now.tzinfo))

    return _settled(make, asked) if words.year is None else make(words.year)


def _months(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    """Read "from November to January (2025)": the year is the last month's."""
    del phrase
    first, last = words.month("from"), words.month()

    def make(year: int) -> Occurrence:
        start = calendar.month(year - 1 if first > last else year, first, asked.now.tzinfo)
        return calendar.span(start, calendar.month(year, last, asked.now.tzinfo))

    return _settled(make, asked) if words.year is None else make(words.year)


def _years(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    del phrase
    zone = asked.now.tzinfo
    return calendar.span(calendar.year(words.number("from_year") or 0, zone), calendar.year(words.year or 0, zone))


def _weekday_of_week(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    wanted = words.grammar.weekdays[words.text("weekday")]
    return calendar.day(asked.now, wanted - asked.now.weekday() + 7 * phrase.offset)


def _rolling_days(words: _Words, phrase: Phrase, asked: Asked) -> Occurrence:
    """Read "the last few days"."""
    del words
    return calendar.rolling("day", phrase.offset, asked.now)


def _settled(make: Callable[[int], Occurrence], asked: Asked) -> Occurrence:
    """Choose the year: for a question the last time it began, for a statement the nearest."""
    this = asked.now.year
    for years in (range(this - 1, this + 2), range(this - 8, this + 2)):  # the second for 29 February
        made = [found for year in years if (found := _made(make, year))]
        begun = [found for found in made if found.window.start <= asked.now]
        if asked.past and begun:
            return begun[-1]
        if not asked.past and made:
            return min(made, key=lambda found: _distance(found, asked.now))
    msg = "no such day in any year"
    raise ValueError(msg)


def _before_now(make: Callable[[int], Occurrence], now: datetime, offset: int) -> Occurrence:
    made = [found for year in range(now.year - 4, now.year + 5) if (found := _made(make, year))]
    if offset < 0:
        return [found for found in made if found.window.end < now][-1]
    return [found for found in made if found.window.start > now][0]  # noqa: RUF015 - LookupError where there is none


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
    "weekend_gone": _weekend_gone,
    "date": _date,
    "month": _month,
    "year": _year,
    "quarter": _quarter,
    "half": _half,
    "season": _season,
    "decade": _decade,
    "days": _days,
    "months": _months,
    "years": _years,
    "weekday_of_week": _weekday_of_week,
    "rolling_days": _rolling_days,
}
