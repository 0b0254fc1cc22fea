"""Times in questions and statements; the cases are kinds of faults seen in the field."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from recallmesh.core.time import Precision
from recallmesh.when.reader import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()

NO_TIMES = (
    "what did we discuss about the budget",
    "may Ida take the second train",
    "I march every day",
    "Will, Mark and April met",
    "is June coming to the party?",
    "a letter from April",
    "March on Washington",
    "which service listens on port 9077",
    "ticket 20391",
    "room 2041",
    "we walked in 2000 steps to the top",
    "100000 years ago",
    "year 0000",
    "30 February 2026",
    "on 7/8/2024",
    "how long did the meeting last?",
    "the second time we met",
    "version 10.7.2024.1",
    "do we know the sun",
)

TIMES = (
    ("what happened in May", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("what happened in december", "2025-12-01", "2025-12-31", Precision.MONTH),
    ("in 2024", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("meeting on 13 July 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("the meeting of July 13th, 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("in July 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("yesterday", "2026-08-18", "2026-08-18", Precision.DAY),
    ("the day before yesterday", "2026-08-17", "2026-08-17", Precision.DAY),
    ("last week", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("this month", "2026-08-01", "2026-08-31", Precision.MONTH),
    ("last year", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("last weekend", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("last Friday", "2026-08-14", "2026-08-14", Precision.DAY),
    ("what did he say on Friday", "2026-08-14", "2026-08-14", Precision.DAY),
    ("3 days ago", "2026-08-16", "2026-08-16", Precision.DAY),
    ("two weeks ago", "2026-08-03", "2026-08-09", Precision.WEEK),
    ("five years ago", "2021-01-01", "2021-12-31", Precision.YEAR),
    ("Q2 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("the second quarter of 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("last spring", "2026-03-01", "2026-05-31", Precision.SEASON),
    ("in the summer of 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("in the 1990s", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("the 90s", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("between March 3 and March 9", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("from May to June 2025", "2025-05-01", "2025-06-30", Precision.RANGE),
    ("from November to January 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("from 2021 to 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
    ("after 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("since 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("before 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("until March 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("in the last two weeks", "2026-08-05", "2026-08-19", Precision.RANGE),
    ("on 2024-07-13", "2024-07-13", "2024-07-13", Precision.DAY),
    ("am 13.07.2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("on 7/13/2024", "2024-07-13", "2024-07-13", Precision.DAY),
)


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_gives_no_window(text: str) -> None:
    assert READER.read(text, NOW) is None


@pytest.mark.parametrize(("text", "first", "last", "precision"), TIMES)
def test_a_time_gives_its_window_and_keeps_its_precision(text, first, last, precision) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
    assert reading.occurrence.precision is precision


def test_a_day_ends_at_its_last_tick() -> None:
    reading = READER.read("yesterday", NOW)
    assert reading is not None
    assert reading.occurrence.window.end == datetime(2026, 8, 19, tzinfo=UTC) - timedelta(microseconds=1)


def test_yesterday_is_the_askers_and_not_the_servers() -> None:
    asker = timezone(timedelta(hours=10))
    reading = READER.read("yesterday", datetime(2026, 8, 19, 0, 30, tzinfo=asker))
    assert reading is not None
    assert reading.occurrence.window.start == datetime(2026, 8, 18, tzinfo=asker)


def test_the_reading_names_its_words_and_its_rule() -> None:
    text = "what did we eat last week in Porto"
    reading = READER.read(text, NOW)
    assert reading is not None
    assert text[reading.begin : reading.end] == "last week"
    assert reading.rule == "en.unit"


def test_a_statement_means_the_nearest_date_and_a_question_the_last_one() -> None:
    text = "My last day is 30 April, and I start on 11 May."
    now = datetime(2026, 3, 3, tzinfo=UTC)
    days = [f"{reading.occurrence.window.start:%Y-%m-%d}" for reading in READER.read_all(text, now)]
    assert days == ["2026-04-30", "2026-05-11"]
    asked = READER.read("what was on 11 May", now)
    assert asked is not None
    assert asked.occurrence.window.start.year == 2025


def test_a_statement_without_a_direction_names_no_season() -> None:
    said = datetime(2026, 8, 16, tzinfo=UTC)
    assert READER.read_all("they are getting married in the spring", said) == ()
    asked = READER.read("who got married in the spring", said)
    assert asked is not None
    assert f"{asked.occurrence.window.start:%Y-%m}" == "2026-03"


def test_a_long_text_without_times_has_none() -> None:
    assert READER.read_all("the quick brown fox jumps over port 9077 " * 400, NOW) == ()


@pytest.mark.parametrize("text", ["next spring", "el próximo verano"])
def test_a_season_after_the_end_of_the_calendar_is_no_time(text: str) -> None:
    assert READER.read_all(text, datetime(9999, 12, 31, tzinfo=UTC)) == ()
    assert READER.read(text, datetime(9999, 12, 31, tzinfo=UTC)) is None


def test_a_season_before_the_beginning_of_the_calendar_is_no_time() -> None:
    assert READER.read_all("last winter", datetime(1, 1, 1, tzinfo=UTC)) == ()
