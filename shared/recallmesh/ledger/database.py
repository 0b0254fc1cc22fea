"""One database and its two doors: a single writer and a pool of readers, each transaction one visit to a thread."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import Error as SqliteError
from typing import Protocol, TypeVar

import structlog
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from recallmesh.core.errors import (
    ConflictingWrite,
    FieldViolation,
    InvalidArgument,
    MeshError,
    NotReady,
    StoreUnavailable,
)

T = TypeVar("T")

BUSY_TIMEOUT_MS = 10_000
"""How long a process waits for another's write before it gives up; a write takes milliseconds."""
CACHE_KIB = 16_384
MMAP_BYTES = 268_435_456
DRIVER_ERRORS = (DBAPIError, SqliteError)
"""SQLAlchemy passes on as it is what goes wrong while a new connection is prepared."""
EXAMPLE = "sqlite:////srv/recallmesh/ledger.db"
CLOSED = "the ledger is closed"
_CAUSES = {"disk is full": "the disk is full", "readonly database": "the database is read-only"}
"""Part of SQLite's own words (its ``sqlite3ErrStr``) and ours: what an operator can mend, and only then can we."""

_log = structlog.get_logger("recallmesh.ledger")


class Wrap(Protocol):
    """What is put around the work of a write: asked on the event loop, what it returns runs in the transaction."""

    def __call__(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """Return the work to do instead."""
        ...


def as_it_is(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Put nothing around it."""
    return work


class Database:
    """Runs transactions, each as a whole in a thread, so that the event loop neither computes nor holds a lock.

    Writes are serial within the process, in the order of their calls, and take the database's write lock at their
    start; reads see one state and wait for no write. A caller that is cancelled leaves its transaction to end alone.
    """

    def __init__(self, url: str, *, readers: int, wrap: Wrap = as_it_is) -> None:
        """Prepare both doors; nothing is opened yet. ``wrap`` is put around the work of every write."""
        self._wrap = wrap
        self._write_engine = _open_engine(url, size=1, writes=True)
        self._read_engine = _open_engine(url, size=readers, writes=False)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ledger-write")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="ledger-read")

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a reading transaction."""
        return await self._run(self._readers, self._read_engine, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run a writing transaction: all of it or nothing."""
        return await self._run(self._writer, self._write_engine, self._wrap(work))

    async def close(self) -> None:
        """Let running transactions end, then close all connections."""
        for threads in (self._writer, self._readers):
            await asyncio.to_thread(threads.shutdown)
        for engine in (self._read_engine, self._write_engine):
            await asyncio.to_thread(engine.dispose)

    async def _run(self, threads: ThreadPoolExecutor, engine: Engine, work: Callable[[Connection], T]) -> T:
        try:
            future = asyncio.get_running_loop().run_in_executor(threads, _transact, engine, work)
        except RuntimeError as error:  # the executor's word for being shut down
            raise StoreUnavailable(CLOSED) from error
        return await future


def _transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    try:
        with engine.begin() as connection:
            return work(connection)
    except DRIVER_ERRORS as error:
        raise translated(error) from error


def translated(error: DBAPIError | SqliteError) -> MeshError:
    """Return what a driver's error means to the caller; the driver's own word goes to the log."""
    # Not str(error): SQLAlchemy adds the statement and its values, which are what banks were told.
    driver = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(driver, "sqlite_errorname", "")
    _log.warning("ledger.driver_failed", error=str(driver), kind=type(driver).__name__, code=code)
    said = str(driver).lower()
    if isinstance(error, IntegrityError):
        return ConflictingWrite("another write came between; try again")
    if isinstance(error, OperationalError):
        if "locked" in said or "busy" in said:
            return ConflictingWrite("the ledger is busy with other writes; try again")
        if "no such table" in said or "no such column" in said:
            return NotReady("the ledger's schema is not the one this version needs; it has to be migrated first")
    for words, cause in _CAUSES.items():
        if words in said:
            return StoreUnavailable(f"the ledger cannot be written: {cause}")
    return StoreUnavailable("the ledger's database does not answer")


def _open_engine(url: str, *, size: int, writes: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
    )
    event.listen(engine, "connect", _prepare_writer if writes else _prepare_reader)
    event.listen(engine, "begin", _begin_write if writes else _begin_read)
    return engine


def _prepare(connection: SqliteConnection) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves: the driver would begin late and deferred
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES}")
    connection.execute("PRAGMA temp_store = MEMORY")


def _prepare_writer(connection: SqliteConnection, _record: object) -> None:
    _prepare(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # an answered retain survives a power cut: docs/adr/0006


def _prepare_reader(connection: SqliteConnection, _record: object) -> None:
    _prepare(connection)
    connection.execute("PRAGMA query_only = ON")


def _begin_write(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_read(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def writing_engine(url: str) -> Engine:
    """Return an engine of one writing connection, for work outside a ``Database`` (migrations)."""
    return _open_engine(url, size=1, writes=True)


def make_room(url: str) -> None:
    """Create the folder of an SQLite file.

    Raises:
        InvalidArgument: the URL is none, or of another kind of database.
        StoreUnavailable: the folder cannot be made.

    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidArgument(FieldViolation("ledger.url", f"is no URL such as {EXAMPLE}")) from error
    if parsed.get_backend_name() != "sqlite":
        raise InvalidArgument(FieldViolation("ledger.url", f"names no SQLite database, such as {EXAMPLE}"))
    try:
        Path(parsed.database or "").parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable("the ledger's folder cannot be made") from error


@asynccontextmanager
async def open_database(url: str, *, readers: int, wrap: Wrap = as_it_is) -> AsyncIterator[Database]:
    """Open a database for reading and writing."""
    database = Database(url, readers=readers, wrap=wrap)
    try:
        yield database
    finally:
        await database.close()
