"""What a growing bank costs: one bank is filled step by step, and at each size single retains and recalls are timed.

The question it answers: does a write cost more the more is known (SPEC T7 bounds the links of a memory)? Hashed words
take the embedder's place: a model's time does not depend on the bank, and would hide what does. What it takes is
measured once beside, and added where a retain is compared as its caller sees it. Vector graphs that a load made
due are built first: meanwhile, a minute of an idle core for 100,000 memories, every search compares what is in none.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from bench import corpus
from bench.clock import Clock
from bench.hashed import HashedEmbedder
from bench.recalling import PLAIN, ask
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh import encoders
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.retain import Retainer, RetainItem, RetainRequest
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics

SIZES = (1_000, 10_000, 100_000)
BATCH = 1_000
"""Items of a call while the bank is filled."""
CALL = 20
"""Items of one of the timed calls of many: a page of conversation."""
WARM_UP = 5
BEGUN_S = 3.0
"""Seconds without a call after which a build that is due has begun."""
BANK = BankRef("growth")
CHUNKS = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))


async def fill(retainer: Retainer, items: Sequence[RetainItem]) -> float:
    """Retain items in calls of a thousand; returns items a second."""
    clock = Clock()
    for first in range(0, len(items), BATCH):
        with clock.taking():
            await retainer.retain(RetainRequest(BANK, tuple(items[first : first + BATCH])))
    return len(items) / sum(clock.walls) * 1000


async def timed(retainer: Retainer, calls: Sequence[tuple[RetainItem, ...]]) -> Clock:
    """Retain call by call; the first few are not counted."""
    clock = Clock()
    for number, items in enumerate(calls):
        if number < WARM_UP:
            await retainer.retain(RetainRequest(BANK, items))
            continue
        with clock.taking():
            await retainer.retain(RetainRequest(BANK, items))
    return clock


async def settle(data: Path) -> float:
    """Wait until no vector graph is being built beside the one in use; returns the seconds."""
    begun = perf_counter()
    while True:
        await asyncio.sleep(BEGUN_S)
        shards = await asyncio.to_thread(lambda: list(data.glob("vectors/*/shard-*")))
        if len(shards) <= 1:
            return perf_counter() - begun


async def measure(
    assembly: Assembly, data: Path, items: Sequence[RetainItem], known: int, calls: int
) -> dict[str, float]:
    """Fill the bank with what follows the ``known`` first items, and time it at the size that is reached."""
    retainer = await assembly.retainer()
    due = (calls + WARM_UP) * (1 + CALL)
    filling, last = items[known:-due], items[-due:]
    rate = await fill(retainer, filling)
    settled = await settle(data)
    # Each call brings documents of its own: with an old name they would be its new content.
    alone = [(replace(item, document_id=""),) for item in last[: calls + WARM_UP]]
    rest = last[calls + WARM_UP :]
    pages = [tuple(rest[first : first + CALL]) for first in range(0, len(rest), CALL)]
    pages = [
        tuple(replace(item, document_id=f"{item.document_id}-{number}") for item in page)
        for number, page in enumerate(pages)
    ]
    one, many = await timed(retainer, alone), await timed(retainer, pages)
    texts = [str(item.content[0]) for item in items]
    questions = [replace(each, tuning=PLAIN) for each in corpus.questions(texts, calls, BANK)]
    await ask(assembly, questions[:WARM_UP])
    clock, _ = await ask(assembly, questions)
    return {
        "retain in thousands, items/s": rate,
        "then until its graphs are built, s": settled,
        "retain one item, p50 ms": one.p50,
        "retain one item, p95 ms": one.p95,
        "retain one item, CPU ms": one.cpu_each,
        f"retain {CALL} items, p50 ms": many.p50,
        f"retain {CALL} items, p95 ms": many.p95,
        f"retain {CALL} items, CPU ms": many.cpu_each,
        "recall, p50 ms": clock.p50,
        "recall, p95 ms": clock.p95,
        "recall, CPU ms": clock.cpu_each,
    }


async def model_ms(items: Sequence[RetainItem]) -> dict[int, float]:
    """Return how long the packaged model embeds what one item, and a page of them, have it embed."""
    texts = [str(item.content[0]) for item in items[:CALL]]
    found: dict[int, float] = {}
    async with encoders.open_embedder_here(load_settings(), Metrics()) as embedder:
        for count in (1, CALL):
            both = (*texts[:count], *(f"{before}\n{text}" for before, text in pairwise(texts[:count])))
            clock = Clock()
            for _ in range(WARM_UP):
                with clock.taking():
                    await embedder.embed(both, EmbedKind.PASSAGE)
            found[count] = clock.p50
    return found


async def run(words: argparse.Namespace) -> None:
    """Grow one bank through the sizes, print and write down."""
    set_up_logging(level="warning")
    sizes = sorted(words.sizes)
    vocabulary = corpus.load_vocabulary()
    items = list(corpus.items(sizes[-1], vocabulary))
    setup: dict[str, object] = {
        "calls": words.calls,
        "embedder": "hashed words",
        "mode": "chunks",
        "pace_ms_before": pace_ms(),
    }
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder) / "mesh")
        async with open_assembly(settings, frozenset(), embedder=HashedEmbedder()) as assembly:
            await (await assembly.admin()).create_bank(BANK, config=CHUNKS)
            known = 0
            for size in sizes:
                figures[str(size)] = await measure(assembly, settings.data, items[:size], known, words.calls)
                known = size
                print(f"{size:,} memories done, pace {pace_ms()} ms", file=sys.stderr)
    model = await model_ms(items)
    setup |= {"pace_ms_after": pace_ms(), "model_ms": {str(count): round(ms, 1) for count, ms in model.items()}}
    show(figures)
    first, *_, last = figures.values()
    for count, ms in model.items():
        name = "retain one item, p95 ms" if count == 1 else f"retain {CALL} items, p95 ms"
        grown = (last[name] + ms) / (first[name] + ms)
        setup[f"ratio with the model: {name}"] = round(grown, 3)
        print(f"{name}: with the packaged model's {ms:.1f} ms, {grown:.2f} times")
    print(f"\nwritten to {write_result(words.out, {'setup': setup, 'figures': figures}).name} in bench/results")


def show(figures: dict[str, dict[str, float]]) -> None:
    """Print a line a figure, a column a size, and how much the last is of the first."""
    first, *_, last = figures.values()
    rows = [
        (name, *(f"{each[name]:,.3g}" for each in figures.values()), f"{last[name] / first[name]:.2f}")
        for name in first
    ]
    print_figures(("figure", *(f"{int(size):,}" for size in figures), "last / first"), rows)


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="sizes of the bank to stop at")
    parser.add_argument("--calls", type=int, default=30, metavar="N", help="timed calls of each kind at each size")
    parser.add_argument("--out", default="growth", metavar="NAME", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
