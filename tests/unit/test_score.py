from datetime import timedelta
from math import e, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.recall_fakes import NOW, days_ago, memory

from recallmesh.core.memory import FactType
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import RecencyCurve
from recallmesh.recall.score import (
    SURE,
    boost,
    days_between,
    keyword,
    length,
    log_odds,
    prior,
    proof,
    raw_odds,
    reading,
    recency,
    relevance,
    shifted,
    sigmoid,
    synthetic,
    temporal,
)

LINEAR, EXPONENTIAL = RecencyCurve.LINEAR, RecencyCurve.EXPONENTIAL


@pytest.mark.parametrize(("count", "signal"), [(1, 0.5), (3, 0.6099), (10, 0.7303), (150, 1.0), (10_000, 1.0)])
def test_proof_has_the_reference_values(count, signal):
    assert round(proof(memory(1, fact_type=FactType.OBSERVATION, proof_count=count)), 4) == signal


def test_proof_is_neutral_for_what_is_no_observation():
    assert proof(memory(1, proof_count=150)) == 0.5


@pytest.mark.parametrize(("days", "signal"), [(0, 1.0), (182.5, 0.5), (364, 0.1), (5000, 0.1), (None, 0.5), (-30, 1.0)])
def test_recency_falls_over_a_year(days, signal):
    assert recency(days, LINEAR, 90) == pytest.approx(signal)


def test_exponential_recency_halves():
    assert recency(90, EXPONENTIAL, 90) == 0.5
    assert recency(180, EXPONENTIAL, 90) == 0.25
    assert recency(None, EXPONENTIAL, 90) == 0.5
    assert recency(-1, EXPONENTIAL, 90) == 1.0


def test_no_curve_is_neutral():
    assert recency(3, RecencyCurve.NONE, 90) == 0.5


@pytest.mark.parametrize(("days", "signal"), [(0, 1.0), (2.5, 0.5), (-2.5, 0.5), (5, 0.0), (50, 0.0), (None, 0.5)])
def test_nearness_to_a_window_of_ten_days(days, signal):
    assert temporal(days, Window(days_ago(10), NOW)) == signal


def test_a_window_of_one_instant_holds_that_instant_alone():
    instant = Window(NOW, NOW)
    assert temporal(0.0, instant) == 1.0
    assert temporal(0.001, instant) == 0.0


def test_no_window_is_neutral():
    assert temporal(0.0, None) == 0.5


def test_a_fact_known_to_its_year_is_that_year():
    year = Occurrence(Window(NOW.replace(month=1, day=1), NOW.replace(month=12, day=31)), Precision.YEAR)
    fact = memory(1, occurred=year, mentioned=days_ago(300))
    assert days_between(fact, NOW) == 0
    assert days_between(fact, year.window.end + timedelta(days=10)) == 10
    assert days_between(fact, year.window.start - timedelta(days=10)) == -10


def test_a_mentioned_fact_has_its_moment_and_an_undated_one_none():
    assert days_between(memory(1, mentioned=days_ago(3)), NOW) == 3
    assert days_between(memory(1), NOW) is None


def test_a_logit_within_0_and_1_is_still_a_logit():
    assert relevance(0.5, logits=True) == sigmoid(0.5) != 0.5
    assert relevance(0.5, logits=False) == 0.5


@pytest.mark.parametrize("logit", [-1e6, -50.0, 0.0, 50.0, 1e6])
def test_the_sigmoid_never_overflows(logit):
    assert 0.0 <= sigmoid(logit) <= 1.0


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_reading_keeps_the_order_and_is_never_nothing(one, other):
    low, high = sorted([one, other])
    assert 0.26 < reading(low) <= reading(high) < inf


def test_a_reading_is_one_where_the_model_found_one_half_and_grows_with_the_root_of_the_odds():
    assert reading(0.0) == 1.0
    assert reading(-40.0) == pytest.approx(1 / (1 + e))
    assert reading(12.0) / reading(10.0) == pytest.approx(e, rel=0.01)


def test_readings_far_below_one_half_hardly_differ():
    assert reading(-9.0) / reading(-11.0) < 1.03


def test_recency_does_not_reorder_saturated_scores_that_differ_clearly():
    old, new = boost(0.2, 0.1), boost(0.2, 1.0)
    assert sigmoid(4.6) * old < sigmoid(3.5) * new  # 0.99 and 0.97: what a plain product would do
    assert reading(4.6) * old > reading(3.5) * new


def test_all_boosts_at_their_extremes_cannot_bridge_a_raw_difference_of_two_where_something_answers():
    best = boost(0.2, 1) * boost(0.2, 1) * boost(0.1, 1)
    worst = boost(0.2, 0) * boost(0.2, 0) * boost(0.1, 0)
    for logit in (-1.0, 0.0, 4.0, 9.0):
        assert reading(logit + 2.0) * worst > reading(logit) * best
    assert reading(10.0) * worst == pytest.approx(reading(9.0) * best, rel=0.02)


def test_log_odds_are_bounded():
    assert [log_odds(0.0), log_odds(1.0), log_odds(0.5)] == [-SURE, SURE, 0.0]
    assert log_odds(0.9) == pytest.approx(log(9))
    assert [raw_odds(0.9, logits=True), raw_odds(0.9, logits=False)] == [0.9, pytest.approx(log(9))]


def test_the_keyword_prior_is_one_for_what_shares_no_word():
    assert [keyword(0.0, 0.7), keyword(0.5, 0.0)] == [1.0, 1.0]
    assert keyword(1.0, 0.7) == pytest.approx(2.01, abs=0.01)


@pytest.mark.parametrize(
    ("tokens", "usual", "factor"),
    [(10, 10, 1.0), (40, 10, 2.0), (900, 10, 2.0), (1, 10, 0.5), (0, 10, 1.0), (9, 0, 1.0)],
)
def test_what_says_more_may_answer_more_within_bounds(tokens, usual, factor):
    assert length(tokens, usual, 0.5) == factor


def test_the_prior_falls_with_the_fused_rank_from_one():
    assert prior(0, 60, 1.0) == 1.0
    assert prior(61, 60, 1.0) == 0.5
    assert prior(61, 60, 2.0) == 0.25
    assert prior(61, 60, 0.0) == 1.0


def test_synthetic_scores_span_their_range():
    assert synthetic(0) == []
    assert synthetic(1) == [1.0]
    assert synthetic(10) == pytest.approx([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])


@given(st.integers(0, 50), st.floats(0.7, 1.3))
def test_equal_boosts_leave_synthetic_scores(count, factor):
    assert shifted([factor] * count) == pytest.approx(synthetic(count))


@pytest.mark.parametrize(("factor", "passed"), [(1.1, 3), (0.9, -3), (1.27, 7)])
def test_a_boost_moves_a_memory_a_few_ranks(factor, passed):
    factors = [1.0] * 300
    factors[100] = factor
    finals = shifted(factors)
    order = sorted(range(300), key=lambda place: -finals[place])
    assert 100 - order.index(100) == passed
    assert all(0.0 < final < inf for final in finals)
    assert max(finals) <= 1.0
