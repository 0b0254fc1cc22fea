"""The recall half of the speed bench."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from statistics import median

import numpy as np

from bench import corpus
from bench.baseline import BruteForce
from bench.clock import Clock
from bench.hashed import MeteredEmbedder
from bench.stand_in import stand_in
from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.recall import PartState, RecallAnswer, RecallRequest
from recallmesh.core.retain import RetainItem
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import Assembly

WARM_UP = 5
BATCH = 256
MS = timedelta(milliseconds=1)
PLAIN = RecallTuning(reranking=False)


async def measure_recall(
    assembly: Assembly, bank: BankRef, items: Sequence[RetainItem], embedder: MeteredEmbedder, counts: tuple[int, int]
) -> dict[str, float]:
    """Ask with and without reranking; ``counts`` says how often."""
    texts = [str(item.content[0]) for item in items]
    asked = [replace(each, tuning=PLAIN) for each in corpus.questions(texts, counts[0], bank)]
    dated = [replace(each, tuning=PLAIN) for each in corpus.questions(texts, counts[0] // 2, bank, period_every=1)]
    await ask(assembly, dated[:WARM_UP])
    embedded = embedder.query_calls
    clock, answers = await ask(assembly, asked)
    embedded = embedder.query_calls - embedded
    in_period, dated_answers = await ask(assembly, dated)
    found = {
        "recall, p50 ms": clock.p50,
        "recall, p95 ms": clock.p95,
        "recall, shortest ms": min(clock.walls),
        "recall, CPU ms": clock.cpu_each,
        "recall, CPU ms: of that the vectors' worker": clock.worker_ms / len(asked),
        "recall, query embeddings": embedded / len(asked),
        "recall with a period, p50 ms": in_period.p50,
        "recall with a period, p95 ms": in_period.p95,
        "recall with a period, CPU ms": in_period.cpu_each,
    }
    found |= _parts(answers + dated_answers)
    found |= await _own(assembly, dated)
    found |= await _reranked(assembly, [replace(each, tuning=RecallTuning()) for each in asked[: counts[1]]])
    brute = await _brute(embedder, texts, asked)
    found |= {
        "baseline, p50 ms": brute.p50,
        "baseline, CPU ms": brute.cpu_each,
        "ratio: recall without embedding / baseline, wall": (clock.p50 - found["query embedding, p50 ms"]) / brute.p50,
        "ratio: recall / baseline, CPU": clock.cpu_each / brute.cpu_each,
    }
    return found


async def measure_fresh(assembly: Assembly, bank: BankRef, items: Sequence[RetainItem], count: int) -> dict[str, float]:
    """Ask the process that filled the bank."""
    texts = [str(item.content[0]) for item in items]
    asked = [replace(each, tuning=PLAIN) for each in corpus.questions(texts, count, bank)]
    await ask(assembly, asked[:WARM_UP])
    clock, _ = await ask(assembly, asked)
    return {"recall just after filling, p50 ms": clock.p50}


async def ask(assembly: Assembly, asked: Sequence[RecallRequest]) -> tuple[Clock, list[RecallAnswer]]:
    """Ask one question after the other."""
    recaller, clock, answers = await assembly.recaller(), Clock(), []
    for request in asked:
        with clock.taking():
            answers.append(await recaller.recall(request))
    return clock, answers


def _parts(answers: Sequence[RecallAnswer]) -> dict[str, float]:
    latencies: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        for arm in answer.arms:
            if arm.state is PartState.OK:
                latencies[arm.arm.value].append(arm.latency / MS)
        for model in answer.models:
            if model.part == "embedder":
                latencies["query embedding"].append(model.latency / MS)
    order = ("query embedding", *(name.value for name in ArmName))
    return {f"{name}, p50 ms": median(latencies[name]) for name in order if latencies[name]}


async def _own(assembly: Assembly, asked: Sequence[RecallRequest]) -> dict[str, float]:
    """Read of the ledger what a plain call reads, and run the orchestrator over ready parts with a real call's hits."""
    recaller, ledger = await assembly.recaller(), await assembly.ledger()
    bank = await ledger.get_bank(asked[0].bank)
    reads, own = Clock(), Clock()
    for request in asked:
        answer = await recaller.recall(replace(request, trace=True))
        traced = answer.trace
        assert traced is not None
        considered = tuple(row.memory_id for row in traced.candidates[: 2 * traced.budget_hits])
        packed = tuple(each.memory.id for each in answer.memories)
        with reads.taking():  # a traced call reads more than a plain one, so its phases do not tell
            await ledger.get_bank(request.bank)
            await ledger.outline(bank.uid, considered)
            await ledger.read(bank.uid, packed, mentions=False)
        hits = {
            name: tuple(
                Hit(row.memory_id, row.arm_scores[name])
                for row in sorted((row for row in traced.candidates if name in row.ranks), key=lambda r: r.ranks[name])
            )
            for name in ArmName
        }
        memories = await ledger.read(bank.uid, tuple(row.memory_id for row in traced.candidates))
        ready = stand_in(bank, hits, memories)
        await ready.recall(request)
        with own.taking():
            await ready.recall(request)
    return {
        "ledger, p50 ms": reads.p50,
        "orchestrator's own, p50 ms": own.p50,
        "orchestrator's own, CPU ms": own.cpu_ms / len(asked),
    }


async def _reranked(assembly: Assembly, asked: Sequence[RecallRequest]) -> dict[str, float]:
    if not asked:
        return {}
    recaller, clock = await assembly.recaller(), Clock()
    for request in asked:
        with clock.taking():
            await recaller.recall(request)
    return {"recall with reranking, p50 ms": clock.p50, "recall with reranking, p95 ms": clock.p95}


async def _brute(embedder: MeteredEmbedder, texts: Sequence[str], asked: Sequence[RecallRequest]) -> Clock:
    rows = [
        np.asarray(await embedder.embed(tuple(texts[first : first + BATCH]), EmbedKind.PASSAGE), dtype=np.float32)
        for first in range(0, len(texts), BATCH)
    ]
    brute, clock = BruteForce(texts, np.concatenate(rows)), Clock()
    for request in asked:
        (vector,) = await embedder.embed((request.query,), EmbedKind.QUERY)
        with clock.taking():
            brute.ask(request.query, vector)
    return clock
