"""What every retainer must do: retain on a real ledger, in process and over the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from loopback import open_loopback, until_ready
from unit.retain_fakes import NOW, REF, Bench, open_bench

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import BankNotFound, InvalidArgument, MeshError, NoVisionModel, RequestIdReused
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import (
    Attachment,
    DeliveryState,
    NamedEntity,
    RetainAnswer,
    Retainer,
    RetainItem,
    RetainRequest,
    UpdateMode,
)
from recallmesh.retain.jobs import JobWorker
from recallmesh.rpc.retainer import RemoteRetainer, host_retainer

PENDING, STORED = DeliveryState.PENDING, DeliveryState.STORED
SAID = NOW.astimezone(timezone(timedelta(hours=-3, minutes=-30)))


@asynccontextmanager
async def open_local(folder: Path) -> AsyncIterator[tuple[Bench, Retainer]]:
    async with open_bench(folder) as bench:
        yield bench, bench.retainer


@asynccontextmanager
async def open_remote(folder: Path) -> AsyncIterator[tuple[Bench, Retainer]]:
    async with open_bench(folder) as bench, open_loopback(host_retainer(bench.retainer)) as channel:
        retainer = RemoteRetainer(channel)
        await until_ready(retainer)
        yield bench, retainer


OPENERS = {"local": open_local, "remote": open_remote}


@pytest.fixture(params=OPENERS)
async def bench_and_retainer(request, tmp_path):
    async with OPENERS[request.param](tmp_path) as opened:
        yield opened


def item(*content, **parts) -> RetainItem:
    return RetainItem(content, **parts)


def asked(*items: RetainItem, **parts) -> RetainRequest:
    return RetainRequest(REF, items, **({"mode": ExtractionMode.CHUNKS, "request_id": "r-1"} | parts))


FULL = asked(
    item(
        "Ida moved to Oslo.",
        " And stayed.",
        time=SAID,
        context="a letter",
        document_id="d",
        tags=("a",),
        metadata={"k": "v"},
        entities=(NamedEntity("Ida", "person", resolve=False), NamedEntity("Oslo", "place")),
        receipt_uri="file:letter",
    ),
    item("No time at all.", timeless=True, document_id="e"),
    item("Now."),
    tags=("t",),
)
APPENDED = asked(item("More.", document_id="d", update_mode=UpdateMode.APPEND), request_id="r-2")
EXTRACTED = asked(item("Ida: I moved to Oslo in May. Hello!", time=SAID), mode=ExtractionMode.CONCISE, request_id="r-3")


async def test_what_is_kept_over_the_wire_is_what_is_kept(tmp_path):
    kept = []
    for name, opener in OPENERS.items():
        async with opener(tmp_path / name) as (bench, retainer):
            answers = [await retainer.retain(request) for request in (FULL, APPENDED, EXTRACTED, FULL)]
            memories = await bench.memories()
            offsets = [memory.mentioned and memory.mentioned.utcoffset() for memory in memories]
            kept.append((answers, memories, offsets))
    here, there = kept
    assert there == here
    answers, memories, offsets = here
    assert [answer.replayed for answer in answers] == [False, False, False, True]
    assert len(memories) == sum(answer.memory_count for answer in answers[:3])
    assert {None, timedelta(0), SAID.utcoffset()} <= set(offsets)


async def test_a_request_id_makes_a_call_idempotent(bench_and_retainer):
    bench, retainer = bench_and_retainer
    first = await retainer.retain(asked(item("A fact.")))
    assert await retainer.retain(asked(item("A fact."))) == replace(first, replayed=True)
    assert await bench.texts() == ["A fact."]
    with pytest.raises(RequestIdReused):
        await retainer.retain(asked(item("Another.")))
    assert await bench.texts() == ["A fact."]


async def test_what_an_arm_missed_is_said_to_be_pending(bench_and_retainer):
    bench, retainer = bench_and_retainer
    bench.arms[ArmName.GRAPH].down = True
    answer = await retainer.retain(asked(item("A fact.")))
    pending = {delivery.arm: bool(delivery.detail) for delivery in answer.deliveries if delivery.state is PENDING}
    assert pending == {ArmName.GRAPH: True}
    assert {delivery.arm for delivery in answer.deliveries if delivery.state is STORED} >= {
        ArmName.SEMANTIC,
        ArmName.KEYWORD,
    }


async def test_a_call_that_does_not_wait_gives_an_operation(bench_and_retainer):
    bench, retainer = bench_and_retainer
    answer = await retainer.retain(asked(item("A fact."), wait=False))
    assert answer == RetainAnswer(operation_id=answer.operation_id)
    assert (await bench.ledger.get_operation(bench.bank.uid, answer.operation_id)).state.value == "pending"
    assert await bench.texts() == []


async def operations(bench: Bench):
    return (await bench.ledger.list_operations(bench.bank.uid, PageRequest())).rows


async def carry_out(bench: Bench) -> None:
    worker = JobWorker(bench.ledger, {OperationKind.RETAIN: bench.retainer.work}, worker="w", now=bench.clock)
    while await worker.step():
        pass


async def test_a_request_id_is_taken_when_a_call_that_does_not_wait_is_taken_in(bench_and_retainer):
    bench, retainer = bench_and_retainer
    calls = (retainer.retain(asked(item(f"Fact {n}."), wait=False)) for n in range(24))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    (submitted,) = [answer for answer in answers if isinstance(answer, RetainAnswer)]
    refused = [answer for answer in answers if isinstance(answer, RequestIdReused)]
    assert len(refused) == 23
    assert not submitted.replayed
    assert [operation.id for operation in await operations(bench)] == [submitted.operation_id]
    await carry_out(bench)
    assert [operation.state for operation in await operations(bench)] == [OperationState.SUCCEEDED]
    assert await bench.texts() == [f"Fact {answers.index(submitted)}."]


async def test_the_same_call_while_it_is_queued_is_the_same_operation(bench_and_retainer):
    bench, retainer = bench_and_retainer
    request = replace(FULL, wait=False)
    first = await retainer.retain(request)
    assert await retainer.retain(request) == replace(first, replayed=True)
    assert [operation.id for operation in await operations(bench)] == [first.operation_id]


async def test_a_call_that_waits_and_one_that_does_not_share_the_request_id(bench_and_retainer):
    bench, retainer = bench_and_retainer
    queued = await retainer.retain(asked(item("A fact."), wait=False))
    with pytest.raises(RequestIdReused):
        await retainer.retain(asked(item("Another.")))
    assert await bench.texts() == []
    waited = await retainer.retain(asked(item("A fact.")))
    assert not waited.replayed
    await carry_out(bench)
    (done,) = await operations(bench)
    assert (done.id, done.state) == (queued.operation_id, OperationState.SUCCEEDED)
    assert done.memory_ids == waited.items[0].memory_ids
    assert await bench.texts() == ["A fact."]
    with pytest.raises(RequestIdReused):
        await retainer.retain(asked(item("Another."), wait=False))
    assert await retainer.retain(asked(item("A fact."), wait=False)) == replace(waited, replayed=True)


@pytest.mark.parametrize("wait", [True, False])
async def test_a_bank_deleted_meanwhile_is_named_as_the_caller_names_it(bench_and_retainer, wait):
    bench, retainer = bench_and_retainer
    # Deleted after retain read the bank: while it embeds, or before it looks whether the request came before.
    owner, name = (bench.embedder, "embed") if wait else (bench.ledger, "find_request")
    go_on = getattr(owner, name)

    async def delete_first(*given):
        await bench.ledger.delete_bank(REF, (), NOW)
        return await go_on(*given)

    setattr(owner, name, delete_first)
    with pytest.raises(BankNotFound) as caught:
        await retainer.retain(asked(item("A fact."), wait=wait))
    assert caught.value.metadata["bank"] == REF.bank_id
    assert bench.bank.uid not in caught.value.message


async def test_the_same_content_again_keeps_its_memories(bench_and_retainer):
    _, retainer = bench_and_retainer
    first = await retainer.retain(asked(item("A fact.", document_id="d")))
    again = await retainer.retain(asked(item("A fact.", document_id="d"), request_id="r-2"))
    assert again.items == (replace(first.items[0], unchanged=True),)


@pytest.mark.parametrize(
    ("error", "request_"),
    [
        (InvalidArgument, asked()),
        (InvalidArgument, asked(item("Fine."), item(" \n"))),
        (InvalidArgument, asked(item("x" * 1_048_577))),
        (InvalidArgument, asked(item("Fine.", tags=("",)))),
        (InvalidArgument, asked(item("Fine.", document_id="d" * 513), item("Fine.", context="c" * 4_097))),
        (InvalidArgument, asked(item("Fine."), request_id="r" * 129)),
        (BankNotFound, replace(asked(item("Fine.")), bank=BankRef("nobody"))),
        (NoVisionModel, asked(item("See:", Attachment("image/png", b"\x89PNG\r\n\x1a\n\x00\xff")))),
    ],
    ids=["nothing", "a blank", "too long", "a bad tag", "two faults", "a long id", "no bank", "an image"],
)
async def test_what_is_refused_is_refused_alike_and_nothing_is_kept(error, request_, tmp_path):
    said = []
    for name, opener in OPENERS.items():
        async with opener(tmp_path / name) as (bench, retainer):
            with pytest.raises(error) as caught:
                await retainer.retain(request_)
            said.append(told(caught.value))
            assert await bench.texts() == []
    assert said[0] == said[1]


def told(error: MeshError) -> tuple[object, ...]:
    metadata = {key: value for key, value in error.metadata.items() if key != "request_id"}
    return type(error), error.message, metadata, getattr(error, "violations", ())
