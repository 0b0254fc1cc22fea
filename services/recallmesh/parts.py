# ruff: noqa: PLC0415 - a process has only the extras of the parts it hosts, and starts faster for what it does not load
"""Opens each part in this process, from its settings; whether it runs here at all is decided in ``mesh``."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from recallmesh.core.admin import Admin
from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.encoder import Embedder, EmbedderInfo, Reranker
from recallmesh.core.ledger import Ledger
from recallmesh.core.models import Model
from recallmesh.core.recall import Recaller
from recallmesh.core.time import system_clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.vectors import VectorIndex
from recallmesh.extra import needing
from recallmesh.folder import make_private
from recallmesh.graph.store import GraphStore
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.store import KeywordStore
from recallmesh.settings import Settings
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.store import observed_store

if TYPE_CHECKING:
    from recallmesh.graph.arm import GraphArm
    from recallmesh.graph.neo4j import Neo4jDatabase
    from recallmesh.keyword.opensearch import OpenSearchServer
    from recallmesh.keyword.opensearch_index import Shape

INDEXING_ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
"""The arms that keep an index; the temporal one reads the semantic one's vectors."""


@asynccontextmanager
async def open_ledger_here(settings: Settings, metrics: Metrics) -> AsyncIterator[Ledger]:
    """Open the ledger; several processes of one machine may, on PostgreSQL those of any."""
    from recallmesh.ledger import open_ledger

    make_private(settings.data)
    own = settings.ledger
    async with open_ledger(
        settings.ledger_url, readers=own.readers, writers=own.writers, timeout_s=own.timeout_s
    ) as ledger:
        system = "sqlite" if settings.ledger_url.startswith("sqlite") else "postgresql"
        yield observed_store(ledger, name="ledger", system=system, metrics=metrics)


def token_counter() -> TokenCounter:
    """Make the token counter; it loads at its first use."""
    from recallmesh.tokens.bpe import BpeTokenCounter

    return BpeTokenCounter()


@asynccontextmanager
async def open_vectors_here(
    settings: Settings, info: EmbedderInfo, metrics: Metrics, *, awaited: bool = False
) -> AsyncIterator[VectorIndex]:
    """Open the vectors of a model; embedded ones one process at a time may.

    Says so where the model was changed and has no vectors yet, unless it is ``awaited`` that it has none.
    """
    own = settings.semantic
    opening = _open_embedded_vectors if own.qdrant_url is None else _open_qdrant_vectors
    system = "qdrant-edge" if own.qdrant_url is None else "qdrant"
    async with opening(settings, info, awaited=awaited) as vectors:
        yield observed_store(vectors, name="vectors", system=system, metrics=metrics)


@asynccontextmanager
async def _open_embedded_vectors(
    settings: Settings, info: EmbedderInfo, *, awaited: bool
) -> AsyncIterator[VectorIndex]:
    from recallmesh.vectors.beside import tell_changed_model
    from recallmesh.vectors.near import open_near_vectors

    make_private(settings.data)
    own, path = settings.semantic, settings.data / settings.semantic.path
    async with open_near_vectors(
        path,
        fingerprint=info.fingerprint,
        dimensions=info.dimensions,
        index_from=own.index_from,
        resident_memories=own.resident_memories,
    ) as vectors:
        if not awaited:
            await asyncio.to_thread(tell_changed_model, path, info.fingerprint)
        yield vectors


@asynccontextmanager
async def _open_qdrant_vectors(settings: Settings, info: EmbedderInfo, *, awaited: bool) -> AsyncIterator[VectorIndex]:
    with needing("qdrant", "RECALLMESH_SEMANTIC__QDRANT_URL"):
        from recallmesh.vectors.qdrant import open_qdrant_vectors

    own = settings.semantic
    async with open_qdrant_vectors(
        own.qdrant_url or "",
        api_key=own.qdrant_api_key.get_secret_value(),
        prefix=own.qdrant_prefix,
        fingerprint=info.fingerprint,
        dimensions=info.dimensions,
        awaited=awaited,
    ) as vectors:
        yield vectors


async def remove_vectors(settings: Settings, model: Model) -> str:
    """Take a model's vectors away; returns where they were.

    Raises:
        StoreUnavailable: a process has them open, or their server does not answer.

    """
    own = settings.semantic
    if own.qdrant_url is None:
        from recallmesh.vectors.shelf import remove_shelf

        path = settings.data / own.path
        return str(path / await asyncio.to_thread(remove_shelf, path, model.fingerprint))
    with needing("qdrant", "RECALLMESH_SEMANTIC__QDRANT_URL"):
        from recallmesh.vectors.qdrant import remove_qdrant
        from recallmesh.vectors.qdrant_collection import collection_name

    name = collection_name(own.qdrant_prefix, model.fingerprint, model.dimensions)
    await remove_qdrant(own.qdrant_url, name, api_key=own.qdrant_api_key.get_secret_value())
    return name


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
async def open_keyword_arm(settings: Settings, metrics: Metrics) -> AsyncIterator[Arm]:
    """Open the keyword arm on its own store; an embedded one one process at a time may."""
    from recallmesh.keyword.arm import KeywordArm

    own = settings.keyword
    opening = _open_embedded_words if own.opensearch_url is None else _open_opensearch_words
    system = "sqlite" if own.opensearch_url is None else "opensearch"
    async with opening(settings) as opened:
        store = observed_store(opened, name="keyword", system=system, metrics=metrics)
        yield KeywordArm(store, language=own.language)


@asynccontextmanager
async def _open_embedded_words(settings: Settings) -> AsyncIterator[KeywordStore]:
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
        yield store


@asynccontextmanager
async def _open_opensearch_words(settings: Settings) -> AsyncIterator[KeywordStore]:
    server, shape = opensearch_of(settings)
    from recallmesh.keyword.opensearch import open_opensearch_keyword_store

    async with open_opensearch_keyword_store(server, shape, timeout_s=settings.keyword.timeout_s) as store:
        yield store


def opensearch_of(settings: Settings) -> "tuple[OpenSearchServer, Shape]":
    """Return where the OpenSearch server of the settings is, and the shape of index that they ask for."""
    with needing("opensearch", "RECALLMESH_KEYWORD__OPENSEARCH_URL"):
        from recallmesh.keyword.opensearch import OpenSearchServer
        from recallmesh.keyword.opensearch_index import Shape

    own = settings.keyword
    server = OpenSearchServer(
        own.opensearch_url or "",
        prefix=own.opensearch_prefix,
        user=own.opensearch_user,
        password=own.opensearch_password.get_secret_value(),
        ca=own.opensearch_ca,
    )
    ranking = Ranking(own.k1, own.b, own.function_words, own.name_weight, own.label_weight, own.date_weight)
    return server, Shape(own.language, ranking)


@asynccontextmanager
async def open_graph_arm(
    settings: Settings,
    vectors: VectorIndex,
    info: EmbedderInfo,
    metrics: Metrics,
    made: Callable[["GraphArm"], None],
) -> AsyncIterator[Arm]:
    """Open the graph arm on its own store; ``made`` is given it: over the vectors of another model it has that too."""
    from recallmesh.graph.arm import GraphArm

    own = settings.graph
    opening = _open_embedded_graph if own.neo4j_url is None else _open_neo4j_graph
    system = "sqlite" if own.neo4j_url is None else "neo4j"
    async with opening(settings) as opened:
        store = observed_store(opened, name="graph", system=system, metrics=metrics)
        arm = GraphArm(
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
        made(arm)
        yield arm


@asynccontextmanager
async def _open_embedded_graph(settings: Settings) -> AsyncIterator[GraphStore]:
    from recallmesh.graph.embedded import open_embedded_graph_store

    make_private(settings.data)
    async with open_embedded_graph_store(settings.data / settings.graph.path) as store:
        yield store


@asynccontextmanager
async def _open_neo4j_graph(settings: Settings) -> AsyncIterator[GraphStore]:
    database = neo4j_of(settings)
    from recallmesh.graph.neo4j import open_neo4j_graph_store

    async with open_neo4j_graph_store(database, random=random.random) as store:
        yield store


def neo4j_of(settings: Settings) -> "Neo4jDatabase":
    """Return where the Neo4j database of the settings is."""
    with needing("neo4j", "RECALLMESH_GRAPH__NEO4J_URL"):
        from recallmesh.graph.neo4j import Neo4jDatabase

    own = settings.graph
    return Neo4jDatabase(
        own.neo4j_url or "",
        user=own.neo4j_user,
        password=own.neo4j_password.get_secret_value(),
        name=own.neo4j_database,
        ca=own.neo4j_ca,
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
    metrics: Metrics,
    serves: bool,
) -> AsyncIterator[Recaller]:
    """Make the orchestrator, with threads for reading queries; a process that ``serves`` it logs slow recalls."""
    from recallmesh.recall.orchestrator import Orchestrator
    from recallmesh.recall.slow import SlowLog
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
            # In one process the graph's question is at the vectors first.
            defaults=replace(
                settings.recall.defaults(), head_start_s=settings.recall.head_start_s if settings.graph.address else 0.0
            ),
            slow=SlowLog(
                (settings.recall.slow_s or None) if serves else None,
                texts=settings.recall.slow_texts,
                on_phases=metrics.observe_phases,
                on_slow=metrics.recall_slow.inc,
            ),
        )


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
