"""The tables of the embedded graph store, and a connection to them."""

import sqlite3
from pathlib import Path

BUSY_S = 10.0
"""How long a writer waits for another process's writer."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS bank (
  row INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, memories INTEGER NOT NULL DEFAULT 0);

-- live = 0: a removal to remember, or (version 0) a memory that a link names and that has not come yet.
CREATE TABLE IF NOT EXISTS memory (
  row INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, live INTEGER NOT NULL,
  type TEXT NOT NULL DEFAULT '', tags INTEGER NOT NULL DEFAULT 0, recency REAL NOT NULL DEFAULT 0,
  document TEXT NOT NULL DEFAULT '', position INTEGER NOT NULL DEFAULT 0,
  UNIQUE (bank, id));
CREATE INDEX IF NOT EXISTS memory_place ON memory (bank, document, position) WHERE live AND document <> '';

CREATE TABLE IF NOT EXISTS tag (memory INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (memory, tag)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS entity (
  row INTEGER PRIMARY KEY, bank INTEGER NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  memories INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 1, UNIQUE (bank, id));
CREATE TABLE IF NOT EXISTS name (
  bank INTEGER NOT NULL, key TEXT NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (bank, key, entity)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS name_entity ON name (entity);

-- Type and recency are repeated here, so that an entity's most recent memories of a type are the first rows of a range.
CREATE TABLE IF NOT EXISTS mention (
  entity INTEGER NOT NULL, type TEXT NOT NULL, recency REAL NOT NULL, memory INTEGER NOT NULL,
  PRIMARY KEY (entity, type, recency DESC, memory DESC)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS mention_memory ON mention (memory, entity);
CREATE TRIGGER IF NOT EXISTS mention_more AFTER INSERT ON mention
  BEGIN UPDATE entity SET memories = memories + 1 WHERE row = new.entity; END;
CREATE TRIGGER IF NOT EXISTS mention_less AFTER DELETE ON mention
  BEGIN UPDATE entity SET memories = memories - 1 WHERE row = old.entity; END;

-- Every link stands twice, once from each end; claimed = 1 at the end of the memory that named it.
CREATE TABLE IF NOT EXISTS link (
  source INTEGER NOT NULL, kind TEXT NOT NULL, target INTEGER NOT NULL, weight REAL NOT NULL, claimed INTEGER NOT NULL,
  PRIMARY KEY (source, kind, claimed, target)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS link_weight ON link (source, kind, weight DESC, target);
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection whose commits are on disk when they return."""
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def create(connection: sqlite3.Connection) -> None:
    """Make the tables that are not there yet, and the column that those of an earlier version lack."""
    connection.executescript(SCHEMA)
    columns = {name for _, name, *_ in connection.execute("PRAGMA table_info (entity)")}
    if "version" not in columns:
        connection.execute("ALTER TABLE entity ADD COLUMN version INTEGER NOT NULL DEFAULT 1")
