"""The graph store in this process: SQLite in a file, on threads of its own."""

import asyncio
import queue
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import structlog

from recallmesh.core.arm import Indexed, Removal
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.page import Page, PageRequest
from recallmesh.graph import reads, schema, writes
from recallmesh.graph.store import GraphReads, Node
from recallmesh.sqlite.fault import code_of, unavailable

STORE = "the graph store"
BUSY = "is busy with another process's writes; try again"
READERS = 4
_T = TypeVar("_T")
_P = ParamSpec("_P")
_log = structlog.get_logger("recallmesh.graph")


class _Connections:
    """Connections to one file with a thread for each; a call waits for a free one."""

    def __init__(self, path: Path, size: int, label: str) -> None:
        self._all = [schema.connect(path) for _ in range(size)]
        self._free: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for connection in self._all:
            self._free.put(connection)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=label)
        self._closed = False

    async def run(
        self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        def call() -> _T:
            connection = self._free.get()
            try:
                return work(connection, *args, **kwargs)
            finally:
                self._free.put(connection)

        if self._closed:
            raise StoreUnavailable("the graph store is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except sqlite3.Error as error:
            _log.warning("graph.driver_failed", error=str(error), code=code_of(error))
            raise unavailable(error, STORE, busy=BUSY) from error

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._threads.shutdown()
        for connection in self._all:
            connection.close()


class EmbeddedGraphStore:
    """Fulfils GraphStore with one SQLite file: what a write returned for is on disk, and reads do not wait for writes.

    Several processes of one machine may open the same file.
    """

    def __init__(self, writer: _Connections, readers: _Connections) -> None:
        """Take over connections that an ``open_embedded_graph_store`` closes."""
        self._writer = writer
        self._readers = readers

    async def put(self, bank_uid: str, nodes: tuple[Node, ...]) -> None:
        """Store nodes in one transaction."""
        if nodes:
            await self._writer.run(writes.put, bank_uid, nodes)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out in one transaction."""
        if removals:
            await self._writer.run(writes.delete, bank_uid, removals)

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out in one transaction."""
        await self._writer.run(writes.drop, bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List the memories of a bank."""
        return await self._readers.run(reads.scan, bank_uid, page)

    async def read(self, work: Callable[[GraphReads], Coroutine[Any, Any, _T]]) -> _T:
        """Do the work in a reader's thread."""
        return await self._readers.run(lambda connection: reads.complete(work(reads.SqliteReads(connection))))

    async def check(self) -> None:
        """Read the file once."""
        await self._readers.run(reads.scan, "", PageRequest(size=1))


@asynccontextmanager
async def open_embedded_graph_store(path: Path) -> AsyncIterator[EmbeddedGraphStore]:
    """Open the graph store in a file, which is made if it is not there.

    Raises:
        StoreUnavailable: the file cannot be opened or is no graph store.

    """
    try:
        writer, readers = await asyncio.to_thread(_open, path)
    except sqlite3.Error as error:
        raise unavailable(error, STORE, busy=BUSY) from error
    except OSError as error:
        raise StoreUnavailable("the graph store's folder cannot be made") from error
    try:
        yield EmbeddedGraphStore(writer, readers)
    finally:
        await readers.close()
        await writer.close()


def _open(path: Path) -> tuple[_Connections, _Connections]:
    path.parent.mkdir(parents=True, exist_ok=True)
    first = schema.connect(path)
    try:
        schema.create(first)
    finally:
        first.close()
    return _Connections(path, 1, "graph-write"), _Connections(path, READERS, "graph-read")
