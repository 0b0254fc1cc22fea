"""The ledger in an SQLite file: one writer, readers beside it, shared by the processes of one machine."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import Error as SqliteError
from sqlite3 import connect
from urllib.parse import quote

import structlog
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import IntegrityError, OperationalError

from recallmesh.core.errors import ConflictingWrite, MeshError, NotReady, StoreUnavailable
from recallmesh.ledger.backend import TO_MIGRATE, Failure, driver_of
from recallmesh.ledger.kept import Witness

BUSY_TIMEOUT_MS = 10_000
"""How long a process waits for another's write before it gives up; a write takes milliseconds."""
CACHE_KIB = 16_384
MMAP_BYTES = 268_435_456
_CAUSES = {"disk is full": "the disk is full", "readonly database": "the database is read-only"}
"""Part of SQLite's own words (its ``sqlite3ErrStr``) and ours: what an operator can mend, and only then can we."""

_log = structlog.get_logger("recallmesh.ledger")


@dataclass(frozen=True, slots=True)
class Sqlite:
    """``Backend`` of an SQLite file."""

    url: str
    readers: int
    writers: int = 1
    name: str = "sqlite"
    is_shared: bool = False
    wait_s: float | None = None
    runs: int = 1
    revision: str = ""

    @property
    def address(self) -> str:
        """The path of the file."""
        return make_url(self.url).database or ""

    def make_room(self) -> None:
        """Create the file's folder; raises ``StoreUnavailable``."""
        try:
            Path(self.address).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable("the ledger's folder cannot be made") from error

    def engine(self, *, writes: bool) -> Engine:
        """Return an engine; each of its transactions begins as what it is."""
        engine = create_engine(
            self.url,
            poolclass=QueuePool,
            pool_size=self.writers if writes else self.readers,
            max_overflow=0,
            connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
        )
        event.listen(engine, "connect", _prepare_writer if writes else _prepare_reader)
        event.listen(engine, "begin", _begin_write if writes else _begin_read)
        return engine

    def witness(self) -> Witness | None:
        """Return a connection that sees from the file's own counter whether others have written."""
        return FileWitness(self.address) if self.address and self.address != ":memory:" else None

    def glance(self, connection: Connection) -> AbstractContextManager[object]:
        """Run a transaction: nothing is nearer."""
        return connection.begin()

    def migrating_engine(self) -> Engine:
        """Return the engine that writes: it is as patient."""
        return self.engine(writes=True)

    def failure(self, error: Exception, *, committing: bool = False) -> Failure:  # noqa: ARG002 - an answer always comes
        """Tell what an error means; another run would meet the same."""
        driver = driver_of(error)
        code = getattr(driver, "sqlite_errorname", "")
        _log.warning("ledger.driver_failed", error=str(driver), kind=type(driver).__name__, code=code)
        return Failure(_meaning(error, str(driver).lower()))


class FileWitness:
    """Tells by SQLite's ``data_version`` whether another connection has committed, in some twenty microseconds."""

    def __init__(self, path: str) -> None:
        """Look at this file, once it is there."""
        self._path = path
        self._connection: SqliteConnection | None = None

    def state(self) -> int | None:
        """Return the counter; nothing while the file is not there, or cannot be read at once."""
        try:
            if self._connection is None:
                self._connection = connect(
                    f"file:{quote(self._path)}?mode=rw", uri=True, timeout=0, isolation_level=None
                )
            version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        except SqliteError:
            self.close()  # another one counts from another number
            return None
        return version

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _meaning(error: Exception, said: str) -> MeshError:
    if isinstance(error, IntegrityError):
        return ConflictingWrite("another write came between; try again")
    if isinstance(error, OperationalError):
        if "locked" in said or "busy" in said:
            return ConflictingWrite("the ledger is busy with other writes; try again")
        if "no such table" in said or "no such column" in said:
            return NotReady(f"the ledger's schema is not the one this version needs; {TO_MIGRATE}")
    for words, cause in _CAUSES.items():
        if words in said:
            return StoreUnavailable(f"the ledger cannot be written: {cause}")
    return StoreUnavailable("the ledger's database does not answer")


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
