"""The orchestrator: one recall from question to answer, over ports only."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.bank import Bank
from recallmesh.core.deadline import remaining
from recallmesh.core.encoder import Embedder, Reranker
from recallmesh.core.ledger import BankLedger, MemoryLedger
from recallmesh.core.memory import Memory
from recallmesh.core.recall import Outcome, PartState, RecallAnswer, RecalledMemory, RecallRequest
from recallmesh.core.time import Clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.when import TimeReader
from recallmesh.recall import boosts, brief, floor, fusion, plan, question, source
from recallmesh.recall.candidates import Admission, Candidates, read
from recallmesh.recall.fanout import FanOut, Found, Search
from recallmesh.recall.nearness import nearness
from recallmesh.recall.pack import Packed, pack
from recallmesh.recall.plan import RecallDefaults, ResolvedTuning
from recallmesh.recall.question import Question
from recallmesh.recall.ranking import Context, Row, rank
from recallmesh.recall.rerank import Reranking, rerank, unasked
from recallmesh.recall.stopwatch import Stopwatch
from recallmesh.recall.trace import Evidence, ranks_of, trace


class RecallLedger(BankLedger, MemoryLedger, Protocol):
    """What recall reads of the ledger: banks, memories and chunks."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What is fixed for one recall once the bank is known. ``begun`` and ``seconds`` are its share of time."""

    request: RecallRequest
    question: Question
    bank: Bank
    tuning: ResolvedTuning
    hits: int
    begun: float
    seconds: float
    watch: Stopwatch

    @property
    def admission(self) -> Admission:
        return Admission(self.request.tags, frozenset(self.question.fact_types))


@dataclass(frozen=True, slots=True)
class _Fusion:
    """The arms' ranks and the order they make.

    ``favoured`` are the sums with strategy boosts and ``places`` those of RRF without them, where there are any.
    """

    ranks: Mapping[ArmName, Mapping[str, int]]
    order: list[str]
    rrf: Mapping[str, float]
    favoured: Mapping[str, float] | None = None
    places: Mapping[str, int] | None = None


class Orchestrator:
    """A ``Recaller`` over whatever arms, models and ledger it is given."""

    def __init__(
        self,
        *,
        ledger: RecallLedger,
        arms: Mapping[ArmName, Arm],
        embedder: Embedder | None,
        reranker: Reranker | None,
        times: TimeReader,
        tokens: TokenCounter,
        now: Clock,
        defaults: RecallDefaults,
    ) -> None:
        """Take the parts; ``embedder`` and ``reranker`` may be absent for good."""
        self._ledger = ledger
        self._fanout = FanOut(arms, embedder, times)
        self._reranker = reranker
        self._tokens = tokens
        self._now = now
        self._defaults = defaults

    async def recall(self, request: RecallRequest) -> RecallAnswer:
        """Search by every arm, fuse, rerank, score and pack (see ``Recaller``)."""
        call = await self._begin(request)
        with call.watch.phase("arms"):
            found = await self._fanout.search(self._search(call), call.watch)
        # What follows until the reranker, and after it, is 4 ms for 700 candidates: cheaper on the loop than on a
        # thread that would hold the interpreter's lock just as long.
        with call.watch.phase("fusion"):
            fused = self._fuse(call, found)
        answer = await self._answer_in_brief(call, found, fused)
        if answer is not None:
            return answer
        with call.watch.phase("read"):
            candidates = await self._read(call, fused)
        with call.watch.phase("rerank"):
            reranking = await self._rerank(call, candidates.memories)
        with call.watch.phase("score"):
            rows = rank(candidates.memories, reranking, self._context(call, found, fused))
        return await self._answer(call, found, fused, candidates, reranking, rows)

    async def _begin(self, request: RecallRequest) -> _Call:
        watch = Stopwatch()
        begun = asyncio.get_running_loop().time()
        left = remaining()
        with watch.phase("check"):
            asked = await question.check(request, tokens=self._tokens, limit=self._defaults.query_tokens, now=self._now)
        with watch.phase("bank"):
            bank = await self._ledger.get_bank(request.bank)
        tuning = plan.resolve(request.tuning, bank.config.recall, self._defaults)
        hits = plan.budget_hits(request.budget, request.max_tokens, tuning.budget_mode, self._defaults)
        seconds = self._defaults.timeout_s if left is None else min(left, self._defaults.timeout_s)
        return _Call(request, asked, bank, tuning, hits, begun, seconds, watch)

    def _search(self, call: _Call) -> Search:
        floors = call.tuning.min_scores
        return Search(
            question=call.question,
            bank_uid=call.bank.uid,
            enabled=call.tuning.arms,
            tags=call.request.tags,
            limit=call.hits,
            floors={ArmName.SEMANTIC: floors.semantic, ArmName.KEYWORD: floors.keyword},
            strategies={ArmName.GRAPH: call.tuning.graph_strategy},
            window=call.request.window,
            embed_by=call.begun + call.seconds * self._defaults.embed_share,
            arms_by=call.begun + call.seconds * self._defaults.arms_share,
        )

    def _fuse(self, call: _Call, found: Found) -> _Fusion:
        # In the arms' own order, not that of their answers: equal calls give equal answers.
        hits = {name: found.hits[name] for name in ArmName if name in found.hits}
        ranks = {name: fusion.ranks_of(listed, call.tuning.cap_per_arm) for name, listed in hits.items()}
        plain = fusion.fuse(ranks, k=self._defaults.rrf_k)
        by = boosts.divisors(call.tuning.boosts, self._defaults.boost_divisors)
        if by.keys().isdisjoint(ranks):
            return _Fusion(ranks, plain.order, plain.scores)
        favoured = boosts.boosted(ranks, by, self._defaults.rrf_k)
        places = {memory_id: place for place, memory_id in enumerate(plain.order)}
        return _Fusion(ranks, favoured.order, plain.scores, favoured.scores, places)

    def _reranks(self, call: _Call) -> bool:
        return self._reranker is not None and call.tuning.reranking and call.tuning.rerank_limit > 0

    async def _answer_in_brief(self, call: _Call, found: Found, fused: _Fusion) -> RecallAnswer | None:
        """Answer without reading whole what does not come, where nothing but fused order ranks and no more is asked."""
        request, uid = call.request, call.bank.uid
        if self._reranks(call) or not brief.suffices(request, call.tuning):
            return None
        outlined = await read(self._ledger.outline, uid, fused.order, 2 * call.hits, call.admission)
        choice = brief.choose(outlined.memories, request, call.tuning)
        if choice is None:
            return None
        rows = choice.rows(await self._ledger.read(uid, choice.ids, mentions=request.include_entities), call.admission)
        facts = await source.source_facts(
            self._ledger, uid, [row.memory for row in rows], request.source_tokens or 0, Admission(request.tags)
        )
        return RecallAnswer(
            memories=tuple(_recalled(row, fused, request, oversized=choice.oversized) for row in rows),
            arms=found.arms,
            models=(found.embedder, (await self._rerank(call, [])).report),
            window=found.window,
            omitted=choice.considered - len(rows),
            tokens=sum(row.memory.tokens for row in rows),
            source_facts=facts,
        )

    async def _read(self, call: _Call, fused: _Fusion) -> Candidates[Memory]:
        wanted = max(2 * call.hits, call.tuning.rerank_limit if self._reranks(call) else 0)
        return await read(self._ledger.read, call.bank.uid, fused.order, wanted, call.admission)

    async def _rerank(self, call: _Call, memories: list[Memory]) -> Reranking:
        if self._reranker is None:
            return unasked(PartState.DISABLED, "none is set up")
        if not call.tuning.reranking or call.tuning.rerank_limit == 0:
            return unasked(PartState.DISABLED, "switched off")
        if not memories:
            return unasked(PartState.SKIPPED, "no candidates")
        due = call.begun + call.seconds * self._defaults.rerank_share
        return await rerank(
            self._reranker,
            call.question.text,
            memories[: call.tuning.rerank_limit],
            dated=self._defaults.date_in_passage,
            seconds=max(0.0, due - asyncio.get_running_loop().time()),
        )

    def _context(self, call: _Call, found: Found, fused: _Fusion) -> Context:
        rrf, favoured = fused.rrf, fused.favoured
        return Context(
            tuning=call.tuning,
            asked_at=call.question.asked_at,
            window=found.window.window if found.window else None,
            half_life_days=self._defaults.recency_half_life_days,
            rrf_k=self._defaults.rrf_k,
            fusion_weight=self._defaults.fusion_weight,
            context_weight=self._defaults.context_weight,
            nearness=nearness(found.hits, found.spread),
            unnamed_odds=self._defaults.unnamed_odds,
            query=call.question.text,
            places=fused.places,
            nudge=None if favoured is None else lambda memory_id: boosts.nudge(rrf[memory_id], favoured[memory_id]),
        )

    async def _answer(
        self,
        call: _Call,
        found: Found,
        fused: _Fusion,
        candidates: Candidates[Memory],
        reranking: Reranking,
        rows: list[Row],
    ) -> RecallAnswer:
        request, uid = call.request, call.bank.uid
        with call.watch.phase("pack"):
            passing = floor.passing(rows, call.tuning.min_scores)
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
                _recalled(considered[place], fused, request, oversized=packed.oversized) for place in packed.places
            )
        with call.watch.phase("sources"):
            best = ranking[: request.limit] if request.limit else ranking
            chunks = await source.chunks(self._ledger, self._tokens, uid, best, request.chunk_tokens or 0)
            shown = [each.memory for each in memories]
            facts = await source.source_facts(
                self._ledger, uid, shown, request.source_tokens or 0, Admission(request.tags)
            )
        account = None
        if request.trace:
            evidence = self._evidence(call, found, fused, candidates, reranking)
            evidence.rows, evidence.fates = rows, _fates(rows, passing, considered, packed)
            evidence.beyond_limit = _beyond_limit(considered, packed, request.limit)
            account = trace(evidence, call.watch.phases())
        return RecallAnswer(
            memories=memories,
            arms=found.arms,
            models=(found.embedder, reranking.report),
            window=found.window,
            omitted=len(considered) - len(memories),
            tokens=packed.tokens,
            chunks=chunks,
            source_facts=facts,
            trace=account,
        )

    async def _sizes(self, ranking: list[Memory]) -> list[int]:
        sizes = [memory.tokens for memory in ranking]
        if all(sizes):
            return sizes
        return await asyncio.to_thread(lambda: [memory.tokens or self._tokens.count(memory.text) for memory in ranking])

    def _evidence(
        self, call: _Call, found: Found, fused: _Fusion, candidates: Candidates[Memory], reranking: Reranking
    ) -> Evidence:
        return Evidence(
            tuning=call.tuning,
            asked_at=call.question.asked_at,
            budget_hits=call.hits,
            order=fused.order,
            rrf=fused.rrf,
            ranks=fused.ranks,
            hits=found.hits,
            refused=candidates.refused,
            reranked=[memory.id for memory in candidates.memories[: len(reranking.raw)]],
            rerankable=len(candidates.memories),
            window=found.window,
        )


def _recalled(row: Row, fused: _Fusion, request: RecallRequest, *, oversized: bool) -> RecalledMemory:
    memory = row.memory if request.include_entities or not row.memory.mentions else replace(row.memory, mentions=())
    return RecalledMemory(
        memory=memory,
        ranks=ranks_of(memory.id, fused.ranks),
        scores=row.scores(fused.rrf[memory.id]),
        oversized=oversized,
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
