"""Cutting texts for a reranker whose tokenizer is elsewhere."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from recallmesh.reranker.cutting import passages, shortened

WORDS = " ".join(f"word{number}" for number in range(300))


def test_what_fits_is_left_as_it_is():
    assert passages("a  short text ", 128) == ("a  short text ",)
    assert passages("", 128) == ("",)
    assert shortened("where?  ", 128) == "where?  "


def test_passages_cover_all_of_a_text_and_overlap_by_a_quarter():
    parts = passages(WORDS, 40)
    assert set(" ".join(parts).split()) == set(WORDS.split())
    for one, other in itertools.pairwise(parts):
        shared = set(one.split()) & set(other.split())
        assert len(one.split()) / 5 <= len(shared) <= len(one.split()) / 3


def test_signs_that_are_words_are_counted_each():
    text = "東京で寿司を食べた。" * 40
    assert max(map(len, passages(text, 50))) == 50
    assert passages(text, 50)[-1].endswith("。")


def test_what_is_no_word_is_cut_all_the_same():
    assert max(map(len, passages("x" * 10_000, 20))) <= 80


def test_a_long_query_keeps_both_ends():
    short = shortened(WORDS, 40)
    assert short.startswith("word0 word1 ")
    assert short.endswith(" word298 word299")
    assert len(short) < 200


@settings(max_examples=30)
@given(st.text(max_size=400), st.integers(min_value=8, max_value=64))
def test_no_text_has_no_passages_and_nothing_is_lost(text, tokens):
    parts = passages(text, tokens)
    assert parts
    if len(parts) > 1:
        begin = 0
        for part in parts:
            at = text.find(part, max(0, begin - len(part)))
            assert at >= 0
            assert not text[begin:at].strip()
            begin = max(begin, at + len(part))
        assert not text[begin:].strip()
    assert len(shortened(text, tokens)) <= len(text) + 1
