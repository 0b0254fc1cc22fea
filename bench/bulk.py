"""What `recallmesh retain --file` itself takes of files of several lengths: its rate, and whether its memory grows.

The mesh it talks to answers at once and keeps nothing, so that all that is measured is the command's own.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from bench import corpus
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh.core.arm import ArmName
from recallmesh.core.retain import BatchAnswer, Delivery, DeliveryState, RetainAnswer, RetainedItem, RetainRequest
from recallmesh.mesh import Part, open_assembly
from recallmesh.retain.bulk import BulkLine
from recallmesh.rpc.admin import host_admin
from recallmesh.rpc.retainer import host_retainer
from recallmesh.rpc.server import open_server
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

COMMAND = Path(sys.executable).with_name("recallmesh")
SIZES = (20_000, 100_000, 300_000)
ID = "0" * 36
"""As long as a real one."""
STORED = tuple(Delivery(arm, DeliveryState.STORED) for arm in ArmName)
LOOK_S = 0.05
KIB = 1024


class AtOnce:
    """A retainer that says of everything that it is kept."""

    async def retain(self, request: RetainRequest) -> RetainAnswer:
        """Answer."""
        return RetainAnswer(tuple(RetainedItem(ID, (ID,)) for _ in request.items), STORED)

    def stream(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """Answer each batch, with a few in hand as the real one."""
        return BulkLine(self.retain, 4, None).run(requests)


@asynccontextmanager
async def open_mesh(folder: Path) -> AsyncIterator[str]:
    """Serve that retainer, and banks."""
    async with open_assembly(load_settings(data=folder), frozenset({Part.BANK})) as assembly:
        parts = [host_retainer(AtOnce()), host_admin(await assembly.admin())]
        async with open_server("127.0.0.1:0", parts, drain_s=0) as running:
            yield f"127.0.0.1:{running.port}"


def write_lines(path: Path, count: int) -> None:
    """Write so many lines of the synthetic corpus."""
    with path.open("w", encoding="utf-8") as file:
        for item in corpus.items(count, corpus.load_vocabulary()):
            time = item.time.isoformat() if item.time else None
            file.write(json.dumps({"content": item.content[0], "time": time, "context": item.context}) + "\n")


async def retain(address: str, file: Path, bank: str, state: Path) -> tuple[float, float]:
    """Run the command; returns its seconds and the most MiB it had resident."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}
    words = ("retain", "--server", address, "--bank", bank, "--file", file)
    began = perf_counter()
    running = await asyncio.create_subprocess_exec(
        COMMAND, *words, env=kept | {"XDG_STATE_HOME": str(state)}, stdout=asyncio.subprocess.DEVNULL
    )
    # Looked at while it runs: what the kernel tells afterwards counts the process that started it too.
    ended, peak = asyncio.create_task(running.wait()), 0.0
    while not ended.done():
        peak = max(peak, peak_mib(running.pid))
        await asyncio.wait({ended}, timeout=LOOK_S)
    assert running.returncode == 0
    return perf_counter() - began, peak


def peak_mib(pid: int) -> float:
    """Return the most that a process has had resident since it began."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return max((int(line.split()[1]) / KIB for line in lines if line.startswith("VmHWM:")), default=0.0)


async def run(words: argparse.Namespace) -> None:
    """Measure, print and write down."""
    set_up_logging(level="warning")
    figures: dict[str, dict[str, float]] = {}
    setup = {"pace_ms_before": pace_ms()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with open_mesh(folder / "mesh") as address:
            for size in words.sizes:
                file = folder / f"{size}.jsonl"
                await asyncio.to_thread(write_lines, file, size)
                seconds, peak = await retain(address, file, f"bulk-{size}", folder / "state")
                figures[str(size)] = {"lines/s": round(size / seconds), "memory, MiB at most": round(peak, 1)}
                print(f"{size:,} lines done", file=sys.stderr)
    setup["pace_ms_after"] = pace_ms()
    rows = [(one, *(f"{found[one]:,}" for found in figures.values())) for one in next(iter(figures.values()))]
    print_figures(("figure", *(f"{int(size):,}" for size in figures)), rows)
    print(f"\nwritten to {write_result(words.out, {'setup': setup, 'figures': figures}).name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.bulk", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="lines of the file")
    parser.add_argument("--out", default="bulk", metavar="NAME", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
