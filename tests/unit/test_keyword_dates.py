"""A memory's time in words."""

from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.keyword.dates import date_words


def moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


def occurred(start: datetime, end: datetime, precision: Precision) -> Occurrence:
    return Occurrence(Window(start, end), precision)


@pytest.mark.parametrize(
    ("occurrence", "words"),
    [
        (occurred(moment(2023, 5, 8, 9), moment(2023, 5, 8, 9), Precision.INSTANT), "8 May 2023, Monday"),
        (occurred(moment(2023, 5, 8), moment(2023, 5, 8, 23, 59), Precision.DAY), "8 May 2023, Monday"),
        (
            occurred(moment(2023, 5, 8), moment(2023, 5, 14, 23), Precision.WEEK),
            "8 May 2023, Monday – 14 May 2023, Sunday",
        ),
        (occurred(moment(2023, 5, 8), moment(2023, 5, 8, 1), Precision.RANGE), "8 May 2023, Monday"),
        (occurred(moment(2023, 5, 1), moment(2023, 5, 31), Precision.MONTH), "May 2023"),
        (occurred(moment(2023, 4, 1), moment(2023, 6, 30), Precision.QUARTER), "April May June 2023"),
        (occurred(moment(2023, 12, 1), moment(2024, 2, 29), Precision.SEASON), "December January February 2023 2024"),
        (occurred(moment(2023, 1, 1), moment(2023, 12, 31), Precision.YEAR), "2023"),
        (occurred(moment(1990, 1, 1), moment(1999, 12, 31), Precision.DECADE), "1990s"),
    ],
)
def test_a_time_is_said_no_more_exactly_than_it_is_known(occurrence, words):
    assert date_words(occurrence, moment(2020, 1, 1)) == words


def test_the_day_it_was_mentioned_stands_in_for_a_time_unknown():
    assert date_words(None, moment(2023, 5, 8, 13)) == "8 May 2023, Monday"
    assert date_words(None, None) == ""


def test_an_odd_window_does_not_write_a_book():
    words = date_words(occurred(moment(1, 1, 1), moment(9999, 12, 31), Precision.SEASON), None)
    assert len(words.split()) == 13


def test_months_and_weekdays_are_the_languages_own():
    assert date_words(None, moment(2023, 5, 8), "german") == "8 Mai 2023, Montag"
    assert date_words(None, moment(2023, 5, 8), "tamil") == "8 May 2023, Monday"
