"""Brings a database to the schema this version needs."""

import threading
import time
from pathlib import Path
from sqlite3 import OperationalError as SqliteBusy

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text

from recallmesh.core.errors import NotReady
from recallmesh.ledger.backend import TO_MIGRATE, Backend
from recallmesh.ledger.database import DRIVER_ERRORS
from recallmesh.ledger.revision import is_newer, is_usable
from recallmesh.ledger.schema import HEAD

WAL_TRIES = 200
WAL_WAIT_S = 0.02
NEWER = "the ledger was made by a newer version of recallmesh; use that one"
OLD = f"the ledger's schema is not the one this version needs; {TO_MIGRATE}"

_ALONE = text("SELECT pg_advisory_xact_lock(hashtextextended('recallmesh ledger migration', 0))")
_ENCODING = text("SELECT current_setting('server_encoding')")

_one_at_a_time = threading.Lock()
"""Alembic keeps its context in module globals: two migrations in one process would meet there."""


def migrate_now(backend: Backend) -> str:
    """Bring the database to ``HEAD`` in one transaction; blocks, several processes may try at once.

    Returns the schema that it had; empty: none. A later one that this version can use is left as it is.

    Raises:
        NotReady: the database was made by a newer version that this one does not fit, or cannot hold every text.
        StoreUnavailable: it does not answer.

    """
    engine = backend.migrating_engine()
    try:
        with _one_at_a_time:
            if engine.dialect.name == "sqlite":
                let_write_ahead(engine)
            with engine.begin() as connection:
                if engine.dialect.name == "postgresql":
                    prepare(connection)
                before = current_revision(connection) or ""
                if not is_usable(before, HEAD):
                    upgrade(connection)
                return before
    except CommandError as error:
        raise NotReady(NEWER) from error
    except DRIVER_ERRORS as error:
        raise backend.failure(error).error from error
    finally:
        engine.dispose()


def current_revision(connection: Connection) -> str | None:
    """Return the newest migration the database has had."""
    return MigrationContext.configure(connection).get_current_revision()


def check_revision(connection: Connection, *, exact: bool = False) -> None:
    """Return if this version can use a database as it is; raises ``NotReady``, which says what to do.

    ``exact``: only if it has this version's own schema, as whoever copies all of it needs.
    """
    found = current_revision(connection) or ""
    if found != HEAD if exact else not is_usable(found, HEAD):
        raise NotReady(NEWER if is_newer(found, HEAD) else OLD)


def alembic_config() -> Config:
    """Return Alembic's configuration, which lies in no file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Bring a database to a schema in the transaction in hand; raises Alembic's ``CommandError`` for an unknown one."""
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def prepare(connection: Connection) -> None:
    """Keep other migrations of the database out until the transaction ends, and see that it can hold every text."""
    connection.execute(_ALONE)
    encoding = connection.execute(_ENCODING).scalar_one()
    if encoding != "UTF8":
        raise NotReady(f"the ledger's database has the encoding {encoding}: make one with the encoding UTF8")


def let_write_ahead(engine: Engine) -> None:
    """Switch an SQLite file to write-ahead logging, once in its life.

    The switch wants the file alone, and SQLite does not wait for that itself.
    """
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        for tries_left in reversed(range(WAL_TRIES)):
            try:
                cursor.execute("PRAGMA journal_mode")
                if cursor.fetchone() == ("wal",):
                    return
                cursor.execute("PRAGMA journal_mode = WAL")
            except SqliteBusy:
                if not tries_left:
                    raise
                time.sleep(WAL_WAIT_S)
    finally:
        raw.close()
