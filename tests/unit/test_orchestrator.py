import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from unit.recall_fakes import (
    NOW,
    REF,
    FakeArm,
    FakeEmbedder,
    FakeLedger,
    FakeReranker,
    FakeTimes,
    Mesh,
    days_ago,
    memory,
    name,
    numbers,
)

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, BankRef
from recallmesh.core.deadline import within
from recallmesh.core.document import Chunk
from recallmesh.core.errors import (
    ArmTimeout,
    BankNotFound,
    InternalFault,
    Overloaded,
    RecallUnavailable,
    StoreUnavailable,
)
from recallmesh.core.memory import FactType, MemoryState, Mention
from recallmesh.core.recall import Outcome, PartState, RecallRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import BoostLevel, Budget, MinScores, RecallTuning, RecencyCurve
from recallmesh.core.when import TimeReading
from recallmesh.recall.plan import RecallDefaults

S, K, G, T = ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH, ArmName.TEMPORAL
LAST_WEEK = Window(days_ago(9), days_ago(2))


def four_arms(**arms):
    every = {S: FakeArm(1, 2, 3), K: FakeArm(2, 4), G: FakeArm(3, 5), T: FakeArm(6, 1)}
    return every | {ArmName(key): arm for key, arm in arms.items()}


def mesh(**parts):
    parts = {"ledger": FakeLedger(*(memory(number) for number in range(1, 7))), "arms": four_arms(), **parts}
    return Mesh(**parts)


def states(answer):
    return {report.arm: report.state for report in answer.arms}


def detail(answer, arm):
    return next(report.detail for report in answer.arms if report.arm is arm)


def part(answer, which):
    return next(report for report in answer.models if report.part == which)


def reading(phrase="last week", text="what happened last week"):
    begin = text.index(phrase)
    return TimeReading(Occurrence(LAST_WEEK, Precision.WEEK), begin, begin + len(phrase), "relative")


async def test_every_arm_is_asked_once_for_what_the_request_says():
    here = mesh()
    await here.recall(window=LAST_WEEK, budget=Budget.LOW, fact_types=(FactType.WORLD, FactType.WORLD))
    for arm in here.arms.values():
        (query,) = arm.queries
        assert (query.bank_uid, query.text, query.limit) == ("uid", "what happened", 100)
        assert query.fact_types == (FactType.WORLD,)
    assert here.embedder.calls == 1
    assert {here.arms[arm].queries[0].vector for arm in (S, G, T)} == {(1.0, 0.0)}
    assert here.arms[K].queries[0].vector is None
    assert here.arms[T].queries[0].window == LAST_WEEK


async def test_a_window_of_the_caller_is_used_and_nothing_is_read():
    here = mesh(times=FakeTimes(reading()))
    answer = await here.recall(window=LAST_WEEK)
    assert (answer.window.window, answer.window.rule, answer.window.phrase) == (LAST_WEEK, "caller", "")
    assert here.times.asked == []


async def test_a_time_expression_is_read_at_the_askers_now_and_offset():
    here = mesh(times=FakeTimes(reading()))
    asked_at = NOW.astimezone(tz=None)
    answer = await here.recall("what happened last week", query_time=asked_at)
    assert here.times.asked == [("what happened last week", asked_at)]
    assert (answer.window.window, answer.window.rule, answer.window.phrase) == (LAST_WEEK, "relative", "last week")
    assert states(answer)[T] is PartState.OK


async def test_without_a_query_time_the_clock_is_asked_and_a_naive_time_is_utc():
    here = mesh()
    await here.recall()
    await here.recall(query_time=NOW.replace(tzinfo=None))
    assert [moment for _, moment in here.times.asked] == [NOW, NOW]


async def test_without_a_window_the_temporal_arm_is_skipped():
    here = mesh()
    answer = await here.recall()
    assert states(answer) == {S: PartState.OK, K: PartState.OK, G: PartState.OK, T: PartState.SKIPPED}
    assert here.arms[T].queries == []


async def test_an_arm_that_is_switched_off_or_not_there_is_disabled():
    arms = four_arms()
    del arms[G]
    here = mesh(arms=arms)
    answer = await here.recall(tuning=RecallTuning(arms=frozenset({S, G})))
    assert states(answer) == {S: PartState.OK, K: PartState.DISABLED, G: PartState.DISABLED, T: PartState.DISABLED}
    assert here.arms[K].queries == []


async def test_the_floors_and_the_graph_strategy_go_to_their_arms():
    here = mesh()
    tuning = RecallTuning(min_scores=MinScores(semantic=0.4, keyword=2.0), graph_strategy="bfs")
    await here.recall(tuning=tuning)
    assert here.arms[S].queries[0].min_score == 0.4
    assert here.arms[K].queries[0].min_score == 2.0
    assert here.arms[G].queries[0].min_score is None
    assert here.arms[G].queries[0].strategy == "bfs"


async def test_keyword_does_not_wait_for_the_embedder():
    here = mesh(embedder=FakeEmbedder(hang=True))
    call = asyncio.create_task(here.recall())
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(here.arms[K].queries) == 1
    assert here.arms[S].queries == []
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_no_arm_that_uses_a_vector_no_embedding():
    here = mesh()
    answer = await here.recall(tuning=RecallTuning(arms=frozenset({K})))
    assert here.embedder.calls == 0
    assert part(answer, "embedder").state is PartState.SKIPPED


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (StoreUnavailable("the store does not answer"), PartState.UNAVAILABLE),
        (Overloaded("the queue is full"), PartState.UNAVAILABLE),
        (ArmTimeout("too slow"), PartState.TIMED_OUT),
        (InternalFault("internal error"), PartState.FAILED),
    ],
)
@pytest.mark.parametrize("arm", [S, K, G, T])
async def test_an_arm_that_fails_costs_its_hits_alone(arm, error, state):
    whole = await mesh().recall(window=LAST_WEEK)
    here = mesh(arms=four_arms(**{arm: FakeArm(error=error)}))
    answer = await here.recall(window=LAST_WEEK)
    assert states(answer)[arm] is state
    assert detail(answer, arm) == error.message
    assert [value for key, value in states(answer).items() if key is not arm] == [PartState.OK] * 3
    assert answer.memories
    assert all(arm not in each.ranks for each in answer.memories)
    assert any(arm in each.ranks for each in whole.memories)


async def test_an_arm_beyond_its_share_of_the_deadline_times_out_and_is_stopped():
    slow = FakeArm(hang=True)
    with within(0.2):
        answer = await mesh(arms=four_arms(graph=slow)).recall()
    assert states(answer)[G] is PartState.TIMED_OUT
    assert slow.cancelled == 1
    assert numbers(answer) == [2, 1, 4, 3]


async def test_without_the_embedder_keyword_and_graph_answer():
    here = mesh(embedder=FakeEmbedder(error=StoreUnavailable("no model")))
    answer = await here.recall(window=LAST_WEEK)
    gone = PartState.UNAVAILABLE
    assert states(answer) == {S: gone, K: PartState.OK, G: PartState.OK, T: gone}
    assert detail(answer, S) == detail(answer, T) == "no query embedding"
    assert here.arms[G].queries[0].vector is None
    assert (part(answer, "embedder").state, part(answer, "embedder").detail) == (gone, "no model")
    assert sorted(numbers(answer)) == [2, 3, 4, 5]


async def test_no_embedder_at_all_is_told_as_disabled():
    answer = await mesh(embedder=None).recall()
    assert part(answer, "embedder").state is PartState.DISABLED
    assert states(answer)[S] is PartState.UNAVAILABLE


async def test_an_embedder_that_hangs_leaves_time_for_the_others():
    with within(0.2):
        answer = await mesh(embedder=FakeEmbedder(hang=True)).recall()
    assert part(answer, "embedder").state is PartState.TIMED_OUT
    assert states(answer)[K] is states(answer)[G] is PartState.OK


async def test_only_when_every_asked_arm_failed_the_recall_fails():
    down = StoreUnavailable("down")
    arms = {arm: FakeArm(error=down) for arm in ArmName}
    with pytest.raises(RecallUnavailable, match="keyword: down"):
        await mesh(arms=arms).recall()
    arms[K] = FakeArm()
    assert (await mesh(arms=arms).recall()).memories == ()


async def test_arms_that_were_not_asked_do_not_count_as_failed():
    here = mesh()
    assert (await here.recall(tuning=RecallTuning(arms=frozenset({T})))).memories == ()
    assert (await here.recall(tuning=RecallTuning(arms=frozenset()))).memories == ()
    with pytest.raises(RecallUnavailable):
        await mesh(embedder=None).recall(tuning=RecallTuning(arms=frozenset({S, T})))


async def test_a_bug_in_an_arm_is_not_hidden():
    with pytest.raises(ExceptionGroup) as caught:
        await mesh(arms=four_arms(graph=FakeArm(error=KeyError("bug")))).recall()
    assert caught.group_contains(KeyError)


async def test_cancelling_a_recall_stops_its_arms():
    arms = {arm: FakeArm(hang=True) for arm in ArmName}
    call = asyncio.create_task(mesh(arms=arms).recall(window=LAST_WEEK))
    await asyncio.gather(*(arm.begun.wait() for arm in arms.values()))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [arm.cancelled for arm in arms.values()] == [1, 1, 1, 1]


async def test_the_ledger_is_no_part_that_can_be_missing():
    class Broken(FakeLedger):
        async def read(self, bank_uid, memory_ids, *, mentions=True):  # noqa: ARG002 - the port's names
            raise StoreUnavailable("the ledger does not answer")

    class Unoutlined(FakeLedger):
        async def outline(self, bank_uid, memory_ids):  # noqa: ARG002 - the port's names
            raise StoreUnavailable("the ledger does not answer")

    for ledger in (Broken(memory(1)), Unoutlined()):
        with pytest.raises(StoreUnavailable):
            await mesh(ledger=ledger).recall()


RRF_ORDER = [2, 3, 1, 4, 5]


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
    with within(0.2):
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


async def test_what_lies_beyond_the_cap_follows_in_fused_order():
    here = mesh(reranker=FakeReranker(lambda number: -number))
    answer = await here.recall(tuning=RecallTuning(rerank_limit=2))
    assert numbers(answer) == [2, 3, 1, 4, 5]
    finals = [each.scores.final for each in answer.memories]
    assert finals == sorted(finals, reverse=True)
    assert len(set(finals)) == 5
    assert len(here.reranker.texts[0]) == 2


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
    alone = RecallDefaults(fusion_weight=0.0)
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


async def test_an_index_that_lags_shows_nothing_that_may_not_be_seen():
    ledger = FakeLedger(
        memory(1, state=MemoryState.INVALIDATED),
        memory(2, tags=("secret",)),
        memory(4, tags=("open",)),
        memory(5, tags=("open",), fact_type=FactType.EXPERIENCE),
        memory(6, tags=("open",), state=MemoryState.RETIRING),
    )
    here = mesh(ledger=ledger)
    answer = await here.recall(
        window=LAST_WEEK,
        tags=TagLeaf(frozenset({"open"}), TagMode.ANY_STRICT),
        fact_types=(FactType.WORLD,),
        trace=True,
    )
    assert sorted(numbers(answer)) == [4, 6]
    outcomes = {row.memory_id: row.outcome for row in answer.trace.candidates}
    assert outcomes == {
        name(1): Outcome.INVALIDATED,
        name(2): Outcome.TAG,
        name(3): Outcome.MISSING,
        name(4): Outcome.PACKED,
        name(5): Outcome.TAG,
        name(6): Outcome.PACKED,
    }
    hidden = [row for row in answer.trace.candidates if row.outcome is not Outcome.PACKED]
    assert all(not row.text and not row.because for row in hidden)


async def test_places_of_the_refused_are_filled_from_further_down():
    ledger = FakeLedger(*(memory(number) for number in range(10, 60)))
    defaults = RecallDefaults(budget_hits={Budget.LOW: 10, Budget.MID: 10, Budget.HIGH: 10})
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))}, defaults=defaults)
    assert numbers(await here.recall(max_tokens=10_000)) == list(range(10, 30))


async def test_at_most_twice_the_budget_is_considered():
    ledger = FakeLedger(*(memory(number) for number in range(60)))
    defaults = RecallDefaults(budget_hits={Budget.LOW: 10, Budget.MID: 10, Budget.HIGH: 10})
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))}, defaults=defaults, reranker=FakeReranker())
    answer = await here.recall(max_tokens=100, trace=True)
    assert numbers(answer) == list(range(59, 49, -1))
    assert answer.omitted == 10
    outcomes = [row.outcome for row in answer.trace.candidates]
    assert (outcomes.count(Outcome.CAP), outcomes.count(Outcome.BUDGET)) == (40, 10)


async def test_mentions_come_when_asked_for():
    ledger = FakeLedger(memory(2, mentions=(Mention("e1", "Ida"),)))
    here = mesh(ledger=ledger)
    assert (await here.recall()).memories[0].memory.mentions == ()
    assert (await here.recall(include_entities=True)).memories[0].memory.mentions == (Mention("e1", "Ida"),)


async def test_floors_are_inclusive():
    plain = RecallDefaults(fusion_weight=0.0, recency_alpha=0.0)
    here = mesh(reranker=FakeReranker(lambda number: number / 10, logits=False), defaults=plain)
    answer = await here.recall(tuning=RecallTuning(min_scores=MinScores(reranker=0.3)))
    assert numbers(answer) == [5, 4, 3]
    answer = await here.recall(tuning=RecallTuning(min_scores=MinScores(final=0.4)))
    assert numbers(answer) == [5, 4]


async def test_a_floor_of_the_reranker_keeps_out_what_it_did_not_see():
    here = mesh(reranker=FakeReranker(lambda number: number / 10, logits=False))
    tuning = RecallTuning(min_scores=MinScores(reranker=0.0), rerank_limit=2)
    assert sorted(numbers(await here.recall(tuning=tuning))) == [2, 3]


async def test_a_floor_of_the_reranker_does_not_hold_when_there_is_none():
    assert numbers(await mesh().recall(tuning=RecallTuning(min_scores=MinScores(reranker=0.9)))) == RRF_ORDER


async def test_memories_that_do_not_fit_are_skipped_counted_or_flagged():
    ledger = FakeLedger(memory(1, tokens=150), memory(2, tokens=40), memory(3, tokens=40))
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3)})
    answer = await here.recall(max_tokens=100)
    assert (numbers(answer), answer.omitted, answer.tokens) == ([2, 3], 1, 80)
    answer = await here.recall(max_tokens=10)
    assert (numbers(answer), answer.memories[0].oversized, answer.omitted) == ([1], True, 2)
    answer = await here.recall(max_tokens=0)
    assert (numbers(answer), answer.omitted) == ([], 3)


async def test_a_memory_without_a_stored_count_is_counted():
    ledger = FakeLedger(memory(1, "one two three", tokens=0), memory(2, tokens=1))
    answer = await mesh(ledger=ledger, arms={K: FakeArm(1, 2)}).recall()
    assert answer.tokens == 4


async def test_the_account_tells_what_the_limit_cut_from_what_had_no_room():
    ledger = FakeLedger(memory(1, tokens=5), memory(2, tokens=90), memory(3, tokens=5), memory(4, tokens=5))
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3, 4)})
    told = {}
    for limit in (0, 2):
        answer = await here.recall(max_tokens=20, limit=limit, trace=True)
        told[limit] = [(row.outcome, row.detail) for row in answer.trace.candidates]
    packed, no_room = (Outcome.PACKED, ""), (Outcome.BUDGET, "")
    assert told == {
        0: [packed, no_room, packed, packed],
        2: [packed, no_room, packed, (Outcome.BUDGET, "limit")],
    }


async def test_a_preferred_observation_replaces_its_sources():
    ledger = FakeLedger(
        memory(1), memory(2), memory(3, fact_type=FactType.OBSERVATION, sources=(name(1), name(2))), memory(4)
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3, 4)})
    answer = await here.recall(tuning=RecallTuning(prefer_observations=True), limit=2, trace=True, source_tokens=100)
    assert numbers(answer) == [3, 4]
    outcomes = [row.outcome for row in answer.trace.candidates]
    assert outcomes == [Outcome.SUPERSEDED, Outcome.SUPERSEDED, Outcome.PACKED, Outcome.PACKED]
    assert [each.id for each in answer.source_facts] == [name(1), name(2)]


async def test_source_facts_pass_the_tags_and_the_token_budget():
    ledger = FakeLedger(
        memory(1, tags=("b",)),
        memory(2, tags=("a",), tokens=90),
        memory(3, tags=("a",), tokens=20),
        memory(4, tags=("a",), state=MemoryState.INVALIDATED),
        memory(9, tags=("a",), fact_type=FactType.OBSERVATION, sources=tuple(name(n) for n in (1, 2, 3, 4, 5))),
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(9)})
    test = TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)
    answer = await here.recall(tags=test, source_tokens=50, fact_types=(FactType.OBSERVATION,))
    assert [each.id for each in answer.source_facts] == [name(3)]
    assert (await here.recall(tags=test)).source_facts == ()


def chunked(*tokens):
    return [Chunk(f"c{n}", "d", n, " ".join(["word"] * size), size) for n, size in enumerate(tokens)]


async def test_chunks_of_the_best_memories_come_once_and_the_last_is_cut():
    ledger = FakeLedger(
        *(memory(n, chunk_id=chunk) for n, chunk in ((1, "c1"), (2, "c1"), (3, "c0"), (4, ""), (5, "c2"))),
        chunks=chunked(30, 50, 40),
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3, 4, 5)})
    answer = await here.recall(max_tokens=0, chunk_tokens=100)
    assert [(each.chunk.id, each.chunk.tokens, each.truncated) for each in answer.chunks] == [
        ("c1", 50, False),
        ("c0", 30, False),
        ("c2", 20, True),
    ]
    assert len(answer.chunks[-1].chunk.text.split()) == 20
    assert answer.memories == ()
    exact = await here.recall(chunk_tokens=80)
    assert [(each.chunk.id, each.truncated) for each in exact.chunks] == [("c1", False), ("c0", False)]
    assert (await here.recall()).chunks == (await here.recall(chunk_tokens=0)).chunks == ()


async def test_an_unknown_bank_is_not_found_and_an_empty_one_answers_with_nothing():
    with pytest.raises(BankNotFound):
        await mesh().recaller().recall(RecallRequest(BankRef("other"), "what"))
    here = mesh(ledger=FakeLedger(), arms={arm: FakeArm() for arm in ArmName}, reranker=FakeReranker())
    answer = await here.recall()
    assert (answer.memories, answer.omitted) == ((), 0)
    assert part(answer, "reranker").state is PartState.SKIPPED


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


async def test_tracing_changes_no_result():
    here = mesh(reranker=FakeReranker())
    plain = await here.recall(window=LAST_WEEK)
    traced = await here.recall(window=LAST_WEEK, trace=True)
    assert plain.trace is None
    assert (plain.memories, plain.omitted, plain.tokens) == (traced.memories, traced.omitted, traced.tokens)
    assert len(here.ledger.read_whole) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"limit": 2},
        {"max_tokens": 25},
        {"max_tokens": 5},
        {"max_tokens": 0},
        {"include_entities": True},
        {"source_tokens": 100, "tuning": RecallTuning(prefer_observations=True)},
        {"tuning": RecallTuning(min_scores=MinScores(final=0.5))},
        {"tuning": RecallTuning(min_scores=MinScores(final=1.0, reranker=0.9))},
        {"tuning": RecallTuning(boosts={K: BoostLevel.HIGH})},
        {"tags": TagLeaf(frozenset({"a"}), TagMode.ANY)},
        {"fact_types": (FactType.OBSERVATION,)},
    ],
)
async def test_what_is_read_in_brief_is_what_reading_all_would_answer(fields):
    mentions = (Mention("e1", "Ida"),)
    ledger = FakeLedger(
        memory(1, mentions=mentions, tokens=20),
        memory(2, state=MemoryState.INVALIDATED),
        memory(3, tags=("b",)),
        memory(4, tags=("a",), mentions=mentions),
        memory(5, fact_type=FactType.OBSERVATION, sources=(name(1), name(4))),
    )
    here = mesh(ledger=ledger)
    brief = await here.recall(window=LAST_WEEK, **fields)
    whole = await here.recall(window=LAST_WEEK, trace=True, **fields)
    assert len(ledger.outlined) == 1
    assert [replace(each, latency=timedelta()) for each in brief.models] == [
        replace(each, latency=timedelta()) for each in whole.models
    ]
    assert (brief.memories, brief.omitted, brief.tokens) == (whole.memories, whole.omitted, whole.tokens)
    assert (brief.window, brief.source_facts) == (whole.window, whole.source_facts)


async def test_only_what_is_packed_is_read_whole():
    ledger = FakeLedger(*(memory(number) for number in range(60)))
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))})
    await here.recall(max_tokens=40)
    assert ledger.outlined == [tuple(name(number) for number in range(60))]
    assert ledger.read_whole == [tuple(name(number) for number in range(4))]


@pytest.mark.parametrize(
    "asked",
    [
        {"trace": True},
        {"chunk_tokens": 10},
        {"tuning": RecallTuning(recency_alpha=0.1)},
    ],
)
async def test_who_asks_for_more_than_fused_order_has_all_read_whole(asked):
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(number)) for number in range(60)))
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))})
    await here.recall(max_tokens=40, **asked)
    assert (ledger.outlined, [len(ids) for ids in ledger.read_whole]) == ([], [60])


@pytest.mark.parametrize(
    "change", [None, {"state": MemoryState.INVALIDATED}, {"tags": ("secret",)}, {"text": "longer", "tokens": 11}]
)
async def test_what_changes_between_outline_and_reading_is_not_shown(change):
    class Changing(FakeLedger):
        async def read(self, bank_uid, memory_ids, *, mentions=True):
            if change is None:
                del self.memories[name(2)]
            else:
                self.memories[name(2)] = replace(self.memories[name(2)], **change)
            return await super().read(bank_uid, memory_ids, mentions=mentions)

    here = mesh(ledger=Changing(*(memory(number) for number in range(1, 7))))
    answer = await here.recall(tags=TagLeaf(frozenset({"open"}), TagMode.ANY))
    assert numbers(answer) == [number for number in RRF_ORDER if number != 2]
    assert (answer.omitted, answer.tokens) == (1, 40)


async def test_the_trace_tells_each_stage():
    here = mesh(reranker=FakeReranker(), times=FakeTimes(reading()))
    tuning = RecallTuning(rerank_limit=4, boosts={G: BoostLevel.LOW})
    answer = await here.recall("what happened last week", tuning=tuning, trace=True)
    trace = answer.trace
    assert {phase.name for phase in trace.phases} >= {
        "bank",
        "time",
        "embed",
        "arms",
        "fusion",
        "read",
        "rerank",
        "score",
    }
    assert trace.window == answer.window
    assert (trace.prefilter.kept, trace.prefilter.dropped, trace.prefilter.cap) == (4, 2, 4)
    assert trace.prefilter.boosts == {G: BoostLevel.LOW}
    assert sum(trace.prefilter.composition.values()) >= 4
    assert trace.budget_hits == 300
    assert trace.query_time == NOW
    row = next(row for row in trace.candidates if row.memory_id == name(1))
    assert (row.ranks, row.arm_scores) == ({S: 1, T: 2}, {S: 1.0, T: 0.5})
    assert row.because == {S: "because 1", T: "because 1"}
    assert row.final_rank == 1 + numbers(answer).index(1)
    assert [row.fused_rank for row in trace.candidates] == [1, 2, 3, 4, 5, 6]
    assert sum(row.reranked for row in trace.candidates) == 4


async def test_the_trace_names_a_floor_as_the_reason():
    here = mesh(reranker=FakeReranker(lambda number: number / 10, logits=False))
    answer = await here.recall(tuning=RecallTuning(min_scores=MinScores(reranker=0.5)), trace=True)
    outcomes = {row.memory_id: row.outcome for row in answer.trace.candidates}
    assert outcomes[name(5)] is Outcome.PACKED
    assert outcomes[name(1)] is Outcome.FLOOR


async def test_the_final_score_follows_from_the_scores_told_with_it():
    mira = (Mention("e1", "Mira", "person"),)
    ledger = FakeLedger(
        *(memory(number, mentioned=days_ago(50 * number), mentions=mira * (number % 2)) for number in range(1, 7))
    )
    arms = four_arms(graph=FakeArm(1, 2, 3, contexts={1: 0.7, 2: 0.8, 3: 0.7}))
    here = mesh(ledger=ledger, arms=arms, reranker=FakeReranker(lambda number: number - 3.0))
    answer = await here.recall("Mira?", window=LAST_WEEK, tuning=RecallTuning(boosts={K: BoostLevel.HIGH}))
    assert len({each.scores.context_prior for each in answer.memories}) == 3
    assert {each.scores.naming_prior for each in answer.memories} == {1.0, 0.25}
    for each in answer.memories:
        told = each.scores
        boosts = told.recency_boost * told.temporal_boost * told.proof_boost * told.strategy_boost
        priors = told.fusion_prior * told.context_prior * told.naming_prior
        odds = told.relevance / (1 - told.relevance) * priors * boosts**2
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
    off = replace(near, defaults=RecallDefaults(context_weight=0.0))
    assert numbers(await off.recall())[0] != 3


async def test_the_embedder_is_asked_once_how_its_cosines_scatter():
    here = mesh(reranker=FakeReranker())
    recaller = here.recaller()
    for _ in range(3):
        await recaller.recall(RecallRequest(REF, "what happened"))
    assert here.embedder.described == 1


async def test_without_the_context_cosines_or_the_embedder_the_order_is_the_plain_one():
    plain = await mesh(reranker=FakeReranker(), defaults=RecallDefaults(context_weight=0.0)).recall()
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
    off = replace(here, defaults=RecallDefaults(unnamed_odds=1.0))
    assert numbers(await off.recall("what does Mira paint"))[0] == 1


async def test_not_reranked_the_priors_touch_nothing():
    mira = (Mention("e1", "Mira", "person"),)
    ledger = FakeLedger(*(memory(number, mentions=mira * (number == 5)) for number in range(1, 7)))
    here = mesh(ledger=ledger, arms=four_arms(graph=FakeArm(3, 5, contexts={3: 0.6, 5: 0.9})))
    assert numbers(await here.recall("what of Mira")) == numbers(await mesh().recall("what of Mira"))
