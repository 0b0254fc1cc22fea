"""Phrases in ten languages and what they mean, or that they mean no time: the tables in ``when/``.

A table's lines are ``phrase | window | precision | rule``, or ``phrase | none``. A window is ``2026-08-18`` (one day),
``2024`` (a year) or ``first..last``, both included; ``..last`` begins where "before" does, ``now`` is the moment of
the question. A line that starts with ``@`` sets that moment for those below it. A rule with a dot in front may be any
language's.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recallmesh.when import GrammarTimeReader
from recallmesh.when.joint import FIRST_YEAR
from recallmesh.when.language import ALL

TABLES = Path(__file__).parent / "when"
READER = GrammarTimeReader()


@dataclass(frozen=True)
class Row:
    language: str
    now: datetime
    phrase: str
    window: str = ""
    precision: str = ""
    rule: str = ""


def read_table(path: Path) -> Iterator[Row]:
    now = datetime(2026, 8, 19, 10, tzinfo=UTC)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            now = datetime.fromisoformat(line[1:].strip())
        elif line and not line.startswith("#"):
            phrase, *cells = (cell.strip() for cell in line.split(" | "))
            yield Row(path.stem, now, phrase, *([] if cells == ["none"] else cells))


ROWS = [row for path in sorted(TABLES.glob("*.txt")) for row in read_table(path)]
TIMES = [row for row in ROWS if row.window]
NO_TIMES = [row for row in ROWS if not row.window]


def name(row: Row) -> str:
    return f"{row.language}: {row.phrase} @ {row.now:%Y-%m-%d %z}"


def ends(row: Row) -> tuple[str, str]:
    first, _, last = row.window.rpartition("..") if ".." in row.window else (row.window, "", row.window)
    if first == last and len(first) == len("2024"):
        return f"{first}-01-01", f"{first}-12-31"
    return first or f"{FIRST_YEAR}-01-01", row.now.isoformat() if last == "now" else last


@pytest.mark.parametrize("row", TIMES, ids=name)
def test_a_time_gives_its_window_its_precision_and_its_rule(row: Row) -> None:
    reading = READER.read(row.phrase, row.now)
    assert reading is not None
    window, (first, last) = reading.occurrence.window, ends(row)
    assert (window.start.isoformat()[: len(first)], window.end.isoformat()[: len(last)]) == (first, last)
    assert reading.occurrence.precision == row.precision
    assert reading.rule == row.rule or (row.rule.startswith(".") and reading.rule.endswith(row.rule))
    assert window.start.utcoffset() == window.end.utcoffset() == row.now.utcoffset()


@pytest.mark.parametrize("row", [row for row in TIMES if not row.window.endswith("now")], ids=name)
def test_a_day_or_longer_begins_at_midnight_and_ends_at_the_last_tick_before_one(row: Row) -> None:
    reading = READER.read(row.phrase, row.now)
    assert reading is not None
    after = reading.occurrence.window.end + timedelta(microseconds=1)
    edges = [reading.occurrence.window.start, after]
    if reading.occurrence.precision != "instant":
        assert {f"{edge:%H:%M:%S.%f}" for edge in edges} == {"00:00:00.000000"}


@pytest.mark.parametrize("row", NO_TIMES, ids=name)
def test_what_is_no_time_gives_no_window(row: Row) -> None:
    assert READER.read(row.phrase, row.now) is None


def test_every_language_has_its_share_of_times_and_of_what_is_none() -> None:
    times, none = (Counter(row.language for row in rows) for rows in (TIMES, NO_TIMES))
    assert len(times) == len(none) == len(ALL)
    assert min(times.values()) >= 15
    assert min(none.values()) >= 15
    assert len(NO_TIMES) * 2 >= len(ROWS) >= 400


def test_no_phrase_stands_twice() -> None:
    assert len({(row.language, row.now, row.phrase) for row in ROWS}) == len(ROWS)
