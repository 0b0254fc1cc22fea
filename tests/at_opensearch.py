"""Keyword stores of tests on a real OpenSearch server, each with indexes of its own."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from servers import address

from recallmesh.keyword.opensearch import (
    OpenSearchServer,
    migrate_opensearch,
    open_opensearch_keyword_store,
    open_opensearch_requests,
)
from recallmesh.keyword.opensearch_index import Shape
from recallmesh.keyword.opensearch_store import OpenSearchKeywordStore


def prefix_of(folder: Path) -> str:
    """Return what the names of a test's indexes begin with: the same for the same folder, so that it may reopen."""
    return f"test-{hashlib.blake2s(str(folder).encode(), digest_size=6).hexdigest()}"


def server_of(prefix: str) -> OpenSearchServer:
    return OpenSearchServer(address("opensearch"), prefix)


@asynccontextmanager
async def open_at_opensearch(prefix: str, shape: Shape | None = None) -> AsyncIterator[OpenSearchKeywordStore]:
    """Open a store that was migrated."""
    server, shape = server_of(prefix), shape or Shape()
    await migrate_opensearch(server, shape)
    async with open_opensearch_keyword_store(server, shape) as store:
        yield store


async def forget_opensearch(prefix: str) -> None:
    """Delete all indexes of a test."""
    async with open_opensearch_requests(server_of(prefix)) as requests:
        for index in await requests.ask("GET", f"/{prefix}-*/_mapping"):
            await requests.ask("DELETE", f"/{index}", timeout_s=30.0)
