"""What a bank has switched off is not called at all, though it is there; a request may switch it on again."""

import pytest
from unit.recall_fakes import LAST_WEEK, FakeEmbedder, FakeLedger, FakeReranker, days_ago, four_arms, memory, mesh

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig
from recallmesh.core.recall import PartState
from recallmesh.core.tuning import RecallTuning
from recallmesh.recall.plan import RecallDefaults

ALL = frozenset(ArmName)


def of_bank(tuning, **parts):
    memories = (memory(number, mentioned=days_ago(50 * number)) for number in range(1, 7))
    parts = {"reranker": FakeReranker(), "embedder": FakeEmbedder(), **parts}
    return mesh(ledger=FakeLedger(*memories, config=BankConfig(recall=tuning)), arms=four_arms(), **parts)


def calls(here):
    return {name: len(arm.queries) for name, arm in here.arms.items()}


@pytest.mark.parametrize("off", ArmName)
async def test_an_arm_that_the_bank_has_switched_off_is_not_called(off):
    here = of_bank(RecallTuning(arms=ALL - {off}))
    answer = await here.recall(window=LAST_WEEK)
    assert calls(here) == {name: int(name is not off) for name in ArmName}
    assert {report.arm for report in answer.arms if report.state is PartState.DISABLED} == {off}


@pytest.mark.parametrize("off", ArmName)
async def test_a_request_switches_on_what_its_bank_has_switched_off(off):
    here = of_bank(RecallTuning(arms=ALL - {off}))
    await here.recall(window=LAST_WEEK, tuning=RecallTuning(arms=frozenset({off})))
    assert calls(here) == {name: int(name is off) for name in ArmName}


async def test_no_arm_at_all_asks_nothing_and_is_no_error():
    here = of_bank(RecallTuning(arms=frozenset()))
    answer = await here.recall(window=LAST_WEEK)
    assert set(calls(here).values()) == {0}
    assert answer.memories == ()


async def test_a_bank_may_switch_on_what_the_service_has_switched_off():
    here = of_bank(RecallTuning(arms=ALL), defaults=RecallDefaults(arms=frozenset()))
    await here.recall(window=LAST_WEEK)
    assert set(calls(here).values()) == {1}


@pytest.mark.parametrize("tuning", [RecallTuning(reranking=False), RecallTuning(rerank_limit=0)])
async def test_a_reranker_that_the_bank_has_switched_off_is_not_called(tuning):
    here = of_bank(tuning)
    answer = await here.recall()
    assert here.reranker.texts == []
    assert {part.part: part.state for part in answer.models}["reranker"] is PartState.DISABLED
    await here.recall(tuning=RecallTuning(reranking=True, rerank_limit=2))
    assert sum(map(len, here.reranker.texts)) == 2


async def test_every_recall_setting_of_a_bank_is_worked_with():
    plain = await of_bank(RecallTuning()).recall(trace=True)
    dated = of_bank(RecallTuning(date_in_passage=False, rrf_k=1))
    other = await dated.recall(trace=True)
    assert other.trace.candidates[0].scores.rrf > 10 * plain.trace.candidates[0].scores.rrf
    smaller = await of_bank(RecallTuning(budget_hits={"mid": 2})).recall(trace=True)
    assert (plain.trace.budget_hits, smaller.trace.budget_hits) == (300, 2)


@pytest.mark.parametrize(
    ("tuning", "factor"),
    [
        (RecallTuning(fusion_weight=0.0), "fusion_prior"),
        (RecallTuning(recency_alpha=0.0), "recency_boost"),
    ],
)
async def test_a_weight_of_nothing_leaves_its_factor_at_one(tuning, factor):
    usual = (await of_bank(RecallTuning()).recall()).memories
    without = (await of_bank(tuning).recall()).memories
    assert {getattr(one.scores, factor) for one in without} == {1.0}
    assert len({getattr(one.scores, factor) for one in usual}) > 1
