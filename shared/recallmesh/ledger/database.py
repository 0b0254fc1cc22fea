"""One database and its two doors: writers and readers, each transaction one visit to a thread."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import copy_context
from sqlite3 import Error as SqliteError
from typing import Protocol, TypeVar

from sqlalchemy import URL, Connection, Engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from recallmesh.core.errors import FieldViolation, InvalidArgument, StoreUnavailable
from recallmesh.ledger.backend import Backend
from recallmesh.ledger.kept import Keeping, Revisions, Shelf, Witness
from recallmesh.ledger.sqlite import Sqlite

T = TypeVar("T")

DRIVER_ERRORS = (DBAPIError, SqliteError)
"""SQLAlchemy passes on as it is what goes wrong while a new connection is prepared."""
READERS = 4
"""Threads and connections that read at once; SQLite scales with cores, and four arms recall in parallel."""
WRITERS = 4
"""The same of those that write, on PostgreSQL: writes of one bank wait for each other, those of several do not."""
TIMEOUT_S = 30.0
"""How long a PostgreSQL server may take for one statement, in seconds."""
PAUSE_S = 0.005
"""Before a transaction is run again; longer each time."""
EXAMPLES = "sqlite:////srv/recallmesh/ledger.db or postgresql://user@host/database"
CLOSED = "the ledger is closed"
BUSY = "all connections to the ledger's database are in use"
_ANYTHING = text("SELECT 1")
_POSTGRES = frozenset({"postgresql", "postgresql+psycopg"})


Begin = Callable[[Connection], AbstractContextManager[object]]
"""Begins a transaction on a connection, which ends with the context: kept, or undone after an error."""


class Wrap(Protocol):
    """What is put around the work of a write: asked on the event loop, what it returns runs in the transaction."""

    def __call__(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """Return the work to do instead."""
        ...


def as_it_is(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Put nothing around it."""
    return work


def anything(connection: Connection) -> None:
    """Admit any database."""


class Database:
    """Runs transactions, each as a whole in a thread, so that the event loop neither computes nor holds a lock.

    On SQLite writes are serial, in the order of their calls, and take the database's write lock at their start. On
    PostgreSQL several write at once and see what others have committed before each of their statements: a write of a
    bank begins by keeping others out of it (``lock_bank``). Reads see one state and wait for no write. A transaction
    that met a conflict or lost its connection is run again, a few times: work must be such that it can be. A caller
    that is cancelled leaves its transaction to end alone.
    """

    def __init__(
        self, backend: Backend, *, wrap: Wrap = as_it_is, admit: Callable[[Connection], None] = anything
    ) -> None:
        """Prepare both doors; nothing is opened yet.

        ``wrap`` is put around the work of every write. ``admit`` looks at the database in the first transaction, and
        in every one until it raises nothing.
        """
        self._backend = backend
        self._wrap = wrap
        self._admit = admit
        self._admitted = False
        self._keeping: Keeping | None = None
        self._revisions = Revisions() if backend.revision else None
        self._write_engine = backend.engine(writes=True)
        self._read_engine = backend.engine(writes=False)
        self._writers = ThreadPoolExecutor(backend.writers, thread_name_prefix="ledger-write")
        self._readers = ThreadPoolExecutor(backend.readers, thread_name_prefix="ledger-read")

    async def read(self, work: Callable[[Connection], T], *, again: bool = True) -> T:
        """Run a reading transaction; ``again`` off: what the work hands over cannot be taken back, so it runs once."""
        return await self._run(self._readers, self._read_engine, work, again=again)

    def keep(self, witness: Witness) -> None:
        """Keep from now on what is read, while this witness says that nothing was written."""
        self._keeping = Keeping(witness)

    async def glance(self, work: Callable[[Connection], T]) -> T:
        """Read by one statement, or by several that need not see the same state: ``read`` without its transaction."""
        return await self._run(self._readers, self._read_engine, work, begin=self._backend.glance)

    @property
    def revision(self) -> str:
        """SQL over a bank's row that tells its state (see ``Backend``); empty: nothing does."""
        return self._backend.revision

    def seen(self, bank_uid: str, revision: str) -> None:
        """Take note of the state that a bank is in, as its row told: what is kept of another is let go."""
        if self._revisions is not None:
            self._revisions.seen(bank_uid, revision)

    def kept(self, bank_uid: str = "") -> Shelf | None:
        """Return what was read and still holds, to look things up and to put them; absent: read them.

        Where the database as a whole tells that nothing was written, that is all that was read of it; else, what was
        read of this bank since it was last asked for, or before, in the same state.
        """
        if not self._admitted:
            return None
        if self._revisions is not None:
            return self._revisions.of(bank_uid)
        return self._keeping.now() if self._keeping is not None else None

    async def write(self, work: Callable[[Connection], T], *, again: bool = True) -> T:
        """Run a writing transaction: all of it or nothing. ``again`` off: the work can run only once."""
        written = await self._run(self._writers, self._write_engine, self._wrap(work), again=again)
        self._forget()  # who reads next need not have asked for the bank again
        return written

    def _forget(self) -> None:
        if self._revisions is not None:
            self._revisions.forget()

    async def check(self) -> None:
        """Look at the database anew; raises what ``admit`` does, and from then on so does every call."""
        self._admitted = False
        await self.read(anything)

    async def close(self) -> None:
        """Let running transactions end, then close all connections."""
        keeping, self._keeping = self._keeping, None
        for threads in (self._writers, self._readers):
            await asyncio.to_thread(threads.shutdown)
        for engine in (self._read_engine, self._write_engine):
            await asyncio.to_thread(engine.dispose)
        if keeping is not None:
            keeping.close()

    async def _run(
        self,
        threads: ThreadPoolExecutor,
        engine: Engine,
        work: Callable[[Connection], T],
        *,
        again: bool = True,
        begin: Begin = Connection.begin,
    ) -> T:
        try:
            # In the caller's context: what is written keeps the trace that it belongs to.
            begun = threads.submit(copy_context().run, self._transact, engine, work, again=again, begin=begin)
        except RuntimeError as error:  # the executor's word for being shut down
            raise StoreUnavailable(CLOSED) from error
        return await _outcome(begun, self._backend.wait_s)

    def _transact(self, engine: Engine, work: Callable[[Connection], T], *, again: bool, begin: Begin) -> T:
        runs, begun = self._backend.runs, False
        for run in range(1, runs + 1):
            committing = False
            try:
                with engine.connect() as connection, begin(connection):
                    if not again:
                        connection.execute(
                            _ANYTHING
                        )  # a connection that was lost long ago shows before the work begins
                    if not self._admitted:
                        self._admit(connection)
                        self._admitted = True
                    begun = True
                    result = work(connection)
                    committing = True
                return result
            except DRIVER_ERRORS as error:
                failure = self._backend.failure(error, committing=committing)
                self._forget()  # another server may have taken over, and count its transactions anew
                if not failure.again or (begun and not again) or run == runs:
                    raise failure.error from error
            time.sleep(PAUSE_S * run)
        raise AssertionError("a transaction is run at least once")


async def _outcome(begun: Future[T], wait_s: float | None) -> T:
    """Wait for a transaction, but only so long for its beginning: threads may all be held by a silent server."""
    outcome = asyncio.wrap_future(begun)
    if wait_s is not None:
        try:
            await asyncio.wait({outcome}, timeout=wait_s)
        except asyncio.CancelledError:
            outcome.cancel()  # nobody asks for it any more; begun, it ends alone
            raise
        if not outcome.done() and begun.cancel():
            raise StoreUnavailable(BUSY)
    return await outcome


def backend_of(url: str, *, readers: int = READERS, writers: int = WRITERS, timeout_s: float = TIMEOUT_S) -> Backend:
    """Return the database at an SQLAlchemy URL; makes the folder of an SQLite file.

    Raises:
        InvalidArgument: the URL is none, or of another kind of database, or its driver is not installed.
        StoreUnavailable: the folder cannot be made.

    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise InvalidArgument(FieldViolation("ledger.url", f"is no URL such as {EXAMPLES}")) from error
    if "@" in (parsed.host or ""):
        raise InvalidArgument(FieldViolation("ledger.url", "holds an @ in the user or the password: write it as %40"))
    if parsed.get_backend_name() == "sqlite":
        sqlite = Sqlite(url, readers)
        sqlite.make_room()
        return sqlite
    if parsed.drivername in _POSTGRES:
        return _postgres(parsed, readers, writers, timeout_s)
    raise InvalidArgument(FieldViolation("ledger.url", f"names no database that a ledger can be in: {EXAMPLES}"))


def _postgres(url: URL, readers: int, writers: int, timeout_s: float) -> Backend:
    try:
        from recallmesh.ledger.postgres import Postgres  # noqa: PLC0415 - most ledgers are files and need no driver
    except ImportError as error:
        remedy = "needs a driver that is not installed: pip install 'recallmesh[postgres]'"
        raise InvalidArgument(FieldViolation("ledger.url", remedy)) from error
    return Postgres(url, readers, writers, timeout_s)


@asynccontextmanager
async def open_database(
    backend: Backend, *, wrap: Wrap = as_it_is, admit: Callable[[Connection], None] = anything
) -> AsyncIterator[Database]:
    """Open a database for reading and writing."""
    database = Database(backend, wrap=wrap, admit=admit)
    witness = await asyncio.to_thread(backend.witness)
    if witness is not None:
        database.keep(witness)
    try:
        yield database
    finally:
        await database.close()
