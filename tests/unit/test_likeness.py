"""Two facts become one observation only if they say the same: reference pairs, and what must never meet."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.encoder import EmbedderInfo
from recallmesh.core.memory import FactType, Memory, Mention
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.retain.likeness import Likeness, floors_of, known, likeness, share_words

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
MIRA = Mention("e1", "Mira", "person")
SAMIRA = Mention("e2", "Samira", "person")
BERGEN = Mention("e3", "Bergen", "place")


def fact(text, *mentions, occurred=None, day=0):
    return known(Memory("m", text, FactType.WORLD, NOW, occurred, NOW + timedelta(days=day), mentions=mentions))


def of(one, other):
    found = likeness(fact(one), fact(other))
    assert found is likeness(fact(other), fact(one)), "whichever comes first"
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mira moved to Bergen.", "Mira moved to Bergen."),
        ("Mira moved to Bergen.", "MIRA has moved  to Bergen!"),
        ("Mira moved to Bergen.", "Mira moved to Bergen in May 2026 for a new job."),
        ("In May 2026 Mira moved to Bergen.", "Mira moved to Bergen in May 2026."),
        ("Nadia works as a baker.", "Nadia is working as a baker in Oulu."),
        ("Leo has three cats.", "Leo has 3 cats."),
        ("Leo: I adopted a dog.", "Leo adopted a dog."),
        ("Leo really loves his old boat.", "Leo loves his old boat."),
        ("Ana does not eat meat.", "Ana doesn't eat meat."),
        ("今日は会議室でしりとりをした", "今日は会議室でしりとりをした"),
    ],
)
def test_facts_that_say_the_same_are_twins(one, other):
    assert of(one, other) is Likeness.TWINS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mira drinks coffee.", "Mira does not drink coffee."),
        ("Mira drinks coffee.", "Mira no longer drinks coffee."),
        ("Mira drinks coffee.", "Mira stopped drinking coffee in May."),
        ("Ana can swim.", "Ana can't swim."),
        ("Ana takes coffee with milk.", "Ana takes coffee without milk."),
    ],
)
def test_a_fact_that_says_it_is_not_so_denies_the_other(one, other):
    assert of(one, other) is Likeness.DENIAL


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The meeting is in room 101.", "The meeting is in room 102."),
        ("Flight UA123 leaves at 9:30.", "Flight UA124 leaves at 9:30."),
        ("Flight UA123 leaves at 9:30.", "Flight UA123 leaves at 9:40."),
        ("Leo has three cats.", "Leo has four cats."),
        ("Mira filed her tax return for 2023.", "Mira filed her tax return for 2024."),
        ("Mira lives in Bergen.", "Samira lives in Bergen."),
        ("Rune Iversen called the office.", "Rune Iversrud called the office."),
        ("Mira met Leo in Bergen.", "Mira met Ana in Bergen."),
        ("The course is on Monday at the library.", "The course is on Tuesday at the library."),
        ("Le cours de poterie est lundi à la mairie.", "Le cours de poterie est mardi à la mairie."),
        (
            "Ana went to the big market on the hill to buy apples.",
            "Ana went to the big market on the hill to buy pears.",
        ),
        ("Ana likes tea.", "Ana likes tea cakes."),
        ("Ana likes tea.", "Ana's brother likes tea."),
        ("Ana likes tea.", "The brother of Ana likes tea."),
        ("Ana likes tea.", "Ben thinks Ana likes tea."),
        ("Ana owes Ben money.", "Ben owes Ana money."),
        ("The dog bit the man.", "The man bit the dog."),
        ("Mira moved to Bergen.", "Mira wants to move to Bergen."),
        ("Mira moved to Bergen.", "Did Mira move to Bergen?"),
        ("Is Mira a baker?", "Mira is a baker."),
        ("Mira was a baker.", "Mira is a baker."),
        ("Ana will come to the party.", "Ana will come to the party if Ben pays."),
        ("Ana likes coffee.", "Ana likes tea more than coffee."),
        ("Ana eats everything.", "Ana eats everything except meat."),
        ("Ana gave him the book.", "Ana gave her the book."),
        ("I adopted a dog.", "We adopted a dog."),
        ("Ana: I adopted a dog.", "Ben: I adopted a dog."),
        ("Yes!", "Yes!"),
        ("The the the.", "Of the."),
    ],
)
def test_facts_with_another_number_name_date_or_object_never_meet(one, other):
    assert of(one, other) is None


def test_whom_the_mentions_tell_apart_stays_apart_though_the_words_are_the_same():
    assert likeness(fact("She moved to Bergen.", MIRA), fact("She moved to Bergen.", SAMIRA)) is None
    assert likeness(fact("She moved to Bergen.", MIRA), fact("She moved to Bergen.")) is None
    more = fact("She moved to Bergen.", MIRA, BERGEN)
    assert likeness(fact("She moved to Bergen.", MIRA), more) is Likeness.TWINS


def test_the_same_words_of_another_day_are_another_event():
    def on(day):
        start = datetime(2026, 5, day, tzinfo=UTC)
        return Occurrence(Window(start, start + timedelta(hours=23)), Precision.DAY)

    may = Occurrence(Window(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 31, tzinfo=UTC)), Precision.MONTH)
    text = "Mira ran the whole way home."
    assert likeness(fact(text, occurred=on(3)), fact(text, occurred=on(4))) is None
    assert likeness(fact(text, occurred=on(3)), fact(text, occurred=on(3))) is Likeness.TWINS
    assert likeness(fact(text, occurred=on(3)), fact(text, occurred=may)) is Likeness.TWINS
    assert likeness(fact(text, occurred=on(3)), fact(text)) is Likeness.TWINS


WORDS = ["ana", "ben", "likes", "tea", "not", "in", "oulu", "the", "3", "4", "if", "never", "moved"]


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), st.lists(st.sampled_from(WORDS), min_size=1, max_size=8)
)
def test_likeness_knows_no_order_and_no_other_figures(one, other):
    mine, theirs = fact(" ".join(one)), fact(" ".join(other))
    found = likeness(mine, theirs)
    assert found is likeness(theirs, mine)
    if found is not None:
        assert mine.gist.figures <= theirs.gist.figures or theirs.gist.figures <= mine.gist.figures
        assert share_words(mine.gist, theirs.gist)


def test_near_is_measured_from_the_models_own_background():
    def info(mean, high):
        return EmbedderInfo("m", "f", 3, 512, mean, high)

    bge, other = floors_of(info(0.67, 0.81)), floors_of(info(0.38, 0.6))
    assert (round(bge.twins, 3), round(bge.denial, 3)) == (0.848, 0.74)
    assert (round(other.twins, 3), round(other.denial, 3)) == (0.68, 0.49)
    assert not bge.admit(Likeness.TWINS, 0.84)
    assert bge.admit(Likeness.DENIAL, 0.84)
    assert bge.admit(Likeness.TWINS, None)
    assert not bge.admit(None, 0.99)
