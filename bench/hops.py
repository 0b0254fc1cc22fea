"""What a hop of the mesh costs: its codec, its call, and every call of a recall in nine processes.

Run by ``make bench-hops``. Bytes do not depend on the machine, microseconds do: what is compared was measured in turns.
"""

import argparse
import asyncio
import gzip
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time
from typing import Any

import grpc.aio
from deployment import Mesh, open_in_process, open_nine

from bench import corpus, hop_server
from bench.codec import codec_costs, some_hits
from bench.mesh import BANK, PLAIN, fill
from bench.results import write_result
from bench.table import print_figures
from bench.usage import cpu_s, pace_ms
from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.hop import Hop
from recallmesh.rpc.arm import RemoteArm
from recallmesh.rpc.channel import Channel, open_channel
from recallmesh.rpc.codec.arm import hits_to_pb
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedArm
from recallmesh.tempo import keep_tempo

Figures = dict[str, float]
Call = Callable[[], Awaitable[Any]]
MS = timedelta(milliseconds=1)
WARM_UP = 100
ROUNDS = 5
"""Each of several kinds is measured in turns so often, so that a busy moment is nobody's alone."""
VECTOR = tuple(0.05 for _ in range(384))


@asynccontextmanager
async def other_end(kind: str, loop: str = "asyncio") -> AsyncIterator[tuple[int, int]]:
    """Start the other end of a hop; gives its port and its process."""
    words = ("-m", "bench.hop_server", kind, "--loop", loop)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    try:
        yield int(await process.stdout.readline()), process.pid
    finally:
        process.stdin.close()
        await process.wait()


def arm_call(channel: Channel, limit: int) -> Call:
    """Return the call that recall makes of an arm."""
    remote = RemoteArm(ArmName.KEYWORD, channel)
    arm = ObservedArm(remote, name=ArmName.KEYWORD, timeout_s=10, metrics=Metrics(), at="there")
    query = ArmQuery("0" * 32, "What did Mara say about the harbour?", vector=VECTOR, limit=limit)
    return lambda: arm.search(query)


def bare_call(channel: grpc.aio.Channel, size: int) -> Call:
    """Return a call of bytes by gRPC alone."""
    method: Any = channel.unary_unary(hop_server.BARE)
    request = size.to_bytes(4, "big") + b"x" * 1700
    return lambda: method(request, timeout=10)


async def taken(call: Call, count: int, server: int, *, at_once: int = 1) -> Figures:
    """Make calls, so many at once; returns their times, and the CPU of both ends, per call."""
    walls: list[float] = []
    left = iter(range(count))

    async def caller() -> None:
        for _ in left:
            begun = perf_counter()
            await call()
            walls.append(1000 * (perf_counter() - begun))

    own, theirs, begun = process_time(), cpu_s(server), perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    whole = perf_counter() - begun
    return {
        "p50 ms": median(walls),
        "calls/s": count / whole,
        "CPU of the caller, ms": 1000 * (process_time() - own) / count,
        "CPU of the called, ms": 1000 * (cpu_s(server) - theirs) / count,
    }


async def in_turns(kinds: dict[str, tuple[Call, int, int]], count: int) -> dict[str, Figures]:
    """Measure each kind (its call, its server's process, how many at once) again and again; returns the medians."""
    found = defaultdict[str, list[Figures]](list)
    for call, _, at_once in kinds.values():
        await asyncio.gather(*(call() for _ in range(max(WARM_UP, at_once))))
    for _ in range(ROUNDS):
        for name, (call, server, at_once) in kinds.items():
            found[name].append(await taken(call, count, server, at_once=at_once))
    return {name: {key: median(one[key] for one in each) for key in each[0]} for name, each in found.items()}


async def one_hop(count: int) -> dict[str, Figures]:
    """A hop as the mesh makes it against one by gRPC alone, by the size of its answer."""
    async with (
        other_end("ours") as (ours, ours_pid),
        other_end("bare") as (bare, bare_pid),
        open_channel(f"127.0.0.1:{ours}") as channel,
        grpc.aio.insecure_channel(f"127.0.0.1:{bare}") as plain,
    ):
        kinds = {}
        for size in hop_server.SIZES:
            raw = len(hits_to_pb(some_hits(size, phrases=True, cosines=True)).SerializeToString())
            kinds[f"{size} hits"] = (arm_call(channel, size or 1), ours_pid, 1)
            kinds[f"as many bytes ({raw}), gRPC alone"] = (bare_call(plain, raw), bare_pid, 1)
        return await in_turns(kinds, count)


async def channels(count: int) -> dict[str, Figures]:
    """One channel to a server against several, by how many calls there are at once."""
    found: dict[str, Figures] = {}
    async with other_end("ours") as (port, pid):
        for at_once in (1, 8, 32):
            kinds: dict[str, tuple[Call, int, int]] = {}
            async with _open_channels(port, 4) as four:
                for number in (1, 2, 4):
                    calls = [arm_call(channel, 100) for channel in four[:number]]
                    kinds[f"{at_once} at once, {number} channels"] = (_round(calls), pid, at_once)
                found |= await in_turns(kinds, count)
    return found


@asynccontextmanager
async def _open_channels(port: int, count: int) -> AsyncIterator[list[Channel]]:
    if not count:
        yield []
        return
    async with open_channel(f"127.0.0.1:{port}") as channel, _open_channels(port, count - 1) as others:
        yield [channel, *others]


def _round(calls: Sequence[Call]) -> Call:
    turn = cycle(calls)

    def call() -> Awaitable[Any]:
        return next(turn)()

    return call


async def compressed(count: int) -> dict[str, Figures]:
    """An answer of 600 hits as it is against one that gRPC compresses."""
    raw = hits_to_pb(some_hits(600, phrases=True, cosines=True)).SerializeToString()
    begun = perf_counter()
    for _ in range(ROUNDS):
        small = gzip.compress(raw, 6)
    packing = 1000 * (perf_counter() - begun) / ROUNDS
    begun = perf_counter()
    for _ in range(ROUNDS):
        gzip.decompress(small)
    unpacking = 1000 * (perf_counter() - begun) / ROUNDS
    async with other_end("ours") as (port, pid), open_channel(f"127.0.0.1:{port}") as channel:
        plain = await in_turns({"600 hits": (arm_call(channel, 600), pid, 1)}, count)
    wire_ms = {f"on the wire at {rate} Mbit/s, ms": 8 * len(raw) / rate / 1000 for rate in (100, 1000, 10_000)}
    less_ms = {f"on the wire at {rate} Mbit/s, ms": 8 * len(small) / rate / 1000 for rate in (100, 1000, 10_000)}
    return {
        "600 hits as they are": {"bytes": len(raw)} | wire_ms | {"hop, p50 ms": plain["600 hits"]["p50 ms"]},
        "600 hits by gzip": {"bytes": len(small)} | less_ms | {"to write, ms": packing, "to read, ms": unpacking},
    }


def loops(count: int) -> dict[str, Figures]:
    """Asyncio's event loop at both ends against uvloop's, in turns."""
    found = defaultdict[str, list[Figures]](list)
    kinds = [name for name in ("asyncio", "uvloop") if name == "asyncio" or find_spec("uvloop")]
    for _ in range(ROUNDS):
        for loop in kinds:
            hop_server.run(lambda loop=loop: _on_loop(loop, count, found), loop)  # type: ignore[misc]
    return {name: {key: median(one[key] for one in each) for key in each[0]} for name, each in found.items()}


async def _on_loop(loop: str, count: int, found: dict[str, list[Figures]]) -> None:
    async with other_end("ours", loop) as (port, pid), open_channel(f"127.0.0.1:{port}") as channel:
        for size, at_once in ((0, 1), (600, 1), (100, 8)):
            call = arm_call(channel, size or 1)
            await asyncio.gather(*(call() for _ in range(WARM_UP)))
            said = f"{loop}, {size} hits, {at_once} at once"
            found[said].append(await taken(call, count, pid, at_once=at_once))


async def of_recall(size: int, queries: int) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """Every call of a recall in one process and in nine; and the CPU of a recall, process by process."""
    items = list(corpus.items(size, corpus.load_vocabulary()))
    texts = [str(item.content[0]) for item in items]
    asked = [replace(one, tuning=PLAIN) for one in corpus.questions(texts, 2 * queries, BANK)]
    hops: dict[str, Figures] = {}
    shares: dict[str, Figures] = {}
    for kind, opening in {"one process": open_in_process, "nine processes": open_nine}.items():
        with tempfile.TemporaryDirectory() as folder:
            async with opening(Path(folder)) as mesh:
                await fill(mesh, items)
                for one in asked[:queries]:
                    await mesh.faces.recaller.recall(one)
                shares[kind] = await _shares(mesh, asked[queries:])
                hops |= {f"{kind}: {name}": one for name, one in (await _hops(mesh, asked[queries:])).items()}
    return hops, shares


async def _shares(mesh: Mesh, asked: Sequence[Any]) -> Figures:
    pids = {name: process.running.pid for name, process in mesh.processes.items() if process.running}
    before, own, walls = {name: cpu_s(pid) for name, pid in pids.items()}, process_time(), []
    for one in asked:
        begun = perf_counter()
        await mesh.faces.recaller.recall(one)
        walls.append(1000 * (perf_counter() - begun))
    spent = {f"CPU of {name}, ms": 1000 * (cpu_s(pid) - before[name]) / len(asked) for name, pid in pids.items()}
    own_ms = 1000 * (process_time() - own) / len(asked)
    return {"recall, p50 ms": median(walls), "CPU of the caller, ms": own_ms} | spent


async def _hops(mesh: Mesh, asked: Sequence[Any]) -> dict[str, Figures]:
    found = defaultdict[str, list[Hop]](list)
    for one in asked:
        answer = await mesh.faces.recaller.recall(replace(one, trace=True))
        for hop in answer.trace.hops if answer.trace else ():
            found[f"{hop.part} {hop.method}"].append(hop)
    return {
        name: {
            "a recall": len(each) / len(asked),
            "ms": median(hop.duration / MS for hop in each),
            "wire, ms": median(hop.wire / MS for hop in each if hop.wire is not None),
            "sent, bytes": mean(hop.sent or 0 for hop in each),
            "received, bytes": mean(hop.received or 0 for hop in each),
        }
        for name, each in found.items()
    }


def show(found: dict[str, Figures]) -> None:
    """Print a part's figures."""
    heads = list(dict.fromkeys(key for each in found.values() for key in each))
    print_figures(
        ("", *heads),
        [(name, *(f"{each[head]:,.3g}" if head in each else "" for head in heads)) for name, each in found.items()],
    )
    print()


PARTS = ("codec", "hop", "channels", "gzip", "loop", "recall")


def measured(words: argparse.Namespace) -> dict[str, dict[str, Figures]]:
    """Measure what was asked for."""
    found: dict[str, dict[str, Figures]] = {}
    plain: dict[str, Callable[[], dict[str, Figures]]] = {
        "codec": codec_costs,
        "hop": lambda: asyncio.run(one_hop(words.calls)),
        "channels": lambda: asyncio.run(channels(words.calls)),
        "gzip": lambda: asyncio.run(compressed(words.calls)),
        "loop": lambda: loops(words.calls),
    }
    for part in words.parts:
        if part == "recall":
            found["hops of a recall"], found["recall"] = asyncio.run(of_recall(words.size, words.queries))
            show(found["hops of a recall"])
            show(found["recall"])
        else:
            found[part] = plain[part]()
            show(found[part])
    return found


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.hops", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--calls", type=int, default=300, metavar="N", help="calls of each kind and turn")
    parser.add_argument("--size", type=int, default=2000, metavar="N", help="memories in the bank")
    parser.add_argument("--queries", type=int, default=100, metavar="N", help="questions")
    parser.add_argument("--out", default="hops", metavar="NAME", help="name of the result file")
    words = parser.parse_args()
    words.parts = words.parts or PARTS
    if unknown := set(words.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    set_up_logging(level="error")
    keep_tempo()
    setup = {key: getattr(words, key) for key in ("calls", "size", "queries")} | {"pace_ms_before": pace_ms()}
    found = measured(words)
    setup |= {"pace_ms_after": pace_ms()}
    print(f"written to {write_result(words.out, {'setup': setup, **found}).name} in bench/results")


if __name__ == "__main__":
    main()
