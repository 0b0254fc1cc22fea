import pytest
from unit.recall_fakes import FakeArm, FakeLedger, FakeReranker, G, K, S, hits, memory, mesh, name, numbers

from recallmesh.core.arm import ArmName
from recallmesh.core.recall import Fusion
from recallmesh.core.tuning import BoostLevel, RecallTuning
from recallmesh.recall.order import order_of

INTERLEAVE = Fusion.INTERLEAVE
FOUND = {K: hits(4, 2), S: hits(1, 2, 3), G: hits(5, 2)}


def ordered(how, cap=0, **divisors):
    order = order_of(FOUND, how=how, cap=cap, k=60, divisors={ArmName(arm): by for arm, by in divisors.items()})
    return order, [int(memory_id[-2:], 16) for memory_id in order.ids]


def test_the_lists_are_interleaved_in_the_arms_own_order_whoever_answered_first():
    _, ids = ordered(INTERLEAVE)
    assert ids == [1, 4, 5, 2, 3]
    assert ordered(Fusion.RRF)[1] == [2, 1, 4, 5, 3]


def test_the_reported_score_is_that_of_rrf_either_way():
    assert ordered(INTERLEAVE)[0].rrf == ordered(Fusion.RRF)[0].rrf


def test_a_cap_holds_before_interleaving():
    assert ordered(INTERLEAVE, cap=1)[1] == [1, 4, 5]


def test_a_favoured_arm_puts_in_more_and_the_places_without_it_are_kept():
    order, ids = ordered(INTERLEAVE, semantic=2.0)
    assert ids == [1, 2, 4, 5, 3]
    assert order.places == {name(number): place for place, number in enumerate([1, 4, 5, 2, 3])}


def test_an_arm_that_found_nothing_is_not_favoured():
    assert ordered(INTERLEAVE, temporal=8.0)[0] == ordered(INTERLEAVE)[0]


async def test_no_boost_takes_the_place_of_another_arms_first_among_those_that_are_read():
    ledger = FakeLedger(*(memory(number) for number in range(1, 60)))
    arms = {S: FakeArm(*range(1, 41)), K: FakeArm(50), G: FakeArm(*range(31, 41))}
    here = mesh(ledger=ledger, arms=arms, reranker=FakeReranker())
    tuning = RecallTuning(rerank_limit=12, boosts={S: BoostLevel.HIGH})
    await here.recall(tuning=tuning)
    read = [int(text.split()[-1]) for text in here.reranker.texts[0]]
    assert len(read) == 12
    assert 50 in read
    order = order_of(
        {S: hits(*range(1, 41)), K: hits(50), G: hits(*range(31, 41))}, how=Fusion.RRF, cap=0, k=60, divisors={S: 8.0}
    )
    assert name(50) not in order.ids[:12]


def interleaving_mesh(**parts):
    ledger = FakeLedger(*(memory(number) for number in range(1, 6)))
    arms = {K: FakeArm(4, 2), S: FakeArm(1, 2, 3), G: FakeArm(5, 2)}
    return mesh(ledger=ledger, arms=arms, **parts)


async def test_a_recall_ranks_by_the_fusion_that_is_asked_for():
    here = interleaving_mesh()
    assert numbers(await here.recall()) == [2, 1, 4, 5, 3]
    assert numbers(await here.recall(fusion=INTERLEAVE)) == [1, 4, 5, 2, 3]
    traced = await here.recall(fusion=INTERLEAVE, trace=True)
    assert numbers(traced) == [1, 4, 5, 2, 3]
    assert [row.memory_id for row in traced.trace.candidates] == [name(number) for number in (1, 4, 5, 2, 3)]


async def test_what_is_interleaved_is_reranked_as_usual():
    here = interleaving_mesh(reranker=FakeReranker())
    tuning = RecallTuning(rerank_limit=3)
    assert numbers(await here.recall(fusion=INTERLEAVE, tuning=tuning)) == [5, 4, 1, 2, 3]
    assert [text[-1] for texts in here.reranker.texts for text in texts] == ["1", "4", "5"]


@pytest.mark.parametrize("boosts", [{}, {S: BoostLevel.LOW}])
async def test_the_prior_of_a_place_is_that_of_the_interleaved_order(boosts):
    here = interleaving_mesh(reranker=FakeReranker(lambda number: float(number % 2)))
    answer = await here.recall(fusion=INTERLEAVE, tuning=RecallTuning(boosts=boosts))
    priors = {each.memory.id: each.scores.fusion_prior for each in answer.memories}
    assert priors == {name(number): pytest.approx(61 / (61 + place)) for place, number in enumerate([1, 4, 5, 2, 3])}
