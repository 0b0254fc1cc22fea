"""How the embedded graph store changes: each function is part of one transaction that its caller holds."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from recallmesh.core.arm import IndexEntry, Removal
from recallmesh.core.memory import Mention
from recallmesh.graph.batch import newest
from recallmesh.graph.names import stored_keys
from recallmesh.graph.recency import recency_of
from recallmesh.graph.store import LinkKind, Node


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block does, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def put(connection: sqlite3.Connection, bank_uid: str, nodes: tuple[Node, ...]) -> None:
    """Store nodes; see GraphStore.put."""
    with transaction(connection):
        bank = _bank(connection, bank_uid)
        # All are claimed before any is written: what one of a batch is like is the new text of another of it.
        for memory, node in [(_claim(connection, bank, node.entry), node) for node in newest(nodes)]:
            if memory is not None:
                _write(connection, bank, memory, node)


def delete(connection: sqlite3.Connection, bank_uid: str, removals: tuple[Removal, ...]) -> None:
    """Take memories out; see GraphStore.delete."""
    with transaction(connection):
        bank = _bank(connection, bank_uid)
        for removal in removals:
            row, version, live = _known(connection, bank, removal.memory_id)
            if version > removal.version:
                continue
            _clear(connection, row)
            _forget_likeness(connection, row)
            connection.execute(
                "UPDATE memory SET version = ?, live = 0, tags = 0, document = '' WHERE row = ?", (removal.version, row)
            )
            connection.execute("UPDATE bank SET memories = memories - ? WHERE row = ?", (live, bank))


def drop(connection: sqlite3.Connection, bank_uid: str) -> None:
    """Take a whole bank out."""
    with transaction(connection):
        found = connection.execute("SELECT row FROM bank WHERE uid = ?", (bank_uid,)).fetchone()
        if found is None:
            return
        for statement in (
            "DELETE FROM mention WHERE memory IN (SELECT row FROM memory WHERE bank = ?)",
            "DELETE FROM link WHERE source IN (SELECT row FROM memory WHERE bank = ?)",
            "DELETE FROM tag WHERE memory IN (SELECT row FROM memory WHERE bank = ?)",
            "DELETE FROM name WHERE bank = ?",
            "DELETE FROM entity WHERE bank = ?",
            "DELETE FROM memory WHERE bank = ?",
            "DELETE FROM bank WHERE row = ?",
        ):
            connection.execute(statement, found)


def _bank(connection: sqlite3.Connection, uid: str) -> int:
    connection.execute("INSERT OR IGNORE INTO bank (uid) VALUES (?)", (uid,))
    row: int = connection.execute("SELECT row FROM bank WHERE uid = ?", (uid,)).fetchone()[0]
    return row


def _known(connection: sqlite3.Connection, bank: int, memory_id: str) -> tuple[int, int, int]:
    """Return the memory's row, version and liveness; one not heard of before gets a row of version 0."""
    connection.execute("INSERT OR IGNORE INTO memory (bank, id, version, live) VALUES (?, ?, 0, 0)", (bank, memory_id))
    found: tuple[int, int, int] = connection.execute(
        "SELECT row, version, live FROM memory WHERE bank = ? AND id = ?", (bank, memory_id)
    ).fetchone()
    return found


def _claim(connection: sqlite3.Connection, bank: int, entry: IndexEntry) -> int | None:
    """Make the memory's row that of the entry and return it, unless what is known is newer."""
    row, version, live = _known(connection, bank, entry.memory_id)
    removed = not live and version > 0
    if version > entry.version or (removed and version == entry.version):
        return None
    _clear(connection, row)
    if live and version < entry.version:
        _forget_likeness(connection, row)
    connection.execute(
        "UPDATE memory SET version = ?, live = 1, type = ?, tags = ?, recency = ?, document = ?, position = ? "
        "WHERE row = ?",
        (
            entry.version,
            str(entry.fact_type),
            len(set(entry.tags)),
            recency_of(entry),
            entry.document_id,
            entry.position,
            row,
        ),
    )
    connection.execute("UPDATE bank SET memories = memories + ? WHERE row = ?", (1 - live, bank))
    return row


def _write(connection: sqlite3.Connection, bank: int, memory: int, node: Node) -> None:
    entry = node.entry
    connection.executemany("INSERT INTO tag VALUES (?, ?)", [(memory, tag) for tag in sorted(set(entry.tags))])
    # Sorted, so that the same entities in any order leave the same rows.
    for mention in sorted(entry.mentions, key=lambda m: m.entity_id):
        connection.execute(
            "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)",
            (_entity(connection, bank, mention), str(entry.fact_type), recency_of(entry), memory),
        )
    for kind, other_id, weight in (
        *((LinkKind.SEMANTIC, link.memory_id, link.weight) for link in node.alike),
        *((LinkKind.CAUSAL, cause.cause_id, cause.weight) for cause in entry.causes),
    ):
        if other_id == entry.memory_id:
            continue
        other, _, _ = _known(connection, bank, other_id)
        connection.executemany(
            "INSERT OR REPLACE INTO link (source, kind, target, weight, claimed) VALUES (?, ?, ?, ?, ?)",
            [(memory, str(kind), other, weight, 1), (other, str(kind), memory, weight, 0)],
        )


def _entity(connection: sqlite3.Connection, bank: int, mention: Mention) -> int:
    """Return the row of the entity, called as its newest mention calls it."""
    found = connection.execute(
        "SELECT row, version FROM entity WHERE bank = ? AND id = ?", (bank, mention.entity_id)
    ).fetchone()
    if found is None:
        connection.execute(
            "INSERT INTO entity (bank, id, name, kind, version) VALUES (?, ?, ?, ?, ?)",
            (bank, mention.entity_id, mention.name, mention.kind, mention.version),
        )
        found = (connection.execute("SELECT last_insert_rowid()").fetchone()[0], mention.version)
    row: int = found[0]
    if mention.version < found[1]:
        return row
    if mention.version > found[1]:
        connection.execute("DELETE FROM name WHERE entity = ?", (row,))
    connection.execute(
        "UPDATE entity SET name = ?, kind = ?, version = ? WHERE row = ?",
        (mention.name, mention.kind, mention.version, row),
    )
    keys = stored_keys((mention.name, *mention.aliases), mention.kind)
    connection.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?)", [(bank, key, row) for key in sorted(keys)])
    return row


def _clear(connection: sqlite3.Connection, memory: int) -> None:
    """Take away what the memory itself said: its mentions, tags and the links it named."""
    entities = connection.execute("SELECT entity FROM mention WHERE memory = ?", (memory,)).fetchall()
    connection.execute("DELETE FROM mention WHERE memory = ?", (memory,))
    for entity in entities:
        connection.execute(
            "DELETE FROM name WHERE entity = ? AND 0 = (SELECT memories FROM entity WHERE row = entity)", entity
        )
        connection.execute("DELETE FROM entity WHERE row = ? AND memories = 0", entity)
    connection.execute("DELETE FROM tag WHERE memory = ?", (memory,))
    named = connection.execute("SELECT target, kind FROM link WHERE source = ? AND claimed = 1", (memory,)).fetchall()
    connection.executemany(
        "DELETE FROM link WHERE source = ? AND kind = ? AND target = ? AND claimed = 0",
        [(target, kind, memory) for target, kind in named],
    )
    connection.execute("DELETE FROM link WHERE source = ? AND claimed = 1", (memory,))


def _forget_likeness(connection: sqlite3.Connection, memory: int) -> None:
    """Take away the semantic links that others named to the memory's old text."""
    others = connection.execute(
        "SELECT target FROM link WHERE source = ? AND kind = 'semantic' AND claimed = 0", (memory,)
    ).fetchall()
    connection.executemany(
        "DELETE FROM link WHERE source = ? AND kind = 'semantic' AND target = ? AND claimed = 1",
        [(other, memory) for (other,) in others],
    )
    connection.execute("DELETE FROM link WHERE source = ? AND kind = 'semantic' AND claimed = 0", (memory,))
