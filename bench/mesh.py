"""The whole mesh, nine processes on real stores, against one process on the embedded ones: recall, reading a write.

Run by ``make bench-mesh``, which starts the servers. The same memories are retained in both, the same questions asked.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from deployment import Mesh, open_in_process, open_nine
from stores import open_nine_on_stores

from bench import corpus
from bench.clock import Clock
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.retain import DeliveryState, RetainItem, RetainRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.telemetry.log import set_up_logging

MESHES = {"embedded": open_in_process, "nine processes": open_nine, "nine on stores": open_nine_on_stores}
BANK = BankRef("bench")
CHUNKS = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))
BATCH = 200
EARLY = 600
"""Other questions asked before those that count as early: what is run often is compiled by then, and not well yet."""
WARM_UP = 2_500
"""Other questions asked before those that count: so many it takes until servers in Java compile nothing any more."""
MS = timedelta(milliseconds=1)
PLAIN = RecallTuning(reranking=False)


async def fill(mesh: Mesh, items: Sequence[RetainItem]) -> float:
    """Retain everything; returns items a second."""
    await mesh.faces.admin.create_bank(BANK, config=CHUNKS)
    clock = Clock()
    for first in range(0, len(items), BATCH):
        with clock.taking():
            await mesh.faces.retainer.retain(RetainRequest(BANK, tuple(items[first : first + BATCH])))
        print(f"\r{mesh.kind}: {first + BATCH:,} of {len(items):,}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return len(items) / sum(clock.walls) * 1000


async def ask(mesh: Mesh, questions: Sequence[RecallRequest], when: str = "") -> dict[str, float]:
    """Ask one question after the other; ``when`` is said of the figures, of which there are two then."""
    clock, arms, missing = Clock(), defaultdict[str, list[float]](list), 0
    for request in questions:
        with clock.taking():
            answer = await mesh.faces.recaller.recall(request)
        for report in answer.arms:
            if report.state is PartState.OK:
                arms[report.arm].append(report.latency / MS)
            missing += report.state not in (PartState.OK, PartState.SKIPPED)
    if when:
        return {f"recall {when}, p50 ms": clock.p50, f"recall {when}, p95 ms": clock.p95}
    return {
        "recall, p50 ms": clock.p50,
        "recall, p95 ms": clock.p95,
        **{f"{name} arm, p50 ms": median(each) for name, each in arms.items()},
        "arms that did not answer": missing,
    }


async def read_writes(mesh: Mesh, count: int) -> dict[str, float]:
    """Retain one memory and ask each arm for it at once, again and again."""
    found, clock = 0, Clock()
    for number in range(count):
        text = f"The parcel XK-{70_000 + number} was left with Mrs Quillon-{number} on the quay."
        item = RetainItem((text,), time=datetime(2026, 8, 19, tzinfo=UTC), document_id=f"parcel-{number}")
        with clock.taking():
            answer = await mesh.faces.retainer.retain(RetainRequest(BANK, (item,)))
        stored = all(one.state is DeliveryState.STORED for one in answer.deliveries)
        request = RecallRequest(BANK, f"Who has the parcel XK-{70_000 + number}?", tuning=PLAIN, max_tokens=400)
        back = await mesh.faces.recaller.recall(request)
        found += stored and any(one.memory.text == text for one in back.memories)
    return {"retain one item, p50 ms": clock.p50, "read your write, of 100": 100 * found / count}


async def measure(kind: str, items: Sequence[RetainItem], queries: int, writes: int) -> dict[str, float]:
    """Fill one kind of mesh and measure it."""
    texts = [str(item.content[0]) for item in items]
    asked = [replace(each, tuning=PLAIN) for each in corpus.questions(texts, WARM_UP + queries, BANK)]
    with tempfile.TemporaryDirectory() as folder:
        async with MESHES[kind](Path(folder)) as mesh:
            found = {"retain in calls of 200, items/s": await fill(mesh, items)}
            await ask(mesh, asked[:EARLY])
            found |= await ask(mesh, asked[EARLY : EARLY + queries], f"after {EARLY} others")
            await ask(mesh, asked[EARLY + queries : WARM_UP])
            return found | await ask(mesh, asked[WARM_UP:]) | await read_writes(mesh, writes)


async def run(words: argparse.Namespace) -> None:
    """Measure every mesh, print and write down."""
    set_up_logging(level="error")
    items = list(corpus.items(words.size, corpus.load_vocabulary()))
    setup = {key: getattr(words, key) for key in ("size", "queries", "writes")} | {
        "warm_up": WARM_UP,
        "pace_ms_before": pace_ms(),
    }
    figures = {kind: await measure(kind, items, words.queries, words.writes) for kind in words.meshes}
    first = next(iter(figures.values()))
    names = dict.fromkeys(name for each in figures.values() for name in each)
    rows = [(name, *(f"{each[name]:,.3g}" if name in each else "" for each in figures.values())) for name in names]
    print_figures(("figure", *figures), rows)
    for kind, each in figures.items():
        setup[f"ratio of recall: {kind}"] = round(each["recall, p50 ms"] / first["recall, p50 ms"], 2)
    setup |= {"pace_ms_after": pace_ms()}
    print(f"\nwritten to {write_result(words.out, {'setup': setup, 'figures': figures}).name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.mesh", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000, metavar="N", help="memories in the bank")
    parser.add_argument("--queries", type=int, default=200, metavar="N", help="questions")
    parser.add_argument("--writes", type=int, default=100, metavar="N", help="memories that are asked for at once")
    parser.add_argument("--meshes", nargs="*", default=tuple(MESHES), choices=tuple(MESHES), help="which to measure")
    parser.add_argument("--out", default="mesh", metavar="NAME", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
