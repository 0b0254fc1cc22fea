"""What holds of any text: no error, a stretch of time inside the text, the same one each time, and a bounded cost."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.when import GrammarTimeReader
from recallmesh.when.language import ALL
from recallmesh.when.numeral import read_han

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
READER = GrammarTimeReader()
JOINTS_TEXT = """
in last vor il y a hace fa há geleden 전 前 から 到 since before between and from to bis und 年 月 日 ago next the week
antes del avant prima voor 令和 元 上半年 하반기 first half quarter of weekend day on, to 99 3 30 0000 2024 9999 1800
03/04/2026 2024-07-13 2024-W33 2024-Q3 13.7. 7.8.2024 2024-07-13T23:30:00Z
"""
ODD = ["ı", "İ", "ſ", "٣", "\u200b", "\N{COMBINING DIAERESIS}", "-", ".", "/", "'", "9" * 30]
WORDS = sorted(
    {word for grammar in ALL for table in (grammar.months, grammar.units, grammar.weekdays) for word in table}
    | {word for grammar in ALL for table in (grammar.seasons, grammar.years, grammar.numbers) for word in table}
    | {*JOINTS_TEXT.split(), *ODD}
)
# No words of time, but the small words and the short weekdays of other languages, and what other languages call times.
PLAIN_TEXT = """
a about all also and any anyone are as at bag bake be because been boat book bought bread brother budget build but by
call can cat coffee come cook could country cup dear did die different do doctor dog dom door email estate
every favourite
file find flat for from funny garden get gift give go good guitar had harbour has hat have he help her here him his
home house how i idea if in into invoice is it just kitchen know lady later learn like live long look made make man
mar mars me meet met mi money more most music my name never no not note of off old on one only or other our out over
paint people phone place plan play please port price project put question read recipe red report road room sad said
sat school sea see send set sex share she shoes sister so some sing song story sun table take talk team tell ter than
thank that the their them then there they thing think this time to too told trip two under up us use very visit walk
want was water we wed well went were what when where which who why will wish with word work would write wrote yes you
your
"""
PLAIN = PLAIN_TEXT.split()
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 (hypothesis)
LOCAL = st.datetimes(datetime(1900, 1, 2), datetime(2200, 1, 1))  # noqa: DTZ001 (hypothesis)
OFFSETS = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SALADS = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
TEXTS = st.one_of(st.text(max_size=60), SALADS, st.lists(st.sampled_from(WORDS), max_size=9).map("".join))


@given(text=TEXTS, now=MOMENTS)
def test_any_text_is_read_without_an_error_and_its_words_lie_in_it(text: str, now: datetime) -> None:
    readings = READER.read_all(text, now)
    asked = READER.read(text, now)
    for reading in (*readings, *([asked] if asked else [])):
        assert reading.occurrence.window.start <= reading.occurrence.window.end
        assert 0 <= reading.begin < reading.end <= len(text)
    assert all(first.end <= second.begin for first, second in pairwise(readings))


@given(text=TEXTS, now=MOMENTS)
def test_the_same_text_at_the_same_moment_means_the_same(text: str, now: datetime) -> None:
    assert READER.read(text, now) == GrammarTimeReader().read(text, now)


@given(text=SALADS, local=LOCAL, here=OFFSETS, there=OFFSETS)
def test_the_askers_offset_moves_no_local_date(text: str, local: datetime, here: timezone, there: timezone) -> None:
    if "T23" in text:
        return  # a moment with an offset of its own is another day elsewhere
    one, other = (READER.read(text, local.replace(tzinfo=zone)) for zone in (here, there))
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        edges, elsewhere = (
            [edge.replace(tzinfo=None) for edge in (found.occurrence.window.start, found.occurrence.window.end)]
            for found in (one, other)
        )
        assert edges == elsewhere
        assert one.occurrence.window.start.utcoffset() == here.utcoffset(None)


@given(words=st.lists(st.sampled_from(PLAIN), min_size=5, max_size=40))
def test_english_without_figures_and_words_of_time_names_none(words: list[str]) -> None:
    assert READER.read(" ".join(words), NOW) is None


ADVERSARIAL = [
    *("7", "last ", " ", "年月日", "一", "-", "1-", "1/", "1.", "between ", "from ", "to May ", "in 2024 ", "May 3 "),
    *("3月", "昨天", "一年前", "지난 ", "1 de ", "il y a ", "vor drei ", "a", "ó", "the week before ", "2024-07-13 "),
    *("first half of ", "and Friday ", "令和", "hace un ", "\u3000", "月", "'", "Mardi "),
]


def cost(text: str) -> float:
    """Return the seconds of CPU that a reading takes at best."""
    costs = []
    for _ in range(3):
        begun = process_time()
        READER.read(text, NOW)
        costs.append(process_time() - begun)
    return min(costs)


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_ten_times_the_text_is_nowhere_near_a_hundred_times_the_work(unit: str) -> None:
    # A ratio, and a generous one: linear work gives 10, quadratic work 100.
    text = (unit * 20_000)[:20_000]
    assert cost(text) < 40 * max(cost(text[:2_000]), 1e-4)


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


@pytest.mark.parametrize(("text", "number"), [("二〇二四", 2024), ("十", 10), ("二十三", 23), ("一百零五", 105)])
def test_han_numbers_are_read_by_scale_or_by_digit(text: str, number: int) -> None:
    assert read_han(text) == number


def test_what_is_no_han_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        read_han("三天")
