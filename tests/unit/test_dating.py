import re
from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReading
from recallmesh.retain.dating import write_dates

NOW = datetime(2026, 3, 3, 18, tzinfo=UTC)


def stretch(start, end, precision):
    return Occurrence(Window(datetime(*start, tzinfo=UTC), datetime(*end, 23, 59, tzinfo=UTC)), precision)


def day(*date):
    return stretch(date, date, Precision.DAY)


def year(number):
    return stretch((number, 1, 1), (number, 12, 31), Precision.YEAR)


MONTH, RANGE = Precision.MONTH, Precision.RANGE
MEANT = {
    "30 April": (day(2026, 4, 30), "en.date"),
    "11 May": (day(2026, 5, 11), "en.date"),
    "May 3rd": (day(2026, 5, 3), "en.date"),
    "last October": (stretch((2025, 10, 1), (2025, 10, 31), MONTH), "en.month"),
    "October": (stretch((2026, 10, 1), (2026, 10, 31), MONTH), "en.month"),
    "11 de mayo": (day(2026, 5, 11), "es.date"),
    "from 1 to 14 September": (stretch((2026, 9, 1), (2026, 9, 14), RANGE), "en.days"),
    "from November to February": (stretch((2025, 11, 1), (2026, 2, 28), RANGE), "en.range"),
    "until yesterday": (stretch((1900, 1, 1), (2026, 3, 2), RANGE), "en.until"),
    "until 30 April": (stretch((1900, 1, 1), (2026, 4, 30), RANGE), "en.until"),
    "since yesterday": (stretch((2026, 3, 2), (2026, 3, 3), RANGE), "en.since"),
    "yesterday": (day(2026, 3, 2), "en.day"),
    "last week": (stretch((2026, 2, 23), (2026, 3, 1), Precision.WEEK), "en.unit"),
    "last year": (year(2025), "en.unit"),
    "a few weeks ago": (stretch((2026, 2, 9), (2026, 2, 15), Precision.WEEK), "en.ago"),
    "a few years ago": (year(2023), "en.ago"),
    "in a day": (day(2026, 3, 4), "en.ago"),
    "this year": (year(2026), "en.unit"),
    "2025": (year(2025), "en.year"),
    "1998": (year(1998), "en.year"),
    "3 May 2024": (day(2024, 5, 3), "en.date"),
}


class Times:
    def read(self, _text, _now):
        return None

    def read_all(self, text, _now):
        found = re.finditer("|".join(sorted(MEANT, key=len, reverse=True)), text)
        return tuple(TimeReading(MEANT[m.group()][0], m.start(), m.end(), MEANT[m.group()][1]) for m in found)


def written(text, now=NOW):
    return write_dates(text, Times(), now)[0]


def occurred(text):
    return write_dates(text, Times(), NOW)[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ends on 30 April, and I start on 11 May.", "It ends on 30 April 2026, and I start on 11 May 2026."),
        ("She moves in October.", "She moves in October 2026."),
        ("We met on May 3rd at noon.", "We met on May 3rd, 2026 at noon."),
        ("I am away from 1 to 14 September.", "I am away from 1 to 14 September 2026."),
        ("La boda es el 11 de mayo.", "La boda es el 11 de mayo de 2026."),
        ("She stays until 30 April.", "She stays until 30 April 2026."),
    ],
)
def test_a_date_that_lacks_only_its_year_gets_it_in_place(text, expected):
    assert written(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met her yesterday.", "I met her yesterday (2 March 2026)."),
        ("We moved last October.", "We moved last October (October 2025)."),
        ("I ski from November to February.", "I ski from November to February (1 November 2025 to 28 February 2026)."),
        ("It was closed until yesterday.", "It was closed until yesterday (2 March 2026)."),
        ("I am ill since yesterday.", "I am ill since yesterday (2 March 2026)."),
        ("I saw it a few years ago.", "I saw it a few years ago (around 2023)."),
        ("I saw it a few weeks ago.", "I saw it a few weeks ago (around 12 February 2026)."),
    ],
)
def test_a_relative_date_is_followed_by_what_it_means(text, expected):
    assert written(text) == expected


def test_absolute_dates_stay_as_they_are():
    text = "It opened on 3 May 2024 and closed in 2025."
    assert written(text) == text


def test_a_length_of_time_is_no_date():
    text = "Rome was not built in a day."
    assert (written(text), occurred(text)) == (text, None)
    assert written("We leave in a day.") == "We leave in a day (4 March 2026)."


def test_of_two_days_the_first_is_when_it_happened_and_no_span_is_invented():
    assert occurred("My last day is 30 April, and I start on 11 May.") == day(2026, 4, 30)


def test_a_range_that_was_said_is_kept():
    assert occurred("I am away from 1 to 14 September.").precision is RANGE
    assert occurred("I am ill since yesterday.") == MEANT["since yesterday"][0]


def test_the_narrowest_of_nested_times_is_when_it_happened():
    assert occurred("This is the best of this year, and 30 April is the day.") == day(2026, 4, 30)


@pytest.mark.parametrize(
    "text",
    [
        "The bank turned down the loan because the bakery made a loss in 2025.",
        "She fixed my shoulder after the accident in 2025.",
        "I know the woman who sold it last year.",
        "I still ride the bike that my father built last year.",
        "It is better than last year.",
        "I would come if you moved last year.",
        "How was your trip last week?",
        "I bought an oven from 1998.",
        "It was closed until yesterday.",
        "I saw it a few years ago.",
    ],
)
def test_a_time_that_is_not_of_what_is_told_dates_nothing(text):
    assert occurred(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Because the oven broke, we baked nothing yesterday.", "yesterday"),
        ("My sister, who lives in Oslo, came last week.", "last week"),
        ("I was in Porto when the storm came last week.", "last week"),
        ("I heard that Ida moved last year.", "last year"),
        ("Did you hear? Ida moved last week.", "last week"),
        ("The bank said no last week because the bakery made a loss in 2025.", "last week"),
        ("She has been with us since she came in 2025, and yesterday she left.", "yesterday"),
    ],
)
def test_the_time_of_the_main_clause_is_when_it_happened(text, meant):
    assert occurred(text) == MEANT[meant][0]


def test_without_a_time_of_the_item_only_dates_with_their_year_are_written_or_read():
    text = "She moves in October, after the fair of 3 May 2024."
    assert written(text, now=None) == text
