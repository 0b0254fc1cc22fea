"""The ledger on a PostgreSQL server, by psycopg: many writers, and a server that may be away or silent."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import psycopg
import structlog
from psycopg import IsolationLevel
from psycopg.abc import PQGen
from psycopg.rows import TupleRow
from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event

from recallmesh.core.errors import (
    ConflictingWrite,
    FieldViolation,
    InvalidArgument,
    MeshError,
    NotReady,
    StoreUnavailable,
)
from recallmesh.ledger.backend import TO_MIGRATE, Failure, driver_of
from recallmesh.ledger.dialect import order_text_bytewise

T = TypeVar("T")

CONNECT_S: Final = 2
"""How long a connection may take to be made, in whole seconds: the least that libpq takes."""
LOCK_S = 10.0
"""How long a statement waits for what another transaction holds: as long as SQLite waits for another's write."""
IDLE_S = 60.0
"""When the server ends a transaction that asks nothing more, and lets go of what it holds."""
WAIT_S = 10.0
"""How long a transaction waits for a connection of the pool."""
GRACE_S = 2.0
"""So much longer than the server may take for a statement we wait: then it is not slow, but silent."""
MIGRATION_S = 3600.0
RECYCLE_S = 1800
"""When a connection is made anew, so that processes find back to a server that others took over from."""
STATEMENTS = 400
"""Statements that the server keeps prepared for a connection; the ledger has about 200."""
PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "random_page_cost": "1.1", "jit": "off"}
"""By index, as SQLite does, whatever the statistics say: they do not know a bank that was filled since they were taken,
think it has one row, and read it whole for 300 memories (100 ms of 20,000 instead of 1.4)."""
RUNS = 5
REVISION = "banks.xmin::text"
"""The transaction that wrote a bank's row last: every write of what a bank holds begins with writing its row."""

UNKNOWN = (
    "the ledger's database went away before it said whether the write was kept; "
    "make the call again with the same request id, or look"
)
NUL = FieldViolation("request", "holds a NUL character, which no id and no name has")
VALUE = FieldViolation("request", "holds a value that the ledger cannot keep")
_CONFLICTS = frozenset({"40001", "40P01"})
"""Serialisation failure, deadlock."""
_OLD = (NotReady, f"the ledger's schema is not the one this version needs; {TO_MIGRATE}")
_MEANINGS: dict[str, tuple[type[MeshError], str]] = {
    "55P03": (ConflictingWrite, "the ledger is busy with other writes; try again"),
    "57014": (StoreUnavailable, "the ledger's database did not answer in time"),
    "42P01": _OLD,
    "42703": _OLD,
    "53100": (StoreUnavailable, "the ledger cannot be written: the disk is full"),
    "53300": (StoreUnavailable, "the ledger's database has no connection left"),
    "25006": (StoreUnavailable, "the ledger cannot be written: the database is read-only"),
    "42501": (StoreUnavailable, "the ledger's database does not allow its user to do this"),
}
_AWAY = frozenset({"", "08", "53", "57", "58"})
"""Classes of errors of the connection, the server's means, its operator and its machine."""
_KEPT_OUT = re.compile(r"password|pg_hba|role \"|database \"[^\n]*\" does not exist", re.IGNORECASE)
"""What libpq says, which has no code for it, when a server is there and lets nobody of that name in."""
_WITH_VALUES = "22"
"""The class of errors whose text quotes what was told."""

_log = structlog.get_logger("recallmesh.ledger")


class Silent(psycopg.OperationalError):
    """The server took longer than it lets itself take: it was stopped, or what lies between us swallows its words."""


class PatientConnection(psycopg.Connection[TupleRow]):
    """A connection that waits for an answer only so long, then ends: libpq's own timeouts see a dead network alone."""

    patience_s: float | None = None

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for an answer; raises ``Silent``."""
        patience_s, began = self.patience_s if timeout is None else timeout, time.monotonic()
        try:
            return super().wait(gen, interval, patience_s)
        except psycopg.OperationalError as error:
            if patience_s is None or time.monotonic() - began < patience_s:
                raise
            self.pgconn.finish()  # whatever it still says is not the answer to the next question
            raise Silent("the server is silent") from error


@dataclass(frozen=True, slots=True)
class Postgres:
    """``Backend`` of a PostgreSQL database; ``timeout_s`` is how long the server may take for one statement."""

    url: URL
    readers: int
    writers: int
    timeout_s: float
    lock_s: float = LOCK_S
    name: str = "postgres"
    is_shared: bool = True
    wait_s: float | None = WAIT_S
    runs: int = RUNS
    revision: str = REVISION

    @property
    def address(self) -> str:
        """The URL without its password and without what else it sets, which may be another."""
        url = self.url
        return URL.create("postgresql", url.username, None, url.host, url.port, url.database).render_as_string()

    def engine(self, *, writes: bool) -> Engine:
        """Return an engine: readers see one moment and can change nothing, writers what others have committed."""
        return self._engine(self.writers if writes else self.readers, self.timeout_s, self.lock_s, writes=writes)

    def witness(self) -> None:
        """Return nothing: to ask a server takes as long as to read."""

    @contextmanager
    def glance(self, connection: Connection) -> Iterator[None]:
        """Commit each statement by itself: a beginning and an end would be two more ways to the server and back."""
        driver = cast("PatientConnection", connection.connection.dbapi_connection)
        driver.autocommit = True
        try:
            yield
        finally:
            # One that was lost is not used again.
            if not driver.closed:
                driver.autocommit = False

    def migrating_engine(self) -> Engine:
        """Return an engine of one connection that also makes columns of text which are ordered as SQLite orders."""
        engine = self._engine(1, MIGRATION_S, MIGRATION_S, writes=True)
        order_text_bytewise(engine)
        return engine

    def failure(self, error: Exception, *, committing: bool = False) -> Failure:
        """Tell what an error means; conflicts and lost connections may go well another time."""
        driver = driver_of(error)
        code = getattr(driver, "sqlstate", None) or ""
        lost = bool(getattr(error, "connection_invalidated", False))
        found = _meaning(driver, code, lost=lost, committing=committing)
        tell = _log.info if found.again else _log.warning
        tell("ledger.driver_failed", error=_said(driver, code), kind=type(driver).__name__, code=code)
        return found

    def _engine(self, size: int, timeout_s: float, lock_s: float, *, writes: bool) -> Engine:
        engine = create_engine(
            self.url.set(drivername="postgresql+psycopg"),
            poolclass=QueuePool,
            pool_size=size,
            max_overflow=0,
            pool_recycle=RECYCLE_S,
            use_native_hstore=False,
        )
        limits = {
            "default_transaction_read_only": "off" if writes else "on",
            "statement_timeout": _milliseconds(timeout_s),
            "lock_timeout": _milliseconds(lock_s),
            "idle_in_transaction_session_timeout": _milliseconds(max(IDLE_S, timeout_s)),
        }

        def connect(_dialect: object, _record: object, words: list[Any], named: dict[str, Any]) -> PatientConnection:
            defaults: dict[str, Any] = {"connect_timeout": CONNECT_S, "application_name": "recallmesh"}
            connection = PatientConnection.connect(*words, **(defaults | named), client_encoding="utf8")
            connection.patience_s = timeout_s + GRACE_S
            connection.autocommit = True
            for setting in (limits | PLANS).items():
                connection.execute("SELECT set_config(%s, %s, false)", setting)
            connection.autocommit = False
            connection.prepared_max = STATEMENTS
            connection.isolation_level = IsolationLevel.READ_COMMITTED if writes else IsolationLevel.REPEATABLE_READ
            connection.read_only = not writes
            return connection

        event.listen(engine, "do_connect", connect)
        return engine


def _milliseconds(seconds: float) -> str:
    return f"{int(seconds * 1000)}ms"


def _meaning(driver: BaseException, code: str, *, lost: bool, committing: bool) -> Failure:
    if isinstance(driver, psycopg.IntegrityError):
        return Failure(ConflictingWrite("another write came between; try again"), again=True)
    if code in _CONFLICTS:
        return Failure(ConflictingWrite("other writes came between again and again; try again"), again=True)
    if code in _MEANINGS:
        kind, said = _MEANINGS[code]
        return Failure(kind(said))
    if isinstance(driver, psycopg.DataError):
        return Failure(InvalidArgument(VALUE if code else NUL))  # the driver itself refuses NUL alone
    if committing and lost:
        return Failure(StoreUnavailable(UNKNOWN))
    away = StoreUnavailable(f"the ledger's database {_away(driver, code)}")
    return Failure(away, again=lost and not isinstance(driver, Silent))


def _away(driver: BaseException, code: str) -> str:
    if not code and _KEPT_OUT.search(str(driver)):
        return "lets nobody in by this user, password and database name"
    return "does not answer" if code[:2] in _AWAY else "refused what was asked of it; the log says why"


def _said(driver: BaseException, code: str) -> str:
    """Return the driver's word for the log, without the details, which quote rows."""
    if code.startswith(_WITH_VALUES):
        return ""
    diagnosis = getattr(driver, "diag", None)
    return (diagnosis and diagnosis.message_primary) or str(driver)
