"""The bulk half of retain: batches through a stream, against the embedder alone on the very same texts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from time import perf_counter

from bench.hashed import MeteredEmbedder
from recallmesh.client.batch import SIZE, Continuation
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import MeshError
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.mesh import Assembly

BANK = BankRef("bulk")
MOST = 2_000
"""Items at most: some seven milliseconds each, twice."""
ROUNDS = 5
"""Retain and the embedder alone take turns, so that a neighbour's load falls on both."""
AT_ONCE = 4
"""Calls of the embedder alone at once: more are no faster."""


async def measure_bulk(assembly: Assembly, items: Sequence[RetainItem], embedder: MeteredEmbedder) -> dict[str, float]:
    """Retain the items in batches, as the command line does, and embed what that embedded once more."""
    admin, retainer = await assembly.admin(), await assembly.retainer()
    await admin.create_bank(BANK, config=BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS)))
    items = items[:MOST]
    each = -(-len(items) // ROUNDS)
    continuation, retaining, embedding = Continuation(), 0.0, 0.0
    for first in range(0, len(items), each):
        requests = list(_requests(continuation, items[first : first + each], first))
        embedder.calls.clear()
        began = perf_counter()
        async for answer in retainer.stream(_given(requests)):
            assert not isinstance(answer.outcome, MeshError), answer.outcome
        retaining += perf_counter() - began
        calls = tuple(embedder.calls)
        began = perf_counter()
        await _embed(embedder, calls)
        embedding += perf_counter() - began
    return {
        "bulk, items/s": len(items) / retaining,
        "bulk: the embedder alone on the same texts, items/s": len(items) / embedding,
        "ratio: bulk / the embedder alone": embedding / retaining,
    }


def _requests(continuation: Continuation, items: Sequence[RetainItem], begun: int) -> list[RetainRequest]:
    batches = (
        continuation.batch(("", item) for item in items[first : first + SIZE]) for first in range(0, len(items), SIZE)
    )
    return [RetainRequest(BANK, one.items, request_id=f"b-{begun}-{n}") for n, one in enumerate(batches)]


async def _given(requests: Sequence[RetainRequest]) -> AsyncIterator[RetainRequest]:
    for request in requests:
        yield request


async def _embed(embedder: MeteredEmbedder, calls: Sequence[tuple[str, ...]]) -> None:
    waiting = iter(calls)

    async def work() -> None:
        for texts in waiting:
            await embedder.embed(texts, EmbedKind.PASSAGE)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
