from dataclasses import replace
from datetime import timedelta
from math import e

import pytest
from unit.recall_fakes import (
    LAST_WEEK,
    NOW,
    REF,
    RRF_ORDER,
    FakeArm,
    FakeEmbedder,
    FakeLedger,
    FakeReranker,
    G,
    K,
    days_ago,
    four_arms,
    memory,
    mesh,
    numbers,
    part,
)

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig
from recallmesh.core.deadline import within
from recallmesh.core.errors import (
    InternalFault,
    StoreUnavailable,
)
from recallmesh.core.memory import Mention
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning, RecencyCurve
from recallmesh.recall.plan import RecallDefaults


async def test_without_a_reranker_the_order_is_exactly_that_of_rrf():
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(40 * (6 - number))) for number in range(1, 7)))
    answer = await mesh(ledger=ledger).recall()
    assert numbers(answer) == RRF_ORDER
    assert [each.scores.final for each in answer.memories] == pytest.approx([1.0, 0.775, 0.55, 0.325, 0.1])
    assert part(answer, "reranker").state is PartState.DISABLED


@pytest.mark.parametrize("raw", [-3.0, 0.0, 0.5, 7.0, 80.0])
async def test_a_constant_reranker_leaves_exactly_rrfs_order(raw):
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(40 * (6 - number))) for number in range(1, 7)))
    answer = await mesh(ledger=ledger, reranker=FakeReranker(lambda _: raw)).recall()
    assert numbers(answer) == RRF_ORDER
    assert part(answer, "reranker").detail == "gave every memory the same score"


@pytest.mark.parametrize(
    ("error", "state"),
    [(StoreUnavailable("down"), PartState.UNAVAILABLE), (InternalFault("internal error"), PartState.FAILED)],
)
async def test_a_reranker_that_fails_leaves_rrfs_order_and_is_reported(error, state):
    answer = await mesh(reranker=FakeReranker(error=error)).recall()
    assert numbers(answer) == RRF_ORDER
    assert part(answer, "reranker").state is state


async def test_a_reranker_that_hangs_times_out():
    with within(1):
        answer = await mesh(reranker=FakeReranker(hang=True)).recall()
    assert numbers(answer) == RRF_ORDER
    assert part(answer, "reranker").state is PartState.TIMED_OUT


async def test_a_score_that_is_no_number_is_a_failure_of_the_reranker():
    answer = await mesh(reranker=FakeReranker(lambda _: float("nan"))).recall()
    assert numbers(answer) == RRF_ORDER
    assert part(answer, "reranker").state is PartState.FAILED


async def test_the_reranker_orders_by_what_it_read():
    answer = await mesh(reranker=FakeReranker()).recall()
    assert numbers(answer) == [5, 4, 3, 2, 1]
    assert answer.memories[0].scores.reranker_raw == 5.0
    assert part(answer, "reranker").items == 5


async def test_saturated_scores_are_still_told_apart():
    answer = await mesh(reranker=FakeReranker(lambda number: 100.0 + number)).recall()
    assert numbers(answer) == [5, 4, 3, 2, 1]


async def test_of_what_lies_beyond_the_cap_comes_first_what_is_expected_most():
    ledger = FakeLedger(*(memory(number, document_id=f"d{number % 3}", position=number) for number in range(1, 6)))
    here = mesh(ledger=ledger, reranker=FakeReranker(lambda _number: 9.0), defaults=RecallDefaults())
    answer = await here.recall(tuning=RecallTuning(rerank_limit=1), trace=True)
    read = next(row for row in answer.trace.candidates if row.reranked)
    first, second, *_ = numbers(answer)
    assert read.memory_id == answer.memories[0].memory.id
    assert second % 3 == first % 3  # it stands next to what answers
    scores = answer.memories[1].scores
    assert scores.surroundings > 1 > answer.memories[0].scores.final > scores.final
    favouring = await here.recall(tuning=RecallTuning(rerank_limit=1, boosts={K: BoostLevel.LOW}), trace=True)
    fused = [row.memory_id for row in sorted(favouring.trace.candidates, key=lambda row: row.fused_rank)]
    assert [each.memory.id for each in favouring.memories] == fused


async def test_what_lies_beyond_the_cap_follows():
    here = mesh(reranker=FakeReranker(lambda number: -number))
    answer = await here.recall(tuning=RecallTuning(rerank_limit=2))
    assert numbers(answer) == [2, 3, 1, 4, 5]
    finals = [each.scores.final for each in answer.memories]
    assert finals == sorted(finals, reverse=True)
    assert len(set(finals)) == 5
    assert [len(texts) for texts in here.reranker.texts] == [1, 1]


async def test_the_date_is_given_to_the_reranker_as_exactly_as_it_is_known():
    year = Occurrence(Window(NOW.replace(year=2023, month=1, day=1), NOW.replace(year=2023, month=12)), Precision.YEAR)
    month = replace(year, precision=Precision.MONTH)
    ledger = FakeLedger(
        memory(1, occurred=year),
        memory(2, occurred=month),
        memory(3, mentioned=NOW.replace(year=2023, month=5, day=8)),
        memory(4),
    )
    here = mesh(ledger=ledger, reranker=FakeReranker())
    await here.recall()
    assert set(here.reranker.texts[0]) == {"2023: fact 1", "January 2023: fact 2", "8 May 2023: fact 3", "fact 4"}
    here.defaults = RecallDefaults(date_in_passage=False)
    await here.recall()
    assert set(here.reranker.texts[1]) == {"fact 1", "fact 2", "fact 3", "fact 4"}


async def test_recency_decides_between_equals_but_not_over_clearly_better_ones():
    ledger = FakeLedger(
        memory(1, mentioned=days_ago(400)), memory(2, mentioned=days_ago(1)), memory(3, mentioned=days_ago(400))
    )
    here = mesh(ledger=ledger, reranker=FakeReranker({1: 4.6, 2: 3.5, 3: 3.5}.__getitem__))
    answer = await here.recall()
    assert numbers(answer) == [1, 2, 3]
    assert answer.memories[1].scores.recency_boost > 1 > answer.memories[2].scores.recency_boost
    answer = await here.recall(tuning=RecallTuning(recency_curve=RecencyCurve.NONE))
    assert {each.scores.recency_boost for each in answer.memories} == {1.0}


@pytest.mark.parametrize(("best", "first"), [(-3.0, 3), (3.0, 1)])
async def test_a_question_about_a_period_alone_has_what_lies_in_it_first(best, first):
    ledger = FakeLedger(
        memory(1, mentioned=days_ago(40)), memory(2, mentioned=days_ago(40)), memory(3, mentioned=days_ago(4))
    )
    here = mesh(ledger=ledger, reranker=FakeReranker({1: best, 2: -8.0, 3: -6.0}.__getitem__))
    answer = await here.recall(window=LAST_WEEK)
    assert numbers(answer)[0] == first
    assert set(numbers(answer)) == {1, 2, 3}


async def test_a_boost_that_is_asked_for_moves_memories_without_a_reranker():
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(60 * (6 - number))) for number in range(1, 7)))
    here = mesh(ledger=ledger)
    assert numbers(await here.recall(tuning=RecallTuning(recency_alpha=0.2))) != RRF_ORDER
    assert numbers(await here.recall(tuning=RecallTuning(proof_alpha=0.1))) == RRF_ORDER


async def test_a_strategy_boost_orders_and_leaves_the_reported_rrf_score():
    here = mesh()
    plain = {each.memory.id: each.scores.rrf for each in (await here.recall()).memories}
    boosted = await here.recall(tuning=RecallTuning(boosts={K: BoostLevel.HIGH}))
    assert numbers(boosted) == [2, 3, 4, 1, 5]
    assert {each.memory.id: each.scores.rrf for each in boosted.memories} == plain


async def test_a_strategy_boost_nudges_what_was_reranked_to_equal_scores():
    alone = RecallDefaults(fusion_weight=0.0, keyword_weight=0.0)
    here = mesh(reranker=FakeReranker(lambda number: 1.0 if number < 5 else 0.0), defaults=alone)
    answer = await here.recall(tuning=RecallTuning(boosts={K: BoostLevel.HIGH}))
    assert numbers(answer)[0] == 4
    assert numbers(answer)[-1] == 5
    assert answer.memories[0].scores.strategy_boost > 1.0


async def test_a_fact_known_to_the_year_is_not_outranked_by_recency():
    year = Occurrence(Window(NOW.replace(month=1, day=1), NOW.replace(month=12, day=31)), Precision.YEAR)
    ledger = FakeLedger(memory(1, occurred=year), memory(2, mentioned=days_ago(1)), memory(3))
    answer = await mesh(ledger=ledger, reranker=FakeReranker({1: 2.1, 2: 2.0, 3: 0.0}.__getitem__)).recall()
    assert numbers(answer) == [1, 2, 3]


async def test_equal_calls_give_equal_lists():
    ledger = FakeLedger(*(memory(number, "equal 1") for number in range(50)))
    arms = {arm: FakeArm(*range(50)) for arm in ArmName}
    here = mesh(ledger=ledger, arms=arms, reranker=FakeReranker())
    answers = [await here.recall(query_time=NOW + timedelta(0)) for _ in range(20)]
    assert len(numbers(answers[0])) == 50
    assert all(answer.memories == answers[0].memories for answer in answers)


async def test_the_same_query_time_gives_the_same_scores_minutes_later():
    here = mesh(
        ledger=FakeLedger(*(memory(number, mentioned=days_ago(number)) for number in range(1, 7))),
        reranker=FakeReranker(),
    )
    first = await here.recall(query_time=NOW)
    later = here.recaller()
    later._now = lambda: NOW + timedelta(minutes=7)
    assert (await later.recall(RecallRequest(REF, "what happened", query_time=NOW))).memories == first.memories


async def test_the_request_tunes_over_the_bank_over_the_service():
    bank = BankConfig(recall=RecallTuning(rerank_limit=3, min_scores=MinScores(semantic=0.2, final=0.0)))
    here = mesh(ledger=FakeLedger(*(memory(n) for n in range(1, 7)), config=bank), reranker=FakeReranker())
    tuning = RecallTuning(proof_alpha=0.3, min_scores=MinScores(semantic=0.5))
    resolved = (await here.recall(tuning=tuning, trace=True)).trace.tuning
    assert (resolved.proof_alpha, resolved.rerank_limit, resolved.recency_alpha) == (0.3, 3, 0.2)
    assert resolved.min_scores == MinScores(semantic=0.5, final=0.0)


async def test_a_cap_per_arm_cuts_each_list_before_fusion():
    answer = await mesh().recall(tuning=RecallTuning(cap_per_arm=1))
    assert sorted(numbers(answer)) == [1, 2, 3]


async def test_the_final_score_follows_from_the_scores_told_with_it():
    mira = (Mention("e1", "Mira", "person"),)
    ledger = FakeLedger(
        *(
            memory(
                number,
                mentioned=days_ago(50 * number),
                mentions=mira * (number % 2),
                tokens=8 + number,
                document_id="d1" * (number != 2),
                position=number,
            )
            for number in range(1, 7)
        )
    )
    arms = four_arms(graph=FakeArm(1, 2, 3, contexts={1: 0.7, 2: 0.8, 3: 0.7}))
    here = mesh(ledger=ledger, arms=arms, reranker=FakeReranker(lambda number: number - 3.0), defaults=RecallDefaults())
    answer = await here.recall("Mira?", window=LAST_WEEK, tuning=RecallTuning(boosts={K: BoostLevel.HIGH}))
    assert len({each.scores.context_prior for each in answer.memories}) == 3
    assert {each.scores.naming_prior for each in answer.memories} == {1.0, 0.25}
    assert len({each.scores.keyword_prior for each in answer.memories}) == 3
    assert len({each.scores.length_prior for each in answer.memories}) == len(answer.memories)
    assert {
        number for number, each in zip(numbers(answer), answer.memories, strict=True) if each.scores.surroundings == 1
    } == {2}
    for each in answer.memories:
        told = each.scores
        boosts = told.recency_boost * told.temporal_boost * told.proof_boost * told.strategy_boost
        priors = told.fusion_prior * told.context_prior * told.naming_prior * told.keyword_prior * told.length_prior
        assert told.reading == pytest.approx((1 + e * (told.relevance / (1 - told.relevance)) ** 0.5) / (1 + e))
        odds = told.reading * priors * boosts * told.surroundings
        assert told.final == pytest.approx(odds / (1 + odds))


async def test_a_strategy_boost_leaves_the_prior_of_rrf_alone():
    here = mesh(reranker=FakeReranker())
    plain = {each.memory.id: each.scores.fusion_prior for each in (await here.recall()).memories}
    boosted = await here.recall(tuning=RecallTuning(boosts={G: BoostLevel.HIGH}))
    assert {each.memory.id: each.scores.fusion_prior for each in boosted.memories} == plain


async def test_between_equal_readings_the_fused_rank_decides():
    answer = await mesh(reranker=FakeReranker(lambda number: float(number < 5))).recall()
    assert numbers(answer) == [2, 3, 1, 4, 5]


async def test_among_equal_readings_the_nearer_context_comes_first():
    near = mesh(
        arms=four_arms(graph=FakeArm(1, 2, 3, contexts={1: 0.7, 2: 0.7, 3: 0.9})),
        reranker=FakeReranker(lambda number: float(number < 4)),
    )
    answer = await near.recall()
    assert numbers(answer)[0] == 3
    off = replace(near, defaults=RecallDefaults(context_weight=0.0, keyword_weight=0.0))
    assert numbers(await off.recall())[0] != 3


async def test_without_the_context_cosines_or_the_embedder_the_order_is_the_plain_one():
    plain = await mesh(
        reranker=FakeReranker(), defaults=RecallDefaults(context_weight=0.0, keyword_weight=0.0)
    ).recall()
    for here in (mesh(reranker=FakeReranker()), mesh(arms=four_arms(graph=FakeArm()), reranker=FakeReranker())):
        answer = await here.recall()
        assert {each.scores.context_prior for each in answer.memories} == {1.0}
    assert [each.scores.final for each in (await mesh(reranker=FakeReranker()).recall()).memories] == [
        each.scores.final for each in plain.memories
    ]


async def test_an_embedder_that_does_not_describe_itself_costs_the_context_prior_alone():
    here = mesh(
        arms=four_arms(graph=FakeArm(1, 2, contexts={1: 0.9, 2: 0.6})),
        embedder=FakeEmbedder(mute=True),
        reranker=FakeReranker(),
    )
    answer = await here.recall()
    assert part(answer, "embedder").state is PartState.OK
    assert {each.scores.context_prior for each in answer.memories} == {1.0}


async def test_what_mentions_nothing_of_what_the_query_names_needs_more_to_come_first():
    mira = (Mention("e1", "Mira", "person"),)
    ledger = FakeLedger(*(memory(number, mentions=mira * (number == 3)) for number in range(1, 7)))
    here = mesh(ledger=ledger, reranker=FakeReranker(lambda number: 1.0 if number == 1 else 0.0))
    assert numbers(await here.recall("who paints"))[0] == 1
    assert numbers(await here.recall("what does Mira paint"))[0] == 3
    off = replace(here, defaults=RecallDefaults(unnamed_odds=1.0, keyword_weight=0.0))
    assert numbers(await off.recall("what does Mira paint"))[0] == 1


async def test_not_reranked_the_priors_touch_nothing():
    mira = (Mention("e1", "Mira", "person"),)
    ledger = FakeLedger(*(memory(number, mentions=mira * (number == 5)) for number in range(1, 7)))
    here = mesh(ledger=ledger, arms=four_arms(graph=FakeArm(3, 5, contexts={3: 0.6, 5: 0.9})))
    assert numbers(await here.recall("what of Mira")) == numbers(await mesh().recall("what of Mira"))


async def test_what_shares_more_of_the_words_comes_first_among_equal_readings():
    here = mesh(
        arms={K: FakeArm(2, 3), G: FakeArm(3, 2)},
        reranker=FakeReranker(lambda number: 0.0 if number < 4 else -1.0),
        defaults=RecallDefaults(fusion_weight=0.0),
    )
    assert numbers(await here.recall()) == [2, 3]
    assert numbers(await here.recall(tuning=RecallTuning(keyword_weight=0.0))) == [2, 3]
    here.arms[K] = FakeArm(3, 2)
    assert numbers(await here.recall()) == [3, 2]


@pytest.mark.parametrize("weight", [0.5, 0.0])
async def test_what_says_more_comes_first_among_equal_readings_if_that_counts(weight):
    ledger = FakeLedger(memory(2), memory(3, tokens=30), memory(4, tokens=2))
    here = mesh(ledger=ledger, reranker=FakeReranker(lambda number: 0.0 if number < 4 else -1.0))
    answer = await here.recall(tuning=RecallTuning(length_weight=weight, fusion_weight=0.0))
    by_number = dict(zip(numbers(answer), answer.memories, strict=True))
    assert by_number[2].scores.length_prior == 1.0
    assert (by_number[3].scores.length_prior > 1.0 > by_number[4].scores.length_prior) is (weight > 0)


@pytest.mark.parametrize(("weight", "order"), [(0.5, [1, 2, 3, 4]), (0.0, [1, 4, 2, 3])])
async def test_what_lies_around_an_answer_comes_before_what_reads_as_well_elsewhere(weight, order):
    beside = {"document_id": "d1"}
    ledger = FakeLedger(
        memory(1, position=5, **beside),
        memory(2, position=6, **beside),
        memory(3, position=9, **beside),
        memory(4, position=6, document_id="d2"),
    )
    here = mesh(
        ledger=ledger, arms={K: FakeArm(4, 1, 2, 3)}, reranker=FakeReranker(lambda number: 5.0 if number == 1 else -2.0)
    )
    assert numbers(await here.recall(tuning=RecallTuning(surroundings_weight=weight))) == order
