"""A backup read back: looked through first, then written into an empty database in one transaction."""

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any, cast

from alembic.util import CommandError
from sqlalchemy import Connection, MetaData, Table, func, select, text

from recallmesh.core.errors import FieldViolation, InvalidArgument, NotReady
from recallmesh.ledger.backend import Backend
from recallmesh.ledger.backup import FORMAT, ROWS_AT_ONCE, Contents, Tell
from recallmesh.ledger.database import DRIVER_ERRORS
from recallmesh.ledger.migration import current_revision, let_write_ahead, prepare, upgrade
from recallmesh.ledger.schema import HEAD

FILE = "FILE"
NOT_EMPTY = "the ledger is not empty: restore into a new database, or into a folder without one"
CUT = "is cut off: it has no end"
_SEQUENCE = text("SELECT pg_get_serial_sequence(:table, :column)")
_GO_ON = text("SELECT setval(CAST(:sequence AS regclass), :last)")
_UNREADABLE = (OSError, zlib.error, ValueError, KeyError, TypeError)


def read_contents(file: IO[bytes]) -> Contents:
    """Look through a whole backup, and return what it holds; blocks.

    Raises:
        InvalidArgument: it is no backup, cut off, changed, or of a newer version.

    """
    digest, counted, table, ended = hashlib.sha256(), dict[str, int](), "", False
    with _blamed(), gzip.open(file) as packed:
        first = packed.readline()
        contents = _contents(first)
        digest.update(first)
        for line in packed:
            if ended:
                raise _wrong("goes on after its end")
            if line.startswith(b'{"end"'):
                _check_end(json.loads(line), digest.hexdigest(), sum(counted.values()))
                ended = True
                continue
            digest.update(line)
            if line.startswith(b'{"table"'):
                table = json.loads(line)["table"]
                counted[table] = 0
            else:
                counted[table] += 1
    if not ended:
        raise _wrong(CUT)
    if counted != dict(contents.rows):
        raise _wrong("does not hold as many rows as its first line says")
    return contents


def restore_backup(backend: Backend, file: IO[bytes], *, tell: Tell) -> Contents:
    """Write a backup into a database without rows, in one transaction: all of it or nothing; blocks.

    An older schema is made as it was, filled, and migrated.

    Raises:
        InvalidArgument: the file is no whole backup.
        NotReady: the database is not empty, or has another schema than the backup.
        StoreUnavailable: it does not answer.

    """
    contents = read_contents(file)
    file.seek(0)
    engine = backend.migrating_engine()
    try:
        if engine.dialect.name == "sqlite":
            let_write_ahead(engine)
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                prepare(connection)
            _make_room(connection, contents)
            with gzip.open(file) as packed:
                packed.readline()
                _fill(connection, cast("IO[bytes]", packed), contents, tell)
            if contents.schema != HEAD:
                upgrade(connection)
        return contents
    except CommandError as error:
        raise _wrong(f"has the schema {contents.schema}, which this version does not know") from error
    except DRIVER_ERRORS as error:
        raise backend.failure(error).error from error
    finally:
        engine.dispose()


def _make_room(connection: Connection, contents: Contents) -> None:
    held = current_revision(connection)
    if held is None:
        upgrade(connection, contents.schema)
    elif held != contents.schema:
        raise NotReady(f"the database has the schema {held}, the backup {contents.schema}: restore into a new database")
    for table in tables_of(connection).values():
        if connection.execute(select(table).limit(1)).first() is not None:
            raise NotReady(NOT_EMPTY)


def _fill(connection: Connection, packed: IO[bytes], contents: Contents, tell: Tell) -> None:
    tables, done = tables_of(connection), 0
    for name, columns, rows in _batches(packed):
        table = tables[name]
        connection.execute(table.insert(), [dict(zip(columns, row, strict=True)) for row in rows])
        done += len(rows)
        tell(done, contents.total)
    if connection.dialect.name == "postgresql":
        for table in tables.values():
            _count_on(connection, table)


def _batches(packed: IO[bytes]) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    name, columns, rows = "", list[str](), list[list[Any]]()
    for line in packed:
        value = json.loads(line)
        if isinstance(value, list):
            rows.append([_value(one) for one in value])
            if len(rows) < ROWS_AT_ONCE:
                continue
        if rows:
            yield name, columns, rows
            rows = []
        if isinstance(value, dict) and "table" in value:
            name, columns = value["table"], value["columns"]


def tables_of(connection: Connection) -> dict[str, Table]:
    """Return the tables that there are: an older schema's are not those of the code."""
    found = MetaData()
    found.reflect(connection)
    return {table.name: table for table in found.sorted_tables if table.name != "alembic_version"}


def _count_on(connection: Connection, table: Table) -> None:
    """Have a column that counts by itself go on after what came; SQLite does so unasked."""
    for column in table.primary_key.columns:
        named = {"table": table.name, "column": column.name}
        sequence = connection.execute(_SEQUENCE, named).scalar()
        last = connection.execute(select(func.max(column))).scalar() if sequence else None
        if last is not None:
            connection.execute(_GO_ON, {"sequence": sequence, "last": last})


def _value(value: Any) -> Any:  # noqa: ANN401 - what JSON can say
    return base64.b64decode(value["bytes"]) if isinstance(value, dict) else value


def _contents(line: bytes) -> Contents:
    said = json.loads(line)
    if not isinstance(said, dict) or "recallmesh_backup" not in said:
        raise _wrong("is no backup of a ledger")
    if said["recallmesh_backup"] > FORMAT or said["schema"] > HEAD:
        raise _wrong(f"was made by a newer version of recallmesh ({said['made_by']}): use that one")
    return Contents(said["schema"], said["made_by"], said["database"], datetime.fromisoformat(said["at"]), said["rows"])


def _check_end(said: dict[str, Any], digest: str, rows: int) -> None:
    if said["sha256"] != digest or said["end"] != rows:
        raise _wrong("was changed: its checksum is another")


@contextmanager
def _blamed() -> Iterator[None]:
    """Say of a file that cannot be read what is wrong with it."""
    try:
        yield
    except EOFError as error:
        raise _wrong(CUT) from error
    except _UNREADABLE as error:
        raise _wrong("is no backup of a ledger, or damaged") from error


def _wrong(said: str) -> InvalidArgument:
    return InvalidArgument(FieldViolation(FILE, said))
