"""The yardstick of the quality bench."""

import pytest

from bench.measure import Quality, average, judge, packed

TOKENS = dict.fromkeys("abcdefghijklmnop", 10)


def test_recall_is_the_share_of_the_evidence_among_the_first() -> None:
    ranking = list("abcdefghijklmnop")
    marks = judge(ranking, frozenset("bk"), TOKENS)
    assert (marks.recall_10, marks.recall_20, marks.hit_10, marks.mrr) == (0.5, 1.0, 1.0, 0.5)


def test_evidence_that_was_not_found_counts_as_nothing() -> None:
    marks = judge(list("abc"), frozenset("z"), TOKENS)
    assert (marks.recall_50, marks.hit_10, marks.mrr, marks.pack_4096) == (0.0, 0.0, 0.0, 0.0)


def test_a_hit_below_the_tenth_place_is_no_hit_at_ten() -> None:
    marks = judge(list("abcdefghijk"), frozenset("k"), TOKENS)
    assert marks.hit_10 == 0.0
    assert marks.mrr == pytest.approx(1 / 11)


def test_a_pack_skips_what_does_not_fit() -> None:
    assert packed(["a", "b", "c"], {"a": 60, "b": 50, "c": 40}, 100) == ["a", "c"]


def test_the_average_is_taken_figure_by_figure() -> None:
    low, high = Quality(*[0.0] * 7), Quality(*[1.0] * 7)
    assert average([low, high]) == Quality(*[0.5] * 7)
