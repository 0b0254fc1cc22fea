"""How fast the embedded mesh retains and recalls, and how that compares with a bare baseline in the same run."""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench import corpus
from bench.hashed import HashedEmbedder, MeteredEmbedder
from bench.loading import measure_bulk
from bench.recalling import measure_fresh, measure_recall
from bench.results import write_result
from bench.retaining import measure_retain
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh import encoders
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import Embedder
from recallmesh.mesh import open_assembly
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics

SIZES = (1_000, 10_000)
"""Together some five minutes on two cores; a hundred thousand are left to who asks for them."""
REAL_UP_TO = 10_000
"""Memories up to which the packaged model embeds: two vectors each, at about 300 texts a second."""
BANK = BankRef("bench")
Figures = dict[str, float | str]


@asynccontextmanager
async def open_embedder(settings: Settings, *, fake: bool) -> AsyncIterator[Embedder]:
    """Open the hashed embedder or the packaged model."""
    if fake:
        yield HashedEmbedder()
        return
    async with encoders.open_embedder_here(settings, Metrics()) as embedder:
        yield embedder


async def measure(size: int, *, queries: int, reranked: int, fake: bool) -> Figures:
    """Retain so many memories in a fresh mesh, ask it, and ask the baseline."""
    items = list(corpus.items(size, corpus.load_vocabulary()))
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder) / "mesh")
        async with open_embedder(settings, fake=fake) as embedder:
            metered = MeteredEmbedder(embedder)
            async with open_assembly(settings, frozenset(), embedder=metered) as assembly:
                found: Figures = {"embedder": "hashed words" if fake else "packaged model"}
                found |= await measure_retain(assembly, BANK, items, metered, Path(folder))
                found |= await measure_bulk(assembly, items, metered)
                found |= await measure_fresh(assembly, BANK, items, queries // 2)
            # A bank is mostly asked by a process that opened it, not by the one that just filled it.
            async with open_assembly(settings, frozenset(), embedder=metered) as assembly:
                found |= await measure_recall(assembly, BANK, items, metered, (queries, reranked))
        found |= resident(settings.data, fake=fake)
    return found


def resident(data: Path, *, fake: bool) -> Figures:
    """Open the mesh in a process of its own, ask it, and return what it holds of memory."""
    words = [sys.executable, "-m", "bench.resident", str(data), *(["--fake-embedder"] if fake else [])]
    answer = subprocess.run(words, check=True, capture_output=True, text=True)
    told: Figures = json.loads(answer.stdout)
    return told


def show(measured: dict[str, Figures]) -> None:
    """Print a line a figure and a column a size."""
    names = dict.fromkeys(name for figures in measured.values() for name in figures)
    rows = [(name, *(_cell(figures.get(name, "")) for figures in measured.values())) for name in names]
    print_figures(("figure", *(f"{int(size):,}" for size in measured)), rows)


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


async def run(words: argparse.Namespace) -> None:
    """Measure, print and write down."""
    set_up_logging(level="warning")
    setup: dict[str, Any] = {"queries": words.queries, "reranked": words.reranked, "budget": "mid", "mode": "chunks"}
    setup["pace_ms_before"] = pace_ms()
    measured: dict[str, Figures] = {}
    for size in words.sizes:
        fake = words.fake_embedder or (size > REAL_UP_TO and not words.real_embedder)
        measured[str(size)] = await measure(size, queries=words.queries, reranked=words.reranked, fake=fake)
        print(f"{size:,} memories done", file=sys.stderr)
    setup["pace_ms_after"] = pace_ms()
    show(measured)
    path = write_result(words.out, {"setup": setup, "figures": measured})
    print(f"\nwritten to {path.name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.speed", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="memories in the bank")
    parser.add_argument("--queries", type=int, default=100, metavar="N", help="questions asked without reranking")
    parser.add_argument("--reranked", type=int, default=3, metavar="N", help="questions asked with reranking")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fake-embedder", action="store_true", help="hashed words instead of the model, at any size")
    which.add_argument(
        "--real-embedder", action="store_true", help=f"the model at any size; by default up to {REAL_UP_TO:,} memories"
    )
    parser.add_argument("--out", default="speed", metavar="NAME", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
