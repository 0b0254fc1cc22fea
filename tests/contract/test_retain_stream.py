"""What every retainer must do with batch after batch: in process, observed, and over the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import grpc.aio
import pytest
from loopback import open_loopback, until_ready
from unit.retain_fakes import REF, Bench, open_bench

from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.deadline import within
from recallmesh.core.errors import (
    ArmTimeout,
    BankNotFound,
    DefenseBlocked,
    FieldViolation,
    InvalidArgument,
    MeshError,
    NotReady,
    Overloaded,
    RequestIdReused,
    StoreUnavailable,
)
from recallmesh.core.retain import BatchAnswer, Retainer, RetainItem, RetainRequest, UpdateMode
from recallmesh.retain.bulk import BulkLine
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.door import DoorLimits
from recallmesh.rpc.retainer import RemoteRetainer, host_retainer
from recallmesh.rpc.server import open_server
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedRetainer
from recallmesh.v1 import retain_service_pb2 as pb
from recallmesh.v1 import retain_service_pb2_grpc

WINDOW = 4
"""What MeshRetainer has in hand by default."""
BEYOND = 40
"""More batches than any side may read ahead."""


@asynccontextmanager
async def open_local(folder: Path) -> AsyncIterator[tuple[Bench, Retainer]]:
    async with open_bench(folder) as bench:
        yield bench, bench.retainer


@asynccontextmanager
async def open_observed(folder: Path) -> AsyncIterator[tuple[Bench, Retainer]]:
    async with open_bench(folder) as bench:
        yield bench, ObservedRetainer(bench.retainer, timeout_s=5, metrics=Metrics())


@asynccontextmanager
async def open_remote(folder: Path, **server) -> AsyncIterator[tuple[Bench, Retainer]]:
    async with open_bench(folder) as bench, open_loopback(host_retainer(bench.retainer), **server) as channel:
        retainer = RemoteRetainer(channel)
        await until_ready(retainer)
        yield bench, retainer


OPENERS = {"local": open_local, "observed": open_observed, "remote": open_remote}


@pytest.fixture(params=OPENERS)
async def opened(request, tmp_path):
    async with OPENERS[request.param](tmp_path) as opened:
        yield opened


def batch(name: str, *texts: str, document_id: str = "", **parts) -> RetainRequest:
    mode = parts.pop("update_mode", UpdateMode.REPLACE)
    items = tuple(RetainItem((text,), document_id=document_id, update_mode=mode) for text in texts)
    return RetainRequest(REF, items, **({"request_id": name, "mode": ExtractionMode.CHUNKS} | parts))


async def given(*requests: RetainRequest) -> AsyncIterator[RetainRequest]:
    for request in requests:
        yield request


async def every(retainer: Retainer, *requests: RetainRequest) -> list[BatchAnswer]:
    return [answer async for answer in retainer.stream(given(*requests))]


async def hear(answers: AsyncIterator[BatchAnswer], heard: list[BatchAnswer]) -> None:
    async for answer in answers:
        heard.append(answer)  # noqa: PERF401 - what came before an error is to be kept


def outcomes(answers: list[BatchAnswer]) -> list[type]:
    return [type(answer.outcome) if isinstance(answer.outcome, MeshError) else int for answer in answers]


async def test_each_batch_is_answered_as_a_call_would_be_in_order(opened):
    bench, retainer = opened
    wanted = [batch(f"r-{n}", *(f"Fact {n}.{m}." for m in range(n % 3 + 1))) for n in range(12)]
    answers = await every(retainer, *wanted)
    assert [answer.request_id for answer in answers] == [request.request_id for request in wanted]
    assert [answer.outcome.memory_count for answer in answers] == [len(request.items) for request in wanted]
    assert sorted(await bench.texts()) == sorted(item.content[0] for request in wanted for item in request.items)
    again = await every(retainer, *wanted)
    assert [replace(answer.outcome, replayed=False) for answer in again] == [answer.outcome for answer in answers]
    assert all(answer.outcome.replayed for answer in again)
    assert answers[3].outcome == replace(await retainer.retain(wanted[3]), replayed=False)


async def test_a_stream_of_nothing_ends(opened):
    assert await every(opened[1]) == []


BAD = {
    "a blank": (batch("bad", "fine", " "), InvalidArgument, ["items[1].content"]),
    "nothing": (batch("bad"), InvalidArgument, ["items"]),
    "no id": (batch("", "fine"), InvalidArgument, ["request_id"]),
    "not waiting": (batch("bad", "fine", wait=False), InvalidArgument, ["no_wait"]),
    "no bank": (replace(batch("bad", "fine"), bank=BankRef("nobody")), BankNotFound, []),
    "too large": (batch("bad", "x" * 1_048_577), InvalidArgument, ["items[0].content"]),
    "an id that was used": (batch("r-0", "other"), RequestIdReused, []),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_batch_is_answered_in_its_place_and_the_others_are_kept(case, opened):
    bench, retainer = opened
    bad, error, fields = BAD[case]
    answers = await every(retainer, batch("r-0", "First."), bad, batch("r-1", "Last."))
    assert outcomes(answers) == [int, error, int]
    assert answers[1].request_id == bad.request_id
    assert [one.field for one in getattr(answers[1].outcome, "violations", ())] == fields
    assert sorted(await bench.texts()) == ["First.", "Last."]


@pytest.mark.parametrize("case", ["too much for a message", "half a character", "another tenant's"])
async def test_what_cannot_be_sent_is_refused_in_its_place(case, tmp_path):
    huge = batch("bad", *["x" * 1_000_000] * 5, document_id="d")
    half = batch("bad", "half \ud83d", document_id="d\udc00")
    foreign = replace(batch("bad", "fine"), bank=BankRef(REF.bank_id, "other"))
    bad = {"too much for a message": huge, "half a character": half, "another tenant's": foreign}[case]
    async with open_remote(tmp_path) as (bench, retainer):
        rest = batch("r-1", "More.", document_id="d", update_mode=UpdateMode.APPEND)
        answers = await every(retainer, batch("r-0", "First."), bad, rest)
        # What is appended to a document that lacks the batch before would leave a hole in it.
        after = NotReady if case == "too much for a message" else int
        assert outcomes(answers) == [int, InvalidArgument, after]
        assert "at least one" not in answers[1].outcome.message
        assert ("More." in await bench.texts()) is (after is int)


async def test_a_batch_that_the_server_cannot_read_is_refused_in_its_place(tmp_path):
    async with open_bench(tmp_path) as bench, open_loopback(host_retainer(bench.retainer)) as channel:
        await until_ready(RemoteRetainer(channel))
        text = [pb.ContentBlock(text="fine")]
        sent = [
            pb.RetainRequest(bank_id="b1", request_id="r-0", items=[pb.RetainItem(content=text)]),
            pb.RetainRequest(bank_id="b1", request_id="r-1", items=[pb.RetainItem(content=text, update_mode=77)]),
            pb.RetainRequest(request_id="r-2", items=[pb.RetainItem(content=text)]),
            pb.RetainRequest(bank_id="b1", request_id="r-3", items=[pb.RetainItem(content=text)]),
        ]
        stub = retain_service_pb2_grpc.RetainServiceStub(channel)
        call = stub.RetainBulk(iter([pb.RetainBulkRequest(retain=one) for one in sent]))
        answers = [answer async for answer in call]
    assert [answer.request_id for answer in answers] == ["r-0", "r-1", "r-2", "r-3"]
    assert [answer.WhichOneof("outcome") for answer in answers] == ["retained", "failure", "failure", "retained"]
    assert [one.field for one in answers[1].failure.violations] == ["items[0].update_mode"]
    assert [one.field for one in answers[2].failure.violations] == ["bank_id"]
    assert answers[1].failure.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]


async def test_batches_of_one_document_are_kept_in_their_order(opened):
    bench, retainer = opened
    append = {"document_id": "d", "update_mode": UpdateMode.APPEND}
    parts = [batch(f"r-{n}", f"Part {n}.", **append) for n in range(1, 12)]
    await every(retainer, batch("r-0", "Part 0.", document_id="d"), *parts)
    assert [memory.text for memory in await bench.memories()] == [f"Part {n}." for n in range(12)]


async def test_nothing_is_appended_to_a_document_that_lacks_the_batch_before(opened):
    bench, retainer = opened
    append = {"document_id": "d", "update_mode": UpdateMode.APPEND}
    answers = await every(
        retainer,
        batch("r-0", "Part 0.", document_id="d"),
        batch("r-1", " ", **append),
        batch("r-2", "Part 2.", **append),
        batch("r-3", "Another's.", document_id="e"),
        batch("r-4", "Part 4.", **append),
        batch("r-5", "All anew.", document_id="d"),
        batch("r-6", "And more.", **append),
    )
    assert outcomes(answers) == [int, InvalidArgument, NotReady, int, NotReady, int, int]
    assert sorted(await bench.texts()) == ["All anew.", "And more.", "Another's."]


async def test_what_memory_defense_refused_does_not_hold_up_what_follows_it(opened):
    bench, retainer = opened

    async def refuse(request):
        if request.items[0].content == ("A secret.",):
            raise DefenseBlocked(FieldViolation("items[0]", "a secret"))
        return await bench.retainer.retain(request)

    bench.retainer._bulk = BulkLine(refuse, WINDOW, None)
    append = {"document_id": "d", "update_mode": UpdateMode.APPEND}
    wanted = [batch("r-0", "A secret.", document_id="d"), batch("r-1", "Part 1.", **append)]
    assert outcomes(await every(retainer, *wanted)) == [DefenseBlocked, int]
    assert await bench.texts() == ["Part 1."]


async def test_no_more_is_read_than_a_few_batches_ahead_of_the_answers(opened):
    bench, retainer = opened
    asked = 0

    async def counted() -> AsyncIterator[RetainRequest]:
        nonlocal asked
        for n in range(BEYOND):
            asked += 1
            yield batch(f"r-{n}", f"Fact {n}.")

    async with aclosing(retainer.stream(counted())) as answers:
        await anext(answers)
        await asyncio.sleep(0.3)
        assert asked <= 2 * WINDOW + 2
        rest = [answer async for answer in answers]
    assert (len(rest), asked) == (BEYOND - 1, BEYOND)
    assert len(await bench.texts()) == BEYOND


async def test_a_few_batches_are_in_hand_at_once_and_no_more(opened):
    bench, retainer = opened
    inside, most, embed = 0, 0, bench.embedder.embed

    async def slowly(*texts):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.01)
        inside -= 1
        return await embed(*texts)

    bench.embedder.embed = slowly
    both = await asyncio.gather(
        *(every(retainer, *(batch(f"{name}-{n}", f"{name} {n}") for n in range(8))) for name in "ab")
    )
    assert [outcomes(answers) for answers in both] == [[int] * 8] * 2
    # Over both streams together.
    assert 1 < most <= WINDOW


async def test_to_close_a_stream_stops_the_work_in_hand(opened):
    bench, retainer = opened
    waiting, cancelled = asyncio.Event(), asyncio.Event()

    async def never(*_texts):
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    answers = retainer.stream(given(batch("r-0", "First."), batch("r-1", "Second.")))
    bench.embedder.embed = never
    asking = asyncio.create_task(anext(answers))
    await waiting.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await answers.aclose()
    async with asyncio.timeout(30):
        await cancelled.wait()
    assert await bench.texts() == []


async def test_what_the_requests_raise_comes_after_the_answers_to_what_they_gave(opened):
    bench, retainer = opened

    async def failing() -> AsyncIterator[RetainRequest]:
        yield batch("r-0", "First.")
        yield batch("r-1", "Second.")
        raise NotReady("the file ended in the midst of a line")

    answers = []
    with pytest.raises(NotReady, match="midst of a line"):
        await hear(retainer.stream(failing()), answers)
    assert outcomes(answers) == [int, int]
    assert sorted(await bench.texts()) == ["First.", "Second."]


async def test_a_bug_ends_the_stream_and_tells_nothing(tmp_path):
    for name in ("observed", "remote"):
        async with OPENERS[name](tmp_path / name) as (bench, retainer):

            async def broken(*_texts):
                raise RuntimeError("password=hunter2")

            bench.embedder.embed = broken
            with pytest.raises(MeshError) as caught:
                await every(retainer, batch("r-0", "First."))
            assert caught.value.reason == "INTERNAL"
            assert "hunter2" not in caught.value.message


async def test_a_stream_keeps_to_the_deadline_in_hand(opened):
    bench, retainer = opened

    async def never(*_texts):
        await asyncio.Event().wait()

    bench.embedder.embed = never

    async def told() -> None:
        # In process the batch's answer says so; over the wire the call itself has ended.
        (answer,) = await every(retainer, batch("r-0", "First."))
        raise answer.outcome

    with within(0.3), pytest.raises(ArmTimeout):
        await asyncio.wait_for(told(), 20)


async def test_a_batch_has_a_deadline_of_its_own_and_the_stream_none(tmp_path):
    limits = DoorLimits(deadline_s=1.5, deadline_cap_s=1.5)
    async with open_bench(tmp_path) as bench:
        bench.retainer._bulk = BulkLine(bench.retainer.retain, WINDOW, 2)
        async with open_loopback(host_retainer(bench.retainer), limits=limits) as channel:
            retainer = RemoteRetainer(channel)
            await until_ready(retainer)
            embed = bench.embedder.embed

            async def by_name(texts, kind):
                await asyncio.sleep(60 if "slow" in texts else 0.3)
                return await embed(texts, kind)

            bench.embedder.embed = by_name
            # One after the other, so that all of them take longer than a call may.
            same = [batch(f"r-{n}", f"Fact {n}.", document_id="d", update_mode=UpdateMode.APPEND) for n in range(6)]
            answers = await every(retainer, *same, batch("slow", "slow"))
    assert outcomes(answers) == [int] * 6 + [ArmTimeout]


async def test_a_stream_in_which_nothing_comes_ends(tmp_path):
    async def silent() -> AsyncIterator[RetainRequest]:
        yield batch("r-0", "First.")
        await asyncio.sleep(30)

    async with open_remote(tmp_path, limits=DoorLimits(stream_s=1)) as (bench, retainer):
        answers = []
        with pytest.raises(ArmTimeout, match="nothing came"):
            await hear(retainer.stream(silent()), answers)
        assert outcomes(answers) == [int]
        assert await bench.texts() == ["First."]


async def test_streams_that_wait_keep_no_call_out(tmp_path):
    heard = asyncio.Event()

    async def waiting() -> AsyncIterator[RetainRequest]:
        yield batch("r-0", "First.")
        await heard.wait()

    async with open_remote(tmp_path, limits=DoorLimits(in_flight=1, streams=1)) as (_, retainer):
        stream = aiter(retainer.stream(waiting()))
        answers = [await anext(stream)]
        assert len((await retainer.retain(batch("r-1", "Second."))).items) == 1
        with pytest.raises(Overloaded, match="streams"):
            await every(retainer, batch("r-2", "Third."))
        heard.set()
        await hear(stream, answers)
    assert outcomes(answers) == [int]


async def test_a_server_that_leaves_answers_what_it_has_in_hand_and_reads_no_more(tmp_path):
    async with open_bench(tmp_path) as bench:
        begun, go_on, embed = asyncio.Event(), asyncio.Event(), bench.embedder.embed

        async def held(*texts):
            begun.set()
            await go_on.wait()
            return await embed(*texts)

        bench.embedder.embed = held
        serving = open_server("127.0.0.1:0", [host_retainer(bench.retainer)], drain_s=0.1, grace_s=10)
        running = await serving.__aenter__()
        answers: list[BatchAnswer] = []

        async def endless() -> AsyncIterator[RetainRequest]:
            n = 0
            while True:
                yield batch(f"r-{n}", f"Fact {n}.")
                n += 1
                await asyncio.sleep(0.01)

        async with open_channel(f"127.0.0.1:{running.port}") as channel:
            retainer = RemoteRetainer(channel)
            await until_ready(retainer)
            loading = asyncio.create_task(hear(retainer.stream(endless()), answers))
            await begun.wait()
            leaving = asyncio.create_task(serving.__aexit__(None, None, None))
            async with asyncio.timeout(30):
                await running.door.leaving.wait()
            go_on.set()
            with pytest.raises(StoreUnavailable, match="leaves"):
                async with asyncio.timeout(30):
                    await loading
            await leaving
        assert outcomes(answers) == [int] * len(answers)
        assert 1 <= len(answers) <= WINDOW
        assert sorted(await bench.texts()) == [f"Fact {n}." for n in range(len(answers))]


async def test_a_stream_with_one_answer_says_how_far_it_came(tmp_path):
    async with open_bench(tmp_path) as bench, open_loopback(host_retainer(bench.retainer)) as channel:
        await until_ready(RemoteRetainer(channel))
        stub = retain_service_pb2_grpc.RetainServiceStub(channel)

        def sent(name: str, text: str) -> pb.RetainStreamRequest:
            item = pb.RetainItem(content=[pb.ContentBlock(text=text)])
            return pb.RetainStreamRequest(retain=pb.RetainRequest(bank_id="b1", request_id=name, items=[item]))

        whole = await stub.RetainStream(iter([sent("r-0", "First."), sent("r-1", "Second.")]))
        assert (whole.batch_count, whole.memory_count, whole.last_request_id) == (2, 2, "r-1")
        assert not whole.HasField("failure")
        part = await stub.RetainStream(iter([sent("r-2", "Third."), sent("r-3", " "), sent("r-4", "Never.")]))
        assert (part.batch_count, part.last_request_id) == (1, "r-2")
        assert [one.field for one in part.failure.violations] == ["items[0].content"]


async def test_a_stream_that_the_other_side_ends_while_it_is_written_to_is_unavailable():
    async def large() -> AsyncIterator[RetainRequest]:
        for n in range(10):
            yield batch(f"r-{n}", *["x" * 2_000] * 100)

    # A server that still starts refuses at once, while the client writes: gRPC then tells an INTERNAL of its own.
    async with open_server("127.0.0.1:0", None, drain_s=0) as running, open_channel(f"127.0.0.1:{running.port}") as it:
        for _ in range(50):
            with pytest.raises(StoreUnavailable):
                await hear(RemoteRetainer(it).stream(large()), [])
