"""Which year's day, and which Friday, is meant: the tense tells, read by the real reader."""

from datetime import UTC, date, datetime

import pytest

from recallmesh.retain.dating import write_dates
from recallmesh.retain.tense import Tense, tense_of
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 3, 3, 18, tzinfo=UTC)
"""A Tuesday."""
READER = GrammarTimeReader()


def written(text):
    return write_dates(text, READER, NOW)[0]


def occurred(text):
    found = write_dates(text, READER, NOW)[1]
    return found and found.window.start.date()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The exhibition runs until 22 December.", "until 22 December 2026"),
        ("I was in Rome until 22 December.", "until 22 December 2025"),
        ("She moves in October.", "in October 2026"),
        ("She moved in October.", "in October 2025"),
        ("She moved to Bergen in October.", "in October 2025"),
        ("He returned to the mill in October.", "in October 2025"),
        ("We will meet on 5 November.", "on 5 November 2026"),
        ("We're meeting on 20 February.", "on 20 February 2027"),
        ("We met on 20 May.", "on 20 May 2025"),
        ("I took a course from 1 to 14 September.", "from 1 to 14 September 2025"),
        ("The course runs from 1 to 14 September.", "from 1 to 14 September 2026"),
        ("The shop has been closed since 4 November.", "since 4 November 2025"),
        ("Wir werden uns am 5. November treffen.", "am 5. November 2026"),
        ("Wir trafen uns am 5. Juni.", "am 5. Juni 2025"),
        ("Fuimos a Roma el 5 de junio.", "el 5 de junio de 2025"),
    ],
)
def test_a_day_without_its_year_is_the_coming_one_or_the_last_as_the_verb_says(text, expected):
    assert expected in written(text)


@pytest.mark.parametrize(
    "text",
    [
        "11 May: the fair.",
        "The fair, 20 May.",
        "I am excited about 20 May.",
        "We planned to meet on 20 May.",
        "He is devoted to it, 20 May.",
    ],
)
def test_without_a_verb_that_tells_it_is_the_nearest(text):
    assert "May 2026" in written(text) or "11 May 2026" in written(text)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I saw her on Friday.", date(2026, 2, 27)),
        ("I will see her on Friday.", date(2026, 3, 6)),
        ("See you on Monday!", date(2026, 3, 9)),
        ("We went hiking on Tuesday.", date(2026, 2, 24)),
        ("We painted over the weekend.", date(2026, 2, 28)),
        ("We're going to paint over the weekend.", date(2026, 3, 7)),
        ("On Friday and on Saturday.", None),
        ("The shop on Friday street.", None),
    ],
)
def test_a_day_of_the_week_is_the_one_that_the_tense_says_and_none_without(text, day):
    assert occurred(text) == day


@pytest.mark.parametrize("text", ["He was born on 5 June.", "We go there every 5 June."])
def test_what_comes_round_and_a_birth_have_no_year(text):
    assert (written(text), occurred(text)) == (text, None)


def test_a_year_that_was_said_is_never_moved():
    text = "I will never forget 5 June 2019."
    assert (written(text), occurred(text)) == (text, date(2019, 6, 5))


@pytest.mark.parametrize(
    ("sentence", "language", "tense"),
    [
        ("I was excited, and we will meet on @", "en", Tense.FUTURE),
        ("I will call, since we met on @", "en", Tense.PAST),
        ("On @ we met", "en", Tense.PAST),
        ("It was open on @", "en", Tense.PAST),
        ("Wir treffen uns am @", "de", Tense.FUTURE),
        ("Wir treffen uns am @", "ko", Tense.NONE),
    ],
)
def test_the_verb_before_a_time_counts_before_the_one_behind_it(sentence, language, tense):
    at = sentence.index("@")
    assert tense_of(sentence, at, at + 1, language) is tense


def test_a_long_sentence_is_read_by_what_is_near_each_time():
    text = "We met on 5 May, and " * 60 + "we will meet on 5 February."
    assert written(text).count("5 May, 2025") + written(text).count("5 May 2025") == 60
    assert written(text).endswith("on 5 February 2027.")
