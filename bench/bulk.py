"""What `recallmesh retain --file` takes at two lengths of file: its rate, and whether its memory grows."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from bench import corpus
from bench.hashed import HashedEmbedder
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh.rpc.embedder import host_embedder
from recallmesh.rpc.server import open_server

COMMAND = Path(sys.executable).with_name("recallmesh")
SIZES = (20_000, 100_000)
READY = "recallmesh serves"
MIB = 1024
"""KiB, in which the kernel counts."""


@asynccontextmanager
async def open_mesh(folder: Path) -> AsyncIterator[str]:
    """Serve a mesh in a process of its own, whose embedder is the hashed one in this process."""
    async with open_server("127.0.0.1:0", [host_embedder(HashedEmbedder())], drain_s=0) as embedder:
        environment = clean() | {
            "RECALLMESH_EMBEDDER__ADDRESS": f"127.0.0.1:{embedder.port}",
            "RECALLMESH_RERANKER__BACKEND": "none",
            "RECALLMESH_LOG_LEVEL": "warning",
        }
        words = [
            "serve",
            "semantic",
            "keyword",
            "graph",
            "temporal",
            "recall",
            "retain",
            "bank",
            "--listen",
            "127.0.0.1:0",
        ]
        serving = await asyncio.create_subprocess_exec(
            COMMAND, *words, "--data", folder / "mesh", env=environment, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert serving.stdout is not None
            while READY not in (line := (await serving.stdout.readline()).decode()):
                assert line, "the mesh did not start"
            yield line.rpartition(" on ")[2].strip()
        finally:
            serving.terminate()
            await serving.wait()


def clean() -> dict[str, str]:
    """Return the environment without settings of the mesh."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}


def write_lines(path: Path, count: int) -> None:
    """Write so many lines of the synthetic corpus."""
    with path.open("w", encoding="utf-8") as file:
        for item in corpus.items(count, corpus.load_vocabulary()):
            time = item.time.isoformat() if item.time else None
            said = {"content": item.content[0], "time": time, "context": item.context}
            file.write(json.dumps(said) + "\n")


def retain(address: str, file: Path, bank: str, state: Path) -> tuple[float, float]:
    """Run the command; returns its seconds and the most MiB it had resident."""
    words = [str(COMMAND), "retain", "--server", address, "--bank", bank, "--mode", "chunks", "--file", str(file)]
    began = perf_counter()
    running = subprocess.Popen(words, env=clean() | {"XDG_STATE_HOME": str(state)}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return perf_counter() - began, usage.ru_maxrss / MIB


async def run(words: argparse.Namespace) -> None:
    """Measure, print and write down."""
    figures: dict[str, dict[str, float]] = {}
    setup = {"embedder": "hashed words, in another process", "pace_ms_before": pace_ms()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with open_mesh(folder) as address:
            for size in words.sizes:
                file = folder / f"{size}.jsonl"
                await asyncio.to_thread(write_lines, file, size)
                seconds, peak = await asyncio.to_thread(retain, address, file, f"bulk-{size}", folder / "state")
                figures[str(size)] = {"items/s": size / seconds, "the command's memory, MiB at most": peak}
                print(f"{size:,} lines done", file=sys.stderr)
    setup["pace_ms_after"] = pace_ms()
    names = next(iter(figures.values()))
    rows = [(one, *(f"{found[one]:,.0f}" for found in figures.values())) for one in names]
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
