"""Dates of a statement: relative ones written out beside their words, and the stretch of time it tells of."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReader, TimeReading
from recallmesh.retain.clause import is_aside
from recallmesh.retain.sentence import Stretch, split_sentences
from recallmesh.retain.tense import Tense, is_yearly, tense_of

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_SHORT = "%-d %B %Y"
_MONTH_WORDS = """
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
januar jänner februar märz mai juni juli oktober dezember
janvier février mars avril juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre noviembre diciembre octubre
gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
januari februari maart mei augustus
"""
_MONTH = "|".join(sorted(_MONTH_WORDS.split(), key=len, reverse=True))
# "30 April", "in October", "from 1 to 14 September", and "May 3rd", behind which English puts a comma.
_WITHOUT_YEAR = re.compile(
    rf"(?i)(?:.*\b)?(?:{_MONTH})(?P<day>\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s*[-\u2013]\s*\d{{1,2}})?)?"
)
_RELATIVE = re.compile(
    r"(?i)\b(?:last|past|previous|this|next|coming|following|ago|letzte\w*|diese\w*|nächste\w*|dernier|prochain|ce"
    r"|pasado|próximo|scorso|prossimo|passado|vorige|volgende)\b"
)
# "A few weeks ago" is no certain week.
_VAGUE = re.compile(r"(?i)\b(?:few|several|some|einige\w*|quelques|unos|unas|alcun[ie]|alguns|algumas|enkele)\b")
# "We have not talked in three days" and "not built in a day" are lengths of time, not days to come.
_LENGTH = re.compile(r"(?i)in\s+(?!the\b|\d{4}\b).*")
_DENIED = re.compile(r"(?i)(?:n['\u2019]t|\bnot|\bnever|\bfirst)\b[^.!?]*$")
_OF_YEAR = {"es": " de ", "pt": " de "}
# Open on one side: the side that was not named is anybody's guess.
_OPEN = frozenset({"before", "until", "after"})
_FROM_POINT = _OPEN | {"since"}
# What the reader leaves alone in a statement, since the day alone does not say which: the tense does.
_DAY_OF_WEEK = re.compile(
    r"(?i)(?<!\w)(?:on (?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:over|at|on) the (?P<end>weekend))\b"
    r"(?! (?:and|or|mornings|afternoons|evenings|nights)\b)"
)
_LEAD = 24
# The clause that a time stands in is near: looking further would make a sentence of a thousand dates quadratic.
_NEAR = 400
_HALF_YEAR = timedelta(days=183)


def write_dates(text: str, reader: TimeReader, now: datetime | None) -> tuple[str, Occurrence | None]:
    """Return the text with its times made absolute, and when what it tells of happened (``None``: not certainly told).

    "Yesterday" gets "(7 May 2023)" after it, a day or month its year: "30 April 2023". Without ``now`` only dates that
    name their year are read.
    """
    # With no moment to be relative to, any will do: what depends on it is left out.
    moment = now or datetime.fromisoformat("2000-01-01T00:00:00+00:00")
    sentences = split_sentences(text)
    readings = _tensed(text, sentences, reader, moment)
    kept = [one for one in readings if (now is not None or _is_absolute(text, one)) and not _is_length(text, one)]
    written = text
    for reading in reversed(kept):
        if not _is_absolute(text, reading) and not _comes_round(text, reading, sentences):
            written = written[: reading.end] + _addition(text, reading, reader, moment) + written[reading.end :]
    return written, _chosen([one.occurrence for one in kept if _is_told(text, one, sentences)])


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


def _tensed(text: str, sentences: Sequence[Stretch], reader: TimeReader, now: datetime) -> tuple[TimeReading, ...]:
    """Return the times of a text, those without a year in the year that the tense beside them says."""
    readings = reader.read_all(text, now)
    if not readings and _DAY_OF_WEEK.search(text) is None:
        return ()
    settled = [_settled(text, one, sentences, reader, now) for one in readings]
    settled += _days_of_week(text, sentences, reader, now)
    settled.sort(key=lambda one: (one.begin, -one.end))
    apart: list[TimeReading] = []
    for one in settled:
        if not apart or one.begin >= apart[-1].end:
            apart.append(one)
    return tuple(apart)


def _settled(
    text: str, reading: TimeReading, sentences: Sequence[Stretch], reader: TimeReader, now: datetime
) -> TimeReading:
    """Return the reading, moved to the year that the tense says: the reader's own is the nearest."""
    language, _, rule = reading.rule.rpartition(".")
    named = text[reading.begin : reading.end]
    if rule == "since" or not _WITHOUT_YEAR.fullmatch(named) or _RELATIVE.search(named):
        return reading
    point = _point(reading.occurrence.window, rule)
    # With the words before it, for a month alone is no time.
    lead = max(0, reading.begin - _LEAD)
    match _tense(text, reading.begin, reading.end, sentences, language):
        case Tense.FUTURE if point.end < now:
            moved = reader.read_all(text[lead : reading.end], now + _HALF_YEAR)
        case Tense.PAST if point.start > now:
            moved = reader.read_all(text[lead : reading.end], now - _HALF_YEAR)
        case _:
            return reading
    again = [one for one in moved if one.end + lead == reading.end]
    return replace(reading, occurrence=again[0].occurrence) if again else reading


def _point(window: Window, rule: str) -> Window:
    """Return the time that was named, of a stretch that is open on one side."""
    match rule:
        case "until" | "before":
            return Window(window.end, window.end)
        case "after" | "since":
            return Window(window.start, window.start)
        case _:
            return window


def _days_of_week(text: str, sentences: Sequence[Stretch], reader: TimeReader, now: datetime) -> Iterator[TimeReading]:
    """Yield the days of the week and weekends of which the tense tells which is meant."""
    for match in _DAY_OF_WEEK.finditer(text):
        tense = _tense(text, match.start(), match.end(), sentences, "en")
        if tense is Tense.NONE:
            continue
        if tense is Tense.PAST:
            # Asked "on Friday" the reader names the last one.
            meant = reader.read(match.group(), now)
        else:
            ahead = f"next {match['day']}" if match["day"] else "this weekend"
            meant = next(iter(reader.read_all(ahead, now)), None)
        if meant is not None:
            yield TimeReading(meant.occurrence, match.start(), match.end(), "en.weekday")


def _tense(text: str, begin: int, end: int, sentences: Sequence[Stretch], language: str) -> Tense:
    near = _around(begin, end, sentences)
    return tense_of(text[near.begin : near.end], begin - near.begin, end - near.begin, language)


def _around(begin: int, end: int, sentences: Sequence[Stretch]) -> Stretch:
    """Return what of the sentence is near a stretch of it."""
    place = bisect_right(sentences, begin, key=lambda one: one.begin) - 1
    one = sentences[place] if place >= 0 else Stretch(begin, end)
    return Stretch(max(one.begin, begin - _NEAR), max(end, min(one.end, end + _NEAR)))


def _is_absolute(text: str, reading: TimeReading) -> bool:
    return _YEAR.search(text, reading.begin, reading.end) is not None


def _addition(text: str, reading: TimeReading, reader: TimeReader, now: datetime) -> str:
    """Return what makes a time absolute when it is written behind it."""
    named = text[reading.begin : reading.end]
    language, _, rule = reading.rule.rpartition(".")
    meant = reading.occurrence
    if rule in _FROM_POINT:
        # "Until yesterday" is to say which day that is, not where a stretch begins that has no beginning.
        yearless = _WITHOUT_YEAR.fullmatch(named) is not None and not _RELATIVE.search(named)
        # Which year's day it is was settled by the tense: near to itself the reader finds it again.
        points = reader.read_all(named.partition(" ")[2], _point(meant.window, rule).start if yearless else now)
        if len(points) != 1:
            return ""
        meant = points[0].occurrence
    window = meant.window
    bare = _WITHOUT_YEAR.fullmatch(named)
    if bare and not _RELATIVE.search(named) and window.start.year == window.end.year:
        joint = ", " if bare["day"] else _OF_YEAR.get(language, " ")
        return f"{joint}{window.end.year}"
    if not _VAGUE.search(named):
        return f" ({say(meant)})"
    # Of about a week the middle is said, not where it begins and ends.
    return f" (around {window.centre.strftime(_SHORT) if meant.precision is Precision.WEEK else say(meant)})"


def _is_length(text: str, reading: TimeReading) -> bool:
    named = text[reading.begin : reading.end]
    return (
        reading.rule.endswith(".ago")
        and _LENGTH.fullmatch(named) is not None
        and _DENIED.search(text[: reading.begin]) is not None
    )


def _comes_round(text: str, reading: TimeReading, sentences: Sequence[Stretch]) -> bool:
    """Tell whether a day without its year is one of every year, or of a year that is not told (a birth's)."""
    if not _WITHOUT_YEAR.fullmatch(text[reading.begin : reading.end]):
        return False
    near = _around(reading.begin, reading.end, sentences)
    return is_yearly(text[near.begin : near.end])


def _is_told(text: str, reading: TimeReading, sentences: tuple[Stretch, ...]) -> bool:
    """Tell whether a time is certainly when that happened which is told."""
    if _comes_round(text, reading, sentences):
        return False
    if reading.rule.rpartition(".")[2] in _OPEN or _VAGUE.search(text, reading.begin, reading.end):
        return False
    near = _around(reading.begin, reading.end, sentences)
    return not is_aside(text[near.begin : near.end], reading.begin - near.begin, reading.end - near.begin)


def _chosen(occurrences: list[Occurrence]) -> Occurrence | None:
    """Return the narrowest of stretches within one another, else the first named.

    Of two days neither is within the other: the first is what a sentence sets out to tell, the rest follows from it.
    The stretch over both was never said; only an expression that says a range makes one.
    """
    if not occurrences:
        return None
    narrow = min(occurrences, key=lambda one: (one.window.days, one.window.start))
    within = all(one.window.start <= narrow.window.start and narrow.window.end <= one.window.end for one in occurrences)
    return narrow if within else occurrences[0]
