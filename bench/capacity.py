"""How large a mesh may get: bytes a memory in each store, and CPU time a call in each service.

Run by ``make bench-capacity``. CPU time, not latency: what a busy machine makes longer least, and what replicas are
counted by. Bytes are those that the second half of the memories added, so that what a store has when it is empty
does not count.
"""

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

from bench import corpus
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms, workers_cpu_s
from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging

BANK = BankRef("bench")
CHUNKS = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))
GIB = 2**30
BATCH = 100
HITS = 300
READ = 100
STORES = {"ledger": "ledger.db*", "vectors": "vectors/**/*", "keyword": "keyword.db*", "graph": "graph.db*"}
PLAIN = RecallTuning(reranking=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a service's call is, and the CPU milliseconds that one took."""

    call: str
    cpu_ms: float


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes that each store takes on the disk."""
    return {
        name: sum(512 * file.stat().st_blocks for file in folder.glob(pattern) if file.is_file())
        for name, pattern in STORES.items()
    }


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Assembly]:
    """Open the whole mesh in this process, with workers of one thread: CPU time is what is measured."""
    async with open_assembly(settings, frozenset()) as assembly:
        yield assembly


async def fill(assembly: Assembly, items: Sequence[RetainItem]) -> None:
    """Retain everything, and wait until every arm has it."""
    retainer, admin = await assembly.retainer(), await assembly.admin()
    for first in range(0, len(items), BATCH):
        await retainer.retain(RetainRequest(BANK, tuple(items[first : first + BATCH])))
    pending = 1
    while pending:
        await asyncio.sleep(0.2)
        pending = (await admin.bank_stats(BANK)).pending


async def cost(call: str, calls: Sequence[Callable[[], Awaitable[Any]]]) -> Cost:
    """Make the calls one after the other, the first of them twice: what a first call loads is not what it costs."""
    await calls[0]()
    before = process_time() + workers_cpu_s()
    for one in calls:
        await one()
    return Cost(call, 1000 * (process_time() + workers_cpu_s() - before) / len(calls))


async def costs(assembly: Assembly, items: Sequence[RetainItem], count: int) -> dict[str, Cost]:
    """Return what a call of each service takes."""
    texts = [str(item.content[0]) for item in items]
    asked = corpus.questions(texts, count, BANK)
    admin, embedder, reranker = await assembly.admin(), await assembly.embedder(), await assembly.reranker()
    recaller, retainer = await assembly.recaller(), await assembly.retainer()
    uid = (await admin.get_bank(BANK)).uid
    vectors = [(await embedder.embed((one.query,), EmbedKind.QUERY))[0] for one in asked]
    year = Window(corpus.BEGIN, corpus.BEGIN + corpus.YEARS / 2)
    found: dict[str, Cost] = {}
    for name in ArmName:
        arm = await assembly.arm(name)
        queries = [
            ArmQuery(uid, one.query, vector=vector, window=year if name is ArmName.TEMPORAL else None, limit=HITS)
            for one, vector in zip(asked, vectors, strict=True)
        ]
        found[name.value] = await cost(f"a search of {HITS} hits", [_call(arm.search, query) for query in queries])
    found["embedder, queries"] = await cost(
        "one text", [_call(embedder.embed, (f"{one.query} again",), EmbedKind.QUERY) for one in asked]
    )
    found["embedder, passages"] = await cost(
        "one text", [_call(embedder.embed, (text,), EmbedKind.PASSAGE) for text in texts[:count]]
    )
    if reranker is not None:
        pairs = [_call(reranker.rerank, one.query, tuple(texts[:READ])) for one in asked[: max(2, count // 40)]]
        found["reranker"] = await cost(f"{READ} pairs", pairs)
    plain = [replace(one, tuning=PLAIN) for one in asked]
    whole = await cost("", [_call(recaller.recall, one) for one in plain])
    others = sum(found[name.value].cpu_ms for name in ArmName if name is not ArmName.TEMPORAL)
    own = max(0.0, whole.cpu_ms - others)  # the queries were embedded before, so the embedder had them at hand
    found["recall"] = Cost("one question: its own share, the ledger's too", own)
    new = [RetainItem((f"{text} And so on.",), document_id=f"new-{n}") for n, text in enumerate(texts[: count // 2])]
    retained = await cost("", [_call(retainer.retain, RetainRequest(BANK, (one,))) for one in new])
    embedding = 2 * found["embedder, passages"].cpu_ms
    found["retain"] = Cost("one memory: all but its embedding, the indexes' share too", retained.cpu_ms - embedding)
    pages = [_call(admin.list_memories, BANK, MemoryFilter(), PageRequest(50)) for _ in asked]
    found["bank"] = await cost("a page of 50 memories", pages)
    return found


def _call(method: Callable[..., Awaitable[Any]], *given: object) -> Callable[[], Awaitable[Any]]:
    return lambda: method(*given)


async def run(words: argparse.Namespace) -> None:
    """Measure, print, and write down."""
    set_up_logging(level="error")
    items = list(corpus.items(words.size, corpus.load_vocabulary()))
    half = words.size // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = load_settings(data=folder, embedder={"threads": 1}, reranker={"threads": 1, "backend": "onnx"})
        pace = pace_ms()
        async with opened(settings) as assembly:
            await (await assembly.admin()).create_bank(BANK, config=CHUNKS)
            await fill(assembly, items[:half])
        before = sizes(folder)
        async with opened(settings) as assembly:
            await fill(assembly, items[half:])
        after = sizes(folder)
        async with opened(settings) as assembly:
            found = await costs(assembly, items, words.queries)
    added = words.size - half
    bytes_each = {store: (after[store] - before[store]) / added for store in STORES}
    rows = [(store, f"{each:,.0f}", f"{GIB / each / 1000:,.0f} k") for store, each in bytes_each.items()]
    print_figures(("store", "bytes a memory", "memories a GiB"), rows)
    print()
    print_figures(
        ("service", "CPU ms a call", "calls a core and second", "a call is"),
        [(part, f"{one.cpu_ms:,.2f}", f"{1000 / one.cpu_ms:,.1f}", one.call) for part, one in found.items()],
    )
    figures = {
        "setup": {"size": words.size, "queries": words.queries, "pace_ms_before": pace, "pace_ms_after": pace_ms()},
        "stores": {store: {"bytes_a_memory": round(each)} for store, each in bytes_each.items()},
        "services": {part: {"cpu_ms": round(one.cpu_ms, 3), "call": one.call} for part, one in found.items()},
    }
    print(f"\nwritten to {write_result(words.out, figures).name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.capacity", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000, metavar="N", help="memories (default: 10000)")
    parser.add_argument("--queries", type=int, default=200, metavar="N", help="calls of each kind (default: 200)")
    parser.add_argument("--out", default="capacity", metavar="NAME", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
