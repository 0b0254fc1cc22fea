"""Vector indexes on Qdrant for contract tests: over local mode, and over a real server where one is named."""

import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import servers
from qdrant_client import AsyncQdrantClient
from qdrant_server import Kept, open_local_server

from recallmesh.core.vectors import VectorIndex
from recallmesh.vectors.qdrant import migrate_qdrant, open_qdrant_vectors
from recallmesh.vectors.qdrant_address import address_of

KEPT: dict[Path, Kept] = defaultdict(Kept)
"""What each folder's server keeps, so that what is opened on a folder again is there."""


@asynccontextmanager
async def open_on_local_mode(path: Path, *, fingerprint: str, dimensions: int) -> AsyncIterator[VectorIndex]:
    async with open_local_server(KEPT[path]) as server:
        await migrate_qdrant(server.url, fingerprint=fingerprint, dimensions=dimensions)
        async with open_qdrant_vectors(server.url, fingerprint=fingerprint, dimensions=dimensions) as index:
            yield index


@asynccontextmanager
async def open_on_server(path: Path, *, fingerprint: str, dimensions: int) -> AsyncIterator[VectorIndex]:
    """Keep folders apart by the prefix of their collections; ``forget_server`` takes them out."""
    url, given = servers.address("qdrant"), {"fingerprint": fingerprint, "dimensions": dimensions}
    await migrate_qdrant(url, prefix=prefix_of(path), **given)
    async with open_qdrant_vectors(url, prefix=prefix_of(path), **given) as index:
        yield index


def prefix_of(path: Path) -> str:
    return f"recallmesh-test-{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


async def forget_server(path: Path) -> None:
    at = address_of(servers.address("qdrant"))
    client = AsyncQdrantClient(host=at.host, grpc_port=at.port, https=at.tls, prefer_grpc=True)
    try:
        for one in (await client.get_collections()).collections:
            if one.name.startswith(prefix_of(path)):
                await client.delete_collection(one.name)
    finally:
        await client.close()
