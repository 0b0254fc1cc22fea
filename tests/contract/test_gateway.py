"""The JSON gateway over loopback: what goes along with a call, what bounds it, and how it ends."""

import asyncio
import json
from contextlib import aclosing, asynccontextmanager

import grpc.aio
import pytest

from recallmesh.core.errors import (
    ArmTimeout,
    ConflictingWrite,
    InvalidArgument,
    MeshError,
    Overloaded,
    StoreUnavailable,
)
from recallmesh.core.gateway import Caller, Gateway, Parameters, Written
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.door import Door, DoorLimits
from recallmesh.rpc.gateway import JsonGateway
from recallmesh.rpc.status import status_from_error
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed_gateway import ObservedGateway
from recallmesh.v1 import bank_service_pb2 as bank_pb
from recallmesh.v1 import bank_service_pb2_grpc, recall_service_pb2_grpc, retain_service_pb2_grpc
from recallmesh.v1 import recall_service_pb2 as recall_pb
from recallmesh.v1 import retain_service_pb2 as retain_pb

CALLER = Caller("r-1")


class Recalling(recall_service_pb2_grpc.RecallServiceServicer):
    """Remembers how it was called, and answers when it is let."""

    def __init__(self):
        self.called = []
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def Recall(self, request, context):  # noqa: N802 - the protocol's name
        self.called.append((request, dict(context.invocation_metadata()), context.time_remaining()))
        self.begun.set()
        if request.query == "slow":
            await self._wait()
        return recall_pb.RecallResponse(token_count=7)

    async def RecallStream(self, request, context):  # noqa: N802
        self.called.append((request, dict(context.invocation_metadata()), context.time_remaining()))
        yield recall_pb.RecallStreamResponse(stage=recall_pb.RECALL_STAGE_FUSED)
        await self._wait()

    async def _wait(self):
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


class Retaining(retain_service_pb2_grpc.RetainServiceServicer):
    """Remembers what came and whether it was told that this was all."""

    def __init__(self):
        self.came = []
        self.whole = False
        self.refuses = False
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.room = asyncio.Semaphore(1000)

    async def RetainStream(self, requests, context):  # noqa: N802
        if self.refuses:
            await anext(aiter(requests))
            status = status_from_error(ConflictingWrite("call again"), "r")
            await context.abort(status.code, status.message, status.trailers)
        try:
            async for request in requests:
                await self.room.acquire()
                self.came.append(request.retain.request_id)
                self.begun.set()
            # gRPC ends the stream a moment before it cancels the call that a client gave up.
            await asyncio.sleep(0.2)
            self.whole = True
        finally:
            self.ended.set()
        return retain_pb.RetainStreamResponse(batch_count=len(self.came))

    async def RetainBulk(self, requests, context):  # noqa: N802
        del context
        async for request in requests:
            yield retain_pb.RetainBulkResponse(request_id=request.retain.request_id)


class Banks(bank_service_pb2_grpc.BankServiceServicer):
    """Has one bank."""

    async def GetBank(self, request, context):  # noqa: N802
        del context
        return bank_pb.GetBankResponse(bank={"id": request.bank_id})


@asynccontextmanager
async def open_gateway(**limits):
    recalling, retaining = Recalling(), Retaining()
    server = grpc.aio.server()
    recall_service_pb2_grpc.add_RecallServiceServicer_to_server(recalling, server)
    retain_service_pb2_grpc.add_RetainServiceServicer_to_server(retaining, server)
    bank_service_pb2_grpc.add_BankServiceServicer_to_server(Banks(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with open_channel(f"127.0.0.1:{port}") as channel:
            plain = JsonGateway(recall=channel, retain=channel, bank=channel, door=Door(DoorLimits(**limits)))
            yield ObservedGateway(plain, metrics=Metrics()), recalling, retaining
    finally:
        await server.stop(0)


async def each(*texts):
    for line, text in enumerate(texts, 1):
        yield text if isinstance(text, Parameters) else Written(text, line)


async def one(said):
    yield said if isinstance(said, Parameters) else Written(json.dumps(said).encode())


async def ask(gateway: Gateway, call, asked, caller=CALLER):
    method = gateway.methods[f"/recallmesh.v1.{call}"]
    with gateway.place(method):
        async with aclosing(gateway.call(method, asked, caller)) as answers:
            return [json.loads(answer) async for answer in answers]


async def test_one_request_has_one_answer():
    async with open_gateway() as (gateway, _, _):
        assert (await ask(gateway, "BankService/GetBank", one({"bankId": "b"})))[0]["bank"]["id"] == "b"
        asked = one(Parameters((("bank_id", "b"),)))
        assert (await ask(gateway, "BankService/GetBank", asked))[0]["bank"]["id"] == "b"


async def test_the_headers_that_matter_go_along_and_no_others():
    headers = {
        "x-request-id": "r-7",
        "authorization": "Bearer k",
        "x-recallmesh-tenant": "default",
        "cookie": "secret=1",
        "x-request-timeout-ms": "2500",
        "grpc-status-details-bin": "x",
    }
    async with open_gateway() as (gateway, recalling, _):
        await ask(gateway, "RecallService/Recall", one({"query": "q"}), gateway.caller(headers))
    ((_, metadata, left),) = recalling.called
    ours = {key: value for key, value in metadata.items() if key != "user-agent"}
    assert ours == {"x-request-id": "r-7", "authorization": "Bearer k", "x-recallmesh-tenant": "default"}
    assert 0 < left <= 2.5


async def test_a_call_without_a_deadline_has_the_doors_and_a_longer_one_is_cut():
    async with open_gateway(deadline_s=5, deadline_cap_s=20) as (gateway, recalling, _):
        await ask(gateway, "RecallService/Recall", one({"query": "q"}))
        await ask(gateway, "RecallService/Recall", one({"query": "q"}), Caller("r", timeout="60000"))
    lefts = [left for _, _, left in recalling.called]
    # gRPC writes a deadline in few digits, rounded up.
    assert 0 < lefts[0] < 5.5 < lefts[1] < 20.5


async def test_what_is_late_is_told_and_given_up():
    async with open_gateway() as (gateway, recalling, _):
        with pytest.raises(ArmTimeout):
            await ask(gateway, "RecallService/Recall", one({"query": "slow"}), Caller("r", timeout="100"))
        async with asyncio.timeout(30):
            await recalling.cancelled.wait()


async def test_more_calls_than_may_be_are_turned_away_and_places_come_free():
    async with open_gateway(in_flight=1) as (gateway, recalling, _):
        slow = asyncio.create_task(ask(gateway, "RecallService/Recall", one({"query": "slow"})))
        await recalling.begun.wait()
        with pytest.raises(Overloaded):
            await ask(gateway, "BankService/GetBank", one({"bankId": "b"}))
        recalling.go_on.set()
        assert (await slow)[0]["tokenCount"] == 7
        assert await ask(gateway, "BankService/GetBank", one({"bankId": "b"}))


async def test_streams_have_places_of_their_own():
    async with open_gateway(in_flight=1, streams=1) as (gateway, _, _):
        with gateway.place(gateway.methods["/recallmesh.v1.RecallService/RecallStream"]):
            with pytest.raises(Overloaded, match="streams"):
                await ask(gateway, "RecallService/RecallStream", one({}))
            assert await ask(gateway, "BankService/GetBank", one({"bankId": "b"}))


async def test_to_close_a_stream_of_answers_cancels_the_call():
    async with open_gateway() as (gateway, recalling, _):
        method = gateway.methods["/recallmesh.v1.RecallService/RecallStream"]
        async with aclosing(gateway.call(method, one({}), CALLER)) as answers:
            assert json.loads(await anext(answers))["stage"] == "RECALL_STAGE_FUSED"
        async with asyncio.timeout(30):
            await recalling.cancelled.wait()


def batch(number):
    return json.dumps({"retain": {"requestId": f"r-{number}"}}).encode()


async def test_a_stream_of_requests_is_sent_whole():
    async with open_gateway() as (gateway, _, retaining):
        (answer,) = await ask(gateway, "RetainService/RetainStream", each(batch(1), batch(2)))
    assert (answer["batchCount"], retaining.came, retaining.whole) == ("2", ["r-1", "r-2"], True)


async def test_what_is_wrong_in_a_stream_ends_it_without_saying_that_it_was_all():
    async with open_gateway() as (gateway, _, retaining):
        with pytest.raises(InvalidArgument, match=r"retain\.nonsense: line 2: is no field") as caught:
            await ask(gateway, "RetainService/RetainStream", each(batch(1), b'{"retain": {"nonsense": 1}}', batch(3)))
        assert caught.value.violations[0].field == "retain.nonsense"
        async with asyncio.timeout(30):
            await retaining.ended.wait()
        assert not retaining.whole
        assert "r-3" not in retaining.came


async def test_who_stops_listening_stops_sending_without_saying_that_it_was_all():
    async def endless():
        number = 0
        while True:
            number += 1
            yield Written(batch(number), number)

    async with open_gateway() as (gateway, _, retaining):
        method = gateway.methods["/recallmesh.v1.RetainService/RetainStream"]
        call = asyncio.create_task(anext(gateway.call(method, endless(), CALLER)))
        await retaining.begun.wait()
        call.cancel()
        async with asyncio.timeout(30):
            await retaining.ended.wait()
        assert not retaining.whole


async def test_requests_are_taken_as_the_service_has_room_for_them():
    taken = 0

    async def many():
        nonlocal taken
        for number in range(400):
            taken = number
            yield Written(json.dumps({"retain": {"requestId": f"r-{number}", "bankId": "x" * 60_000}}).encode(), number)

    async with open_gateway() as (gateway, _, retaining):
        retaining.room = asyncio.Semaphore(3)
        call = asyncio.create_task(ask(gateway, "RetainService/RetainStream", many()))
        async with asyncio.timeout(30):
            while taken < 3:  # noqa: ASYNC110 - it is what is asked for that counts itself
                await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        assert taken < 200
        for _ in range(400):
            retaining.room.release()
        assert (await call)[0]["batchCount"] == "400"


async def test_a_stream_that_the_service_ends_early_is_never_taken_for_a_bug():
    """A write to a call that has just ended hides, now and then, why it ended: that the stream broke is no bug."""
    large = json.dumps({"retain": {"bankId": "x" * 200_000}}).encode()
    async with open_gateway() as (gateway, _, retaining):
        retaining.refuses = True
        for _ in range(100):
            with pytest.raises((ConflictingWrite, StoreUnavailable)):
                await ask(gateway, "RetainService/RetainStream", each(*[large] * 20))


async def test_both_directions_go_on_together():
    async with open_gateway() as (gateway, _, _):
        told = await ask(gateway, "RetainService/RetainBulk", each(batch(1), batch(2), batch(3)))
    assert [one["requestId"] for one in told] == ["r-1", "r-2", "r-3"]


async def test_a_gateway_is_not_ready_where_a_service_does_not_say_so():
    async with open_gateway() as (gateway, _, _):
        with pytest.raises(MeshError, match="does not offer"):
            await gateway.check()


@pytest.mark.parametrize("header", ["authorization", "x-recallmesh-tenant"])
@pytest.mark.parametrize("value", ["x" * 4097, "ü", "a\x7f"])
async def test_a_header_that_cannot_go_along_is_refused_by_its_name(header, value):
    async with open_gateway() as (gateway, recalling, _):
        with pytest.raises(InvalidArgument, match=header):
            await ask(gateway, "RecallService/Recall", one({}), gateway.caller({header: value}))
        assert recalling.called == []
