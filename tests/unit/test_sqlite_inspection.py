"""An embedded store is looked at from outside, whatever state it is in, and nothing of it changes."""

import sqlite3
from contextlib import closing

import pytest

from recallmesh.sqlite.inspection import inspect_file

COUNT = "SELECT COUNT(*) FROM memory"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "of a store#1.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE memory (id)")
        connection.execute("INSERT INTO memory VALUES (1), (2)")
        connection.commit()
    return path


async def test_memories_are_counted_and_no_file_is_made(path):
    seen = await inspect_file("sqlite", path, COUNT)
    assert (seen.memories, seen.version, seen.advice) == (2, sqlite3.sqlite_version, ())
    assert list(path.parent.iterdir()) == [path]


async def test_what_another_process_has_written_a_moment_ago_is_counted(path):
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO memory VALUES (3)")
        writer.commit()
        assert (await inspect_file("sqlite", path, COUNT)).memories == 3


async def test_a_file_that_another_keeps_to_itself_is_not_counted_and_no_fault(path):
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("PRAGMA locking_mode = EXCLUSIVE")
        owner.execute("INSERT INTO memory VALUES (3)")
        owner.commit()
        seen = await inspect_file("sqlite", path, COUNT)
    assert (seen.memories, seen.advice) == (None, ())


async def test_a_store_that_is_not_there_yet_is_empty_and_stays_away(tmp_path):
    seen = await inspect_file("sqlite", tmp_path / "none.db", COUNT)
    assert (seen.memories, seen.advice) == (0, ())
    assert list(tmp_path.iterdir()) == []


async def test_a_damaged_file_is_told_with_what_to_do(tmp_path):
    path = tmp_path / "broken.db"
    path.write_text("no database at all " * 100)
    seen = await inspect_file("sqlite", path, COUNT)
    assert (seen.version, seen.memories) == ("", None)
    assert seen.advice == ("it has damaged files; restore them from a backup (the log of its process names them)",)
