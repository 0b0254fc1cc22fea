"""``recallmesh mcp``: the mesh as tools for agents."""

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Coroutine
from typing import Any

from recallmesh.cli.places import open_place
from recallmesh.client import Client
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.extra import needing
from recallmesh.serve import check_listen
from recallmesh.tools import BankChoice, Ports, Toolbox

BACKLOG = 128
FROM_A_TERMINAL = """\
recallmesh: this speaks the Model Context Protocol on standard input and output: an agent starts it
  how an agent is told to: recallmesh mcp --help      stop: Ctrl-C"""


async def run(words: argparse.Namespace) -> int:
    """Serve one agent on standard input and output, or any number over HTTP, until told to stop."""
    with needing("mcp", "mcp", "the Model Context Protocol's SDK"):
        from recallmesh.tools import mcp, uvicorn  # noqa: PLC0415 - of an extra

    sockets = [_socket(words.listen)] if words.listen else []
    stop = _told_to_stop()
    async with open_place(words) as faces:
        toolbox = _toolbox(words, faces)
        if not sockets:
            await _serve_stdio(mcp.serve_stdio(toolbox), stop)
            return 0
        host, port = words.listen.rpartition(":")[0], sockets[0].getsockname()[1]
        hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        print(f"recallmesh offers tools on http://{host}:{port}{mcp.PATH}", flush=True)
        await uvicorn.serve_http(mcp.http_app(toolbox, hosts), sockets, stop)
    return 0


def _toolbox(words: argparse.Namespace, faces: Client) -> Toolbox:
    banks = BankChoice(tuple(dict.fromkeys(words.bank)), create=words.create_bank)
    ports = Ports(faces.recaller, faces.retainer, faces.admin)
    return Toolbox(ports, banks, read_only=words.read_only)


def _socket(listen: str) -> socket.socket:
    """Take the address before anything is built: what is taken already is told at once.

    Raises:
        InvalidArgument: it is no address of this machine alone, or cannot be had.

    """
    check_listen(listen)
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    try:
        return socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        raise InvalidArgument(FieldViolation("listen", f"cannot listen on {listen}: {error.strerror}")) from error


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


async def _serve_stdio(serving: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
    """Serve until the agent has closed its end, or the process is told to stop."""
    if sys.stdin.isatty():
        print(FROM_A_TERMINAL, file=sys.stderr)
    work, stopping = asyncio.create_task(serving), asyncio.create_task(stop.wait())
    await asyncio.wait((work, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    work.cancel()
    try:
        await work
    except* BrokenPipeError:
        # The agent went away without a word.
        pass
    except* asyncio.CancelledError:
        pass
