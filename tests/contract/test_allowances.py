# ruff: noqa: ARG002, N802, ASYNC110 - fakes keep their port's names; what is waited for is across a wire
"""Quotas bound every kind of call where it comes in, and one tenant cannot shut the others out."""

import asyncio
from contextlib import asynccontextmanager

import grpc.aio
import pytest
from identity_bed import Known, bearer, call, empty_services, refusal
from loopback import open_loopback

from recallmesh.core.errors import Overloaded, QuotaExceeded, Unimplemented
from recallmesh.core.principal import Principal, Right
from recallmesh.core.quota import Quota
from recallmesh.rpc.allowance import Allowances
from recallmesh.rpc.door import DoorLimits
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.hosted import Hosted
from recallmesh.v1 import bank_service_pb2 as pb
from recallmesh.v1 import bank_service_pb2_grpc, retain_service_pb2

GET, WATCH = "/recallmesh.v1.BankService/GetBank", "/recallmesh.v1.BankService/WatchEvents"
IMPORT, RETAIN = "/recallmesh.v1.BankService/ImportBank", "/recallmesh.v1.RetainService/Retain"
EVERY = frozenset(Right)
CALLERS = {name: Principal(name, tenant, EVERY) for name, tenant in (("a", "acme"), ("b", "umbrella"), ("mesh", None))}
CONTENT = retain_service_pb2.RetainRequest(bank_id="b", items=[{"content": [{"text": "x" * 1000}]}]).SerializeToString()


class Slow(bank_service_pb2_grpc.BankServiceServicer):
    """Holds its callers until it is told to let go."""

    def __init__(self):
        self.inside = 0
        self.go = asyncio.Event()
        self.came = asyncio.Event()
        self.pieces = 0

    async def GetBank(self, request, context):
        self.inside += 1
        self.came.set()
        await self.go.wait()
        return pb.GetBankResponse()

    async def ImportBank(self, requests, context):
        async for _ in requests:
            self.pieces += 1
        return pb.ImportBankResponse()

    @property
    def hosted(self):
        return Hosted(
            ("recallmesh.v1.BankService",),
            lambda server: bank_service_pb2_grpc.add_BankServiceServicer_to_server(self, server),
        )


@asynccontextmanager
async def open_bounded(*hosted, quota=Quota(), share=1.0, quotas=None, **limits):  # noqa: B008 - frozen
    refused = []
    allowances = Allowances(lambda tenant: (quotas or {}).get(tenant, quota), share=share, refused=refused.append)
    entry = Entry(Known(dict(CALLERS)), allowances, refused=refused.append)
    async with open_loopback(*(hosted or empty_services()), entry=entry, limits=DoorLimits(**limits)) as channel:
        yield channel, refused


@pytest.mark.parametrize("path", [GET, WATCH, IMPORT, RETAIN])
async def test_calls_of_every_kind_count_and_are_told_when_to_come_again(path):
    async with open_bounded(quota=Quota(calls_per_s=0.1)) as (channel, refused):
        assert isinstance(await refusal(channel, path, bearer("a")), Unimplemented)
        error = await refusal(channel, path, bearer("a"))
        assert type(error) is QuotaExceeded
        assert 0 < error.retry_after.total_seconds() <= 10
        assert error.metadata["quota"] == "calls_per_s"
        assert isinstance(await refusal(channel, path, bearer("b")), Unimplemented)
        for _ in range(3):
            assert isinstance(await refusal(channel, path, bearer("mesh")), Unimplemented)
    assert refused == ["calls_per_s"]


async def test_a_quota_of_one_tenant_is_not_the_others():
    async with open_bounded(quotas={"acme": Quota(at_once=1)}) as (channel, _):
        for _ in range(3):
            assert isinstance(await refusal(channel, GET, bearer("a")), Unimplemented)


async def test_one_tenant_cannot_take_every_place_there_is():
    slow = Slow()
    async with open_bounded(slow.hosted, share=0.5, in_flight=4) as (channel, refused):
        held = [asyncio.create_task(call(channel, GET, bearer("a"))) for _ in range(2)]
        async with asyncio.timeout(30):
            while slow.inside < 2:
                await asyncio.sleep(0.01)
        error = await refusal(channel, GET, bearer("a"))
        assert type(error) is Overloaded
        other = asyncio.create_task(call(channel, GET, bearer("b")))
        async with asyncio.timeout(30):
            while slow.inside < 3:
                await asyncio.sleep(0.01)
        slow.go.set()
        assert await asyncio.gather(*held, other) == [[b""]] * 3
    assert refused == ["share"]


async def test_what_is_retained_counts_by_its_size_and_what_only_reads_does_not():
    async with open_bounded(quota=Quota(retained_bytes_per_minute=1000)) as (channel, refused):
        assert isinstance(await refusal(channel, RETAIN, bearer("a"), requests=(CONTENT,)), Unimplemented)
        error = await refusal(channel, RETAIN, bearer("a"), requests=(CONTENT,))
        assert type(error) is QuotaExceeded
        assert error.metadata["quota"] == "retained_bytes_per_minute"
        assert isinstance(await refusal(channel, GET, bearer("a"), requests=(b"\n\x01b",)), Unimplemented)
        assert isinstance(await refusal(channel, RETAIN, bearer("b"), requests=(CONTENT,)), Unimplemented)
    assert refused == ["retained_bytes_per_minute"]


async def test_a_stream_that_fills_a_bank_is_slowed_and_not_cut():
    slow = Slow()
    piece = pb.ImportBankRequest(bank_id="b", data=b"x" * 1000).SerializeToString()
    # A second's worth is 2,000 bytes; the first minute's may come at once.
    async with open_bounded(slow.hosted, quota=Quota(retained_bytes_per_minute=120_000)) as (channel, _):
        began = asyncio.get_running_loop().time()
        assert await call(channel, IMPORT, bearer("a"), requests=[piece] * 121) == [b""]
        assert slow.pieces == 121
        assert 0.2 < asyncio.get_running_loop().time() - began < 15


async def test_a_call_that_a_client_gives_up_gives_its_place_back():
    slow = Slow()
    async with open_bounded(slow.hosted, quota=Quota(at_once=1)) as (channel, _):
        held = channel.unary_unary(GET)(b"", metadata=[bearer("a")])
        await slow.came.wait()
        held.cancel()
        slow.go.set()
        async with asyncio.timeout(30):
            while isinstance(await call(channel, GET, bearer("a")), grpc.aio.AioRpcError):
                await asyncio.sleep(0.01)
