"""The orchestrator: one recall from question to answer, over ports only."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from math import inf
from typing import Protocol

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.deadline import remaining
from recallmesh.core.encoder import Embedder, Reranker
from recallmesh.core.ledger import BankLedger, MemoryLedger
from recallmesh.core.memory import Memory, Outline
from recallmesh.core.recall import PartState, RecallAnswer, RecallProgress, RecallRequest, RecallStage
from recallmesh.core.time import Clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.tuning import EffectiveTuning, RecallTuning
from recallmesh.core.when import QueryTimes
from recallmesh.recall import boosts, brief, plan, question, source
from recallmesh.recall.assembly import Assembly, Stages, recalled
from recallmesh.recall.call import Account, Call
from recallmesh.recall.candidates import Candidates, read
from recallmesh.recall.effective import effective
from recallmesh.recall.fanout import FanOut, Found, Search
from recallmesh.recall.nearness import nearness
from recallmesh.recall.order import Order, order_of
from recallmesh.recall.overtaken import Overtaken, Vanished
from recallmesh.recall.plan import RecallDefaults
from recallmesh.recall.prelude import open_prelude
from recallmesh.recall.ranking import rank
from recallmesh.recall.rerank import Reranking, rerank, unasked
from recallmesh.recall.slow import SlowLog
from recallmesh.recall.standing import Context, Standings
from recallmesh.recall.stopwatch import Stopwatch
from recallmesh.recall.waves import Waves


class RecallLedger(BankLedger, MemoryLedger, Protocol):
    """What recall reads of the ledger: banks, memories and chunks."""


class Orchestrator:
    """A ``Recaller`` over whatever arms, models and ledger it is given."""

    def __init__(
        self,
        *,
        ledger: RecallLedger,
        arms: Mapping[ArmName, Arm],
        embedder: Embedder | None,
        reranker: Reranker | None,
        times: QueryTimes,
        tokens: TokenCounter,
        now: Clock,
        defaults: RecallDefaults,
        slow: SlowLog | None = None,
    ) -> None:
        """Take the parts; ``embedder`` and ``reranker`` may be absent for good."""
        self._slow = slow or SlowLog()
        self._ledger = ledger
        self._fanout = FanOut(arms, embedder, head_start_s=defaults.head_start_s)
        self._assembly = Assembly(ledger, tokens)
        self._embedder = embedder
        self._reranker = reranker
        self._times = times
        self._tokens = tokens
        self._now = now
        self._defaults = defaults
        self._vanished = Vanished()

    async def recall(self, request: RecallRequest) -> RecallAnswer:
        """Search by every arm, fuse, rerank, score and pack (see ``Recaller``)."""
        with self._slow.watching(request) as account:
            return await self._settled(*await self._search(request, account))

    async def stream(self, request: RecallRequest) -> AsyncGenerator[RecallProgress, None]:
        """Answer in fused order as soon as the arms are in, then reranked (see ``Recaller``)."""
        with self._slow.watching(request) as account:
            async with aclosing(self._stream(request, account)) as told:
                async for progress in told:
                    yield progress

    async def _stream(self, request: RecallRequest, account: Account) -> AsyncGenerator[RecallProgress, None]:
        call, found = await self._search(request, account)
        if not self._reranks(call):
            yield RecallProgress(RecallStage.FINAL, await self._settled(call, found))
            return
        order = self._fuse(call, found)
        try:
            with call.watch.phase("provisional"):
                early = await self._answer(call.provisional(), found, order)
        except Overtaken:
            call, found = await self._search(request, account, again=True)
            order = self._fuse(call, found)
            early = await self._answer(call.provisional(), found, order)
        call = replace(call, again=True)
        # Not before the provisional answer, which it would slow down; not after, when a slow listener would slow it.
        final = asyncio.create_task(self._answer(call, found, order))
        try:
            if early.memories or early.chunks:
                models = (found.embedder, unasked(PartState.SKIPPED, "has not answered yet").report)
                yield RecallProgress(RecallStage.FUSED, replace(early, models=models))
            yield RecallProgress(RecallStage.FINAL, await final)
        finally:
            final.cancel()
            # Waited for, so that nothing of it is left running; what went wrong in it was raised above, or nobody asks.
            await asyncio.gather(final, return_exceptions=True)

    async def resolve_tuning(self, bank: BankRef, tuning: RecallTuning) -> EffectiveTuning:
        """Return the tuning that a recall would work with, and where it comes from (see ``Recaller``)."""
        said = (await self._ledger.get_bank(bank)).config.recall
        return effective(tuning, said, self._defaults)

    async def _settled(self, call: Call, found: Found) -> RecallAnswer:
        """Answer; where something was deleted meanwhile, by what the arms propose now."""
        try:
            return await self._answer(call, found, self._fuse(call, found))
        except Overtaken:
            call, found = await self._search(call.request, call.account, again=True)
            return await self._answer(call, found, self._fuse(call, found))

    async def _search(
        self, request: RecallRequest, account: Account | None, *, again: bool = False
    ) -> tuple[Call, Found]:
        """Read the query, find the bank and ask the arms; the first two at once."""
        watch = Stopwatch()
        with watch.noting():
            return await self._noted_search(request, account, watch, again=again)

    async def _noted_search(
        self, request: RecallRequest, account: Account | None, watch: Stopwatch, *, again: bool
    ) -> tuple[Call, Found]:
        begun = asyncio.get_running_loop().time()
        left = remaining()
        seconds = self._defaults.timeout_s if left is None else min(left, self._defaults.timeout_s)
        with watch.phase("check"):
            asked = await question.check(request, tokens=self._tokens, limit=self._defaults.query_tokens, now=self._now)
        arms = frozenset(ArmName) if request.tuning.arms is None else request.tuning.arms
        async with open_prelude(
            asked,
            request.window,
            self._embedder,
            self._times,
            embeds=self._fanout.uses_vectors(arms),
            by=begun + seconds * self._defaults.embed_share,
            watch=watch,
        ) as prelude:
            with watch.phase("bank"):
                bank = await self._ledger.get_bank(request.bank)
            tuning = plan.resolve(request.tuning, bank.config.recall, self._defaults)
            hits = plan.budget_hits(request.budget, request.max_tokens, tuning)
            call = Call(request, asked, bank, tuning, hits, begun, seconds, watch, again, account)
            if account is not None:
                account.call = call
            with watch.phase("arms"):
                found = await self._fanout.search(self._wanted(call), prelude)
            if account is not None:
                account.found = found
            return call, found

    def _wanted(self, call: Call) -> Search:
        floors = call.tuning.min_scores
        return Search(
            question=call.question,
            bank_uid=call.bank.uid,
            enabled=call.tuning.arms,
            tags=call.request.tags,
            limit=call.hits,
            floors={ArmName.SEMANTIC: floors.semantic, ArmName.KEYWORD: floors.keyword},
            strategies={ArmName.GRAPH: call.tuning.graph_strategy},
            arms_by=call.begun + call.seconds * self._defaults.arms_share,
            explained=call.request.trace or self._slow.quotes,
        )

    def _fuse(self, call: Call, found: Found) -> Order:
        # What follows until the reranker, and after it, is 4 ms for 700 candidates: cheaper on the loop than on a
        # thread that would hold the interpreter's lock just as long.
        with call.watch.phase("fusion"):
            return order_of(
                found.hits,
                how=call.request.fusion,
                cap=call.tuning.cap_per_arm,
                k=call.tuning.rrf_k,
                divisors=boosts.divisors(call.tuning.boosts, call.tuning.boost_divisors),
                seats=call.tuning.rerank_limit if self._reranks(call) else 0,
            )

    def _reranks(self, call: Call) -> bool:
        return not self._unreranked(call)

    def _unreranked(self, call: Call) -> str:
        """Return why nothing is to be reranked, whatever is found."""
        if self._reranker is None:
            return "none is set up"
        return "" if call.tuning.reranking and call.tuning.rerank_limit else "switched off"

    async def _answer(self, call: Call, found: Found, order: Order) -> RecallAnswer:
        with call.watch.noting():
            return await self._noted_answer(call, found, order)

    async def _noted_answer(self, call: Call, found: Found, order: Order) -> RecallAnswer:
        answer = await self._answer_in_brief(call, found, order)
        if answer is not None:
            if call.account is not None:
                call.account.done = call.account.clock()
            return answer
        with call.watch.phase("read"):
            candidates = await self._read(call, order)
        standings = Standings(candidates.memories, self._context(call, found, order))
        with call.watch.phase("rerank"):
            reranking = await self._rerank(call, standings)
        with call.watch.phase("score"):
            rows = rank(standings, reranking)
        return await self._assembly.answer(call, Stages(found, order, candidates, reranking, rows))

    async def _answer_in_brief(self, call: Call, found: Found, order: Order) -> RecallAnswer | None:
        """Answer without reading whole what does not come, where nothing but fused order ranks and no more is asked."""
        request, uid = call.request, call.bank.uid
        if self._reranks(call) or not brief.suffices(request, call.tuning):
            return None
        reading = brief.Reading(self._ledger, request)
        outlined = await read(reading.known, uid, order.ids, 2 * call.hits, call.admission)
        self._look_for_missing(call, outlined)
        choice = brief.choose(outlined.memories, request, call.tuning)
        if choice is None:
            return None
        rows = choice.rows(await reading.whole(uid, choice.ids), call.admission)
        facts = await source.source_facts(
            self._ledger, uid, [row.memory for row in rows], request.source_tokens or 0, request.tags
        )
        return RecallAnswer(
            memories=tuple(recalled(row, order, request, oversized=choice.oversized) for row in rows),
            arms=found.arms,
            models=(found.embedder, unasked(PartState.DISABLED, self._unreranked(call)).report),
            window=found.window,
            omitted=choice.considered - len(rows),
            tokens=sum(row.memory.tokens for row in rows),
            source_facts=facts.memories,
            source_facts_omitted=facts.omitted,
        )

    async def _read(self, call: Call, order: Order) -> Candidates[Memory]:
        wanted = max(2 * call.hits, call.tuning.rerank_limit if self._reranks(call) else 0)
        candidates = await read(self._ledger.read, call.bank.uid, order.ids, wanted, call.admission)
        self._look_for_missing(call, candidates)
        return candidates

    def _look_for_missing(self, call: Call, candidates: Candidates[Memory] | Candidates[Memory | Outline]) -> None:
        """Have the arms asked again, once and while half of the time is left, when something new is missing."""
        left = call.begun + call.seconds / 2 - asyncio.get_running_loop().time()
        if self._vanished.is_news(candidates.refused) and not call.again and left > 0:
            raise Overtaken

    async def _rerank(self, call: Call, standings: Standings) -> Reranking:
        if self._reranker is None or not self._reranks(call):
            return unasked(PartState.DISABLED, self._unreranked(call))
        if not standings.memories:
            return unasked(PartState.SKIPPED, "no candidates")
        due = call.begun + call.seconds * self._defaults.rerank_share
        return await rerank(
            self._reranker,
            call.question.text,
            standings.memories,
            dated=call.tuning.date_in_passage,
            seconds=max(0.0, due - asyncio.get_running_loop().time()),
            choose=Waves(standings, call.tuning.rerank_limit, call.goal).choose,
        )

    def _context(self, call: Call, found: Found, order: Order) -> Context:
        rrf, favoured = order.rrf, order.favoured
        return Context(
            tuning=call.tuning,
            asked_at=call.question.asked_at,
            window=found.window.window if found.window else None,
            query=call.question.text,
            nearness=nearness(found.hits, found.spread),
            keyword={hit.memory_id: hit.score for hit in found.hits.get(ArmName.KEYWORD, ()) if 0 < hit.score < inf},
            places=order.places,
            nudge=None if favoured is None else lambda memory_id: boosts.nudge(rrf[memory_id], favoured[memory_id]),
        )
