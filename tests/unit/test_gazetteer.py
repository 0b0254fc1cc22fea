import re

import pytest

from recallmesh.retain.entity import _OPENINGS
from recallmesh.retain.gazetteer import ALSO_WORDS, CERTAIN, GIVEN, PLACES, gazetted_kind
from recallmesh.when.language import ALL


def test_no_name_of_the_lists_is_a_word_a_month_or_what_opens_a_sentence():
    months = {name for grammar in ALL for name in (*grammar.months, *grammar.weekdays)}
    assert not CERTAIN & (ALSO_WORDS | _OPENINGS | months)


def test_the_lists_are_single_folded_words_and_nobody_is_a_place():
    assert all(name == name.casefold() and re.fullmatch(r"[^\W\d_]{2,}", name) for name in CERTAIN)
    assert not GIVEN & PLACES


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Norway", "place"),
        ("Ida", "person"),
        ("Ida Kvass", "person"),
        ("Ida 5", ""),
        ("Norway House", ""),
        ("Kvassberg", ""),
        ("Rose", ""),
    ],
)
def test_a_kind_is_told_by_a_given_name_or_a_whole_place(name, kind):
    assert gazetted_kind(name) == kind
