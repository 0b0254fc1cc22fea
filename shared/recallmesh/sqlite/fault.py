"""What an SQLite error means to a caller, and what to do about it; SQLite's own words are for the log."""

import sqlite3
from collections.abc import Mapping

from recallmesh.core.errors import StoreUnavailable

UNKNOWN = "does not answer; the log of its process says why"
_DAMAGED = "has damaged files; restore them from a backup (the log of its process names them)"
_RIGHTS = "cannot open or write its files; its process needs the rights to do so"
MEANINGS: Mapping[int, str] = {
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full; make room and try again",
    sqlite3.SQLITE_READONLY: _RIGHTS,
    sqlite3.SQLITE_PERM: _RIGHTS,
    sqlite3.SQLITE_CANTOPEN: _RIGHTS,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}
"""By primary result code (https://sqlite.org/rescode.html)."""
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PRIMARY = 0xFF


def unavailable(error: sqlite3.Error, store: str, *, busy: str) -> StoreUnavailable:
    """Return what to raise for a driver's error; ``busy`` says what it means that another has the file locked."""
    return StoreUnavailable(f"{store} {busy if is_busy(error) else MEANINGS.get(_primary(error), UNKNOWN)}")


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether another connection has the file locked."""
    return _primary(error) in BUSY


def _primary(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY


def code_of(error: sqlite3.Error) -> str:
    """Return the name of the result code, for the log; empty for an error of Python's own."""
    return str(getattr(error, "sqlite_errorname", ""))
