from unit.recall_fakes import (
    LAST_WEEK,
    NOW,
    FakeArm,
    FakeLedger,
    FakeReranker,
    FakeTimes,
    G,
    K,
    S,
    T,
    memory,
    mesh,
    name,
    numbers,
    reading,
)

from recallmesh.core.recall import Outcome
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning


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


async def test_tracing_changes_no_result():
    here = mesh(reranker=FakeReranker())
    plain = await here.recall(window=LAST_WEEK)
    traced = await here.recall(window=LAST_WEEK, trace=True)
    assert plain.trace is None
    assert (plain.memories, plain.omitted, plain.tokens) == (traced.memories, traced.omitted, traced.tokens)
    assert len(here.ledger.read_whole) == 2


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
