"""How a question and a statement are read for times; what single phrases mean stands in ``test_when_table.py``."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from recallmesh.core.time import Precision
from recallmesh.when import GrammarTimeReader
from recallmesh.when.reader import MANY, SET_OFF

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()


def read(text: str, now: datetime = NOW) -> tuple[str, str, str]:
    """Return the first day, the last day and the rule."""
    reading = READER.read(text, now)
    assert reading is not None
    window = reading.occurrence.window
    return f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}", reading.rule


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


def test_the_words_of_a_time_told_from_another_are_all_of_it() -> None:
    text = "who called two weeks before 11 August 2023, and why?"
    reading = READER.read(text, NOW)
    assert reading is not None
    assert text[reading.begin : reading.end] == "two weeks before 11 August 2023"


def test_a_statement_means_the_nearest_date_and_a_question_the_last_one() -> None:
    text = "My last day is 30 April, and I start on 11 May."
    now = datetime(2026, 3, 3, tzinfo=UTC)
    days = [f"{reading.occurrence.window.start:%Y-%m-%d}" for reading in READER.read_all(text, now)]
    assert days == ["2026-04-30", "2026-05-11"]
    asked = READER.read("what was on 11 May", now)
    assert asked is not None
    assert asked.occurrence.window.start.year == 2025


def test_a_statement_without_a_direction_names_no_season_and_no_weekend() -> None:
    said = datetime(2026, 8, 16, tzinfo=UTC)
    assert READER.read_all("they are getting married in the spring", said) == ()
    assert READER.read_all("they met at the weekend", said) == ()
    asked = READER.read("who got married in the spring", said)
    assert asked is not None
    assert f"{asked.occurrence.window.start:%Y-%m}" == "2026-03"


def test_a_statement_may_lie_ahead_and_a_question_about_the_past_asks_how_long() -> None:
    [ahead] = READER.read_all("we move in three months", NOW)
    assert f"{ahead.occurrence.window.start:%Y-%m}" == "2026-11"
    assert READER.read("how much did he save in three months", NOW) is None


def test_two_times_of_different_rules_are_one_stretch_for_a_question() -> None:
    assert read("Was war gestern und am 3. Mai 2025?") == ("2025-05-03", "2026-08-18", "de.day + de.date")
    assert read("what did Ida say in May and in July") == ("2026-05-01", "2026-07-31", "en.month")
    assert read("what changed in May and June") == ("2026-05-01", "2026-06-30", "en.month")


def test_a_relative_time_beside_a_dated_day_is_relative_to_that_day() -> None:
    assert read("what did Ida finish last Friday, as told on 23 January 2022") == (
        "2022-01-21",
        "2022-01-23",
        "en.weekday + en.date",
    )
    assert read("compare last Friday and 23 January 2022")[:2] == ("2022-01-23", "2026-08-14")


@pytest.mark.parametrize(
    ("text", "first"),
    [("letztes Jahr am 29. Februar", "2025-01-01"), ("29 February of last year", "2025-01-01")],
)
def test_a_day_that_the_named_year_has_not_is_no_other_year(text: str, first: str) -> None:
    reading = READER.read(text, NOW)
    assert reading is None or f"{reading.occurrence.window.start:%Y-%m-%d}" <= first


@pytest.mark.parametrize("text", ["meeting 03/04/2026", "on 03/04/2026", "会議 03/04/2026", "회의 03/04/2026"])
def test_a_date_in_figures_is_refused_where_the_language_does_not_tell_which_is_the_day(text: str) -> None:
    assert READER.read(text, NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        "was war am 03/04/2026",
        "que s'est-il passé le 03/04/2026",
        "qué pasó el 03-04-2026",
        "cosa è successo il 03/04/2026",
        "o que aconteceu em 03/04/2026",
        "wat gebeurde er op 03-04-2026",
        "on 03.04.2026",
    ],
)
def test_a_date_in_figures_has_its_day_first_where_the_language_does(text: str) -> None:
    assert read(text) == ("2026-04-03", "2026-04-03", "figures")


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("Meeting mit Anna yesterday", ("2026-08-18", "2026-08-18", "en.day")),
        ("la réunion last week", ("2026-08-10", "2026-08-16", "en.unit")),
        ("kickoff 지난주", ("2026-08-10", "2026-08-16", "ko.unit")),
        ("API 上周的 review", ("2026-08-10", "2026-08-16", "zh.unit")),
        ("Sprintの先週の話", ("2026-08-10", "2026-08-16", "ja.unit")),
    ],
)
def test_a_text_in_two_languages_is_read_in_the_one_that_tells_the_time(text: str, window: tuple[str, ...]) -> None:
    assert read(text) == window


def test_a_statement_in_japanese_is_not_read_by_chinese_rules() -> None:
    rules = {reading.rule[:2] for reading in READER.read_all("去年の夏に会った。先週も会った。", NOW)}
    assert rules == {"ja"}


def test_a_long_text_without_times_has_none() -> None:
    assert READER.read_all("the quick brown fox jumps over port 9077 " * 400, NOW) == ()


def test_a_question_with_very_many_times_asks_about_no_one_period() -> None:
    times = "2024-07-13 "
    assert READER.read(times * MANY, NOW) is not None
    assert READER.read(times * (MANY + 1), NOW) is None
    assert len(READER.read_all(times * (MANY + 1), NOW)) == MANY + 1


def test_a_table_of_figures_below_a_question_does_not_hide_what_it_asks() -> None:
    table = " ".join(str(1000 + number) for number in range(SET_OFF + 1))
    assert read(f"what went wrong last week? {table}") == ("2026-08-10", "2026-08-16", "en.unit")


@pytest.mark.parametrize(("before", "year"), [("before 1850", 1849), ("vor 1850", 1849), ("1850年以前", 1849)])
def test_what_is_before_an_early_year_ends_there(before: str, year: int) -> None:
    reading = READER.read(before, NOW)
    assert reading is not None
    assert reading.occurrence.window.end.year == year
    assert reading.occurrence.window.start < reading.occurrence.window.end


@pytest.mark.parametrize("text", ["next spring", "el próximo verano"])
def test_a_season_after_the_end_of_the_calendar_is_no_time(text: str) -> None:
    assert READER.read_all(text, datetime(9999, 12, 31, tzinfo=UTC)) == ()
    assert READER.read(text, datetime(9999, 12, 31, tzinfo=UTC)) is None


def test_a_season_before_the_beginning_of_the_calendar_is_no_time() -> None:
    assert READER.read_all("last winter", datetime(1, 1, 1, tzinfo=UTC)) == ()


def test_a_season_is_kept_as_exactly_as_it_is_known() -> None:
    reading = READER.read("in the summer of 2022", NOW)
    assert reading is not None
    assert reading.occurrence.precision is Precision.SEASON
