"""Each port again, with the guard around every call; the composition root puts them on."""

from collections.abc import AsyncGenerator, AsyncIterator, Sized
from contextlib import aclosing
from functools import partial

from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind, Reranker, RerankerInfo
from recallmesh.core.errors import MeshError
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.recall import RecallAnswer, Recaller, RecallProgress, RecallRequest, RecallStage
from recallmesh.core.retain import BatchAnswer, DeliveryState, RetainAnswer, Retainer, RetainRequest
from recallmesh.core.tuning import EffectiveTuning, RecallTuning
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery
from recallmesh.telemetry.attribute import (
    ARM_STATES,
    BANK_UID,
    BUDGET,
    HITS,
    ITEMS,
    LIMIT,
    MEMORIES,
    OMITTED,
    PENDING_ARMS,
    TOKENS,
)
from recallmesh.telemetry.guard import HERE, Guard
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.tracing import Attributes


class ObservedArm:
    """An arm whose every call is bounded, counted and traced."""

    def __init__(
        self, arm: Arm, *, name: ArmName, timeout_s: float | None, metrics: Metrics, at: str | None = None
    ) -> None:
        """Wrap an arm, here or there (``at``); ``timeout_s`` bounds a search, the caller's deadline everything."""
        self._arm = arm
        self._guard = Guard(name.value, timeout_s=None, metrics=metrics, at=at)
        self._search_guard = Guard(name.value, timeout_s=timeout_s, metrics=metrics, at=at)
        labels = (name.value, self._guard.place)
        self._seconds = metrics.arm_search.labels(*labels)
        self._asked, self._found = metrics.arm_budget.labels(*labels), metrics.arm_hits.labels(*labels)

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """As the arm does."""
        with self._seconds.time():
            hits = await self._search_guard.run(
                "search",
                self._arm.search(query),
                asked=lambda: {BANK_UID: query.bank_uid, LIMIT: query.limit},
                told=lambda found: {HITS: len(found)},
            )
        self._asked.observe(query.limit)
        self._found.observe(len(hits))
        return hits

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """As the arm does."""
        await self._guard.run("index", self._arm.index(bank_uid, entries), asked=partial(_about, bank_uid, entries))

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """As the arm does."""
        await self._guard.run("remove", self._arm.remove(bank_uid, removals), asked=partial(_about, bank_uid, removals))

    async def drop(self, bank_uid: str) -> None:
        """As the arm does."""
        await self._guard.run("drop", self._arm.drop(bank_uid))

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """As the arm does."""
        return await self._guard.run("scan", self._arm.scan(bank_uid, page))

    async def check(self) -> None:
        """As the arm does."""
        await self._guard.run("check", self._arm.check())


class ObservedVectors:
    """A vector index whose every call is bounded, counted and traced."""

    def __init__(self, index: VectorIndex, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Wrap an index, here or there (``at``)."""
        self._index = index
        self._guard = Guard("vectors", timeout_s=timeout_s, metrics=metrics, at=at)

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """As the index does."""
        return await self._guard.run(
            "search",
            self._index.search(queries),
            asked=lambda: {ITEMS: len(queries)},
            told=lambda found: {HITS: sum(map(len, found))},
        )

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """As the index does."""
        await self._guard.run("upsert", self._index.upsert(bank_uid, entries), asked=partial(_about, bank_uid, entries))

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """As the index does."""
        await self._guard.run(
            "delete", self._index.delete(bank_uid, removals), asked=partial(_about, bank_uid, removals)
        )

    async def drop(self, bank_uid: str) -> None:
        """As the index does."""
        await self._guard.run("drop", self._index.drop(bank_uid))

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """As the index does."""
        return await self._guard.run("scan", self._index.scan(bank_uid, page))

    async def check(self) -> None:
        """As the index does."""
        await self._guard.run("check", self._index.check())


class ObservedEmbedder:
    """An embedder whose every call is bounded, counted and traced."""

    def __init__(self, embedder: Embedder, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Wrap an embedder, here or there (``at``)."""
        self._embedder = embedder
        self._guard = Guard("embedder", timeout_s=timeout_s, metrics=metrics, at=at)
        self._batch = metrics.model_batch.labels("embedder", self._guard.place)

    async def info(self) -> EmbedderInfo:
        """As the embedder does."""
        return await self._guard.run("info", self._embedder.info())

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """As the embedder does."""
        self._batch.observe(len(texts))
        return await self._guard.run("embed", self._embedder.embed(texts, kind), asked=lambda: {ITEMS: len(texts)})

    async def check(self) -> None:
        """As the embedder does."""
        await self._guard.run("check", self._embedder.check())


class ObservedReranker:
    """A reranker whose every call is bounded, counted and traced."""

    def __init__(self, reranker: Reranker, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Wrap a reranker, here or there (``at``)."""
        self._reranker = reranker
        self._guard = Guard("reranker", timeout_s=timeout_s, metrics=metrics, at=at)
        self._batch = metrics.model_batch.labels("reranker", self._guard.place)

    async def info(self) -> RerankerInfo:
        """As the reranker does."""
        return await self._guard.run("info", self._reranker.info())

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """As the reranker does."""
        self._batch.observe(len(texts))
        return await self._guard.run("rerank", self._reranker.rerank(query, texts), asked=lambda: {ITEMS: len(texts)})

    async def check(self) -> None:
        """As the reranker does."""
        await self._guard.run("check", self._reranker.check())


class ObservedRecaller:
    """A recaller whose every call is bounded, counted and traced."""

    def __init__(self, recaller: Recaller, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Wrap a recaller, here or there (``at``)."""
        self._recaller = recaller
        self._metrics = metrics
        self._guard = Guard("recall", timeout_s=timeout_s, metrics=metrics, at=at)

    async def recall(self, request: RecallRequest) -> RecallAnswer:
        """As the recaller does."""
        answer = await self._guard.run(
            "recall", self._recaller.recall(request), asked=lambda: {BUDGET: request.budget.value}, told=_recalled
        )
        self._count(answer)
        return answer

    async def stream(self, request: RecallRequest) -> AsyncGenerator[RecallProgress, None]:
        """As the recaller does."""
        async with aclosing(self._guard.stream("stream", self._recaller.stream(request))) as told:
            async for progress in told:
                if progress.stage is RecallStage.FINAL:
                    self._count(progress.answer)
                yield progress

    async def resolve_tuning(self, bank: BankRef, tuning: RecallTuning) -> EffectiveTuning:
        """As the recaller does."""
        return await self._guard.run("resolve_tuning", self._recaller.resolve_tuning(bank, tuning))

    def _count(self, answer: RecallAnswer) -> None:
        if self._guard.place == HERE:  # else the process that answered counts it
            self._metrics.observe_recalled(answer)


class ObservedRetainer:
    """A retainer whose every call is bounded, counted and traced; the batches of a stream it bounds itself."""

    def __init__(self, retainer: Retainer, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Wrap a retainer, here or there (``at``)."""
        self._retainer = retainer
        self._metrics = metrics
        self._guard = Guard("retain", timeout_s=timeout_s, metrics=metrics, at=at)

    async def retain(self, request: RetainRequest) -> RetainAnswer:
        """As the retainer does."""
        return await self._guard.run(
            "retain", self._retainer.retain(request), asked=lambda: {ITEMS: len(request.items)}, told=_retained
        )

    async def stream(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """As the retainer does, for as long as the caller goes on; each batch is counted by its outcome."""
        async with aclosing(self._retainer.stream(requests)) as rows:
            async for answer in self._guard.each("stream", rows):
                reason = answer.outcome.reason if isinstance(answer.outcome, MeshError) else "OK"
                self._metrics.bulk_batches.labels(reason).inc()
                yield answer


def _about(bank_uid: str, items: Sized) -> Attributes:
    return {BANK_UID: bank_uid, ITEMS: len(items)}


def _recalled(answer: RecallAnswer) -> Attributes:
    return {
        MEMORIES: len(answer.memories),
        OMITTED: answer.omitted,
        TOKENS: answer.tokens,
        ARM_STATES: tuple(f"{report.arm}: {report.state}" for report in answer.arms),
    }


def _retained(answer: RetainAnswer) -> Attributes:
    pending = tuple(one.arm.value for one in answer.deliveries if one.state is DeliveryState.PENDING)
    return {MEMORIES: sum(len(item.memory_ids) for item in answer.items), PENDING_ARMS: pending}
