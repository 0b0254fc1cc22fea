"""The numbers that the specification gives of recall (R8 to R24), as defaults and to the sixth place."""

from math import log, tanh

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.recall_fakes import NOW, FakeReranker, days_ago, memory, mesh

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.memory import FactType
from recallmesh.core.recall import Fusion, RecallRequest
from recallmesh.core.tags import EVERYTHING
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import BoostLevel, Budget, BudgetMode, MinScores, RecencyCurve
from recallmesh.graph.score import graph_score
from recallmesh.recall import score
from recallmesh.recall.fusion import fuse
from recallmesh.recall.plan import RecallDefaults


def test_the_defaults_are_those_of_the_specification():
    # Of rerank_limit it is not: 50 for R11's 300 (docs/adr/0055-the-cost-of-reading.md).
    told = RecallDefaults()
    assert (told.cap_per_arm, told.rrf_k, told.boosts) == (0, 60, {})
    assert dict(told.boost_divisors) == {BoostLevel.LOW: 2, BoostLevel.MEDIUM: 4, BoostLevel.HIGH: 8}
    assert (told.recency_alpha, told.temporal_alpha, told.proof_alpha) == (0.2, 0.2, 0.1)
    assert (told.recency_curve, told.recency_half_life_days) == (RecencyCurve.LINEAR, 90)
    assert (told.min_scores, told.prefer_observations) == (MinScores(), False)
    assert dict(told.budget_hits) == {Budget.LOW: 100, Budget.MID: 300, Budget.HIGH: 1000}
    assert dict(told.budget_shares) == {Budget.LOW: 0.025, Budget.MID: 0.075, Budget.HIGH: 0.25}
    assert (told.budget_mode, told.budget_min, told.budget_max) == (BudgetMode.FIXED, 20, 2000)
    assert (told.query_tokens, told.arms) == (500, frozenset(ArmName))


def test_a_request_that_says_nothing_asks_as_the_specification_has_it():
    asked = RecallRequest(BankRef("b"), "what happened")
    assert (asked.max_tokens, asked.budget, asked.tags, asked.fusion) == (4096, Budget.MID, EVERYTHING, Fusion.RRF)
    assert (asked.chunk_tokens, asked.source_tokens, asked.include_entities, asked.trace) == (None, None, False, False)


@pytest.mark.parametrize(("ranks", "sum_of"), [((1, 5), 0.0317775), ((1,), 0.0163934), ((2, 1), 1 / 62 + 1 / 61)])
def test_rrf_to_the_sixth_place(ranks, sum_of):
    lists = {arm: {"x": rank} for arm, rank in zip(ArmName, ranks, strict=False)}
    assert fuse(lists).scores["x"] == pytest.approx(sum_of, abs=1e-6)


def test_the_graph_score_to_the_sixth_place():
    assert [graph_score(shared) for shared in (1, 2, 3)] == pytest.approx(
        [tanh(0.5 * shared) for shared in (1, 2, 3)], abs=1e-6
    )


@pytest.mark.parametrize(("count", "signal"), [(1, 0.5), (3, 0.6098612), (10, 0.7302585), (148, 0.9997212), (150, 1.0)])
def test_proof_to_the_sixth_place(count, signal):
    told = score.proof(memory(1, fact_type=FactType.OBSERVATION, proof_count=count))
    assert told == pytest.approx(signal, abs=1e-6)
    assert told == pytest.approx(min(1.0, 0.5 + log(count) / 10), abs=1e-12)


@pytest.mark.parametrize(
    ("days", "curve", "signal"),
    [
        (0, RecencyCurve.LINEAR, 1.0),
        (73, RecencyCurve.LINEAR, 0.8),
        (328.5, RecencyCurve.LINEAR, 0.1),
        (365, RecencyCurve.LINEAR, 0.1),
        (10_000, RecencyCurve.LINEAR, 0.1),
        (45, RecencyCurve.EXPONENTIAL, 0.70710678),
        (10_000, RecencyCurve.NONE, 0.5),
        (None, RecencyCurve.LINEAR, 0.5),
        (-1, RecencyCurve.LINEAR, 1.0),
    ],
)
def test_recency_to_the_sixth_place(days, curve, signal):
    assert score.recency(days, curve, 90) == pytest.approx(signal, abs=1e-6)


def test_boosts_to_the_sixth_place():
    assert [score.boost(alpha, signal) for alpha, signal in ((0.2, 1.0), (0.2, 0.1), (0.1, 1.0), (0.1, 0.5))] == (
        pytest.approx([1.1, 0.92, 1.05, 1.0], abs=1e-12)
    )


def test_a_score_of_a_model_without_logits_passes_through():
    assert [score.relevance(raw, logits=False) for raw in (0.0, 0.25, 1.0)] == [0.0, 0.25, 1.0]
    assert [score.relevance(raw, logits=False) for raw in (-0.5, 1.5)] == [0.0, 1.0]
    assert [score.relevance(raw, logits=True) for raw in (0.0, 1.0, -1.0)] == pytest.approx(
        [0.5, 0.73105858, 0.26894142], abs=1e-6
    )


def test_three_hundred_synthetic_scores_differ_by_three_thousandths_a_rank():
    spread = score.synthetic(300)
    assert (spread[0], spread[-1]) == (1.0, pytest.approx(0.1))
    assert spread[0] - spread[1] == pytest.approx(0.9 / 299, abs=1e-9)


@given(
    st.floats(-700, 700) | st.sampled_from([-1e300, 1e300]),
    st.integers(-4000, 4000),
    st.integers(1, 10_000),
)
async def test_no_final_score_leaves_its_range(raw, days, proofs):
    told = memory(1, fact_type=FactType.OBSERVATION, proof_count=proofs, mentioned=days_ago(days))
    year = Occurrence(Window(days_ago(400), days_ago(35)), Precision.YEAR)
    here = mesh(reranker=FakeReranker(lambda number: raw if number == 1 else 0.0))
    here.ledger.memories = {one.id: one for one in (told, memory(2, occurred=year), memory(3))}
    answer = await here.recall(window=Window(days_ago(60), NOW), query_time=NOW)
    assert answer.memories
    for one in answer.memories:
        scores = one.scores
        assert 0.0 <= scores.final <= 1.0
        assert 0.0 <= scores.relevance <= 1.0
        for boost, least, most in (
            (scores.recency_boost, 0.92, 1.1),
            (scores.temporal_boost, 0.9, 1.1),
            (scores.proof_boost, 1.0, 1.05),
        ):
            assert least - 1e-9 <= boost <= most + 1e-9
