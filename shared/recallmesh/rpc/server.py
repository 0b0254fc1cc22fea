"""One process's gRPC server: what it hosts, its health, and a drain that loses no call."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import grpc.aio
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection as grpc_reflection

from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.door import Door, DoorLimits
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.interceptor import EVERYBODY, Interceptor, Observe, Span, observe_nothing, record_nothing
from recallmesh.rpc.listening import bound
from recallmesh.rpc.readiness import Readiness

DEFAULT_LIMITS = DoorLimits()
RECEIVE_BYTES = 4 * MESSAGE_BYTES
"""What gRPC itself lets in: more than is accepted, so that the refusal is ours and names the limit."""


STARTING = StoreUnavailable("the process is starting")


@dataclass(slots=True)
class RunningServer:
    """A server that listens: the port it got, its readiness, and how many calls it works on."""

    port: int
    readiness: Readiness
    door: Door
    _server: grpc.aio.Server
    _interceptor: Interceptor
    _reflection: bool

    async def host(self, hosted: Iterable[Hosted]) -> None:
        """Offer these parts and nothing else from now on; each is ready once its check returned."""
        parts = tuple(hosted)
        # gRPC looks for a method's handler with every call, so they may come after the start.
        for part in parts:
            part.register(self._server)
        if self._reflection:
            names = (*(name for part in parts for name in part.services), health.SERVICE_NAME)
            grpc_reflection.enable_server_reflection((*names, grpc_reflection.SERVICE_NAME), self._server)
        await self.readiness.take({name: check for part in parts for name, check in part.checks.items()})
        self._interceptor.starting = None

    def wait_for(self, error: MeshError) -> None:
        """Tell callers why nothing is hosted yet."""
        self._interceptor.starting = error


@asynccontextmanager
async def open_server(
    listen: str,
    hosted: Iterable[Hosted] | None,
    *,
    limits: DoorLimits = DEFAULT_LIMITS,
    observe: Observe = observe_nothing,
    span: Span = record_nothing,
    entry: Entry = EVERYBODY,
    credentials: grpc.ServerCredentials | None = None,
    beside: str | None = None,
    health_listen: str | None = None,
    reflection: bool = False,
    check_interval_s: float = 2.0,
    check_timeout_s: float = 5.0,
    connection_age_s: float = 3.0,
    drain_s: float = 1.0,
    grace_s: float = 20.0,
) -> AsyncIterator[RunningServer]:
    """Listen on ``host:port`` (port 0: any free one) and serve until the context is left.

    The process answers health from the start and is NOT_SERVING until every hosted part's check returned. ``hosted``
    absent: it is not known yet, calls are UNAVAILABLE until ``host`` is told. On leaving: NOT_SERVING at once, then
    ``drain_s`` during which calls are still taken (clients and load balancers turn away), then no new calls and up to
    ``grace_s`` for those in hand; calls that take a stream read no more of it and answer what they have.
    ``entry`` lets callers in. ``connection_age_s`` is the life of a connection, so that clients find servers that
    joined; it cuts no call in hand.
    With ``credentials`` it speaks TLS alone. ``beside`` is a path (``unix:/folder/name``) at which it may be called
    without; at ``health_listen``, another ``host:port``, health alone is answered, without TLS too.

    Raises:
        InvalidArgument: the address cannot be listened on.

    """
    readiness = Readiness(interval_s=check_interval_s, timeout_s=check_timeout_s)
    door = Door(limits)
    interceptor = Interceptor(door, entry=entry, observe=observe, span=span)
    server = grpc.aio.server(interceptors=(interceptor,), options=_options(connection_age_s))
    health_pb2_grpc.add_HealthServicer_to_server(readiness.servicer, server)
    port = _bind(server, listen, credentials)
    if beside is not None:
        server.add_insecure_port(beside)
    probed = None if health_listen is None else _probed(health_listen, readiness)
    running = RunningServer(port, readiness, door, server, interceptor, reflection)
    running.wait_for(STARTING)
    await readiness.announce()
    if hosted is not None:
        await running.host(hosted)
    await server.start()
    if probed is not None:
        await probed.start()
    watching = asyncio.create_task(readiness.watch())
    try:
        yield running
    finally:
        watching.cancel()
        await readiness.leave()
        await asyncio.sleep(drain_s)
        door.leaving.set()
        readiness.servicer.end()
        await server.stop(grace_s)
        if probed is not None:
            await probed.stop(None)
        with suppress(asyncio.CancelledError):
            await watching


def _probed(listen: str, readiness: Readiness) -> grpc.aio.Server:
    """Make a server that answers health alone, for probes that speak no TLS."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    health_pb2_grpc.add_HealthServicer_to_server(readiness.servicer, server)
    _bind(server, listen, None)
    return server


def _options(connection_age_s: float) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", RECEIVE_BYTES),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        # Our clients ping every second; gRPC's own minimum of 5 min would end their connections.
        ("grpc.http2.min_ping_interval_without_data_ms", 500),
        ("grpc.max_connection_age_ms", int(connection_age_s * 1000)),
        ("grpc.so_reuseport", 0),
    ]


def _bind(server: grpc.aio.Server, listen: str, credentials: grpc.ServerCredentials | None) -> int:
    try:
        if credentials is None:
            return server.add_insecure_port(listen)
        return server.add_secure_port(listen, credentials)
    except RuntimeError as error:
        raise _why_not(listen) from error


def _why_not(listen: str) -> InvalidArgument:
    """Say why an address cannot be listened on, which gRPC keeps to itself."""
    try:
        bound(listen, "listen").close()
    except InvalidArgument as error:
        return error
    return InvalidArgument(FieldViolation("listen", f"{listen} cannot be listened on: it was taken, and is free again"))
