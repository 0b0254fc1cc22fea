"""The reader: finds the times in a text, joins those that make a range, and refuses what could be something else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache

from recallmesh.core.time import Occurrence, Precision, Window, as_utc
from recallmesh.core.when import TimeReading
from recallmesh.when.calendar import TICK
from recallmesh.when.grammar import NEVER, Grammar
from recallmesh.when.iso import find_iso
from recallmesh.when.language import ALL, likely
from recallmesh.when.rules import Asked, read_match

FIRST_YEAR = 1900
"""Where "before …" begins: earlier than anything a memory of ours tells."""
EARLIER_YEAR = 1000
"""Where "before …" begins for a time before that."""
LAST_YEAR = 2300
"""Where "after …" ends when its start lies ahead."""
YEAR = re.compile(r"\d{4}")
FULL_WIDTH = {ord("０") + digit: str(digit) for digit in range(10)}
"""The figures of Japanese and Chinese type, as wide as a character."""
CLOSED = (".days", ".months", ".years")
"""Rules whose reading has both its ends already."""
WEEKDAY, DATE = ".weekday", ".date"
APPOSED = re.compile(r"[\s,(（]{0,3}(?:(?:the|dem|den|der|le|el|il|dia|de) )?")
"""What stands between a weekday and the date that it only repeats: "Montag, dem 3. Mai"."""
NEAR = 48
"""Characters before a time in which the words that open or bound it are looked for."""
OPENERS = frozenset({"from", "between"})
CLOSERS = frozenset({"to", "and", "through", "by"})
LINKS = re.compile(r"\s+(?:and|to|until|till|through)\b", re.IGNORECASE)
STOPS = re.compile(r"\s*(?:$|[.,;:!?)–-]|(?:and|to|until|till|through)\b)", re.IGNORECASE)


class GrammarTimeReader:
    """Reads times by tables of phrases; refuses what is ambiguous rather than guess."""

    def __init__(self, grammars: Sequence[Grammar] = ALL) -> None:
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
        """Read by every likely language and keep what explains the most of the text, the likeliest first."""
        text = text.translate(FULL_WIDTH)
        best: list[TimeReading] = []
        covered = 0
        for grammar in likely(text, self._grammars):
            found = _joined(text, _points(text, grammar, asked), grammar, asked.now)
            length = sum(reading.end - reading.begin for reading in found)
            if length > covered:
                best, covered = found, length
        return best


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
    spans = grammar.spans(text)
    for pattern, phrase in grammar.patterns:
        if phrase.asked_only and not asked.past:
            continue
        for low, high in spans.get(phrase.kind, ()):
            for match in pattern.finditer(text, low, high):
                if not _shy(match, text, grammar):
                    begin = max(match.start(), match.end("lead") if "lead" in pattern.groupindex else 0)
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
    return _merged(text, kept)


def _merged(text: str, points: list[TimeReading]) -> list[TimeReading]:
    """Make one of a weekday and the date beside it: the date tells more."""
    merged: list[TimeReading] = []
    for point in points:
        last = merged[-1] if merged else None
        if last is not None and APPOSED.fullmatch(text, last.end, point.begin):
            if last.rule.endswith(WEEKDAY) and point.rule.endswith(DATE):
                merged[-1] = replace(point, begin=last.begin)
                continue
            if last.rule.endswith(DATE) and point.rule.endswith(WEEKDAY):
                merged[-1] = replace(last, end=point.end)
                continue
        merged.append(point)
    return merged


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
    if re.match(grammar.month_leads, lead, re.IGNORECASE):
        return False
    return name.islower() or not _backed(lead, match, text)


def _backed(lead: str, match: re.Match[str], text: str) -> bool:
    """Tell whether what stands around makes "from April", "to June", "after May" a time."""
    word = lead.split(maxsplit=1)[0].casefold()
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
        joined.append(_open(text, before, point, grammar, now))
    return joined


def _range(text: str, before: str, first: TimeReading, second: TimeReading, grammar: Grammar) -> TimeReading | None:
    gap = text[first.end : second.begin]
    closing = _compiled(rf"\s{{0,3}}(?:{grammar.closing})").match(text, second.end)
    lead = _last(grammar.between, before, grammar)
    swappable = (lead is not None or closing is not None) and _between(grammar.both, gap, grammar)
    if not swappable:
        lead = _last(grammar.start, before, grammar)
        if not _between(grammar.to, gap, grammar):
            return None
    start, end = first.occurrence.window.start, second.occurrence.window.end
    if YEAR.search(text[second.begin : second.end]) and not YEAR.search(text[first.begin : first.end]):
        start = _same_year(start, second.occurrence.window.start)
    if start > end and swappable:
        start, end = second.occurrence.window.start, first.occurrence.window.end
    if start > end and first.rule.endswith(WEEKDAY) and second.rule.endswith(WEEKDAY):
        start -= timedelta(weeks=1)
    if start > end:
        return None
    begin = first.begin - (lead or 0)
    over = second.end if closing is None else closing.end()
    return TimeReading(Occurrence(Window(start, end), Precision.RANGE), begin, over, f"{grammar.language}.range")


def _between(pattern: str, gap: str, grammar: Grammar) -> bool:
    return _compiled(rf"\s{{0,3}}(?:{pattern})\s{{0,3}}(?:(?:{grammar.article})\s{{0,3}})?$").match(gap) is not None


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """Make a pattern once: there are a few per language."""
    return re.compile(source, re.IGNORECASE)


def _same_year(start: datetime, other: datetime) -> datetime:
    """Take the year of "June 2025" for the "May" before it; of "January 2025" the one before for "November"."""
    try:
        moved = start.replace(year=other.year)
        return moved if moved <= other else start.replace(year=other.year - 1)
    except ValueError:
        return start


def _open(text: str, before: str, point: TimeReading, grammar: Grammar, now: datetime) -> TimeReading:
    window = point.occurrence.window
    if point.rule.endswith(CLOSED):
        return point
    for side in ("since", "after", "before", "until"):
        lead = _last(getattr(grammar, side), before, grammar)
        tail = _compiled(rf"\s{{0,3}}(?:{grammar.tails.get(side, NEVER)})").match(text, point.end)
        if lead is not None or tail is not None:
            try:
                whole = _side(side, window, now)
            except OverflowError:
                return point  # at the ends of the calendar
            return TimeReading(
                Occurrence(whole, Precision.RANGE),
                point.begin - (lead or 0),
                point.end if tail is None else tail.end(),
                f"{grammar.language}.{side}",
            )
    return point


def _side(side: str, window: Window, now: datetime) -> Window:
    """Return what is since, after, before or until a time."""
    if side == "since":
        return Window(window.start, max(now, window.end))
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
    found = _compiled(rf"{edge}(?:{pattern}){article}\s{{0,3}}$").search(near)
    return None if found is None else len(near) - found.start()
