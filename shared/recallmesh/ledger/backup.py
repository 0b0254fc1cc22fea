"""The whole ledger as one file: every table's rows as JSON lines, of one moment, packed, with a checksum at the end.

It is the same whatever database it came from, so a ledger moves from SQLite to PostgreSQL and back by it.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import IO, Any, cast

from sqlalchemy import Connection, Table, func, select

from recallmesh.ledger.backend import Backend
from recallmesh.ledger.database import DRIVER_ERRORS
from recallmesh.ledger.migration import check_revision
from recallmesh.ledger.schema import HEAD, metadata

FORMAT = 1
"""Counted up when a reader of the one before could not read it."""
ROWS_AT_ONCE = 1000
PACKING = 3
"""The level of gzip: a third of the time of the usual 6, for a tenth more bytes (JSON of conversations)."""

Tell = Callable[[int, int], None]
"""Is told how many rows are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup holds.

    ``schema`` is the ledger's migration, ``made_by`` the version of recallmesh, ``rows`` how many each table has.
    """

    schema: str
    made_by: str
    database: str
    at: datetime
    rows: Mapping[str, int]

    @property
    def total(self) -> int:
        """All rows."""
        return sum(self.rows.values())


def write_backup(backend: Backend, file: IO[bytes], *, at: datetime, tell: Tell) -> Contents:
    """Write the ledger into a file, as it is at one moment, while others write; blocks.

    Raises:
        NotReady: it has another schema than this version's.
        StoreUnavailable: the database does not answer.

    """
    engine = backend.engine(writes=False)
    try:
        with engine.begin() as connection:
            check_revision(connection, exact=True)
            counted = {table.name: _count(connection, table) for table in metadata.sorted_tables}
            contents = Contents(HEAD, version("recallmesh"), backend.name, at, counted)
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=PACKING, filename="", mtime=0) as packed:
                _write(connection, contents, cast("IO[bytes]", packed), tell)
            return contents
    except DRIVER_ERRORS as error:
        raise backend.failure(error).error from error
    finally:
        engine.dispose()


def header_of(contents: Contents) -> dict[str, Any]:
    """Return the first line."""
    return {
        "recallmesh_backup": FORMAT,
        "schema": contents.schema,
        "made_by": contents.made_by,
        "database": contents.database,
        "at": contents.at.isoformat(),
        "rows": dict(contents.rows),
    }


def _write(connection: Connection, contents: Contents, packed: IO[bytes], tell: Tell) -> None:
    digest, done = hashlib.sha256(), 0
    for lines, rows in _lines(connection, contents):
        digest.update(lines)
        packed.write(lines)
        done += rows
        tell(done, contents.total)
    packed.write(_line({"end": done, "sha256": digest.hexdigest()}))


def _lines(connection: Connection, contents: Contents) -> Iterator[tuple[bytes, int]]:
    """Yield pieces of the file and how many rows each has."""
    yield _line(header_of(contents)), 0
    for table in metadata.sorted_tables:
        yield _line({"table": table.name, "columns": [column.name for column in table.columns]}), 0
        found = connection.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE).execute(select(table))
        for rows in found.partitions(ROWS_AT_ONCE):
            yield b"".join(_line([_plain(value) for value in row]) for row in rows), len(rows)


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _plain(value: Any) -> Any:  # noqa: ANN401 - a column's value
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _line(value: Any) -> bytes:  # noqa: ANN401 - what JSON can say
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
