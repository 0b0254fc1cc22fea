# ruff: noqa: ASYNC110 - what is waited for is on the other side of a wire
"""Whatever goes wrong behind the door, the caller learns a reason and never our insides."""

import asyncio
from functools import partial

import grpc
import grpc.aio
import pytest
import structlog
from google.rpc import error_details_pb2, status_pb2
from loopback import open_loopback

from recallmesh.core.arm import ArmQuery, Hit
from recallmesh.core.deadline import remaining, within
from recallmesh.core.errors import (
    ArmTimeout,
    InternalFault,
    InvalidArgument,
    Overloaded,
    StoreUnavailable,
)
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.door import DoorLimits
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.request import current_request_id
from recallmesh.rpc.server import open_server
from recallmesh.v1 import arm_service_pb2, arm_service_pb2_grpc
from recallmesh.v1.retain_service_pb2_grpc import RetainServiceServicer, add_RetainServiceServicer_to_server

QUERY = ArmQuery("u1", "q")
SEARCH = "/recallmesh.v1.ArmService/Search"


class OddArm:
    """Does what each test wants of a search."""

    def __init__(self, search=None):
        self._search = search
        self.calls = 0

    async def search(self, query):
        self.calls += 1
        return await self._search(query)

    async def check(self):
        pass


async def broken(_query):
    raise RuntimeError("password=hunter2 at /srv/secret.py")


async def two_hits(_query):
    return (Hit("m1", 1.0), Hit("m2", 0.5))


def error_info(error):
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    info = error_details_pb2.ErrorInfo()
    assert status_pb2.Status.FromString(details).details[0].Unpack(info)
    return info


async def raw_call(channel, method, payload, **given):
    call = channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(payload, **given)
    return caught.value


async def test_a_bug_in_a_handler_tells_a_request_id_and_the_log_has_the_rest():
    with structlog.testing.capture_logs() as logs:
        async with open_loopback(host_arms({"keyword": OddArm(broken)})) as channel:
            with pytest.raises(InternalFault) as caught:
                await RemoteArm("keyword", channel).search(QUERY)
            raw = await raw_call(
                channel, SEARCH, arm_service_pb2.SearchRequest(arm="keyword", bank_uid="u").SerializeToString()
            )
    assert caught.value.message == "internal error"
    assert raw.code() is grpc.StatusCode.INTERNAL
    assert raw.details() == "internal error"
    assert "hunter2" not in repr(raw)
    assert error_info(raw).metadata["request_id"]
    failed = [line for line in logs if line["event"] == "rpc failed"]
    assert failed[0]["request_id"] == caught.value.metadata["request_id"]
    assert "hunter2" in str(failed[0]["exc_info"])


async def test_bytes_that_are_no_valid_text_are_an_invalid_argument_without_a_stack_trace():
    surrogate = b"\x0a\x07keyword\x1a\x03\xed\xa0\xbd"
    async with open_loopback(host_arms({"keyword": OddArm(two_hits)})) as channel:
        error = await raw_call(channel, SEARCH, surrogate)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error_info(error).reason == "INVALID_ARGUMENT"
    assert "Traceback" not in repr(error)
    assert "DecodeError" not in repr(error)


async def test_a_message_beyond_the_limit_is_refused_with_the_limit():
    text = "x" * (5 * 1024 * 1024)
    async with open_loopback(host_arms({"keyword": OddArm(two_hits)})) as channel:
        with pytest.raises(InvalidArgument, match=str(MESSAGE_BYTES)):
            await RemoteArm("keyword", channel).search(ArmQuery("u1", text))
    payload = arm_service_pb2.SearchRequest(arm="keyword", text=text).SerializeToString()
    unlimited = [("grpc.max_send_message_length", -1)]
    async with (
        open_server("127.0.0.1:0", [host_arms({"keyword": OddArm(two_hits)})], drain_s=0) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}", options=unlimited) as channel,
    ):
        error = await raw_call(channel, SEARCH, payload)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert str(MESSAGE_BYTES) in error.details()


async def test_a_deadline_ends_the_call_and_the_work_behind_it():
    ended = asyncio.Event()

    async def slow(_query):
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with open_loopback(host_arms({"keyword": OddArm(slow)})) as channel:
        with pytest.raises(ArmTimeout):
            await RemoteArm("keyword", channel, timeout_s=0.2).search(QUERY)
        async with asyncio.timeout(30):
            await ended.wait()


async def test_a_call_without_a_deadline_gets_the_servers():
    async def slow(_query):
        await asyncio.sleep(60)

    limits = DoorLimits(deadline_s=0.1)
    async with open_loopback(host_arms({"keyword": OddArm(slow)}), limits=limits) as channel:
        payload = arm_service_pb2.SearchRequest(arm="keyword", bank_uid="u").SerializeToString()
        error = await raw_call(channel, SEARCH, payload)
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert error_info(error).reason == "DEADLINE_EXCEEDED"


async def test_a_deadline_beyond_the_cap_is_cut():
    seen = []

    async def look(_query):
        seen.append(remaining())
        return ()

    limits = DoorLimits(deadline_cap_s=7.0)
    async with open_loopback(host_arms({"keyword": OddArm(look)}), limits=limits) as channel:
        await RemoteArm("keyword", channel, timeout_s=1000).search(QUERY)
        await RemoteArm("keyword", channel, timeout_s=3).search(QUERY)
    assert 3.5 < seen[0] <= 7
    assert 0 < seen[1] <= 3.5


async def test_a_client_keeps_within_the_deadline_in_hand():
    seen = []

    async def look(_query):
        seen.append(remaining())
        return ()

    async with open_loopback(host_arms({"keyword": OddArm(look)})) as channel:
        arm = RemoteArm("keyword", channel, timeout_s=100)
        with within(5):
            await arm.search(QUERY)
        with within(0), pytest.raises(ArmTimeout, match="no time is left"):
            await arm.search(QUERY)
    assert len(seen) == 1
    assert 0 < seen[0] < 5  # gRPC rounds what it sends up to its own steps


async def test_a_timeout_of_a_driver_is_a_deadline_and_no_bug():
    async def timed_out(_query):
        raise TimeoutError("the socket at 10.1.2.3")

    async with open_loopback(host_arms({"keyword": OddArm(timed_out)})) as channel:
        with pytest.raises(ArmTimeout) as caught:
            await RemoteArm("keyword", channel).search(QUERY)
    assert "10.1.2.3" not in caught.value.message


async def test_a_cancelled_call_cancels_the_work_behind_it():
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow(_query):
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with open_loopback(host_arms({"keyword": OddArm(slow)})) as channel:
        call = asyncio.create_task(RemoteArm("keyword", channel).search(QUERY))
        await started.wait()
        call.cancel()
        async with asyncio.timeout(30):
            await ended.wait()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_calls_beyond_the_bound_are_refused_with_a_delay_and_the_others_answered():
    release = asyncio.Event()

    async def wait(_query):
        await release.wait()
        return ()

    limits = DoorLimits(in_flight=2, retry_after_s=0.25)
    async with open_loopback(host_arms({"keyword": OddArm(wait)}), limits=limits) as channel:
        arm = RemoteArm("keyword", channel)
        calls = [asyncio.create_task(arm.search(QUERY)) for _ in range(3)]
        done, held = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        await arm.check()
        release.set()
        assert [await call for call in held] == [(), ()]
        refused = done.pop().exception()
        assert type(refused) is Overloaded
        assert refused.retry_after.total_seconds() == 0.25
        assert await arm.search(QUERY) == ()


async def test_a_store_that_is_back_at_the_second_attempt_is_not_noticed():
    async def flaky(query):
        if arm.calls == 1:
            raise StoreUnavailable("the store does not answer")
        return await two_hits(query)

    arm = OddArm(flaky)
    async with open_loopback(host_arms({"keyword": arm})) as channel:
        assert len(await RemoteArm("keyword", channel).search(QUERY)) == 2
    assert arm.calls == 2


async def test_a_service_that_is_not_there_is_unavailable_without_its_address():
    async with open_channel("127.0.0.1:1") as channel:
        with pytest.raises(StoreUnavailable) as caught:
            await RemoteArm("keyword", channel).search(QUERY)
    assert "127.0.0.1" not in caught.value.message


async def test_an_unknown_method_is_unimplemented_with_a_reason():
    async with open_loopback(host_arms({})) as channel:
        for method in ("/recallmesh.v1.ArmService/Guess", "/other.Service/Method"):
            error = await raw_call(channel, method, b"")
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED
            assert error_info(error).reason == "UNIMPLEMENTED"


async def test_a_method_without_an_implementation_is_unimplemented_with_a_reason():
    part = Hosted((), partial(add_RetainServiceServicer_to_server, RetainServiceServicer()))
    async with open_loopback(part) as channel:
        batches = channel.stream_unary(
            "/recallmesh.v1.RetainService/RetainStream", request_serializer=bytes, response_deserializer=bytes
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await batches(iter([b""]))
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert error_info(caught.value).reason == "UNIMPLEMENTED"


async def test_the_callers_request_id_is_the_works_and_comes_back():
    seen = []

    async def look(_query):
        seen.append((current_request_id(), structlog.contextvars.get_contextvars().get("request_id")))
        return ()

    async with open_loopback(host_arms({"keyword": OddArm(look)})) as channel:
        stub = arm_service_pb2_grpc.ArmServiceStub(channel)
        for given in ("abc-1", "not plain at all", ""):
            call = stub.Search(
                arm_service_pb2.SearchRequest(arm="keyword", bank_uid="u"), metadata=(("x-request-id", given),)
            )
            await call
            assert dict(await call.trailing_metadata())["x-request-id"] == seen[-1][0] == seen[-1][1]
    ids = [request_id for request_id, _ in seen]
    assert ids[0] == "abc-1"
    assert len(set(ids)) == 3
    assert all(request_id.isalnum() for request_id in ids[1:])


async def test_a_server_passes_the_request_id_on_to_further_calls():
    seen = []

    async def look(_query):
        seen.append(current_request_id())
        return ()

    async with open_loopback(host_arms({"keyword": OddArm(look)})) as behind:

        async def pass_on(query):
            seen.append(current_request_id())
            return await RemoteArm("keyword", behind).search(query)

        async with open_loopback(host_arms({"keyword": OddArm(pass_on)})) as channel:
            await RemoteArm("keyword", channel).search(QUERY)
    assert seen[0] == seen[1] != ""


async def test_every_call_is_counted_by_method_and_code():
    told = []
    arms = {"keyword": OddArm(two_hits), "graph": OddArm(broken)}
    async with open_loopback(host_arms(arms), observe=lambda *call: told.append(call)) as channel:
        await RemoteArm("keyword", channel).search(QUERY)
        with pytest.raises(InternalFault):
            await RemoteArm("graph", channel).search(QUERY)
        await raw_call(channel, "/a.b/c", b"")
        await RemoteArm("keyword", channel).check()
    assert [call[:2] for call in told] == [(SEARCH, "OK"), (SEARCH, "INTERNAL"), ("unknown", "UNIMPLEMENTED")]
    assert all(seconds >= 0 for *_, seconds in told)


async def test_500_abandoned_calls_do_no_harm():
    async def slow(_query):
        await asyncio.sleep(60)

    async def ask():
        with pytest.raises(ArmTimeout):
            await RemoteArm("slow", channel, timeout_s=0.3).search(QUERY)

    async with (
        open_server(
            "127.0.0.1:0",
            [host_arms({"slow": OddArm(slow), "keyword": OddArm(two_hits)})],
            limits=DoorLimits(in_flight=600),
            drain_s=0,
        ) as running,
        open_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        await asyncio.gather(*(ask() for _ in range(500)))
        async with asyncio.timeout(30):
            while running.door.inside:
                await asyncio.sleep(0.01)
        assert len(await RemoteArm("keyword", channel).search(QUERY)) == 2
