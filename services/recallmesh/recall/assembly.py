"""The assembly of an answer from ranked memories: floors, packing, sources and, if asked for, the account."""

import asyncio
from dataclasses import dataclass, replace

from recallmesh.core.disclosure import disclosed
from recallmesh.core.ledger import MemoryLedger
from recallmesh.core.memory import Memory
from recallmesh.core.recall import Outcome, RecallAnswer, RecalledMemory, RecallRequest
from recallmesh.core.tokens import TokenCounter
from recallmesh.recall import floor, source
from recallmesh.recall.call import Call
from recallmesh.recall.candidates import Candidates
from recallmesh.recall.fanout import Found
from recallmesh.recall.order import Order
from recallmesh.recall.pack import Packed, pack
from recallmesh.recall.ranking import Row
from recallmesh.recall.rerank import Reranking
from recallmesh.recall.trace import Evidence, ranks_of, trace


@dataclass(frozen=True, slots=True)
class Stages:
    """What the stages of a call left: what was found, how it was fused, read, reranked and ranked."""

    found: Found
    order: Order
    candidates: Candidates[Memory]
    reranking: Reranking
    rows: list[Row]


class Assembly:
    """Makes answers of ranked memories."""

    def __init__(self, ledger: MemoryLedger, tokens: TokenCounter) -> None:
        """Take what knows the sources, and what counts."""
        self._ledger = ledger
        self._tokens = tokens

    async def answer(self, call: Call, stages: Stages) -> RecallAnswer:
        """Pack what passes the floors, with the sources that were asked for."""
        request, uid, found = call.request, call.bank.uid, stages.found
        with call.watch.phase("pack"):
            passing = floor.passing(stages.rows, call.tuning.min_scores)
            considered = passing[: 2 * call.hits]
            ranking = [row.memory for row in considered]
            packed = pack(
                ranking,
                await self._sizes(ranking),
                max_tokens=request.max_tokens,
                limit=request.limit,
                observations=call.tuning.prefer_observations,
            )
            memories = tuple(
                recalled(considered[place], stages.order, request, oversized=packed.oversized)
                for place in packed.places
            )
        with call.watch.phase("sources"):
            best = ranking[: request.limit] if request.limit else ranking
            chunks = await source.chunks(self._ledger, self._tokens, uid, best, request.chunk_tokens or 0, request.tags)
            shown = [each.memory for each in memories]
            facts = await source.source_facts(self._ledger, uid, shown, request.source_tokens or 0, request.tags)
        account, slow = None, call.account is not None and call.account.is_slow()
        if request.trace or slow:
            evidence = _evidence(call, stages)
            evidence.fates = _fates(stages.rows, passing, considered, packed)
            evidence.beyond_limit = _beyond_limit(considered, packed, request.limit)
            account = trace(evidence, call.watch.phases(), call.watch.hops())
        if call.account is not None:
            call.account.trace = account if slow else None
            call.account.done = call.account.clock()
        return RecallAnswer(
            memories=memories,
            arms=found.arms,
            models=(found.embedder, stages.reranking.report),
            window=found.window,
            omitted=len(considered) - len(memories),
            tokens=packed.tokens,
            chunks=chunks,
            source_facts=facts.memories,
            trace=account if request.trace else None,
            source_facts_omitted=facts.omitted,
        )

    async def _sizes(self, ranking: list[Memory]) -> list[int]:
        sizes = [memory.tokens for memory in ranking]
        if all(sizes):
            return sizes
        return await asyncio.to_thread(lambda: [memory.tokens or self._tokens.count(memory.text) for memory in ranking])


def recalled(row: Row, order: Order, request: RecallRequest, *, oversized: bool) -> RecalledMemory:
    """Return a packed memory as an answer tells it."""
    memory = row.memory
    if memory.mentions:
        memory = disclosed(memory, request.tags) if request.include_entities else replace(memory, mentions=())
    return RecalledMemory(
        memory=memory,
        ranks=ranks_of(memory.id, order.ranks),
        scores=row.scores(order.rrf[memory.id]),
        oversized=oversized,
    )


def _evidence(call: Call, stages: Stages) -> Evidence:
    candidates = stages.candidates
    return Evidence(
        tuning=call.tuning,
        asked_at=call.question.asked_at,
        budget_hits=call.hits,
        order=stages.order.ids,
        rrf=stages.order.rrf,
        ranks=stages.order.ranks,
        hits=stages.found.hits,
        tags=call.request.tags,
        refused=candidates.refused,
        reranked=[candidates.memories[place].id for place in sorted(stages.reranking.places)],
        rerankable=len(candidates.memories),
        stopped=stages.reranking.stopped,
        rows=stages.rows,
        window=stages.found.window,
    )


def _fates(rows: list[Row], passing: list[Row], considered: list[Row], packed: Packed) -> dict[str, Outcome]:
    """Say of every row what became of it: below a floor, beyond twice the budget, superseded, packed or no room."""
    fates = {row.memory.id: Outcome.FLOOR for row in rows}
    fates.update((row.memory.id, Outcome.CAP) for row in passing)
    fates.update((row.memory.id, Outcome.BUDGET) for row in considered)
    fates.update((considered[place].memory.id, Outcome.SUPERSEDED) for place in packed.superseded)
    fates.update((considered[place].memory.id, Outcome.PACKED) for place in packed.places)
    return fates


def _beyond_limit(considered: list[Row], packed: Packed, limit: int) -> frozenset[str]:
    """Return what came after the last memory that ``limit`` let in: there, not the tokens, it ended."""
    if not limit or len(packed.places) < limit:
        return frozenset()
    rest = range(packed.places[-1] + 1, len(considered))
    return frozenset(considered[place].memory.id for place in rest if place not in packed.superseded)
