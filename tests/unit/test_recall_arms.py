import asyncio

import pytest
from unit.recall_fakes import (
    LAST_WEEK,
    NOW,
    REF,
    FakeArm,
    FakeEmbedder,
    FakeLedger,
    FakeReranker,
    FakeTimes,
    G,
    K,
    S,
    T,
    detail,
    four_arms,
    memory,
    mesh,
    numbers,
    part,
    reading,
    states,
)

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.deadline import within
from recallmesh.core.errors import (
    ArmTimeout,
    BankNotFound,
    InternalFault,
    Overloaded,
    RecallUnavailable,
    StoreUnavailable,
)
from recallmesh.core.memory import FactType
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.tuning import Budget, MinScores, RecallTuning
from recallmesh.recall.plan import RecallDefaults
from recallmesh.recall.slow import SlowLog


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


@pytest.mark.parametrize(
    ("slow", "trace", "explained"),
    [
        (SlowLog(), False, False),
        (SlowLog(), True, True),
        (SlowLog(1.0), False, False),
        (SlowLog(1.0, texts=True), False, True),
        (SlowLog(texts=True), False, False),
    ],
)
async def test_hits_are_explained_where_somebody_reads_it(slow, trace, explained):
    here = mesh(slow=slow)
    await here.recall(trace=trace)
    assert [arm.queries[0].explained for arm in here.arms.values() if arm.queries] == [explained] * 3


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
    with within(1):
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
    with within(1):
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


async def test_an_unknown_bank_is_not_found_and_an_empty_one_answers_with_nothing():
    with pytest.raises(BankNotFound):
        await mesh().recaller().recall(RecallRequest(BankRef("other"), "what"))
    here = mesh(ledger=FakeLedger(), arms={arm: FakeArm() for arm in ArmName}, reranker=FakeReranker())
    answer = await here.recall()
    assert (answer.memories, answer.omitted) == ((), 0)
    assert part(answer, "reranker").state is PartState.SKIPPED


async def test_the_embedder_is_asked_once_how_its_cosines_scatter():
    here = mesh(reranker=FakeReranker())
    recaller = here.recaller()
    for _ in range(3):
        await recaller.recall(RecallRequest(REF, "what happened"))
    assert here.embedder.described == 1


async def test_a_graph_in_another_process_is_asked_before_the_semantic_arm():
    here = mesh(defaults=RecallDefaults(head_start_s=0.05))
    asking = asyncio.create_task(here.recall())
    await here.arms[G].begun.wait()
    assert here.arms[S].queries == []
    answer = await asking
    assert len(here.arms[S].queries) == 1
    assert next(report for report in answer.arms if report.arm is S).latency.total_seconds() < 0.05


async def test_without_a_graph_to_be_asked_nobody_waits_for_it():
    here = mesh(defaults=RecallDefaults(head_start_s=60))
    await here.recall(tuning=RecallTuning(arms=frozenset({S, K})))
    assert len(here.arms[S].queries) == 1
