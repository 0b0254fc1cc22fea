"""What holds of any text: the reader never raises, and what it reads is a stretch of time inside the text."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.when import GrammarTimeReader
from recallmesh.when.language import ALL
from recallmesh.when.numeral import read_han

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
READER = GrammarTimeReader()
WORDS = sorted(
    {word for grammar in ALL for table in (grammar.months, grammar.units, grammar.weekdays) for word in table}
    | {
        "in",
        "last",
        "vor",
        "il y a",
        "hace",
        "fa",
        "há",
        "geleden",
        "전",
        "前",
        "から",
        "到",
        "2024",
        "3",
        "30",
        "0000",
        "99",
    }
    | {
        "since",
        "before",
        "between",
        "and",
        "from",
        "to",
        "bis",
        "und",
        "到",
        "年",
        "月",
        "日",
        "ago",
        "next",
        "9999",
        "1800",
    }
    | {"ı", "İ", "ſ", "٣", "\u200b", "\N{COMBINING DIAERESIS}", "-", ".", "/", "'", "9" * 30},
)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 (hypothesis)
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))


@given(text=TEXTS, now=MOMENTS)
def test_any_text_is_read_without_an_error_and_its_words_lie_in_it(text: str, now: datetime) -> None:
    readings = READER.read_all(text, now)
    asked = READER.read(text, now)
    for reading in (*readings, *([asked] if asked else [])):
        assert reading.occurrence.window.start <= reading.occurrence.window.end
        assert 0 <= reading.begin < reading.end <= len(text)
    assert all(first.end <= second.begin for first, second in pairwise(readings))


@pytest.mark.parametrize(
    "text",
    ["yesterday", "gestern", "hier", "ayer", "ieri", "ontem", "gisteren", "어제", "きのう", "昨天"],
)
def test_a_naive_now_is_utc_and_an_offset_is_the_askers(text: str) -> None:
    naive = READER.read(text, NOW.replace(tzinfo=None))
    assert naive is not None
    assert naive.occurrence.window.start == datetime(2026, 8, 18, tzinfo=UTC)
    there = timezone(timedelta(hours=10))
    asked = READER.read(text, datetime(2026, 8, 19, 0, 30, tzinfo=there))
    assert asked is not None
    assert asked.occurrence.window.start == datetime(2026, 8, 18, tzinfo=there)


@pytest.mark.parametrize(("before", "year"), [("before 1850", 1849), ("vor 1850", 1849), ("1850年以前", 1849)])
def test_what_is_before_an_early_year_ends_there(before: str, year: int) -> None:
    reading = READER.read(before, NOW)
    assert reading is not None
    assert reading.occurrence.window.end.year == year
    assert reading.occurrence.window.start < reading.occurrence.window.end


def test_a_day_that_no_year_has_is_no_time() -> None:
    assert READER.read("what was on 30 February", NOW) is None
    leap = READER.read("what was on 29 February", NOW)
    assert leap is not None
    assert leap.occurrence.window.start == datetime(2024, 2, 29, tzinfo=UTC)


def test_two_times_of_different_rules_are_one_stretch_for_a_question() -> None:
    reading = READER.read("Was war gestern und am 3. Mai 2025?", NOW)
    assert reading is not None
    assert reading.occurrence.window.start == datetime(2025, 5, 3, tzinfo=UTC)
    assert reading.occurrence.window.end.date() == datetime(2026, 8, 18, tzinfo=UTC).date()


def test_a_statement_in_japanese_is_not_read_by_chinese_rules() -> None:
    rules = {reading.rule[:2] for reading in READER.read_all("去年の夏に会った。先週も会った。", NOW)}
    assert rules == {"ja"}


@pytest.mark.parametrize(("text", "number"), [("二〇二四", 2024), ("十", 10), ("二十三", 23), ("一百零五", 105)])
def test_han_numbers_are_read_by_scale_or_by_digit(text: str, number: int) -> None:
    assert read_han(text) == number


def test_what_is_no_han_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        read_han("三天")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("am Montag, dem 3. Mai 2025", "2025-05-03", "2025-05-03"),
        ("on Monday, May 3, 2025", "2025-05-03", "2025-05-03"),
        ("2025年5月3日星期六", "2025-05-03", "2025-05-03"),
        ("desde el lunes hasta el viernes", "2026-08-10", "2026-08-14"),
        ("zwischen gestern und letztem Montag", "2026-08-17", "2026-08-18"),
        ("从2024-07-13到2024-07-20", "2024-07-13", "2024-07-20"),
        ("2024/07/13の会議", "2024-07-13", "2024-07-13"),
        ("was macht sie seit drei Jahren", "2023-08-19", "2026-08-19"),
        ("on est là depuis 3 ans", "2023-08-19", "2026-08-19"),
    ],
)
def test_times_that_belong_together_are_one(text: str, first: str, last: str) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
