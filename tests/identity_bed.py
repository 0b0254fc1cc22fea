"""A server that asks who calls, with every service of the protos, and callers of every kind."""

import importlib
import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import grpc.aio
from loopback import open_loopback

import recallmesh.v1
from recallmesh.core.errors import Unauthenticated
from recallmesh.core.principal import Principal, Right
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.status import error_from_rpc

MODULES = sorted(one.name for one in pkgutil.iter_modules(recallmesh.v1.__path__) if one.name.endswith("_service_pb2"))
SERVICES = {
    name: service
    for module in MODULES
    for name, service in importlib.import_module(f"recallmesh.v1.{module}").DESCRIPTOR.services_by_name.items()
}
METHODS = {f"/{service.full_name}/{method.name}": method for service in SERVICES.values() for method in service.methods}
"""Every method of the protos, by its path."""
CALLERS = {right.value: Principal(right.value, "acme", frozenset({right})) for right in Right}
"""A caller with each right alone; its name is its credential."""


@dataclass
class Known:
    """Knows callers by credentials that a test may change meanwhile."""

    callers: dict = field(default_factory=lambda: dict(CALLERS))
    asked: int = 0

    async def authenticate(self, credential):
        self.asked += 1
        found = self.callers.get(credential)
        if found is None:
            raise Unauthenticated("the credential is not known, or not good any more")
        if isinstance(found, Exception):
            raise found
        return found


def empty_services() -> list[Hosted]:
    """Offer every service of the protos; each method says that there is nothing behind it."""
    hosted = []
    for module in MODULES:
        stubs = importlib.import_module(f"recallmesh.v1.{module}_grpc")
        for name in importlib.import_module(f"recallmesh.v1.{module}").DESCRIPTOR.services_by_name:
            servicer, add = getattr(stubs, f"{name}Servicer")(), getattr(stubs, f"add_{name}Servicer_to_server")
            hosted.append(Hosted((f"recallmesh.v1.{name}",), lambda server, s=servicer, a=add: a(s, server)))
    return hosted


@asynccontextmanager
async def open_guarded(*hosted: Hosted, known=None, asked_every_s=5.0, **server) -> AsyncIterator[grpc.aio.Channel]:
    """Serve the parts, or every service with nothing behind it, to callers that are known."""
    entry = Entry(known or Known(), asked_every_s=asked_every_s)
    async with open_loopback(*(hosted or empty_services()), entry=entry, **server) as channel:
        yield channel


async def call(channel, path: str, *metadata: tuple[str, str], requests=(b"",)) -> grpc.aio.AioRpcError | list[bytes]:
    """Call any method, as the bytes of the four kinds of calls are; returns what it answered or was refused with."""

    async def messages():
        for one in requests:
            yield one

    # What is one message goes with the call: a write to one that has just been refused loses that in gRPC's client.
    single = len(requests) == 1
    calling, sent = (channel.unary_stream, requests[0]) if single else (channel.stream_stream, messages())
    try:
        return [one async for one in calling(path)(sent, metadata=metadata, timeout=20)]
    except grpc.aio.AioRpcError as error:
        return error


async def refusal(channel, path: str, *metadata: tuple[str, str], requests=(b"",)):
    """Return the error of the mesh that a call is refused with."""
    answer = await call(channel, path, *metadata, requests=requests)
    assert isinstance(answer, grpc.aio.AioRpcError), f"{path} answered {answer}"
    return error_from_rpc(answer)


def bearer(credential: str) -> tuple[str, str]:
    return ("authorization", f"Bearer {credential}")
