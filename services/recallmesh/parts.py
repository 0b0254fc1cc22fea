# ruff: noqa: PLC0415 - a process has only the extras of the parts it hosts, and starts faster for what it does not load
"""Opens each part in this process, from its settings; whether it runs here at all is decided in ``mesh``."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from recallmesh.core.admin import Admin
from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.encoder import Embedder, EmbedderInfo, Reranker
from recallmesh.core.job import Handler, Job, Progress
from recallmesh.core.ledger import Ledger
from recallmesh.core.operation import OperationKind
from recallmesh.core.recall import Recaller
from recallmesh.core.retain import Retainer
from recallmesh.core.time import system_clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.vectors import VectorIndex
from recallmesh.folder import make_private
from recallmesh.graph.store import GraphStore
from recallmesh.loops import running
from recallmesh.retain.extraction import Extractor
from recallmesh.retain.observation import ObservationWriter
from recallmesh.settings import Settings
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from recallmesh.graph.neo4j import Neo4jDatabase

INDEXING_ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
"""The arms that keep an index; the temporal one reads the semantic one's vectors."""


@asynccontextmanager
async def open_ledger_here(settings: Settings) -> AsyncIterator[Ledger]:
    """Open the ledger; several processes of one machine may."""
    from recallmesh.ledger import open_ledger

    make_private(settings.data)
    async with open_ledger(settings.ledger_url) as ledger:
        yield ledger


def _guarded(guard: Guard, kind: OperationKind, handler: Handler) -> Handler:
    async def called(job: Job, progress: Progress) -> tuple[str, ...]:
        return await handler(job, progress)

    return lambda job, progress: guard.run(f"operation_{kind}", called(job, progress))


def token_counter() -> TokenCounter:
    """Make the token counter; it loads at its first use."""
    from recallmesh.tokens.bpe import BpeTokenCounter

    return BpeTokenCounter()


@asynccontextmanager
async def open_embedder_here(settings: Settings) -> AsyncIterator[Embedder]:
    """Load the bi-encoder."""
    from recallmesh.embedder.onnx import open_onnx_embedder

    own = settings.embedder
    async with open_onnx_embedder(
        own.model_dir, threads=own.threads, queue=own.queue, cached_queries=own.cached_queries
    ) as embedder:
        yield embedder


@asynccontextmanager
async def open_reranker_here(settings: Settings) -> AsyncIterator[Reranker]:
    """Load the cross-encoder."""
    from recallmesh.reranker.onnx import open_onnx_reranker

    own = settings.reranker
    async with open_onnx_reranker(own.model_dir, threads=own.threads, queue=own.queue) as reranker:
        yield reranker


@asynccontextmanager
async def open_vectors_here(settings: Settings, info: EmbedderInfo) -> AsyncIterator[VectorIndex]:
    """Open the vectors; embedded ones one process at a time may.

    Says so where the model was changed and has no vectors yet.
    """
    own = settings.semantic
    opening = _open_embedded_vectors if own.qdrant_url is None else _open_qdrant_vectors
    async with opening(settings, info) as vectors:
        yield vectors


@asynccontextmanager
async def _open_embedded_vectors(settings: Settings, info: EmbedderInfo) -> AsyncIterator[VectorIndex]:
    from recallmesh.vectors.beside import tell_changed_model
    from recallmesh.vectors.embedded import open_embedded_vectors

    make_private(settings.data)
    own, path = settings.semantic, settings.data / settings.semantic.path
    async with open_embedded_vectors(
        path, fingerprint=info.fingerprint, dimensions=info.dimensions, index_from=own.index_from
    ) as vectors:
        await asyncio.to_thread(tell_changed_model, path, info.fingerprint)
        yield vectors


@asynccontextmanager
async def _open_qdrant_vectors(settings: Settings, info: EmbedderInfo) -> AsyncIterator[VectorIndex]:
    from recallmesh.vectors.qdrant import open_qdrant_vectors

    own = settings.semantic
    async with open_qdrant_vectors(
        own.qdrant_url or "",
        api_key=own.qdrant_api_key.get_secret_value(),
        prefix=own.qdrant_prefix,
        fingerprint=info.fingerprint,
        dimensions=info.dimensions,
    ) as vectors:
        yield vectors


def semantic_arm(vectors: VectorIndex) -> Arm:
    """Make the semantic arm over the vectors."""
    from recallmesh.semantic.arm import SemanticArm

    return SemanticArm(vectors)


def temporal_arm(settings: Settings, vectors: VectorIndex) -> Arm:
    """Make the temporal arm over the vectors."""
    from recallmesh.temporal.arm import TemporalArm

    own = settings.temporal
    return TemporalArm(vectors, buckets=own.buckets, link_reach=timedelta(hours=own.link_hours))


@asynccontextmanager
async def open_keyword_arm(settings: Settings) -> AsyncIterator[Arm]:
    """Open the keyword arm on its own store; one process at a time may."""
    from recallmesh.keyword.arm import KeywordArm
    from recallmesh.keyword.embedded import open_embedded_keyword_store

    make_private(settings.data)
    own = settings.keyword
    async with open_embedded_keyword_store(
        settings.data / own.path,
        language=own.language,
        k1=own.k1,
        b=own.b,
        function_words=own.function_words,
        name_weight=own.name_weight,
        label_weight=own.label_weight,
        date_weight=own.date_weight,
        resident_memories=own.resident_memories,
    ) as store:
        yield KeywordArm(store, language=own.language)


@asynccontextmanager
async def open_graph_arm(settings: Settings, vectors: VectorIndex, info: EmbedderInfo) -> AsyncIterator[Arm]:
    """Open the graph arm on its own store."""
    from recallmesh.graph.arm import GraphArm

    own = settings.graph
    opening = _open_embedded_graph if own.neo4j_url is None else _open_neo4j_graph
    async with opening(settings) as store:
        yield GraphArm(
            store,
            vectors,
            cosine_mean=info.cosine_mean,
            cosine_high=info.cosine_high,
            strategy=own.strategy,
            neighbours=own.neighbours,
            recent=own.recent,
            hub_share=own.hub_share,
            origins=own.origins,
            reached_share=own.reached_share,
        )


@asynccontextmanager
async def _open_embedded_graph(settings: Settings) -> AsyncIterator[GraphStore]:
    from recallmesh.graph.embedded import open_embedded_graph_store

    make_private(settings.data)
    async with open_embedded_graph_store(settings.data / settings.graph.path) as store:
        yield store


@asynccontextmanager
async def _open_neo4j_graph(settings: Settings) -> AsyncIterator[GraphStore]:
    from recallmesh.graph.neo4j import open_neo4j_graph_store

    async with open_neo4j_graph_store(neo4j_of(settings), random=random.random) as store:
        yield store


def neo4j_of(settings: Settings) -> "Neo4jDatabase":
    """Return where the Neo4j database of the settings is."""
    from recallmesh.graph.neo4j import Neo4jDatabase

    own = settings.graph
    return Neo4jDatabase(
        own.neo4j_url or "",
        user=own.neo4j_user,
        password=own.neo4j_password.get_secret_value(),
        name=own.neo4j_database,
    )


@asynccontextmanager
async def open_recaller(
    settings: Settings,
    *,
    ledger: Ledger,
    arms: Mapping[ArmName, Arm],
    embedder: Embedder,
    reranker: Reranker | None,
    tokens: TokenCounter,
) -> AsyncIterator[Recaller]:
    """Make the orchestrator, with threads for reading queries."""
    from recallmesh.recall.orchestrator import Orchestrator
    from recallmesh.recall.times import open_times
    from recallmesh.when.reader import GrammarTimeReader

    async with open_times(GrammarTimeReader()) as times:
        yield Orchestrator(
            ledger=ledger,
            arms=arms,
            embedder=embedder,
            reranker=reranker,
            times=times,
            tokens=tokens,
            now=system_clock,
            defaults=settings.recall.defaults(),
        )


@asynccontextmanager
async def open_retainer(
    settings: Settings,
    *,
    ledger: Ledger,
    arms: Mapping[ArmName, Arm],
    embedder: Embedder,
    extractor: Extractor,
    writer: ObservationWriter,
    tokens: TokenCounter,
    metrics: Metrics,
) -> AsyncIterator[Retainer]:
    """Make the retainer, and run the loops that finish what its calls left: the outbox and the operations."""
    from recallmesh.retain.consolidating import Consolidating, ConsolidationClock
    from recallmesh.retain.consolidator import Consolidator
    from recallmesh.retain.delivery import Carrier
    from recallmesh.retain.expiry import ExpiryWorker
    from recallmesh.retain.fan_out import FanOut
    from recallmesh.retain.httpcore2 import open_httpcore_poster
    from recallmesh.retain.jobs import JobWorker
    from recallmesh.retain.outbox import OutboxWorker
    from recallmesh.retain.repair import Repairer
    from recallmesh.retain.retainer import MeshRetainer
    from recallmesh.retain.webhooks import WebhookWorker

    own = settings.retain
    guard = Guard("worker", timeout_s=None, metrics=metrics)
    worker = f"{os.getpid()}-{uuid4().hex[:8]}"
    outbox = OutboxWorker(
        ledger,
        arms,
        embedder,
        worker=worker,
        now=system_clock,
        random=random.random,
        poll_s=own.outbox_poll_s,
        batch=own.outbox_batch,
        lease_s=own.outbox_lease_s,
    )
    wakes: list[Callable[[], None]] = [outbox.wake]

    def wake() -> None:
        for one in wakes:
            one()

    consolidating = Consolidating(own.consolidation, timedelta(seconds=own.consolidation_delay_s))
    consolidator = Consolidator(
        ledger,
        arms,
        embedder,
        writer,
        FanOut(ledger, arms, Carrier(ledger, embedder), system_clock, own.arm_timeout_s),
        tokens,
        now=system_clock,
        new_id=lambda: str(uuid4()),
        consolidating=consolidating,
    )
    retainer = MeshRetainer(
        ledger,
        arms,
        embedder,
        extractor,
        tokens,
        now=system_clock,
        new_id=lambda: str(uuid4()),
        arm_timeout_s=own.arm_timeout_s,
        batches=own.batches,
        batch_timeout_s=own.timeout_s,
        consolidation=consolidating,
        on_pending=wake,
        on_retained=metrics.observe_retained,
    )
    repairer = Repairer(ledger, arms, embedder, now=system_clock, on_pending=wake)
    handlers: dict[OperationKind, Handler] = {
        OperationKind.RETAIN: retainer.work,
        OperationKind.REPROCESS: retainer.reprocess,
        OperationKind.REPAIR: repairer.work,
        OperationKind.CONSOLIDATE: consolidator.work,
    }
    jobs = JobWorker(
        ledger,
        {kind: _guarded(guard, kind, handler) for kind, handler in handlers.items()},
        worker=worker,
        now=system_clock,
        poll_s=own.outbox_poll_s,
        lease_s=own.job_lease_s,
    )
    wakes.append(jobs.wake)
    expiry = ExpiryWorker(ledger, keep=timedelta(days=settings.events.kept_days), now=system_clock)
    clock = ConsolidationClock(
        ledger,
        now=system_clock,
        poll_s=own.outbox_poll_s,
        on_begun=jobs.wake,
        observe=metrics.observe_backlog,
    )
    async with open_httpcore_poster(private=settings.events.webhook_private) as poster:
        webhooks = WebhookWorker(
            ledger,
            poster,
            worker=worker,
            now=system_clock,
            random=random.random,
            attempts=settings.events.webhook_attempts,
            poll_s=own.outbox_poll_s,
        )
        async with running(guard, outbox.run, jobs.run, webhooks.run, expiry.run, clock.run):
            yield retainer


def admin(settings: Settings, *, ledger: Ledger, tokens: TokenCounter, indexes: Mapping[ArmName, Arm]) -> Admin:
    """Make administration over the ledger; ``indexes`` are the arms whose indexes can be compared with it from here."""
    from recallmesh.bank.admin import LedgerAdmin
    from recallmesh.bank.events import WebhookRules
    from recallmesh.retain.defense.screening import RuleScreening

    return LedgerAdmin(
        ledger,
        arms=INDEXING_ARMS,
        tokens=tokens,
        now=system_clock,
        watch_interval_s=settings.bank.watch_interval_s,
        webhooks=WebhookRules(http=settings.events.webhook_http, private=settings.events.webhook_private),
        indexes=indexes,
        screening=RuleScreening(lambda: str(uuid4())),
    )
