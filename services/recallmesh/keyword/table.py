"""The durable half of the embedded store: one SQLite table of analysed memories and remembered removals."""

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from recallmesh.core.arm import Indexed
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.keyword.postings import StoredMemory
from recallmesh.keyword.ranking import Terms
from recallmesh.keyword.store import KeywordDocument
from recallmesh.sqlite.fault import code_of, unavailable

STORE = "the keyword store"
IN_USE = (
    "is open in another process, and only one can have it: give this one its address (the keyword service's), or"
    " another data folder"
)
_log = structlog.get_logger("recallmesh.keyword")

_LAYOUT = "2"
_BUSY_S = 2.0
"""How long to wait for another process to let go of the file before giving up."""
_FACT_TYPES = {kind.value: kind for kind in FactType}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory (
    bank_uid TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    live INTEGER NOT NULL,
    fact_type TEXT NOT NULL,
    tags TEXT NOT NULL,
    fields TEXT NOT NULL,
    terms TEXT NOT NULL,
    counts BLOB NOT NULL,
    length INTEGER NOT NULL,
    language TEXT NOT NULL,
    UNIQUE (bank_uid, memory_id)
);
"""
_PUT = """
INSERT INTO memory (bank_uid, memory_id, version, live, fact_type, tags, fields, terms, counts, length, language)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (bank_uid, memory_id) DO UPDATE SET version = excluded.version, live = excluded.live,
    fact_type = excluded.fact_type, tags = excluded.tags, fields = excluded.fields, terms = excluded.terms,
    counts = excluded.counts, length = excluded.length, language = excluded.language
"""


@dataclass(frozen=True, slots=True)
class Known:
    """What the table has of a memory: its version, whether it is there or removed, and its terms."""

    version: int
    live: bool
    terms: Terms


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into the mesh's."""
    try:
        yield
    except sqlite3.Error as error:
        _log.warning("keyword.driver_failed", error=str(error), code=code_of(error))
        raise unavailable(error, STORE, busy=IN_USE) from error


class MemoryTable:
    """Memories of all banks on disk. What a transaction wrote survives a crash of the process and of the machine.

    Blocking, and not safe for threads: its owner holds a lock. The file belongs to one process at a time.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file."""
        try:
            self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except sqlite3.Error:
                self._connection.close()
                raise
        except sqlite3.Error as error:  # logged by whoever opens it: that may be tried often
            raise unavailable(error, STORE, busy=IN_USE) from error

    def close(self) -> None:
        """Close the file."""
        with translated():
            self._connection.close()

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # what another process wrote we would not see
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")  # durable at commit, not at the next checkpoint
        self._connection.execute("PRAGMA secure_delete = ON")  # a forgotten text is not left in free pages
        self._connection.executescript(_SCHEMA)
        columns = {row[1] for row in self._connection.execute("PRAGMA table_info(memory)")}
        if "counts" not in columns:  # layout 1: its terms are made anew, as those of any other analysis are
            self._connection.execute("ALTER TABLE memory RENAME COLUMN frequencies TO counts")
            self._connection.execute("ALTER TABLE memory ADD COLUMN language TEXT NOT NULL DEFAULT ''")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what is written inside one change: all of it or none."""
        with translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def about(self) -> str:
        """Return how the stored terms were made; empty for a new file."""
        with translated():
            row = self._connection.execute("SELECT value FROM about WHERE key = 'made'").fetchone()
        return "" if row is None else str(row[0])

    def set_about(self, made: str) -> None:
        """Note how the stored terms are made."""
        self._connection.execute("INSERT OR REPLACE INTO about VALUES ('made', ?)", (made,))

    def known(self, bank_uid: str, memory_id: str) -> Known | None:
        """Return what is stored of a memory, removed or not."""
        row = self._connection.execute(
            "SELECT version, live, terms, counts, length, language FROM memory WHERE bank_uid = ? AND memory_id = ?",
            (bank_uid, memory_id),
        ).fetchone()
        return None if row is None else Known(row[0], bool(row[1]), _terms(*row[2:]))

    def put(self, bank_uid: str, document: KeywordDocument, terms: Terms) -> None:
        """Write a memory over whatever was there."""
        fields = {"text": document.text, "names": document.names, "labels": document.labels, "dates": document.dates}
        values = (document.fact_type.value, json.dumps(document.tags), json.dumps(fields))  # ASCII: holds any string
        packed = (" ".join(terms.terms), terms.counts.tobytes(), terms.length, terms.language)
        self._connection.execute(_PUT, (bank_uid, document.memory_id, document.version, 1, *values, *packed))

    def bury(self, bank_uid: str, memory_id: str, version: int) -> None:
        """Remove a memory and remember that it was."""
        self._connection.execute(_PUT, (bank_uid, memory_id, version, 0, "", "", "", "", b"", 0, ""))

    def drop(self, bank_uid: str) -> None:
        """Remove a bank, its remembered removals too."""
        self._connection.execute("DELETE FROM memory WHERE bank_uid = ?", (bank_uid,))

    def live(self, bank_uid: str) -> Iterator[StoredMemory]:
        """Yield a bank's memories, for its postings."""
        rows = self._connection.execute(
            "SELECT memory_id, fact_type, tags, terms, counts, length, language FROM memory"
            " WHERE bank_uid = ? AND live",
            (bank_uid,),
        )
        tag_sets: dict[str, tuple[str, ...]] = {}
        for memory_id, fact_type, packed_tags, *terms in rows:
            tags = tag_sets.get(packed_tags)
            if tags is None:
                tags = tag_sets[packed_tags] = tuple(json.loads(packed_tags))
            yield StoredMemory(memory_id, _FACT_TYPES[fact_type], tags, _terms(*terms))

    def banks(self) -> list[tuple[str, int]]:
        """Return every bank with the number of its memories, removed ones too; the one written to last first."""
        with translated():
            rows = self._connection.execute(
                "SELECT bank_uid, COUNT(*) FROM memory GROUP BY bank_uid ORDER BY MAX(rowid) DESC"
            )
            return [(bank_uid, int(memories)) for bank_uid, memories in rows]

    def documents(self) -> Iterable[tuple[str, KeywordDocument]]:
        """Return every memory with its bank as it was given, for another analysis."""
        rows = self._connection.execute("SELECT bank_uid, memory_id FROM memory WHERE live").fetchall()
        return ((bank_uid, self._document(bank_uid, memory_id)) for bank_uid, memory_id in rows)

    def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List a bank's memories by id."""
        with translated():
            rows = self._connection.execute(
                "SELECT memory_id, version FROM memory WHERE bank_uid = ? AND live AND memory_id > ?"
                " ORDER BY memory_id LIMIT ?",
                (bank_uid, page.after, page.size + 1),
            ).fetchall()
        found = tuple(Indexed(memory_id, version) for memory_id, version in rows[: page.size])
        return Page(found, found[-1].memory_id if len(rows) > page.size else "")

    def _document(self, bank_uid: str, memory_id: str) -> KeywordDocument:
        version, fact_type, tags, fields = self._connection.execute(
            "SELECT version, fact_type, tags, fields FROM memory WHERE bank_uid = ? AND memory_id = ?",
            (bank_uid, memory_id),
        ).fetchone()
        given = json.loads(fields)
        return KeywordDocument(
            memory_id,
            version,
            FactType(fact_type),
            given["text"],
            tags=tuple(json.loads(tags)),
            names=tuple(given["names"]),
            labels=tuple(given["labels"]),
            dates=given["dates"],
        )


def _terms(terms: str, packed: bytes, length: int, language: str) -> Terms:
    counts = array("Q")
    counts.frombytes(packed)
    return Terms(tuple(terms.split()), counts, length, language)


def layout_of(made: str) -> str:
    """Return the note that goes with terms made in this way, the table's own layout included."""
    return f"{_LAYOUT} {made}"
