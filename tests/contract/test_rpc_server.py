# ruff: noqa: ARG002, ASYNC110 - fakes keep their port's names; what is waited for is on the other side of a wire
"""A server lives before it is ready, is ready only when every part is, and drains without losing a call."""

import asyncio
import contextlib

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from loopback import open_loopback

from recallmesh.core.arm import ArmQuery, Hit
from recallmesh.core.errors import EmbeddingMismatch, InvalidArgument, StoreUnavailable
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.embedder import RemoteEmbedder
from recallmesh.rpc.server import open_server

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
KEYWORD = "recallmesh.v1.ArmService/keyword"
GRAPH = "recallmesh.v1.ArmService/graph"
QUERY = ArmQuery("u1", "q")


class DoorArm:
    """An arm whose readiness and answer the test decides."""

    def __init__(self, error=None):
        self.error = error
        self.calls = 0
        self.asked = asyncio.Event()
        self.release = asyncio.Event()

    async def search(self, query):
        self.asked.set()
        self.calls += 1
        await self.release.wait()
        return (Hit("m1", 1.0),)

    async def check(self):
        if self.error:
            raise self.error


async def status(channel, name=""):
    answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=name))
    return answer.status


async def becomes(channel, name, wanted):
    async with asyncio.timeout(30):
        while await status(channel, name) != wanted:
            await asyncio.sleep(0.02)


async def test_a_process_is_ready_when_all_its_parts_are():
    ready, unready = DoorArm(), DoorArm(EmbeddingMismatch("made for another model"))
    async with open_loopback(host_arms({"keyword": ready, "graph": unready})) as channel:
        await becomes(channel, KEYWORD, SERVING)
        assert await status(channel, GRAPH) == NOT_SERVING
        assert await status(channel) == NOT_SERVING
        with pytest.raises(StoreUnavailable, match="not ready"):
            await RemoteArm("graph", channel).check()
        unready.error = None
        await becomes(channel, "", SERVING)
        await RemoteArm("graph", channel).check()


async def test_a_part_whose_store_goes_away_is_no_longer_ready():
    arm = DoorArm()
    async with open_loopback(host_arms({"keyword": arm})) as channel:
        await becomes(channel, "", SERVING)
        arm.error = StoreUnavailable("the store does not answer")
        await becomes(channel, KEYWORD, NOT_SERVING)
        await becomes(channel, "", NOT_SERVING)


async def test_a_check_that_does_not_return_is_not_ready():
    class Hanging(DoorArm):
        async def check(self):
            await asyncio.sleep(60)

    parts = host_arms({"keyword": DoorArm(), "graph": Hanging()})
    async with open_loopback(parts, check_timeout_s=0.05) as channel:
        await becomes(channel, KEYWORD, SERVING)
        assert await status(channel, GRAPH) == NOT_SERVING


async def test_a_part_that_is_not_hosted_is_not_ready():
    async with open_loopback(host_arms({})) as channel:
        with pytest.raises(StoreUnavailable, match="not hosted"):
            await RemoteEmbedder(channel).check()


async def test_a_server_that_leaves_finishes_the_calls_in_hand_and_those_of_who_does_not_watch_it():
    arm = DoorArm()
    serving = open_server("127.0.0.1:0", [host_arms({"keyword": arm})], drain_s=0.3, grace_s=5)
    running = await serving.__aenter__()
    address = f"127.0.0.1:{running.port}"
    async with open_channel(address) as channel, grpc.aio.insecure_channel(address) as plain:
        call = asyncio.create_task(RemoteArm("keyword", channel).search(QUERY))
        await arm.asked.wait()
        leaving = asyncio.create_task(serving.__aexit__(None, None, None))
        await becomes(plain, "", NOT_SERVING)
        late = asyncio.create_task(RemoteArm("keyword", plain).search(QUERY))
        await asyncio.sleep(0.1)
        arm.release.set()
        assert await call == await late == (Hit("m1", 1.0),)
        await leaving


async def test_no_new_call_goes_to_a_server_that_leaves():
    staying, going = DoorArm(), DoorArm()
    staying.release.set()
    going.release.set()
    leaver = open_server("127.0.0.1:0", [host_arms({"keyword": going})], drain_s=0.5, grace_s=30)
    first = await leaver.__aenter__()
    async with (
        open_server("127.0.0.1:0", [host_arms({"keyword": staying})], drain_s=0) as second,
        open_channel(f"ipv4:127.0.0.1:{first.port},127.0.0.1:{second.port}") as channel,
    ):
        arm = RemoteArm("keyword", channel)
        while not (going.calls and staying.calls):
            await arm.search(QUERY)
        leaving = asyncio.create_task(leaver.__aexit__(None, None, None))
        await asyncio.sleep(0.2)
        before = going.calls
        for _ in range(20):
            assert await arm.search(QUERY)
        assert going.calls == before
        async with asyncio.timeout(30):  # the watches do not hold it for its grace
            await leaving


async def reflected(channel):
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    (answer,) = [answer async for answer in stub.ServerReflectionInfo(iter([request]))]
    return {service.name for service in answer.list_services_response.service}


async def test_reflection_is_offered_only_when_asked_for():
    async with open_loopback(host_arms({}), reflection=True) as channel:
        assert "recallmesh.v1.ArmService" in await reflected(channel)
    async with open_loopback(host_arms({})) as channel:
        call = channel.unary_unary(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=bytes,
            response_deserializer=bytes,
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_an_address_that_is_taken_is_refused_by_name():
    async with open_server("127.0.0.1:0", [], drain_s=0) as running:
        address = f"127.0.0.1:{running.port}"
        with pytest.raises(InvalidArgument, match=address):
            async with open_server(address, [], drain_s=0):
                pass


async def test_calls_go_round_the_servers_of_one_name():
    counts = []

    async def serve(stack):
        told = []
        arm = DoorArm()
        arm.release.set()
        running = await stack.enter_async_context(
            open_server("127.0.0.1:0", [host_arms({"keyword": arm})], observe=lambda *c: told.append(c), drain_s=0)
        )
        counts.append(told)
        return running.port

    async with contextlib.AsyncExitStack() as stack:
        ports = [await serve(stack) for _ in range(3)]
        address = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports)
        channel = await stack.enter_async_context(open_channel(address))
        for _ in range(60):
            await RemoteArm("keyword", channel).search(QUERY)
    assert sum(len(told) for told in counts) == 60
    assert all(len(told) >= 10 for told in counts)


async def test_a_check_with_a_bug_makes_the_process_not_ready_and_is_told_at_the_end():
    arm = DoorArm()
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - it comes out when the server is left
        async with open_loopback(host_arms({"keyword": arm})) as channel:
            await becomes(channel, "", SERVING)
            arm.error = ZeroDivisionError("a bug")
            await becomes(channel, "", NOT_SERVING)
