"""What a filled bank costs, looked at by a process of its own: arms, recalls, retains, memory, disk; as JSON.

``python -m bench.probing FOLDER SIZE`` is what ``bench.growth`` starts, so that nothing the load left in memory counts.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from bench import corpus
from bench.capacity import sizes
from bench.clock import Clock
from bench.filling import take_snapshot
from bench.growing import Growing, sample, texts_of
from bench.hashed import HashedEmbedder
from bench.recalling import PLAIN
from bench.rows import BANK_UID
from bench.steps import BANK
from bench.usage import children, pace_ms, resident_mib
from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import ArmTimeout
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.time import Window
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

HITS = 300
WARM_UP = 40
PAGE = 20
"""Items of one of the timed calls of many: a page of conversation."""
WINDOWS = tuple(
    Window(datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC) - timedelta(microseconds=1))
    for start, end in (
        ((2025, 12, 1), (2026, 1, 1)),
        ((2025, 3, 1), (2025, 4, 1)),
        ((2025, 6, 1), (2025, 9, 1)),
        ((2025, 12, 23), (2025, 12, 24)),
        ((2024, 1, 1), (2025, 1, 1)),
    )
)
"""What the temporal arm is asked for, in turns: the periods of ``corpus.PERIODS``."""
COPIED_UP_TO = 200_000
"""Memories up to which writes are timed in a copy, so that the bank stays what it was; larger ones grow by 1 in 500."""
FIRST_S = 120.0
"""How long a first answer of all arms is waited for."""
Figures = dict[str, float]


async def opened(assembly: Assembly, question: RecallRequest) -> Figures:
    """Time from here to a first answer, and to the first one that all arms are in."""
    began, recaller = perf_counter(), await assembly.recaller()
    ready, first = perf_counter() - began, 0.0
    while True:
        answer = await recaller.recall(question)
        took = perf_counter() - began
        first = first or took
        silent = [one.arm for one in answer.arms if one.state not in (PartState.OK, PartState.SKIPPED)]
        if not silent or took > FIRST_S:
            return {"open, s": ready, "first answer, s": first, "first answer of all arms, s": took}


async def warmed(assembly: Assembly, question: RecallRequest) -> Figures:
    """Time until the keyword arm has read the words of its bank."""
    began, arm = perf_counter(), await assembly.arm(ArmName.KEYWORD)
    while True:
        with suppress(ArmTimeout):
            await arm.search(ArmQuery(BANK_UID, question.query))
            return {"first answer of the keyword arm, s": perf_counter() - began}


async def arms(assembly: Assembly, uid: str, asked: Sequence[RecallRequest]) -> Figures:
    """Time each arm by itself."""
    embedder = await assembly.embedder()
    vectors = [(await embedder.embed((one.query,), EmbedKind.QUERY))[0] for one in asked]
    found: Figures = {}
    for name in ArmName:
        arm = await assembly.arm(name)
        queries = [
            ArmQuery(uid, one.query, vector=vector, window=WINDOWS[number % len(WINDOWS)], limit=HITS)
            for number, (one, vector) in enumerate(zip(asked, vectors, strict=True))
        ]
        for query in queries[:WARM_UP]:
            await arm.search(query)
        clock, hits = Clock(), 0
        for query in queries[WARM_UP:]:
            with clock.taking():
                hits += len(await arm.search(query))
        found |= timed(f"{name} arm", clock) | {f"{name} arm, hits": hits / len(clock.walls)}
    return found


async def recalls(assembly: Assembly, asked: Sequence[RecallRequest]) -> Figures:
    """Time whole recalls."""
    recaller, clock, silent = await assembly.recaller(), Clock(), 0
    for number, request in enumerate(asked):
        if number < WARM_UP:
            await recaller.recall(request)
            continue
        with clock.taking():
            answer = await recaller.recall(request)
        silent += sum(one.state not in (PartState.OK, PartState.SKIPPED) for one in answer.arms)
    return timed("recall", clock) | {"arms that did not answer": silent}


async def retains(assembly: Assembly, bank: BankRef, items: Sequence[RetainItem], calls: int) -> Figures:
    """Time writes of one memory and of a page."""
    retainer = await assembly.retainer()
    alone = [(replace(item, document_id=""),) for item in items[: calls + 5]]
    rest = items[calls + 5 :]
    pages = [tuple(rest[first : first + PAGE]) for first in range(0, len(rest), PAGE)]
    found: Figures = {}
    for name, given in (("retain one", alone), (f"retain {PAGE}", pages)):
        clock = Clock()
        for number, one in enumerate(given):
            if number < 5:
                await retainer.retain(RetainRequest(bank, one))
                continue
            with clock.taking():
                await retainer.retain(RetainRequest(bank, one))
        found |= timed(name, clock)
    return found


def timed(name: str, clock: Clock) -> Figures:
    """Name a clock's figures."""
    return {f"{name}, p50 ms": clock.p50, f"{name}, p95 ms": clock.p95, f"{name}, CPU ms": clock.cpu_each}


def memory() -> Figures:
    """Return what this process and the vectors' worker hold, and of that what is no page of a file."""
    held = {"process": resident_mib(), "vectors' worker": resident_mib(children()[0])}
    return {f"memory, MiB: {part}, {kind}": size for part, sizes_ in held.items() for kind, size in sizes_.items()}


async def probe(folder: Path, size: int, count: int, *, by_rows: bool) -> Figures:
    """Look at a bank in every way; at one that was filled ``by_rows``, at its arms."""
    growing = Growing(corpus.load_vocabulary())
    texts = texts_of(sample(growing, size, 4 * count))
    asked = [replace(one, tuning=PLAIN) for one in corpus.questions(texts, WARM_UP + count, BANK)]
    settings = load_settings(data=folder)
    found: Figures = {"pace, ms": pace_ms(), "load": os.getloadavg()[0]}
    async with open_assembly(settings, frozenset(), embedder=HashedEmbedder()) as assembly:
        if by_rows:
            found |= await warmed(assembly, asked[0])
            found |= await arms(assembly, BANK_UID, asked)
        else:
            found |= await opened(assembly, asked[0])
            found |= await arms(assembly, (await (await assembly.admin()).get_bank(BANK)).uid, asked)
            found |= await recalls(assembly, asked)
        found |= memory()
    found |= {f"disk, MiB: {store}": each / 2**20 for store, each in sizes(folder).items()}
    return found


async def probe_writes(folder: Path, size: int, calls: int) -> Figures:
    """Time writes, in a copy where that is small."""
    growing = Growing(corpus.load_vocabulary())
    due = calls + 5 + (calls // 2 + 5) * PAGE
    # Of documents that nobody has told yet.
    items = list(growing.items(10_000_000, 10_000_000 + due))[:due]
    with tempfile.TemporaryDirectory() as temporary:
        if size <= COPIED_UP_TO:
            await asyncio.to_thread(take_snapshot, folder, Path(temporary) / "copy")
            folder = Path(temporary) / "copy"
        settings = load_settings(data=folder)
        async with open_assembly(settings, frozenset(), embedder=HashedEmbedder()) as assembly:
            return await retains(assembly, BANK, items, calls)


def main() -> None:
    """Read the words and look."""
    parser = argparse.ArgumentParser(prog="bench.probing", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("size", type=int)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--writes", type=int, default=30)
    parser.add_argument("--by-rows", action="store_true")
    words = parser.parse_args()
    set_up_logging(level="error")
    found = asyncio.run(probe(words.folder, words.size, words.questions, by_rows=words.by_rows))
    if words.writes and not words.by_rows:
        found |= asyncio.run(probe_writes(words.folder, words.size, words.writes))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
