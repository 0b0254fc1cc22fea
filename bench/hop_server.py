# ruff: noqa: ARG002 - the port names them
"""The other end of a hop: a process that answers searches with as many hits as are asked for, and does nothing else.

``bare`` answers the same bytes by gRPC alone: what is above that is ours.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

import grpc
import grpc.aio

from bench.codec import some_hits
from recallmesh.core.arm import ArmName, ArmQuery, Hit, Indexed, IndexEntry, Removal
from recallmesh.core.page import Page, PageRequest
from recallmesh.rpc.arm import host_arms
from recallmesh.rpc.server import open_server
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedArm
from recallmesh.tempo import keep_tempo

SEARCH = "/recallmesh.v1.ArmService/Search"
BARE = "/bench.Bare/Search"
SIZES = (0, 100, 600)


class ReadyArm:
    """Has its hits at hand."""

    def __init__(self) -> None:
        """Make them."""
        self._hits = {size: some_hits(size, phrases=True, cosines=True) for size in SIZES}

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Return as many as are asked for, none for 1."""
        return self._hits.get(query.limit, ())

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Do nothing."""

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Do nothing."""

    async def drop(self, bank_uid: str) -> None:
        """Do nothing."""

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """Have nothing."""
        return Page((), "")

    async def check(self) -> None:
        """Be ready."""


async def serve_ours() -> None:
    """Serve as a process of the mesh does, until standard input ends."""
    set_up_logging(level="error")
    metrics = Metrics()
    arm = ObservedArm(ReadyArm(), name=ArmName.KEYWORD, timeout_s=10, metrics=metrics)
    async with open_server(
        "127.0.0.1:0",
        [host_arms({ArmName.KEYWORD.value: arm})],
        observe=metrics.observe_rpc,
        span=metrics.span_of_call,
        connection_age_s=3600,  # as on one machine
        drain_s=0,
        grace_s=0.1,
    ) as server:
        await _until_told(server.port)


async def serve_bare() -> None:
    """Serve bytes by gRPC alone: the first four of a request say how many."""

    async def answer(request: bytes, _context: object) -> bytes:
        return b"x" * int.from_bytes(request[:4], "big")

    server = grpc.aio.server()
    handler: Any = grpc.unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Bare", {"Search": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await _until_told(port)
    await server.stop(0.1)


async def _until_told(port: int) -> None:
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)


def run(main: Callable[[], Coroutine[Any, Any, None]], loop: str) -> None:
    """Run on asyncio's own event loop, or on uvloop's."""
    if loop == "uvloop":
        with asyncio.Runner(loop_factory=import_module("uvloop").new_event_loop) as runner:
            runner.run(main())
    else:
        asyncio.run(main())


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="bench.hop_server", description=__doc__)
    parser.add_argument("kind", choices=("ours", "bare"))
    parser.add_argument("--loop", choices=("asyncio", "uvloop"), default="asyncio")
    words = parser.parse_args()
    keep_tempo()
    run(serve_ours if words.kind == "ours" else serve_bare, words.loop)


if __name__ == "__main__":
    main()
