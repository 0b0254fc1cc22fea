"""Looks at an embedded store from outside: counts what its file holds, and neither makes nor changes anything."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from recallmesh.core.store import Inspection
from recallmesh.sqlite.fault import is_busy, unavailable

WAIT_S = 0.5
"""How long to wait for another process's lock, in seconds; one that keeps the file to itself never lets go."""


async def inspect_file(store: str, path: Path, count: str, *, version: str | None = None) -> Inspection:
    """Return how many memories the statement ``count`` finds in a file; none where there is no file.

    ``version`` is the store's own; absent: SQLite's. The number is absent where another process keeps the file to
    itself.
    """
    return await asyncio.to_thread(_inspect, store, path, count, version or sqlite3.sqlite_version)


def _inspect(store: str, path: Path, count: str, version: str) -> Inspection:
    if not path.exists():
        return Inspection(store, str(path), version, memories=0)
    try:
        memories = count_in(path, count)
    except sqlite3.Error as error:
        if is_busy(error):
            return Inspection(store, str(path), version)
        return Inspection(store, str(path), advice=(unavailable(error, "it", busy="").message,))
    return Inspection(store, str(path), version, memories=memories)


def count_in(path: Path, count: str) -> int:
    """Return the number that a statement gives; raises what SQLite does."""
    # Without a log beside it nobody has the file open; then SQLite need not make one to read it.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=WAIT_S)) as connection:
        return int(connection.execute(count).fetchone()[0])
