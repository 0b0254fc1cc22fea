"""Brings a database to the schema this version needs."""

import threading
import time
from pathlib import Path
from sqlite3 import OperationalError as SqliteBusy

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from sqlalchemy import Connection, Engine

from recallmesh.core.errors import NotReady
from recallmesh.ledger.database import DRIVER_ERRORS, make_room, translated, writing_engine
from recallmesh.ledger.schema import HEAD

WAL_TRIES = 200
WAL_WAIT_S = 0.02

_one_at_a_time = threading.Lock()
"""Alembic keeps its context in module globals: two migrations in one process would meet there."""


def migrate_now(url: str) -> None:
    """Bring the database to ``HEAD`` in one transaction; blocks, several processes may try at once.

    Raises:
        NotReady: the database was made by a newer version.
        StoreUnavailable: it does not answer.

    """
    make_room(url)
    engine = writing_engine(url)
    try:
        with _one_at_a_time:
            if engine.dialect.name == "sqlite":
                _log_ahead(engine)
            with engine.begin() as connection:
                if current_revision(connection) != HEAD:
                    _upgrade(connection)
    except CommandError as error:
        raise NotReady("the ledger was made by a newer version of recallmesh; use that one") from error
    except DRIVER_ERRORS as error:
        raise translated(error) from error
    finally:
        engine.dispose()


def current_revision(connection: Connection) -> str | None:
    """Return the newest migration the database has had."""
    return MigrationContext.configure(connection).get_current_revision()


def alembic_config() -> Config:
    """Return Alembic's configuration, which lies in no file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def _upgrade(connection: Connection) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)


def _log_ahead(engine: Engine) -> None:
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
