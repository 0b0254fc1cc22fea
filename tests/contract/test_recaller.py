"""What every recaller must do: the orchestrator in process and over the wire, on the same fakes behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from loopback import open_loopback, until_ready
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
    timeless,
)

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.document import Chunk
from recallmesh.core.errors import BankNotFound, InvalidArgument, MeshError, RecallUnavailable, StoreUnavailable
from recallmesh.core.memory import FactType, MemoryState, Mention
from recallmesh.core.recall import Fusion, PartState, RecallAnswer, Recaller, RecallRequest, RecallStage
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import BoostLevel, Budget, MinScores, RecallTuning, RecencyCurve
from recallmesh.core.when import TimeReading
from recallmesh.rpc.recaller import RemoteRecaller, host_recaller

WEEK = Window(days_ago(9), days_ago(2))
AWAY = timezone(timedelta(hours=-9, minutes=-30))
STRICT_A = TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)


def a_mesh(**arms: FakeArm) -> Mesh:
    """Return a mesh whose memories have one of everything, told by its arms in orders of their own."""
    memories = [
        memory(
            number,
            tags=("a",) if number % 2 else (),
            fact_type=FactType.OBSERVATION if number == 8 else FactType.WORLD,
            sources=(name(1), name(2)) if number == 8 else (),
            proof_count=2 if number == 8 else 1,
            occurred=Occurrence(WEEK, Precision.WEEK) if number % 3 else None,
            mentioned=days_ago(number).astimezone(AWAY),
            metadata={"k": str(number)},
            mentions=(Mention("e1", "Ida", "person", ("I.",)),) if number < 4 else (),
            document_id="d",
            chunk_id="c1" if number < 5 else "c2",
            position=number,
            state=MemoryState.INVALIDATED if number == 7 else MemoryState.ACTIVE,
        )
        for number in range(1, 9)
    ]
    chunks = tuple(Chunk(f"c{n}", "d", n, "some words of a chunk", 5, time=days_ago(n)) for n in (1, 2))
    told = {
        ArmName.SEMANTIC: FakeArm(1, 2, 3, 7, contexts={1: 0.5, 3: 0.25}),
        ArmName.KEYWORD: FakeArm(2, 4, 9),
        ArmName.GRAPH: FakeArm(3, 5, 8),
        ArmName.TEMPORAL: FakeArm(6, 1),
    } | {ArmName(key): arm for key, arm in arms.items()}
    return Mesh(
        FakeLedger(*memories, chunks=chunks),
        told,
        FakeEmbedder(),
        FakeReranker(lambda number: number / 4 - 1),
        FakeTimes(TimeReading(Occurrence(WEEK, Precision.WEEK), 14, 23, "week")),
    )


@asynccontextmanager
async def open_local(mesh: Mesh) -> AsyncIterator[Recaller]:
    yield mesh.recaller()


@asynccontextmanager
async def open_remote(mesh: Mesh) -> AsyncIterator[Recaller]:
    async with open_loopback(host_recaller(mesh.recaller())) as channel:
        recaller = RemoteRecaller(channel)
        await until_ready(recaller)
        yield recaller


OPENERS = {"local": open_local, "remote": open_remote}


@pytest.fixture(params=OPENERS)
def opener(request):
    return OPENERS[request.param]


def bare(answer: RecallAnswer) -> RecallAnswer:
    """Return an answer without times and without the names of the phases: a stream has one more."""
    answer = timeless(answer)
    return answer if answer.trace is None else replace(answer, trace=replace(answer.trace, phases=()))


TUNING = RecallTuning(
    arms=frozenset({ArmName.SEMANTIC, ArmName.GRAPH, ArmName.TEMPORAL}),
    reranking=True,
    boosts={ArmName.GRAPH: BoostLevel.MEDIUM},
    min_scores=MinScores(final=0.0),
    cap_per_arm=5,
    rerank_limit=3,
    recency_curve=RecencyCurve.EXPONENTIAL,
    recency_alpha=0.5,
    temporal_alpha=0.0,
    prefer_observations=True,
)
REQUESTS = {
    "plain": {},
    "traced": {"trace": True, "query_time": NOW.astimezone(AWAY)},
    "with chunks, sources and entities": {"chunk_tokens": 8, "source_tokens": 1000, "include_entities": True},
    "tuned": {"trace": True, "tuning": TUNING, "budget": Budget.LOW},
    "narrow": {"trace": True, "limit": 2, "fact_types": (FactType.WORLD,), "tags": TagAnd((STRICT_A,))},
    "with a period": {"window": Window(days_ago(4), days_ago(3)), "trace": True},
    "of few tokens": {"max_tokens": 25, "trace": True},
    "of none": {"tags": TagNot(TagLeaf()), "trace": True},
}


@pytest.mark.parametrize("fields", REQUESTS.values(), ids=REQUESTS)
async def test_an_answer_over_the_wire_is_the_answer(fields):
    mesh = a_mesh()
    request = RecallRequest(REF, "what happened last week", **fields)
    here = await mesh.recaller().recall(request)
    async with open_remote(mesh) as recaller:
        there = await recaller.recall(request)
    assert timeless(there) == timeless(here)
    assert bool(here.trace) is fields.get("trace", False)
    assert bool(here.chunks) is bool(here.source_facts) is ("chunk_tokens" in fields)
    for one, other in zip(there.memories, here.memories, strict=True):
        assert one.memory.mentioned.utcoffset() == other.memory.mentioned.utcoffset() == AWAY.utcoffset(None)


@pytest.mark.parametrize("fields", REQUESTS.values(), ids=REQUESTS)
async def test_the_answers_of_a_stream_are_the_same_over_the_wire_and_the_last_is_recalls(opener, fields):
    mesh = a_mesh()
    request = RecallRequest(REF, "what happened last week", **fields)
    here = [progress async for progress in mesh.recaller().stream(request)]
    async with opener(mesh) as recaller:
        told = [progress async for progress in recaller.stream(request)]
        answer = await recaller.recall(request)
    assert [(one.stage, bare(one.answer)) for one in told] == [(one.stage, bare(one.answer)) for one in here]
    assert told[-1].stage is RecallStage.FINAL
    assert bare(told[-1].answer) == bare(answer)


async def test_to_close_a_stream_stops_the_reranking(opener):
    mesh = a_mesh()
    mesh.reranker.hang = True
    async with opener(mesh) as recaller, asyncio.timeout(30):
        async with aclosing(recaller.stream(RecallRequest(REF, "what happened"))) as told:
            assert (await anext(told)).stage is RecallStage.FUSED
            await mesh.reranker.begun.wait()
        await mesh.reranker.cancelled.wait()


async def test_without_reranking_a_stream_has_one_answer(opener):
    async with opener(a_mesh()) as recaller:
        request = RecallRequest(REF, "what happened", tuning=RecallTuning(reranking=False))
        told = [progress.stage async for progress in recaller.stream(request)]
    assert told == [RecallStage.FINAL]


async def test_a_request_may_have_the_lists_interleaved(opener):
    async with opener(a_mesh(keyword=FakeArm(4, 2), graph=FakeArm(5, 2))) as recaller:
        request = RecallRequest(REF, "what", tuning=RecallTuning(reranking=False), fusion=Fusion.INTERLEAVE)
        interleaved = await recaller.recall(request)
        plain = await recaller.recall(replace(request, fusion=Fusion.RRF))
    assert numbers(interleaved) == [1, 4, 5, 6, 2, 3]
    assert numbers(plain) == [2, 1, 4, 5, 6, 3]
    rrf = {each.memory.id: each.scores.rrf for each in plain.memories}
    assert {each.memory.id: each.scores.rrf for each in interleaved.memories} == rrf


async def test_equal_requests_give_equal_answers_and_tracing_changes_none(opener):
    request = RecallRequest(REF, "what happened last week")
    async with opener(a_mesh()) as recaller:
        first, again = [timeless(await recaller.recall(request)) for _ in range(2)]
        traced = timeless(await recaller.recall(replace(request, trace=True)))
    assert numbers(first)
    assert first == again == replace(traced, trace=None)
    assert traced.trace.candidates


@pytest.mark.parametrize(
    ("arms", "state"),
    [
        ({"graph": FakeArm(error=StoreUnavailable("the graph is down"))}, PartState.UNAVAILABLE),
        ({"graph": FakeArm(error=InvalidArgument())}, PartState.FAILED),
    ],
)
async def test_an_arm_that_fails_costs_its_contribution_alone_and_is_reported(opener, arms, state):
    async with opener(a_mesh(**arms)) as recaller:
        answer = await recaller.recall(RecallRequest(REF, "what happened"))
    assert set(numbers(answer)) >= {1, 2, 3, 4}
    assert not {5, 8} & set(numbers(answer))
    assert {report.arm: report.state for report in answer.arms}[ArmName.GRAPH] is state


DOWN = {arm.value: FakeArm(error=StoreUnavailable(f"{arm.value} is down")) for arm in ArmName}


@pytest.mark.parametrize(
    ("error", "bank", "fields", "arms"),
    [
        (InvalidArgument, REF, {"query": " \n"}, {}),
        (InvalidArgument, REF, {"query": "word " * 501}, {}),
        (InvalidArgument, REF, {"max_tokens": -1}, {}),
        (InvalidArgument, REF, {"limit": -1}, {}),
        (BankNotFound, BankRef("nobody"), {}, {}),
        (RecallUnavailable, REF, {}, DOWN),
    ],
    ids=["blank", "too long", "negative tokens", "negative limit", "no bank", "all arms down"],
)
async def test_what_is_refused_is_refused_alike(error, bank, fields, arms):
    request = RecallRequest(bank, **({"query": "q"} | fields))
    said = []
    for opener in OPENERS.values():
        async with opener(a_mesh(**arms)) as recaller:
            with pytest.raises(error) as caught:
                await recaller.recall(request)
            with pytest.raises(error) as streamed:
                await anext(recaller.stream(request))
        said += [told(caught.value), told(streamed.value)]
    assert said == said[:1] * 4


def told(error: MeshError) -> tuple[object, ...]:
    metadata = {key: value for key, value in error.metadata.items() if key != "request_id"}
    return type(error), error.message, metadata, getattr(error, "violations", ())
