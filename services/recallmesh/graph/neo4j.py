"""The graph store on a Neo4j server, by its official driver; the statements are in the ``neo4j_…`` modules."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import neo4j
import structlog
from neo4j.exceptions import DriverError, Neo4jError

from recallmesh.core.errors import FieldViolation, InvalidArgument, NotReady, StoreUnavailable
from recallmesh.core.store import Inspection, Migrated
from recallmesh.core.time import Clock
from recallmesh.graph import neo4j_schema, neo4j_writes
from recallmesh.graph.loop import open_own_loop
from recallmesh.graph.neo4j_store import Neo4jGraphStore

DEFAULT_PORT = 7687
VERIFIED = "+s://"
"""What stands in a URL for TLS with a certificate that is verified."""
CONNECT_S = 2.0
"""The most seconds that a server may take to accept a connection."""
READ_S = 5.0
"""The most seconds of one question; a call with a deadline of its own ends at that."""
WRITE_S = 20.0
"""The most seconds of one transaction: a batch waits its turn among the other writers of its bank."""
PATIENCE_S = 60.0
"""The same for both where no search waits: a server that has just started is slow to plan what it never did."""
INSPECT_S = 10.0
"""The most seconds of one question about how it stands."""
CONNECTIONS = 32
"""The most connections to a server; a call waits for a free one."""
ATTEMPTS = 6
"""How often a transaction is made in all when the server asks for it to be made again."""
PAUSE_S = 0.05
"""The pause before the second attempt, in seconds; it doubles with each, and varies by half."""
SILENCE_S = 30.0
"""The seconds for which the same failure is not logged again."""
Random = Callable[[], float]
_T = TypeVar("_T")
_Unit = Callable[[neo4j_writes.Change], Awaitable[_T]]
_log = structlog.get_logger("recallmesh.graph")


@dataclass(frozen=True, slots=True)
class Neo4jDatabase:
    """Where a graph is kept: a server's URL (``bolt://host:7687``), who asks it (nobody: no credential), and a name."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    name: str = "neo4j"
    ca: Path | None = None
    """Whose certificate the server must have where the URL says TLS; absent: one of the system's authorities."""

    @property
    def address(self) -> str:
        """The server's address, for people."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}:{parts.port or DEFAULT_PORT}"


class _Server:
    """Asks and changes one database of a server; all that its driver raises leaves as a mesh error."""

    def __init__(
        self,
        driver: neo4j.AsyncDriver,
        database: str,
        random: Random,
        *,
        read_s: float = PATIENCE_S,
        write_s: float = PATIENCE_S,
    ) -> None:
        self._driver = driver
        self._database = database
        self._read_s = read_s
        self._write_s = write_s
        self._bookmarks = neo4j.AsyncGraphDatabase.bookmark_manager()
        self._random = random
        self._said: dict[str, float] = {}

    async def ask(self, statement: str, values: Mapping[str, object]) -> list[Any]:
        """Return the row that a statement answers; a connection that has died is left for another, once."""
        try:
            async with asyncio.timeout(self._read_s):
                try:
                    return await self._answer(statement, values)
                except (DriverError, Neo4jError) as error:
                    if not error.is_retryable():
                        raise
                return await self._answer(statement, values)
        except TimeoutError as error:
            raise StoreUnavailable("the graph store does not answer") from error
        except (DriverError, Neo4jError) as error:
            raise self._unavailable(error) from error

    async def change(self, unit: _Unit[_T], *, keep: bool = True) -> _T:
        """Do a unit of work in one transaction, again when the server asks for it; without ``keep`` it is undone."""
        return await self._repeated(partial(self._transact, unit, keep=keep))

    async def migrate(self, statement: str) -> None:
        """Run one statement of a migration; those of others at the same time may be in its way."""

        async def work() -> None:
            async with self._session(neo4j.WRITE_ACCESS) as session:
                await (await session.run(statement)).consume()

        await self._repeated(work)

    async def _repeated(self, work: Callable[[], Awaitable[_T]]) -> _T:
        pause = PAUSE_S
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await work()
            except (DriverError, Neo4jError) as error:
                # A server that is not there is asked once more only, for it may be the connection that is gone.
                most = ATTEMPTS if isinstance(error, Neo4jError) else 2
                if not _passes(error) or attempt >= most:
                    raise self._unavailable(error) from error
                _log.info("graph.write_repeated", attempt=attempt, code=getattr(error, "code", ""))
            await asyncio.sleep(pause * (0.5 + self._random()))
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    async def _answer(self, statement: str, values: Mapping[str, object]) -> list[Any]:
        async with self._session(neo4j.READ_ACCESS) as session:
            result = await session.run(neo4j.Query(statement, timeout=self._read_s), dict(values))
            return (await result.single(strict=True)).values()

    async def _transact(self, unit: _Unit[_T], *, keep: bool) -> _T:
        try:
            async with (
                asyncio.timeout(self._write_s),
                self._session(neo4j.WRITE_ACCESS) as session,
                await session.begin_transaction(timeout=self._write_s) as transaction,
            ):
                made = await unit(partial(_changed, transaction))
                await (transaction.commit() if keep else transaction.rollback())
                return made
        except TimeoutError as error:
            raise StoreUnavailable("the graph store did not finish the write") from error

    def _unavailable(self, error: DriverError | Neo4jError) -> StoreUnavailable:
        """Return what to raise for what the driver raised; its own words are for the log, now and then."""
        code = getattr(error, "code", None) or type(error).__name__
        now = asyncio.get_running_loop().time()
        # Readiness asks twice a second, and a server may be away for hours.
        if now - self._said.get(code, -SILENCE_S) >= SILENCE_S:
            self._said[code] = now
            _log.warning("graph.driver_failed", error=str(error), code=code)
        return StoreUnavailable(_meaning(error, code))

    def _session(self, access: str) -> neo4j.AsyncSession:
        return self._driver.session(
            database=self._database,
            default_access_mode=access,
            fetch_size=-1,
            bookmark_manager=self._bookmarks,
        )


@asynccontextmanager
async def open_neo4j_graph_store(database: Neo4jDatabase, *, random: Random) -> AsyncIterator[Neo4jGraphStore]:
    """Open the graph store on a server, which need not be there yet: until it is, calls raise StoreUnavailable."""
    async with open_own_loop("graph-neo4j") as loop:
        driver = await loop.run(lambda: _connect(database))
        server = _Server(driver, database.name, random, read_s=READ_S, write_s=WRITE_S)
        store = Neo4jGraphStore(loop, server, patient=_Server(driver, database.name, random))
        try:
            await store.begin_warming()
            yield store
        finally:
            await store.end_warming()
            await loop.run(lambda: _close(driver))


async def migrate_neo4j(database: Neo4jDatabase, *, random: Random) -> Migrated:
    """Bring the schema of a database to this version's; several may do so at once.

    Raises:
        StoreUnavailable: the server does not answer, or not to this user.
        NotReady: the schema is newer than this version's.

    """
    driver = await _connect(database)
    try:
        server = _Server(driver, database.name, random)
        (before,) = await server.ask(neo4j_schema.READ_VERSION, {})
        if before is not None and before > neo4j_schema.VERSION:
            raise NotReady(f"the graph store {neo4j_schema.fault(before)}")
        for version in range((before or 0) + 1, neo4j_schema.VERSION + 1):
            for statement in neo4j_schema.MIGRATIONS[version]:
                await server.migrate(statement)
            await server.migrate(neo4j_schema.AWAIT)
            await server.change(partial(neo4j_schema.record, version=version))
        return Migrated("neo4j", database.address, str(before or ""), str(neo4j_schema.VERSION))
    finally:
        await _close(driver)


async def inspect_neo4j(database: Neo4jDatabase, *, random: Random, now: Clock) -> Inspection:
    """Tell how a database stands; one that does not answer is told of in the advice."""
    wanted = str(neo4j_schema.VERSION)
    driver = await _connect(database)
    try:
        server = _Server(driver, database.name, random, read_s=INSPECT_S)
        await server.ask(neo4j_schema.CLOCK, {})  # the first time it is compiled, for as long as seconds
        before = now()
        (clock,) = await server.ask(neo4j_schema.CLOCK, {})
        middle = before + (now() - before) / 2
        (product,) = await server.ask(neo4j_schema.SERVER, {})
        (schema,) = await server.ask(neo4j_schema.READ_VERSION, {})
        (memories,) = await server.ask(neo4j_schema.MEMORIES, {})
    except StoreUnavailable as error:
        return Inspection("neo4j", database.address, wanted=wanted, advice=(error.message,))
    finally:
        await _close(driver)
    fault = neo4j_schema.fault(schema)
    return Inspection(
        "neo4j",
        database.address,
        version=product,
        schema=str(schema or ""),
        wanted=wanted,
        memories=memories,
        skew_s=clock / 1000 - middle.timestamp(),
        advice=(f"it {fault}",) if fault else (),
    )


def _meaning(error: DriverError | Neo4jError, code: str) -> str:
    """Say what an error means to a caller."""
    if code.startswith("Neo.ClientError.Security."):
        return "the graph store does not let this user in; set graph.neo4j_user and _password"
    if code == "Neo.ClientError.Database.DatabaseNotFound":
        return "the graph store's server has no such database; set graph.neo4j_database"
    if isinstance(error, DriverError):
        return "the graph store does not answer"
    return "the graph store cannot do its work; the log of its process says why"


def _passes(error: DriverError | Neo4jError) -> bool:
    """Tell whether the same work may succeed next time; what another migration has made meanwhile is there then."""
    made_beside = isinstance(error, Neo4jError) and (error.code or "").endswith("AlreadyExists")
    return made_beside or error.is_retryable()


async def _changed(transaction: neo4j.AsyncTransaction, statement: str, values: Mapping[str, object]) -> list[Any]:
    result = await transaction.run(statement, dict(values))
    record = await result.single()
    return [] if record is None else record.values()


async def _connect(database: Neo4jDatabase) -> neo4j.AsyncDriver:
    url = database.url
    trust: dict[str, Any] = {}
    if database.ca is not None and VERIFIED in url:
        # The driver takes a trust of ours only where the URL brings none of its own.
        url = url.replace(VERIFIED, "://", 1)
        trust = {"encrypted": True, "ssl_context": await asyncio.to_thread(_trust, database.ca)}
    return neo4j.AsyncGraphDatabase.driver(
        url,
        **trust,
        auth=(database.user, database.password) if database.user else None,
        connection_timeout=CONNECT_S,
        connection_acquisition_timeout=PATIENCE_S,
        max_connection_pool_size=CONNECTIONS,
        notifications_min_severity="OFF",
        telemetry_disabled=True,
        user_agent="recallmesh",
    )


def _trust(ca: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca))
    except OSError as error:
        field = "RECALLMESH_GRAPH__NEO4J_CA"
        raise InvalidArgument(FieldViolation(field, "certificates cannot be read there")) from error


async def _close(driver: neo4j.AsyncDriver) -> None:
    # Saying goodbye to a server that hangs would take for ever.
    try:
        async with asyncio.timeout(CONNECT_S):
            await driver.close()
    except (TimeoutError, DriverError, OSError) as error:
        _log.info("graph.driver_left", error=str(error))
