"""Dates of a statement: relative ones written out beside their words, and the stretch of time it tells of."""

import re
from datetime import datetime

from recallmesh.core.time import Occurrence, Precision
from recallmesh.core.when import TimeReader, TimeReading
from recallmesh.retain.clause import is_aside
from recallmesh.retain.sentence import Stretch, split_sentences

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


def write_dates(text: str, reader: TimeReader, now: datetime | None) -> tuple[str, Occurrence | None]:
    """Return the text with its times made absolute, and when what it tells of happened (``None``: not certainly told).

    "Yesterday" gets "(7 May 2023)" after it, a day or month its year: "30 April 2023". Without ``now`` only dates that
    name their year are read.
    """
    # With no moment to be relative to, any will do: what depends on it is left out.
    moment = now or datetime.fromisoformat("2000-01-01T00:00:00+00:00")
    readings = reader.read_all(text, moment)
    kept = [one for one in readings if (now is not None or _is_absolute(text, one)) and not _is_length(text, one)]
    written = text
    for reading in reversed(kept):
        if not _is_absolute(text, reading):
            written = written[: reading.end] + _addition(text, reading, reader, moment) + written[reading.end :]
    sentences = split_sentences(text)
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


def _is_absolute(text: str, reading: TimeReading) -> bool:
    return _YEAR.search(text, reading.begin, reading.end) is not None


def _addition(text: str, reading: TimeReading, reader: TimeReader, now: datetime) -> str:
    """Return what makes a time absolute when it is written behind it."""
    named = text[reading.begin : reading.end]
    language, _, rule = reading.rule.rpartition(".")
    meant = reading.occurrence
    if rule in _FROM_POINT:
        # "Until yesterday" is to say which day that is, not where a stretch begins that has no beginning.
        points = reader.read_all(named.partition(" ")[2], now)
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


def _is_told(text: str, reading: TimeReading, sentences: tuple[Stretch, ...]) -> bool:
    """Tell whether a time is certainly when that happened which is told."""
    if reading.rule.rpartition(".")[2] in _OPEN or _VAGUE.search(text, reading.begin, reading.end):
        return False
    for one in sentences:
        if one.begin <= reading.begin < one.end:
            return not is_aside(text[one.begin : one.end], reading.begin - one.begin, reading.end - one.begin)
    return True


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
