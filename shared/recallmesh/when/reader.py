"""The reader: finds the times in a text, joins those that make a range, and refuses what could be something else."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from recallmesh.core.time import Occurrence, Precision, Window, as_utc
from recallmesh.core.when import TimeReading
from recallmesh.when.calendar import TICK
from recallmesh.when.english import ENGLISH
from recallmesh.when.grammar import Grammar
from recallmesh.when.iso import find_iso
from recallmesh.when.language import likely
from recallmesh.when.rules import Asked, read_match

FIRST_YEAR = 1900
"""Where "before …" begins: earlier than anything a memory of ours tells."""
LAST_YEAR = 2200
"""Where "after …" ends when its start lies ahead."""
YEAR = re.compile(r"\d{4}")
LEADS_OF_ANY_MONTH = re.compile(r"(?:in|during|throughout|of|early|late|mid)\b", re.IGNORECASE)
OPENERS = frozenset({"from", "between"})
CLOSERS = frozenset({"to", "and", "through", "by"})
LINKS = re.compile(r"\s+(?:and|to|until|till|through)\b", re.IGNORECASE)
STOPS = re.compile(r"\s*(?:$|[.,;:!?)–-]|(?:and|to|until|till|through)\b)", re.IGNORECASE)


class GrammarTimeReader:
    """Reads times by tables of phrases; refuses what is ambiguous rather than guess."""

    def __init__(self, grammars: Sequence[Grammar] = (ENGLISH,)) -> None:
        """Read by these languages, the first one always among those tried."""
        self._grammars = tuple(grammars)

    def read(self, text: str, now: datetime) -> TimeReading | None:
        """Return the period that a question asks about; several times in it are one stretch from first to last."""
        found = self._find(text, Asked(_aware(now), past=True))
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
        return tuple(self._find(text, Asked(_aware(now), past=False)))

    def _find(self, text: str, asked: Asked) -> list[TimeReading]:
        for grammar in likely(text, self._grammars):
            points = _points(text, grammar, asked)
            if points:
                return _joined(text, points, grammar, asked.now)
        return []


def _aware(now: datetime) -> datetime:
    return as_utc(now) if now.tzinfo is None else now


@dataclass(frozen=True, slots=True)
class _Found:
    """A match; without a meaning (30 February) it names no time, and nothing inside it does."""

    begin: int
    end: int
    rule: str
    meant: Occurrence | None


def _points(text: str, grammar: Grammar, asked: Asked) -> list[TimeReading]:
    """Return the single times, leftmost and longest first, without overlap."""
    found = [_Found(*match) for match in find_iso(text, asked.now)]
    for pattern, phrase in grammar.patterns:
        if phrase.asked_only and not asked.past:
            continue
        for match in pattern.finditer(text):
            if not _shy(match, text, grammar):
                begin = match.end("lead") if "lead" in pattern.groupindex else match.start()
                meant = read_match(match, phrase, grammar, asked)
                found.append(_Found(begin, match.end(), f"{grammar.language}.{phrase.rule}", meant))
    found.sort(key=lambda one: (one.begin, -one.end))
    kept: list[TimeReading] = []
    edge = 0
    for one in found:
        if one.begin >= edge:
            edge = one.end
            if one.meant is not None:
                kept.append(TimeReading(one.meant, one.begin, one.end, one.rule))
    return kept


def _shy(match: re.Match[str], text: str, grammar: Grammar) -> bool:
    """Tell whether a month's name may be another word here: "may I", "march on", "June said"."""
    groups = match.groupdict()
    name = groups.get("month")
    if name is None or name.casefold() not in grammar.shy_months or groups.get("year"):
        return False
    lead = groups.get("lead")
    if groups.get("day"):
        return name.islower() and not re.search(r"\d(?:st|nd|rd|th)", match.group(), re.IGNORECASE)
    if lead is None:
        return name.islower()
    if LEADS_OF_ANY_MONTH.match(lead):
        return False
    return name.islower() or not _backed(lead, match, text)


def _backed(lead: str, match: re.Match[str], text: str) -> bool:
    """Tell whether what stands around makes "from April", "to June", "after May" a time."""
    word = lead.split()[0].casefold()
    if word in OPENERS:
        return LINKS.match(text, match.end()) is not None
    if word in CLOSERS:
        return not OPENERS.isdisjoint(text[: match.start()].casefold().split()[-6:])
    return STOPS.match(text, match.end()) is not None


def _joined(text: str, points: list[TimeReading], grammar: Grammar, now: datetime) -> list[TimeReading]:
    """Make ranges of "between A and B", "from A to B", and open ones of "since A", "before A"."""
    joined: list[TimeReading] = []
    rest = list(points)
    while rest:
        point = rest.pop(0)
        before = text[joined[-1].end if joined else 0 : point.begin]
        if rest and (whole := _range(text, before, point, rest[0], grammar)) is not None:
            rest.pop(0)
            joined.append(whole)
            continue
        joined.append(_open(before, point, grammar, now))
    return joined


def _range(text: str, before: str, first: TimeReading, second: TimeReading, grammar: Grammar) -> TimeReading | None:
    gap = text[first.end : second.begin]
    lead = _last(grammar.between, before)
    if lead is None or not re.fullmatch(rf"\s*(?:{grammar.both})\s*(?:the\s+)?", gap, re.IGNORECASE):
        lead = _last(grammar.start, before)
        if not re.fullmatch(rf"\s*(?:{grammar.to})\s*(?:the\s+)?", gap, re.IGNORECASE):
            return None
    start, end = first.occurrence.window.start, second.occurrence.window.end
    if YEAR.search(text[second.begin : second.end]) and not YEAR.search(text[first.begin : first.end]):
        start = _same_year(start, second.occurrence.window.start)
    if start > end:
        return None
    begin = first.begin - (len(before) - lead if lead is not None else 0)
    return TimeReading(Occurrence(Window(start, end), Precision.RANGE), begin, second.end, f"{grammar.language}.range")


def _same_year(start: datetime, other: datetime) -> datetime:
    """Take the year of "June 2025" for the "May" before it; of "January 2025" the one before for "November"."""
    try:
        moved = start.replace(year=other.year)
        return moved if moved <= other else start.replace(year=other.year - 1)
    except ValueError:
        return start


def _open(before: str, point: TimeReading, grammar: Grammar, now: datetime) -> TimeReading:
    window = point.occurrence.window
    epoch = datetime(FIRST_YEAR, 1, 1, tzinfo=now.tzinfo)
    horizon = datetime(LAST_YEAR, 1, 1, tzinfo=now.tzinfo)
    sides: tuple[tuple[str, str, Callable[[], Window]], ...] = (
        ("since", grammar.since, lambda: Window(window.start, max(now, window.end))),
        ("after", grammar.after, lambda: Window(window.end + TICK, now if now > window.end + TICK else horizon)),
        ("before", grammar.before, lambda: Window(epoch, window.start - TICK)),
        ("until", grammar.until, lambda: Window(epoch, window.end)),
    )
    for name, pattern, make in sides:
        at = _last(pattern, before)
        if at is not None:
            begin = point.begin - (len(before) - at)
            meant = Occurrence(make(), Precision.RANGE)
            return replace(point, occurrence=meant, begin=begin, rule=f"{grammar.language}.{name}")
    return point


def _last(pattern: str, before: str) -> int | None:
    """Return where the words just before a time begin, if they are these."""
    found = re.search(rf"(?<!\w)(?:{pattern})(?:\s+the)?\s*$", before, re.IGNORECASE)
    return None if found is None else found.start()
