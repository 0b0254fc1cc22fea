"""Which version of each memory the index holds, or last saw removed: a small SQLite file beside the vectors."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recallmesh.sqlite.fault import unavailable

SCHEMA = """
CREATE TABLE IF NOT EXISTS memory (
  bank TEXT NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  PRIMARY KEY (bank, id)
) WITHOUT ROWID
"""
IDS_PER_QUERY = 500
"""Below the 999 variables that the oldest SQLite still in use allows."""


class Catalog:
    """Versions and removals by bank and memory, durable when a method returns. Not for concurrent use."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use an open connection."""
        self._connection = connection

    def versions(self, bank_uid: str, memory_ids: Iterable[str]) -> dict[str, tuple[int, bool]]:
        """Return version and whether it was removed, for the ids that are known."""
        ids = list(memory_ids)
        found: dict[str, tuple[int, bool]] = {}
        for first in range(0, len(ids), IDS_PER_QUERY):
            part = ids[first : first + IDS_PER_QUERY]
            marks = ",".join("?" * len(part))
            statement = f"SELECT id, version, removed FROM memory WHERE bank = ? AND id IN ({marks})"  # noqa: S608 -- only question marks are put in
            with _translated():
                rows = self._connection.execute(statement, [bank_uid, *part])
                found |= {memory_id: (version, bool(removed)) for memory_id, version, removed in rows}
        return found

    def record(self, bank_uid: str, versions: Iterable[tuple[str, int]], *, removed: bool) -> None:
        """Note that the memories are stored, or removed, at these versions."""
        rows = [(bank_uid, memory_id, version, int(removed)) for memory_id, version in versions]
        with _translated(), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?)", rows)

    def drop(self, bank_uid: str) -> None:
        """Forget a bank."""
        with _translated(), self._connection:
            self._connection.execute("DELETE FROM memory WHERE bank = ?", (bank_uid,))

    def scan(self, bank_uid: str, after: str, size: int) -> list[tuple[str, int]]:
        """List the stored memories after an id, in the order of ids."""
        statement = "SELECT id, version FROM memory WHERE bank = ? AND id > ? AND removed = 0 ORDER BY id LIMIT ?"
        with _translated():
            return list(self._connection.execute(statement, (bank_uid, after, size)))

    def count(self) -> int:
        """Count the stored memories of all banks."""
        with _translated():
            return int(self._connection.execute("SELECT COUNT(*) FROM memory WHERE removed = 0").fetchone()[0])

    def stored(self, after: tuple[str, str], size: int) -> list[tuple[str, str]]:
        """List the stored memories of all banks, as bank and id, after one of them."""
        statement = "SELECT bank, id FROM memory WHERE (bank, id) > (?, ?) AND removed = 0 ORDER BY bank, id LIMIT ?"
        with _translated():
            return [(bank, memory_id) for bank, memory_id in self._connection.execute(statement, (*after, size))]

    def forget(self, names: Iterable[tuple[str, str]]) -> None:
        """Know nothing of these memories any more."""
        with _translated(), self._connection:
            self._connection.executemany("DELETE FROM memory WHERE bank = ? AND id = ?", list(names))

    def check(self) -> None:
        """Return if the file answers."""
        with _translated():
            self._connection.execute("SELECT 1 FROM memory LIMIT 1").fetchall()


@contextmanager
def open_catalog(path: Path) -> Iterator[Catalog]:
    """Open the file, made where there is none."""
    with _translated():
        connection = sqlite3.connect(path, isolation_level="IMMEDIATE")
    try:
        with _translated():
            connection.execute("PRAGMA journal_mode=WAL")
            # FULL: a removal that was acknowledged must outlive a power cut, else an older write could undo it.
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(SCHEMA)
        yield Catalog(connection)
    finally:
        connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise unavailable(error, "the vector index's catalog", busy="is busy; try again") from error
