"""A gRPC proxy that knows no message: it refuses some methods once, passes the rest on, and remembers every call."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import grpc.aio

OWN = ("grpc-", "user-agent", "content-type", "te")
"""What gRPC itself says in a call's metadata, and says anew in the call behind."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it came: ``seconds`` until its deadline, if it has one; whether it was refused; what it sent."""

    method: str
    metadata: Mapping[str, str | bytes]
    seconds: float | None
    refused: bool
    sent: list[bytes] = field(default_factory=list)


@dataclass
class Proxy(grpc.GenericRpcHandler):
    """Stands before the server behind ``channel``.

    The first call of each method in ``refused`` is UNAVAILABLE. To each answer of a method in ``added`` bytes are
    added, which to a protobuf message are the fields that a newer server would have sent.
    """

    channel: grpc.aio.Channel
    refused: set[str]
    added: Mapping[str, bytes] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def service(self, details):
        # A stream of bytes either way is what each of the four kinds of calls is on the wire.
        async def pass_on(requests, context):
            await self._pass_on(details.method, requests, context)

        return grpc.stream_stream_rpc_method_handler(pass_on)

    async def _pass_on(self, method, requests, context) -> None:
        refuse = method in self.refused
        metadata = tuple((key, value) for key, value in context.invocation_metadata() if not key.startswith(OWN))
        seconds = context.time_remaining()
        made = Call(method, dict(metadata), seconds, refuse)
        self.calls.append(made)
        if refuse:
            self.refused.remove(method)
            await context.abort(grpc.StatusCode.UNAVAILABLE, "refused once")
        call = self.channel.stream_stream(method)(_kept(requests, made.sent), timeout=seconds, metadata=metadata)
        try:
            async for answer in call:
                await context.write(answer + self.added.get(method, b""))
            context.set_trailing_metadata(await call.trailing_metadata())
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details() or "", tuple(error.trailing_metadata() or ()))
        finally:
            call.cancel()


async def _kept(requests: AsyncIterator[bytes], sent: list[bytes]) -> AsyncIterator[bytes]:
    async for request in requests:
        sent.append(request)
        yield request


@asynccontextmanager
async def open_proxy(
    address: str, refused: set[str] = frozenset(), added: Mapping[str, bytes] | None = None
) -> AsyncIterator[Proxy]:
    """Listen on a free port of loopback and pass calls on to an address."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        proxy = Proxy(channel, set(refused), added or {})
        server = grpc.aio.server(handlers=(proxy,))
        proxy.port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield proxy
        finally:
            await server.stop(0)
