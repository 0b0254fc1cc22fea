"""One process's life: build, listen, be ready, drain, stop."""

import asyncio
import ipaddress
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from prometheus_client import start_http_server

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import (
    ArmTimeout,
    ConflictingWrite,
    EmbeddingMismatch,
    FieldViolation,
    InvalidArgument,
    NotReady,
    StoreUnavailable,
)
from recallmesh.core.port import is_port
from recallmesh.identity.authenticator import Credentials
from recallmesh.identity.opening import open_authenticator
from recallmesh.identity.settings import AuthSettings
from recallmesh.mesh import PUBLIC, Assembly, Part, open_assembly
from recallmesh.rpc.admin import host_admin
from recallmesh.rpc.allowance import Allowances
from recallmesh.rpc.arm import host_arms
from recallmesh.rpc.door import DoorLimits
from recallmesh.rpc.embedder import host_embedder
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.recaller import host_recaller
from recallmesh.rpc.reranker import host_reranker
from recallmesh.rpc.retainer import host_retainer
from recallmesh.rpc.server import RunningServer, open_server
from recallmesh.rpc.tls import open_tls
from recallmesh.rpc.vectors import host_vectors
from recallmesh.settings import ServeSettings, Settings
from recallmesh.telemetry.loop_lag import loop_watched
from recallmesh.telemetry.metrics import Metrics

PASSING = (StoreUnavailable, EmbeddingMismatch, NotReady, ArmTimeout, ConflictingWrite)
"""What the state of a store does not allow now, and may later."""
COMING = 4
"""So many times as many calls as may be in hand are held while it is read whose they are: one caller with many does not
keep the others from being looked at."""
AT_ONCE_HERE, AT_ONCE = 4, 8
"""Callers' calls worked on at once, where models compute here and where they do not: on two cores one at a time had 23
answers a second and eight had 27, and of eight that were reranked at once every other was late (ADR 0057)."""
RETRY_S = 1.0
"""Seconds before building again what a store did not allow."""

JOINING_S = 3.0
"""The life of a connection where processes may join: with the second between two questions to a name server, one that
did gets calls within 4.3 s (docs/adr/0049-short-connections.md)."""
STAYING_S = 3600.0
OWN_ADDRESS = frozenset({"127.0.0.1", "[::1]", "localhost"})
"""Hosts that are one address of this machine: who is reached by it is alone there."""

OpenDoor = Callable[[str, Metrics], AbstractAsyncContextManager[object]]
"""Opens a door to the server at this address, which counts in these metrics."""

_log = structlog.get_logger("recallmesh.serve")


@dataclass(frozen=True, slots=True)
class Serving:
    """A server, and the building of what it hosts: done when it hosts all of it."""

    server: RunningServer
    building: asyncio.Task[None]
    metrics: Metrics
    within: str
    """Where the process itself reaches it: no certificate names every address that a process listens on."""


async def serve(
    settings: Settings, hosted: frozenset[Part], started: Callable[[str], None], *, behind: OpenDoor | None = None
) -> None:
    """Serve until SIGTERM or SIGINT; then drain and stop. ``started`` is told the address once all is hosted.

    ``behind`` opens a door to what is served here; it is open for as long as the server listens.
    """
    stop = stop_signal()
    async with AsyncExitStack() as stack:
        serving = await stack.enter_async_context(open_serving(settings, hosted))
        address = f"{host_of(settings.serve.listen)}:{serving.server.port}"
        if behind is not None:
            await stack.enter_async_context(behind(serving.within, serving.metrics))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((serving.building, stopping), return_when=asyncio.FIRST_COMPLETED)
        if serving.building.done():
            await serving.building
            started(address)
        await stopping
        _log.info("draining", calls=serving.server.door.inside)


def stop_signal() -> asyncio.Event:
    """Return what is set by SIGTERM or SIGINT from now on."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    return stop


@asynccontextmanager
async def open_serving(settings: Settings, hosted: frozenset[Part]) -> AsyncIterator[Serving]:
    """Listen, and build the hosted parts meanwhile: the process lives before it is ready."""
    own = settings.serve
    public = not hosted.isdisjoint(PUBLIC)
    # A certificate says that a process is the mesh's, and not whose banks it may read.
    own_only = settings.tls.client_ca is not None and not public
    check_listen(own.listen, exposed=settings.auth.mode == "on" or own_only)
    host = host_of(own.listen)
    async with AsyncExitStack() as stack:
        assembly = await stack.enter_async_context(open_assembly(settings, hosted))
        keys = await assembly.mesh_keys()
        opening = open_authenticator(settings.auth, keys, public=public)
        known = await stack.enter_async_context(opening)
        tls = beside = None
        if settings.tls.serving is not None:
            told = assembly.metrics.observe_certificate
            tls = await stack.enter_async_context(open_tls(settings.tls.serving, told=told))
            # For its owner alone.
            beside = f"unix:{Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='recallmesh-'))) / 'own'}"
        server = await stack.enter_async_context(
            open_server(
                own.listen,
                None,
                limits=limits_of(settings),
                observe=assembly.metrics.observe_rpc,
                span=assembly.metrics.span_of_call,
                entry=entry_of(settings.auth, known, assembly.metrics),
                credentials=None if tls is None else tls.server_credentials(),
                beside=beside,
                health_listen=None if own.health_port is None else f"{host}:{own.health_port}",
                reflection=own.reflection,
                connection_age_s=connection_age_s(own, encrypted=tls is not None),
                drain_s=own.drain_s,
                grace_s=own.grace_s,
            )
        )
        await stack.enter_async_context(loop_watched(assembly.metrics))
        door = server.door
        for kind, inside, most in (
            ("call", lambda: door.own, own.in_flight),
            ("read", lambda: door.reads.inside + door.reads.waiting, own.in_flight),
            ("write", lambda: door.writes.inside + door.writes.waiting, own.in_flight),
            ("stream", lambda: door.streams, own.streams),
        ):
            assembly.metrics.watch_in_flight(kind, inside, most)
        assembly.metrics.unready.set_function(lambda: server.readiness.unready)
        offer_metrics(settings.serve.metrics_port, own.listen, assembly.metrics)
        building = asyncio.create_task(_build(assembly, hosted, server))
        try:
            yield Serving(server, building, assembly.metrics, beside or f"{host}:{server.port}")
        finally:
            building.cancel()
            await asyncio.gather(building, return_exceptions=True)


def entry_of(auth: AuthSettings, known: Credentials | None, metrics: Metrics) -> Entry:
    """Return who is let in, and how much of each tenant: whom is known; absent: everybody."""
    if known is None:
        return Entry()
    allowances = Allowances(known.quota_of, share=auth.quotas.share, refused=metrics.observe_refused)
    return Entry(known, allowances, refused=metrics.observe_refused)


async def _build(assembly: Assembly, hosted: frozenset[Part], server: RunningServer) -> None:
    """Build the hosted parts; what a store does not allow now is tried again, since its state may change."""
    said = ""
    while True:
        try:
            parts = await host(assembly, hosted)
        except PASSING as error:
            server.wait_for(error)
            if error.message != said:
                _log.warning("cannot start yet", reason=error.reason, detail=error.message)
            said = error.message
            await asyncio.sleep(RETRY_S)
        else:
            await server.host(parts)
            await server.readiness.ask()
            return


async def host(assembly: Assembly, hosted: frozenset[Part]) -> list[Hosted]:
    """Build the hosted parts and what offers them over the wire."""
    found = []
    arms = {name.value: await assembly.arm(name) for name in ArmName if Part(name.value) in hosted}
    for role in assembly.roles:
        for name in arms:
            await assembly.arm(ArmName(name), role)
    if arms:
        found.append(host_arms(arms, of_model=assembly.arm_of_model))
    if Part.SEMANTIC in hosted:
        found.append(host_vectors(await assembly.vectors(), of_model=assembly.vectors_of_model))
    if Part.EMBEDDER in hosted:
        found.append(host_embedder(await assembly.embedder()))
    if Part.RERANKER in hosted and (reranker := await assembly.reranker()) is not None:
        found.append(host_reranker(reranker))
    if Part.RECALL in hosted:
        found.append(host_recaller(await assembly.recaller(), (await assembly.ledger()).check))
    if Part.RETAIN in hosted:
        found.append(host_retainer(await assembly.retainer(), (await assembly.ledger()).check))
    if Part.BANK in hosted:
        found.append(host_admin(await assembly.admin(), (await assembly.ledger()).check))
    return found


def connection_age_s(own: ServeSettings, *, encrypted: bool) -> float:
    """Return the life of a connection, seconds; of an encrypted one it bounds how long an old certificate is held to.

    The channels of nine processes on one machine, two dozen, would all connect anew every three seconds: a tenth of
    what a recall takes.
    """
    if own.connection_age_s is not None:
        return own.connection_age_s
    return JOINING_S if encrypted or host_of(own.listen) not in OWN_ADDRESS else STAYING_S


def host_of(listen: str) -> str:
    """Return the host of ``host:port``."""
    return listen.rpartition(":")[0]


def limits_of(settings: Settings) -> DoorLimits:
    """Return the bounds that these settings ask for."""
    own = settings.serve
    usual = AT_ONCE if settings.embedder.address and settings.reranker.address else AT_ONCE_HERE
    return DoorLimits(
        deadline_s=own.deadline_s,
        deadline_cap_s=own.deadline_cap_s,
        at_once=own.at_once or usual,
        in_flight=own.in_flight,
        coming=COMING,
        streams=own.streams,
    )


def check_listen(listen: str, *, exposed: bool = False) -> None:
    """Refuse an address that others could reach, as long as nothing asks them who they are.

    Raises:
        InvalidArgument: it is no ``host:port``, or the host is not this machine alone and may not be ``exposed``.

    """
    host, _, port = listen.rpartition(":")
    if not host or not is_port(port):
        raise InvalidArgument(FieldViolation("listen", f"{listen!r} is no host:port, such as 127.0.0.1:7070"))
    if exposed or host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        description = (
            f"{host} can be reached by others, and there is no authentication: use 127.0.0.1, [::1] or localhost, "
            "or turn it on: RECALLMESH_AUTH__MODE=on (docs/security.md)"
        )
        raise InvalidArgument(FieldViolation("listen", description))


def offer_metrics(port: int | None, listen: str, metrics: Metrics) -> None:
    """Offer the metrics on this port of the host that is listened on; without a port not at all."""
    if port is not None:
        start_http_server(port, host_of(listen), registry=metrics.registry)
