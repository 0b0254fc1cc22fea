"""What SQLite's errors mean to a caller: what to do next, and none of the driver's words."""

import sqlite3
from contextlib import closing

import pytest

from recallmesh.sqlite.fault import code_of, unavailable

BUSY = "is busy; try again"


def failed(work) -> sqlite3.Error:
    with pytest.raises(sqlite3.Error) as caught:
        work()
    return caught.value


def told(error: sqlite3.Error) -> str:
    message = unavailable(error, "the store", busy=BUSY).message
    assert str(error) not in message
    return message


def test_a_locked_file_is_told_as_its_store_means_it(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as one:
        one.execute("BEGIN EXCLUSIVE")
        with closing(sqlite3.connect(tmp_path / "x.db", timeout=0)) as other:
            assert told(failed(lambda: other.execute("CREATE TABLE t (x)"))) == "the store is busy; try again"


def test_a_file_that_is_no_database_is_to_be_restored(tmp_path):
    (tmp_path / "x.db").write_bytes(b"no database at all" * 100)
    with closing(sqlite3.connect(tmp_path / "x.db")) as one:
        error = failed(lambda: one.execute("SELECT * FROM sqlite_master"))
    assert "restore them from a backup" in told(error)
    assert code_of(error) == "SQLITE_NOTADB"


@pytest.mark.parametrize("statement", ["PRAGMA query_only = ON", "PRAGMA max_page_count = 1"])
def test_a_file_that_cannot_be_written_says_what_is_to_be_mended(tmp_path, statement):
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as one:
        one.execute("CREATE TABLE t (x)")
        one.execute(statement)
        error = failed(lambda: one.execute("INSERT INTO t VALUES (?)", ("x" * 100_000,)))
    assert ("needs the rights" if "query" in statement else "the disk is full") in told(error)


def test_a_file_that_cannot_be_opened_names_no_path(tmp_path):
    error = failed(lambda: sqlite3.connect(tmp_path / "no" / "x.db"))
    assert "needs the rights" in told(error)
    assert str(tmp_path) not in told(error)


def test_anything_else_refers_to_the_log():
    with closing(sqlite3.connect(":memory:")) as one:
        error = failed(lambda: one.execute("SELECT Ida FROM nowhere"))
        assert told(error) == "the store does not answer; the log of its process says why"
        one.close()
        assert told(failed(lambda: one.execute("SELECT 1"))).endswith("says why")
