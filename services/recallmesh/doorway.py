# ruff: noqa: PLC0415 - Starlette and uvicorn are of an extra, which only a process with a door needs
"""Opens the JSON door of a process: to the services in it, and to those elsewhere that its settings name."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.extra import needing
from recallmesh.mesh import PUBLIC, Part
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.door import Door
from recallmesh.rpc.gateway import JsonGateway
from recallmesh.rpc.listening import bound
from recallmesh.rpc.tls import open_tls
from recallmesh.serve import check_listen, host_of, limits_of, offer_metrics, stop_signal
from recallmesh.settings import Settings
from recallmesh.telemetry.loop_lag import loop_watched
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed_gateway import ObservedGateway
from recallmesh.traces import open_tracing


async def serve_door(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve the door alone until SIGTERM or SIGINT; ``started`` is told where it listens."""
    stop = stop_signal()
    async with AsyncExitStack() as stack:
        metrics = Metrics(await stack.enter_async_context(open_tracing(settings.tracing, ("door",))))
        await stack.enter_async_context(loop_watched(metrics))
        listens = await stack.enter_async_context(open_door(settings, metrics))
        offer_metrics(settings.serve.metrics_port, settings.door.listen, metrics)
        started(listens)
        await stop.wait()


@asynccontextmanager
async def open_door(
    settings: Settings, metrics: Metrics, here: frozenset[Part] = frozenset(), own: str = ""
) -> AsyncIterator[str]:
    """Open the door, and close it when the context is left; gives the URL, up to the port, where it listens.

    The parts ``here`` are asked at ``own``, the address of this process's server; the others where they are.

    Raises:
        InvalidArgument: it is not known where a part is, or the door cannot listen there.

    """
    with needing("door", "door", "the JSON door"):
        from recallmesh.door.starlette import build_app
        from recallmesh.door.uvicorn import open_server
    from recallmesh.door.calls import Leaving

    door, serve = settings.door, settings.serve
    check_listen(door.listen, exposed=door.exposed or settings.auth.mode == "on")
    places = {part: own if part in here else place(settings, part) for part in PUBLIC}
    tls, told = settings.tls, metrics.observe_certificate
    async with AsyncExitStack() as stack:
        serving = None if tls.serving is None else await stack.enter_async_context(open_tls(tls.serving, told=told))
        calling = None if tls.calling is None else await stack.enter_async_context(open_tls(tls.calling, told=told))
        channels = {
            at: await stack.enter_async_context(open_channel(at, tls=None if at == own else calling))
            for at in sorted(set(places.values()))
        }
        reached = {part.value: channels[at] for part, at in places.items()}
        gateway = ObservedGateway(JsonGateway(**reached, door=Door(limits_of(settings))), metrics=metrics)
        leaving = Leaving()
        app = build_app(
            gateway,
            leaving,
            heartbeat_s=door.heartbeat_s,
            hosts=door.hosts | {host_of(door.listen).strip("[]").lower()},
            cors_origins=door.cors_origins,
            observe=metrics.observe_http,
        )
        taken = bound(door.listen, "door.listen")
        await stack.enter_async_context(
            open_server(
                app,
                leaving,
                taken,
                drain_s=serve.drain_s,
                grace_s=serve.grace_s,
                context=None if serving is None else serving.http_context(),
            )
        )
        scheme = "http" if serving is None else "https"
        yield f"{scheme}://{host_of(door.listen)}:{taken.getsockname()[1]}"


def place(settings: Settings, part: Part) -> str:
    """Return where a part is that is not in this process.

    Raises:
        InvalidArgument: the settings do not say.

    """
    found = getattr(settings, part.value).address or settings.door.server
    if not found:
        description = (
            f"it is not known where {part.value} is: set RECALLMESH_{part.upper()}__ADDRESS, or "
            "RECALLMESH_DOOR__SERVER to a mesh that has all of them, or serve it beside: recallmesh serve all door"
        )
        raise InvalidArgument(FieldViolation("door", description))
    return str(found)
