# ruff: noqa: ARG002, N802, ASYNC110 - fakes keep their port's names; what is waited for is across a wire
"""More calls than a process can do: who is let in, who waits, who is refused, and what of it is done (case 49)."""

import asyncio

import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from identity_bed import Known, bearer
from loopback import open_loopback

from recallmesh.core.principal import Principal, Right
from recallmesh.rpc.door import DoorLimits
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.hosted import Hosted
from recallmesh.v1 import arm_service_pb2, arm_service_pb2_grpc, bank_service_pb2_grpc
from recallmesh.v1 import bank_service_pb2 as pb

GET, CREATE = "/recallmesh.v1.BankService/GetBank", "/recallmesh.v1.BankService/CreateBank"
SEARCH = "/recallmesh.v1.ArmService/Search"
EVERY = frozenset(Right)


class Held(bank_service_pb2_grpc.BankServiceServicer, arm_service_pb2_grpc.ArmServiceServicer):
    """Holds each call until it is let go, and remembers which were begun."""

    def __init__(self):
        self.begun = []
        self.go = asyncio.Event()

    async def GetBank(self, request, context):
        return await self._hold(request.bank_id, pb.GetBankResponse())

    async def CreateBank(self, request, context):
        return await self._hold(f"new {request.bank_id}", pb.CreateBankResponse())

    async def Search(self, request, context):
        return await self._hold("search", arm_service_pb2.SearchResponse())

    async def _hold(self, what, answer):
        self.begun.append(what)
        await self.go.wait()
        return answer

    @property
    def hosted(self):
        def register(server):
            bank_service_pb2_grpc.add_BankServiceServicer_to_server(self, server)
            arm_service_pb2_grpc.add_ArmServiceServicer_to_server(self, server)

        return Hosted(("recallmesh.v1.BankService",), register)


def call(channel, method, bank="b", *metadata):
    request = pb.CreateBankRequest(bank_id=bank) if method == CREATE else pb.GetBankRequest(bank_id=bank)
    return channel.unary_unary(method)(request.SerializeToString(), metadata=list(metadata))


async def until(true):
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


async def delay(error):
    details = status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"]).details
    found = error_details_pb2.RetryInfo()
    assert any(one.Unpack(found) for one in details)
    return found.retry_delay.ToTimedelta().total_seconds()


async def test_of_four_times_as_many_as_can_be_held_the_excess_is_refused_and_the_rest_answered():
    held = Held()
    async with open_loopback(held.hosted, limits=DoorLimits(at_once=2, in_flight=4, coming=4)) as channel:
        calls = [call(channel, GET) for _ in range(16)]
        waits = [asyncio.ensure_future(one) for one in calls]
        async with asyncio.timeout(10):
            while sum(one.done() for one in waits) < 12:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=0.05)
        assert len(held.begun) == 2
        refused = [one.exception() for one in waits if one.done()]
        assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert [await delay(error) for error in refused] == [0.5] * 12
        held.go.set()
        outcomes = await asyncio.gather(*waits, return_exceptions=True)
    assert sum(isinstance(one, bytes) for one in outcomes) == 4
    assert len(held.begun) == 4


async def test_who_cannot_be_held_is_refused_before_anything_of_the_call_is_read():
    held = Held()
    async with open_loopback(held.hosted, limits=DoorLimits(at_once=1, in_flight=1, coming=1)) as channel:
        first = call(channel, GET)
        await until(lambda: held.begun)
        silent = channel.stream_unary(GET)()  # says nothing, and waits for what it is told
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async with asyncio.timeout(10):
                await silent
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        held.go.set()
        await first


async def test_a_call_without_a_message_says_so():
    async with open_loopback(Held().hosted) as channel:
        empty = channel.stream_unary(GET)(iter(()))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await empty
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_call_whose_caller_has_gone_is_not_begun():
    held = Held()
    async with open_loopback(held.hosted, limits=DoorLimits(at_once=1, in_flight=8)) as channel:
        first, gone = call(channel, GET, "first"), call(channel, GET, "gone")
        await until(lambda: held.begun)
        late = channel.unary_unary(GET)(pb.GetBankRequest(bank_id="late").SerializeToString(), timeout=0.2)
        last = call(channel, GET, "last")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await late
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        gone.cancel()
        await until(gone.done)
        held.go.set()
        await asyncio.gather(first, last)
    assert held.begun[0] in ("first", "gone")
    assert "late" not in held.begun
    assert len(held.begun) <= 3


async def test_who_writes_does_not_wait_for_who_reads_nor_the_mesh_for_either():
    held = Held()
    async with open_loopback(held.hosted, limits=DoorLimits(at_once=1, in_flight=2, coming=2)) as channel:
        calls = [call(channel, GET, "read") for _ in range(2)]
        await until(lambda: held.begun)
        calls += [call(channel, CREATE, "write") for _ in range(2)]
        await until(lambda: len(held.begun) == 2)
        calls += [call(channel, SEARCH, "") for _ in range(2)]
        await until(lambda: len(held.begun) == 4)
        assert held.begun == ["read", "new write", "search", "search"]
        held.go.set()
        await asyncio.gather(*calls)


async def test_a_tenant_with_many_calls_does_not_keep_another_waiting():
    callers = {name: Principal(name, tenant, EVERY) for name, tenant in (("a", "acme"), ("b", "umbrella"))}
    held = Held()
    limits = DoorLimits(at_once=1, in_flight=8, coming=4)
    async with open_loopback(held.hosted, entry=Entry(Known(callers)), limits=limits) as channel:
        many = [call(channel, GET, f"a{number}", bearer("a")) for number in range(12)]
        await until(lambda: held.begun and sum(one.done() for one in many) == 4)
        one = call(channel, GET, "b", bearer("b"))
        await until(lambda: sum(one.done() for one in many) == 5)  # it has the place in the line of one of them
        held.go.set()
        await one
        outcomes = await asyncio.gather(*many, return_exceptions=True)
    assert held.begun[1] == "b"
    assert sum(isinstance(one, bytes) for one in outcomes) == 7
