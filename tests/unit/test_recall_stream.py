import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.recall_fakes import (
    NOW,
    REF,
    RRF_ORDER,
    FakeArm,
    FakeLedger,
    FakeReranker,
    G,
    K,
    S,
    T,
    days_ago,
    four_arms,
    memory,
    mesh,
    name,
    numbers,
    part,
    timeless,
)

from recallmesh.core.bank import BankRef
from recallmesh.core.deadline import within
from recallmesh.core.document import Chunk
from recallmesh.core.errors import BankNotFound, RecallUnavailable, StoreUnavailable
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.recall import PartState, RecallRequest, RecallStage
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning

FUSED, FINAL = RecallStage.FUSED, RecallStage.FINAL


async def heard(here, query="what happened", **fields):
    return [progress async for progress in here.recaller().stream(RecallRequest(REF, query, **fields))]


def stages(told):
    return [progress.stage for progress in told]


def well_filled(**fields):
    ledger = FakeLedger(
        memory(1, tags=("a",), mentioned=days_ago(3), chunk_id="c1"),
        memory(2, tags=("a",), mentioned=days_ago(300), chunk_id="c2"),
        memory(3, state=MemoryState.INVALIDATED),
        memory(4, tags=("b",), tokens=30),
        memory(5, fact_type=FactType.OBSERVATION, sources=(name(1), name(2)), proof_count=4),
        memory(6),
        chunks=[Chunk(f"c{number}", "d", number, "some words of a chunk", 5) for number in (1, 2)],
    )
    return mesh(**{"ledger": ledger, "reranker": FakeReranker(), **fields})


async def test_the_fused_answer_comes_first_and_the_reranked_one_last():
    told = await heard(mesh(reranker=FakeReranker()))
    assert stages(told) == [FUSED, FINAL]
    assert [numbers(progress.answer) for progress in told] == [RRF_ORDER, [5, 4, 3, 2, 1]]
    reports = [part(progress.answer, "reranker") for progress in told]
    assert [report.state for report in reports] == [PartState.SKIPPED, PartState.OK]
    assert reports[0].detail == "has not answered yet"


REQUESTS = {
    "plain": {},
    "of few": {"limit": 2},
    "of few tokens": {"max_tokens": 25},
    "of fewer than any has": {"max_tokens": 5},
    "with tags": {"tags": TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)},
    "of one type": {"fact_types": (FactType.OBSERVATION,)},
    "with sources": {"chunk_tokens": 8, "source_tokens": 100, "include_entities": True},
    "of chunks alone": {"max_tokens": 0, "chunk_tokens": 8},
    "without what an observation holds": {"tuning": RecallTuning(prefer_observations=True)},
    "with a boost": {"tuning": RecallTuning(boosts={K: BoostLevel.HIGH}, recency_alpha=0.4)},
    "at an hour": {"query_time": NOW},
}


@pytest.mark.parametrize("fields", REQUESTS.values(), ids=REQUESTS)
async def test_the_last_answer_is_what_recall_would_have_answered(fields):
    here = well_filled()
    told = await heard(here, **fields)
    assert stages(told) == [FUSED, FINAL]
    assert timeless(told[-1].answer) == timeless(await here.recall(**fields))


@pytest.mark.parametrize("fields", REQUESTS.values(), ids=REQUESTS)
async def test_the_provisional_answer_is_that_of_a_recall_without_reranking(fields):
    here = well_filled()
    told = await heard(here, **fields)
    tuning = replace(fields.get("tuning", RecallTuning()), reranking=False)
    plain = await here.recall(**{**fields, "tuning": tuning})
    assert replace(timeless(told[0].answer), models=()) == replace(timeless(plain), models=())


@given(
    st.dictionaries(st.sampled_from([S, K, G]), st.lists(st.integers(0, 30), unique=True, max_size=12)),
    st.integers(0, 80),
    st.integers(0, 4),
    st.sampled_from([0, 2, 5, 100]),
)
async def test_whatever_is_asked_there_is_one_final_answer_the_last_and_it_is_recalls(lists, room, limit, cap):
    arms = {arm: FakeArm(*lists.get(arm, ())) for arm in (S, K, G)} | {T: FakeArm()}
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(9 * number)) for number in range(0, 30, 2)))
    here = mesh(ledger=ledger, arms=arms, reranker=FakeReranker(lambda number: (number * 7) % 5 - 2.0))
    fields = {"max_tokens": room, "limit": limit, "tuning": RecallTuning(rerank_limit=cap), "query_time": NOW}
    told = await heard(here, **fields)
    assert stages(told) in ([FINAL], [FUSED, FINAL])
    assert timeless(told[-1].answer) == timeless(await here.recall(**fields))
    assert all(progress.answer.memories for progress in told[:-1])


@pytest.mark.parametrize(
    "here",
    [mesh(), mesh(reranker=FakeReranker())],
    ids=["none is set up", "switched off"],
)
@pytest.mark.parametrize("tuning", [RecallTuning(reranking=False), RecallTuning(rerank_limit=0)])
async def test_where_nothing_is_reranked_there_is_one_answer(here, tuning):
    told = await heard(here, tuning=tuning)
    assert stages(told) == [FINAL]
    assert numbers(told[0].answer) == RRF_ORDER


async def test_an_empty_answer_does_not_come_before_its_time():
    here = mesh(ledger=FakeLedger(), reranker=FakeReranker())
    assert stages(await heard(here)) == stages(await heard(well_filled(), max_tokens=0)) == [FINAL]


async def test_floors_that_only_reranking_can_decide_hold_for_the_final_answer_alone():
    here = mesh(reranker=FakeReranker(lambda number: number / 10, logits=False))
    floors = MinScores(semantic=0.1, keyword=0.2, reranker=0.3, final=0.2)
    told = await heard(here, tuning=RecallTuning(min_scores=floors))
    assert [sorted(numbers(progress.answer)) for progress in told] == [[1, 2, 3, 4, 5], [3, 4, 5]]
    assert [here.arms[arm].queries[0].min_score for arm in (S, K)] == [0.1, 0.2]


async def test_the_account_comes_with_the_final_answer():
    here = mesh(reranker=FakeReranker())
    told = await heard(here, trace=True)
    assert told[0].answer.trace is None
    account, plain = told[1].answer.trace, (await here.recall(trace=True)).trace
    assert (account.candidates, account.prefilter) == (plain.candidates, plain.prefilter)
    assert [phase.name for phase in account.phases if phase.name == "provisional"] == ["provisional"]


async def test_to_close_the_stream_stops_the_reranking():
    reranker = FakeReranker(hang=True)
    before = asyncio.all_tasks()
    async with aclosing(mesh(reranker=reranker).recaller().stream(RecallRequest(REF, "what"))) as told:
        first = await anext(told)
        await reranker.begun.wait()
    assert first.stage is FUSED
    assert reranker.cancelled.is_set()
    assert asyncio.all_tasks() == before


async def test_to_cancel_who_waits_for_the_final_answer_stops_the_reranking():
    reranker = FakeReranker(hang=True)
    call = asyncio.create_task(heard(mesh(reranker=reranker)))
    await reranker.begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert reranker.cancelled.is_set()


async def test_who_is_slow_to_take_the_first_answer_does_not_hold_up_the_second():
    reranker = FakeReranker()
    async with aclosing(mesh(reranker=reranker).recaller().stream(RecallRequest(REF, "what"))) as told:
        await anext(told)
        await reranker.begun.wait()
        assert numbers((await anext(told)).answer) == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("reranker", "state"),
    [
        (FakeReranker(hang=True), PartState.TIMED_OUT),
        (FakeReranker(error=StoreUnavailable("down")), PartState.UNAVAILABLE),
    ],
)
async def test_a_reranker_that_is_too_slow_or_fails_makes_the_fused_answer_final(reranker, state):
    with within(1):
        told = await heard(mesh(reranker=reranker))
    assert stages(told) == [FUSED, FINAL]
    assert told[1].answer.memories == told[0].answer.memories
    assert part(told[1].answer, "reranker").state is state


async def test_a_ledger_that_goes_away_ends_the_stream_with_an_error():
    class Leaving(FakeLedger):
        async def read(self, bank_uid, memory_ids, *, mentions=True):
            if self.read_whole:
                raise StoreUnavailable("the ledger does not answer")
            return await super().read(bank_uid, memory_ids, mentions=mentions)

    here = mesh(ledger=Leaving(*(memory(number) for number in range(1, 7))), reranker=FakeReranker())
    async with aclosing(here.recaller().stream(RecallRequest(REF, "what"))) as told:
        assert (await anext(told)).stage is FUSED
        with pytest.raises(StoreUnavailable):
            await anext(told)


async def test_what_recall_refuses_the_stream_refuses():
    here = mesh(reranker=FakeReranker())
    with pytest.raises(BankNotFound):
        await anext(here.recaller().stream(RecallRequest(BankRef("other"), "what")))
    down = four_arms(**{arm: FakeArm(error=StoreUnavailable("down")) for arm in ("semantic", "keyword", "graph")})
    with pytest.raises(RecallUnavailable):
        await heard(mesh(arms=down, reranker=FakeReranker()))
