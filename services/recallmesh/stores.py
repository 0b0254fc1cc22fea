# ruff: noqa: PLC0415 - a process has only the extras of the parts it hosts, and starts faster for what it does not load
"""The stores that the settings name: how each is migrated, and looked at from outside."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from recallmesh import parts
from recallmesh.core.encoder import EmbedderInfo
from recallmesh.core.errors import MeshError
from recallmesh.core.store import Inspection, Migrated
from recallmesh.core.time import system_clock
from recallmesh.extra import needing
from recallmesh.folder import make_private
from recallmesh.mesh import Assembly
from recallmesh.models import Role
from recallmesh.semantic.settings import SemanticSettings
from recallmesh.settings import Settings

LEDGER = "ledger"
NEXT_VECTORS = "semantic (next)"
SQLITE = "sqlite:"
UNKNOWN = "which vectors are wanted is not known"
Info = Callable[[], Awaitable[EmbedderInfo]]
"""Asks the embedder what it is: the vectors of each model are kept apart."""


@dataclass(frozen=True, slots=True)
class Store:
    """A store by the part that owns it; ``migrate`` is absent where it migrates itself when it is opened."""

    part: str
    is_embedded: bool
    inspect: Callable[[], Awaitable[Inspection]]
    migrate: Callable[[], Awaitable[Migrated]] | None = None


async def info_of(assembly: Assembly, role: Role = Role.MAIN) -> EmbedderInfo:
    """Ask the embedder that an assembly has, here or there; loaded only for this."""
    return await (await assembly.embedder(role)).info()


def stores_of(settings: Settings, info: Info, *, following: Info, embedded: bool = True) -> tuple[Store, ...]:
    """Return the stores that this process would have: the ledger first, then those that are servers, or lie here.

    An embedded one whose part has an address is that process's own, and left out; all of them are without ``embedded``.
    ``following`` asks the second embedder, while models are changed: its vectors are a store of their own.
    """
    second = _vectors(settings, following) if settings.embedder.next.is_set else None
    found = (
        _ledger(settings),
        _vectors(settings, info),
        second and replace(second, part=NEXT_VECTORS),
        _keyword(settings),
        _graph(settings),
    )
    return tuple(one for one in found if one is not None and (embedded or not one.is_embedded))


def _ledger(settings: Settings) -> Store:
    url = settings.ledger_url
    file = Path(url.partition(":///")[2]) if url.startswith(SQLITE) else None

    async def inspect() -> Inspection:
        from recallmesh.ledger import inspect_ledger

        if file is not None and not file.exists():
            return Inspection("sqlite", url, memories=0)
        return await inspect_ledger(url)

    async def migrate() -> Migrated:
        from recallmesh.ledger import migrate_ledger

        if settings.ledger.url is None:
            make_private(settings.data)
        return await migrate_ledger(url)

    return Store(LEDGER, file is not None, inspect, migrate)


def _vectors(settings: Settings, info: Info) -> Store | None:
    own = settings.semantic
    if own.qdrant_url is not None:
        return _qdrant(settings.semantic, own.qdrant_url, info)

    async def inspect() -> Inspection:
        from recallmesh.vectors.beside import STORE, inspect_embedded_vectors

        path = settings.data / own.path
        try:
            made = await info()
        except MeshError as error:
            return Inspection(STORE, str(path), advice=(f"{error.message}: {UNKNOWN}",))
        return await inspect_embedded_vectors(path, made.fingerprint)

    return None if own.address else Store("semantic", is_embedded=True, inspect=inspect)


def _qdrant(own: SemanticSettings, url: str, info: Info) -> Store:
    key, prefix = own.qdrant_api_key.get_secret_value(), own.qdrant_prefix

    async def inspect() -> Inspection:
        with needing("qdrant", "RECALLMESH_SEMANTIC__QDRANT_URL"):
            from recallmesh.vectors.qdrant import inspect_qdrant

        try:
            made = await info()
        except MeshError as error:
            return Inspection("qdrant", url, advice=(f"{error.message}: {UNKNOWN}",))
        return await inspect_qdrant(
            url, fingerprint=made.fingerprint, dimensions=made.dimensions, api_key=key, prefix=prefix
        )

    async def migrate() -> Migrated:
        with needing("qdrant", "RECALLMESH_SEMANTIC__QDRANT_URL"):
            from recallmesh.vectors.qdrant import migrate_qdrant

        made = await info()
        return await migrate_qdrant(
            url,
            fingerprint=made.fingerprint,
            dimensions=made.dimensions,
            api_key=key,
            prefix=prefix,
            index_from=own.index_from,
        )

    return Store("semantic", is_embedded=False, inspect=inspect, migrate=migrate)


def _keyword(settings: Settings) -> Store | None:
    own = settings.keyword
    if own.opensearch_url is not None:
        return _opensearch(settings)

    async def inspect() -> Inspection:
        from recallmesh.keyword.inspection import inspect_embedded_keyword_store

        return await inspect_embedded_keyword_store(settings.data / own.path)

    return None if own.address else Store("keyword", is_embedded=True, inspect=inspect)


def _opensearch(settings: Settings) -> Store:
    async def inspect() -> Inspection:
        server, shape = parts.opensearch_of(settings)
        from recallmesh.keyword.opensearch import inspect_opensearch

        return await inspect_opensearch(server, shape)

    async def migrate() -> Migrated:
        server, shape = parts.opensearch_of(settings)
        from recallmesh.keyword.opensearch import migrate_opensearch

        return await migrate_opensearch(server, shape)

    return Store("keyword", is_embedded=False, inspect=inspect, migrate=migrate)


def _graph(settings: Settings) -> Store | None:
    own = settings.graph
    if own.neo4j_url is not None:
        return _neo4j(settings)

    async def inspect() -> Inspection:
        from recallmesh.graph.inspection import inspect_embedded_graph_store

        return await inspect_embedded_graph_store(settings.data / own.path)

    return None if own.address else Store("graph", is_embedded=True, inspect=inspect)


def _neo4j(settings: Settings) -> Store:
    async def inspect() -> Inspection:
        database = parts.neo4j_of(settings)
        from recallmesh.graph.neo4j import inspect_neo4j

        return await inspect_neo4j(database, random=random.random, now=system_clock)

    async def migrate() -> Migrated:
        database = parts.neo4j_of(settings)
        from recallmesh.graph.neo4j import migrate_neo4j

        return await migrate_neo4j(database, random=random.random)

    return Store("graph", is_embedded=False, inspect=inspect, migrate=migrate)
