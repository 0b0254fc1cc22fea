"""The wire to a store: what listens at a place of the network, and passes on to a server on this machine's loopback."""

import asyncio
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

from faults.mesh.network import Place, within

CHUNK_BYTES = 65536


async def serve(wires: list[list[str]]) -> None:
    """Pass on until the process is killed. A wire is a holder of a namespace, a host and a port, and a port here."""
    async with asyncio.TaskGroup() as group:
        for holder, host, port, behind in wires:
            with within(int(holder)):
                listening = socket.create_server((host, int(port)), backlog=256)
            server = await asyncio.start_server(_passing(int(behind)), sock=listening)
            group.create_task(server.serve_forever())
        print("ready", flush=True)  # noqa: T201 - whoever started this waits for it


def _passing(port: int):
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_connection("127.0.0.1", port)
            both = (asyncio.create_task(_pass(reader, back)), asyncio.create_task(_pass(there, writer)))
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for one in both:
                one.cancel()
            back.close()
        writer.close()

    return take


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while got := await reader.read(CHUNK_BYTES):
            writer.write(got)
            await writer.drain()


def wire(place: Place, port: int, behind: int) -> str:
    """Return a wire as this programme takes it."""
    return f"{place.holder},{place.host},{port},{behind}"


async def start(wires: Mapping[str, str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start passing on by these wires."""
    words = ("setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-m", "faults.mesh.relay", *wires.values())
    running = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE, env=dict(environment))
    assert await running.stdout.readline()
    return running


if __name__ == "__main__":
    asyncio.run(serve([one.split(",") for one in sys.argv[1:]]))
