"""``recallmesh mcp``: the mesh as tools for agents."""

import argparse
import asyncio
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from recallmesh.cli.address import address_of, folder
from recallmesh.cli.advice import lines_of
from recallmesh.cli.places import open_place, own_key
from recallmesh.core.errors import MeshError, NotReady
from recallmesh.extra import needing
from recallmesh.mesh import PUBLIC
from recallmesh.rpc.listening import bound
from recallmesh.rpc.tls import open_tls
from recallmesh.serve import check_listen, offer_metrics
from recallmesh.settings import load_settings
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics
from recallmesh.tools import BankChoice, Ports, Toolbox
from recallmesh.tools.toolbox import CALL_S, TOOLS
from recallmesh.traces import open_tracing

ANY = "*"
GREETING_S = 0.2
"""What an agent that has just started this process gets, in seconds, to be answered before the models are loaded: that
takes two seconds of a processor, and some agents give up after ten on a machine that is busy with starting them all."""
FROM_A_TERMINAL = """\
recallmesh: this speaks the Model Context Protocol on standard input and output: an agent starts it
  how an agent is told to: recallmesh mcp --help      stop: Ctrl-C"""


async def run(words: argparse.Namespace) -> int:
    """Serve one agent on standard input and output, or any number over HTTP, until told to stop."""
    with needing("mcp", "mcp", "the Model Context Protocol's SDK"):
        from recallmesh.tools import mcp, uvicorn  # noqa: PLC0415 - of an extra

    stop = _told_to_stop()
    async with (
        _listening(words) as place,
        _telling(words, served=place is not None) as guard,
        _opening(words, GREETING_S if place is None else 0.0) as opening,
    ):
        banks = BankChoice(tuple(dict.fromkeys(words.bank)), create=words.create_bank)
        toolbox = Toolbox(opening.ports, banks, read_only=words.read_only, guard=guard)
        if place is not None:
            await _until(stop, opening.keeping, opening.ports())
            host, port = words.listen.rpartition(":")[0], place.taken.getsockname()[1]
            hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
            hosts = [] if ANY in words.host else [*hosts, *words.host, *(f"{name}:*" for name in words.host)]
            if not stop.is_set():
                scheme = "http" if place.context is None else "https"
                print(f"recallmesh offers tools on {scheme}://{host}:{port}{mcp.PATH}", flush=True)
            await uvicorn.serve_http(mcp.http_app(toolbox, hosts), [place.taken], stop, context=place.context)
            return 0
        if sys.stdin.isatty():
            print(FROM_A_TERMINAL, file=sys.stderr)
        # What is served in this context bears it; over HTTP each request bears its own.
        with own_key(words):
            await _until(stop, opening.keeping, mcp.serve_stdio(toolbox))
    return 1 if opening.failed else 0


@asynccontextmanager
async def _telling(words: argparse.Namespace, *, served: bool) -> AsyncIterator[Guard]:
    """Guard the tools; those served over HTTP are measured and traced as the settings say, as other processes are."""
    if not served:
        yield Guard(TOOLS, timeout_s=CALL_S, metrics=Metrics())
        return
    settings = load_settings()
    async with open_tracing(settings.tracing, ("mcp",)) as tracing:
        metrics = Metrics(tracing)
        offer_metrics(settings.serve.metrics_port, words.listen, metrics)
        yield Guard(TOOLS, timeout_s=CALL_S, metrics=metrics)


@dataclass(frozen=True, slots=True)
class Listening:
    """An address that was taken, and what encrypts what is said there; nothing: it is not encrypted."""

    taken: socket.socket
    context: ssl.SSLContext | None


@asynccontextmanager
async def _listening(words: argparse.Namespace) -> AsyncIterator[Listening | None]:
    """Take the address before anything is built: what is taken already is told at once."""
    if not words.listen:
        yield None
        return
    settings = load_settings(data=folder(words.data))
    # What is in this process asks nobody; what is elsewhere is given each caller's own key.
    elsewhere = bool(address_of(words)) or all(getattr(settings, part.value).address for part in PUBLIC)
    check_listen(words.listen, exposed=elsewhere and settings.auth.mode == "on")
    files = settings.tls.serving
    async with AsyncExitStack() as stack:
        live = None if files is None else await stack.enter_async_context(open_tls(files))
        with bound(words.listen, "listen") as taken:
            yield Listening(taken, None if live is None else live.http_context())


@dataclass(frozen=True, slots=True)
class Opening:
    """A mesh that is being opened, and then kept open."""

    opened: asyncio.Future[Ports]
    keeping: asyncio.Task[None]

    @property
    def failed(self) -> bool:
        """Whether it could not be opened."""
        return self.opened.done() and not self.opened.cancelled() and self.opened.exception() is not None

    async def ports(self) -> Ports:
        """Wait until it is open; raises what was wrong."""
        return await asyncio.shield(self.opened)


@asynccontextmanager
async def _opening(words: argparse.Namespace, after_s: float) -> AsyncIterator[Opening]:
    """Open the mesh after so many seconds, beside what is done meanwhile; one task opens and closes it.

    An agent that has been greeted hears from its calls why it cannot be opened: nobody reads what a process that ends
    has said to its standard error.
    """
    opened: asyncio.Future[Ports] = asyncio.get_running_loop().create_future()
    closing = asyncio.Event()

    async def keep() -> None:
        await asyncio.sleep(after_s)
        try:
            async with open_place(words) as faces:
                opened.set_result(Ports(faces.recaller, faces.retainer, faces.admin))
                await closing.wait()
        except MeshError as error:
            if opened.done() or not after_s:
                raise
            lines = list(lines_of(error, words))
            print("\n".join(lines), file=sys.stderr)
            opened.set_exception(NotReady("; ".join(line.strip().removeprefix("recallmesh: ") for line in lines)))
            await closing.wait()

    keeping = asyncio.create_task(keep())
    try:
        yield Opening(opened, keeping)
    finally:
        closing.set()
        if not opened.done():
            keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


def _told_to_stop() -> asyncio.Event:
    """Return what is set by the first SIGTERM or SIGINT; the second ends the process at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def told() -> None:
        stop.set()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(name)

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, told)
    return stop


async def _until(stop: asyncio.Event, keeping: asyncio.Task[None], work: Coroutine[Any, Any, object]) -> None:
    """Do some work until it is done, the process is told to stop, or the mesh could not be opened, which is raised."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait((working, stopping, keeping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    working.cancel()
    try:
        await working
    except* BrokenPipeError:
        # The agent went away without a word.
        pass
    except* asyncio.CancelledError:
        pass
    if keeping in done:
        keeping.result()
