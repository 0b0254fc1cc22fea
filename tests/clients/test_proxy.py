"""What the proxy changes of a call, and what it sees: else a tour through it would prove nothing."""

from contextlib import asynccontextmanager

import grpc
import grpc.aio
import pytest
from clients.proxy import open_proxy

METHOD = "/diary.Service/Say"
DETAILS = (("grpc-status-details-bin", b"\x08\x05"),)


class Echo(grpc.GenericRpcHandler):
    """Says each message again, and ends as it is told to."""

    def service(self, _details):
        async def say(requests, context):
            async for request in requests:
                if request == b"fail":
                    await context.abort(grpc.StatusCode.NOT_FOUND, "no such thing", DETAILS)
                await context.write(request)
            context.set_trailing_metadata((("x-request-id", dict(context.invocation_metadata())["authorization"]),))

        return grpc.stream_stream_rpc_method_handler(say)


@asynccontextmanager
async def open_both(**proxy):
    server = grpc.aio.server(handlers=(Echo(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with open_proxy(f"127.0.0.1:{port}", **proxy) as it, grpc.aio.insecure_channel(it.address) as channel:
        yield it, channel
    await server.stop(0)


def metadata(key: str = "k"):
    return (("authorization", key),)


async def test_every_kind_of_call_passes_with_its_metadata_and_its_trailers():
    async with open_both() as (proxy, channel):
        call = channel.unary_unary(METHOD)(b"a", metadata=metadata("mine"), timeout=5)
        assert await call == b"a"
        assert dict(await call.trailing_metadata())["x-request-id"] == "mine"
        assert [one async for one in channel.unary_stream(METHOD)(b"a", metadata=metadata(), timeout=5)] == [b"a"]
        assert await channel.stream_unary(METHOD)(iter([b"a"]), metadata=metadata(), timeout=5) == b"a"
        both = channel.stream_stream(METHOD)(iter([b"a", b"b"]), metadata=metadata(), timeout=5)
        assert [one async for one in both] == [b"a", b"b"]
    assert [call.metadata["authorization"] for call in proxy.calls] == ["mine", "k", "k", "k"]
    assert all(0 < call.seconds < 6 for call in proxy.calls)
    assert [call.sent for call in proxy.calls] == [[b"a"], [b"a"], [b"a"], [b"a", b"b"]]


async def test_a_call_without_a_deadline_is_seen_as_one():
    async with open_both() as (proxy, channel):
        await channel.unary_unary(METHOD)(b"a", metadata=metadata())
    assert [call.seconds for call in proxy.calls] == [None]


async def test_a_refused_method_is_refused_once():
    async with open_both(refused={METHOD}) as (proxy, channel):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await channel.unary_unary(METHOD)(b"a", metadata=metadata())
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await channel.unary_unary(METHOD)(b"a", metadata=metadata()) == b"a"
    assert [call.refused for call in proxy.calls] == [True, False]


async def test_an_error_passes_with_its_details():
    async with open_both() as (_, channel):
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await channel.unary_unary(METHOD)(b"fail", metadata=metadata())
    assert (failed.value.code(), failed.value.details()) == (grpc.StatusCode.NOT_FOUND, "no such thing")
    assert ("grpc-status-details-bin", b"\x08\x05") in tuple(failed.value.trailing_metadata())


async def test_what_is_added_comes_behind_each_answer():
    async with open_both(added={METHOD: b"!"}) as (_, channel):
        assert await channel.unary_unary(METHOD)(b"a", metadata=metadata()) == b"a!"
