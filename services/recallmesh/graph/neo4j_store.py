"""The graph store over a Neo4j server: what is asked and changed, and when the server is ready for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

import structlog

from recallmesh.core.arm import Indexed, Removal
from recallmesh.core.errors import NotReady, StoreUnavailable
from recallmesh.core.page import Page, PageRequest
from recallmesh.graph import neo4j_reads, neo4j_schema, neo4j_writes
from recallmesh.graph.loop import OwnLoop
from recallmesh.graph.neo4j_warmth import warm_up
from recallmesh.graph.store import GraphReads, Node

NODES_PER_TRANSACTION = 200
"""So that no writer keeps the others of its bank waiting for longer than half a second or so."""
WRITERS = 8
"""The most transactions at once, of as many banks: the other connections are for reading."""
_T = TypeVar("_T")
_log = structlog.get_logger("recallmesh.graph")


class Server(Protocol):
    """What the store needs of a server."""

    async def ask(self, statement: str, values: Mapping[str, object]) -> list[Any]:
        """Return the one row that a statement answers.

        Raises:
            StoreUnavailable: there is no answer.

        """
        ...

    async def change(self, unit: Callable[[neo4j_writes.Change], Awaitable[_T]], *, keep: bool = True) -> _T:
        """Do a unit of work in one transaction, repeating it if need be; without ``keep`` it is undone.

        Raises:
            StoreUnavailable: it is not known to be done.

        """
        ...


class Neo4jGraphStore:
    """Fulfils GraphStore on a Neo4j server. What a write returned for is on the server's disk.

    The driver, and what is computed between two questions, run in a loop of their own. Until the database was migrated
    to the schema of this version, every call raises NotReady.
    """

    def __init__(self, loop: OwnLoop, server: Server, *, patient: Server) -> None:
        """Take over what an ``open_neo4j_graph_store`` closes; ``patient`` is the same server, given more time."""
        self._loop = loop
        self._server = server
        self._patient = patient
        self._migrated = False
        self._warming: asyncio.Task[None] | None = None
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._writers = asyncio.Semaphore(WRITERS)

    async def put(self, bank_uid: str, nodes: tuple[Node, ...]) -> None:
        """Store nodes, in one transaction where they are not very many."""

        async def work() -> None:
            await self._verify()
            for begin in range(0, len(nodes), NODES_PER_TRANSACTION):
                some = nodes[begin : begin + NODES_PER_TRANSACTION]
                await self._change(bank_uid, partial(neo4j_writes.put, bank_uid=bank_uid, nodes=some))

        if nodes:
            await self._run(work)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out, in one transaction where they are not very many."""

        async def work() -> None:
            await self._verify()
            for begin in range(0, len(removals), NODES_PER_TRANSACTION):
                some = removals[begin : begin + NODES_PER_TRANSACTION]
                await self._change(bank_uid, partial(neo4j_writes.delete, bank_uid=bank_uid, removals=some))

        if removals:
            await self._run(work)

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out, a thousand memories in a transaction."""

        async def work() -> None:
            await self._verify()
            while await self._change(bank_uid, partial(neo4j_writes.drop_some, bank_uid=bank_uid)):
                pass

        await self._run(work)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List the memories of a bank."""

        async def work() -> Page[Indexed]:
            await self._verify()
            return await neo4j_reads.scan(self._server.ask, bank_uid, page)

        return await self._run(work)

    async def read(self, work: Callable[[GraphReads], Coroutine[Any, Any, _T]]) -> _T:
        """Do the work in the store's loop."""

        async def verified() -> _T:
            await self._verify()
            return await work(neo4j_reads.CypherReads(self._server.ask))

        return await self._run(verified)

    async def check(self) -> None:
        """Return once the server answers, has the right schema and has planned what it will be asked."""
        await self._run(self._ready)

    async def begin_warming(self) -> None:
        """Begin to be ready, without waiting for it; what goes wrong is told by ``check``."""

        async def begin() -> None:
            self._warm()

        await self._loop.run(begin)

    async def end_warming(self) -> None:
        """Give up getting ready."""

        async def end() -> None:
            if self._warming is not None:
                self._warming.cancel()
                await asyncio.gather(self._warming, return_exceptions=True)

        await self._loop.run(end)

    async def _run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        async def watched() -> _T:
            try:
                return await work()
            except StoreUnavailable:
                # It may have been started anew: then its plans are gone, and its schema may be another.
                self._migrated = False
                if self._warming is not None and self._warming.done():
                    self._warming = None
                raise

        return await self._loop.run(watched)

    async def _change(self, bank_uid: str, unit: Callable[[neo4j_writes.Change], Awaitable[_T]]) -> _T:
        # One by one, as the server would let them: each that waited there would keep a connection from the readers.
        async with self._turns.setdefault(bank_uid, asyncio.Lock()), self._writers:
            return await self._server.change(unit)

    async def _ready(self) -> None:
        self._migrated = False
        await self._verify()
        # Whoever asks may give up before it is done; it is done for the next one.
        await asyncio.shield(self._warm())

    def _warm(self) -> asyncio.Task[None]:
        if self._warming is None or (self._warming.done() and self._warming.exception() is not None):
            self._warming = asyncio.create_task(self._warmed())
            self._warming.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._warming

    async def _warmed(self) -> None:
        await self._verify()
        began = time.perf_counter()
        await warm_up(self._patient.ask, self._patient.change)
        _log.info("graph.warmed_up", seconds=round(time.perf_counter() - began, 3))

    async def _verify(self) -> None:
        if self._migrated:
            return
        (version,) = await self._server.ask(neo4j_schema.READ_VERSION, {})
        fault = neo4j_schema.fault(version)
        if fault:
            raise NotReady(f"the graph store {fault}")
        self._migrated = True
