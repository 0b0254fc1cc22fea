"""The schema of the graph in Neo4j: its versions, each a list of statements that may be run again.

- ``(:Bank {uid, memories})``: how many live memories it has; whoever writes to a bank locks it first.
- ``(:Memory {key, id, version, live})``: a live one also has ``type``, ``tags``, ``recency``, ``entities`` (the ids of
  those that it mentions) and, if it lies in a document, ``document`` and ``position``. One that is not live is a
  removal to remember or, of version 0, one that a link names and that has not come yet.
- ``(:Entity {key, id, name, kind, version})``, and ``(:Name {key, name, entity})-[:NAMES]->(:Entity)`` for each folded
  name.
- ``(:Memory)-[:MENTIONS {subject, recency}]->(:Entity)``: the subject is the entity and the memory's type, so that an
  entity's most recent memories of a type are the first entries of a range of the index.
- ``(:Memory)-[:SEMANTIC {weight}]->(:Memory)`` from the memory that named the link; it holds from both ends.
- ``(cause:Memory)-[:CAUSES {weight}]->(effect:Memory)``, named by the effect.

Keys, subjects and documents begin with their bank. A key of one property is found in half the time of one of two.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

VERSION = 1
"""The version of the schema that this version of recallmesh reads and writes."""

MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        "CREATE CONSTRAINT recallmesh_schema IF NOT EXISTS FOR (s:RecallmeshSchema) REQUIRE s.part IS UNIQUE",
        "CREATE CONSTRAINT recallmesh_bank IF NOT EXISTS FOR (b:Bank) REQUIRE b.uid IS UNIQUE",
        "CREATE CONSTRAINT recallmesh_memory IF NOT EXISTS FOR (m:Memory) REQUIRE m.key IS UNIQUE",
        "CREATE CONSTRAINT recallmesh_entity IF NOT EXISTS FOR (e:Entity) REQUIRE e.key IS UNIQUE",
        "CREATE CONSTRAINT recallmesh_name IF NOT EXISTS FOR (n:Name) REQUIRE (n.key, n.entity) IS UNIQUE",
        "CREATE INDEX recallmesh_place IF NOT EXISTS FOR (m:Memory) ON (m.document, m.position)",
        "CREATE INDEX recallmesh_recent IF NOT EXISTS FOR ()-[c:MENTIONS]-() ON (c.subject, c.recency)",
    ),
}
"""What makes each version of the one before it. Never changed once released: what differs is a version of its own."""

AWAIT = "CALL db.awaitIndexes(300)"
READ_VERSION = "OPTIONAL MATCH (s:RecallmeshSchema {part: 'graph'}) RETURN s.version"
RECORD_VERSION = """
MERGE (s:RecallmeshSchema {part: 'graph'}) ON CREATE SET s.version = $version
SET s.version = CASE WHEN s.version < $version THEN $version ELSE s.version END
RETURN s.version"""
MEMORIES = "MATCH (b:Bank) RETURN sum(b.memories)"
CLOCK = "RETURN datetime.realtime().epochMillis"
SERVER = """
CALL dbms.components() YIELD name, versions, edition
WITH name, versions, edition ORDER BY name = 'Neo4j Kernel' DESC LIMIT 1
RETURN versions[0] + ' ' + edition"""


def prefix(bank_uid: str) -> str:
    """Return what the keys of a bank begin with; those of no two banks do with the same."""
    return f"{quote(bank_uid, safe='')}/"


def fault(version: int | None) -> str:
    """Say what is wrong with a database of this version (absent: never migrated), and what to do; else nothing."""
    if version == VERSION:
        return ""
    if version is None:
        return "was never set up; run: recallmesh migrate"
    if version < VERSION:
        return f"has schema {version}, older than {VERSION}; run: recallmesh migrate"
    return f"has schema {version}, newer than {VERSION}; run a newer version of recallmesh"


async def record(change: Callable[[str, Mapping[str, object]], Awaitable[list[Any]]], *, version: int) -> None:
    """Write down that the database has this version."""
    await change(RECORD_VERSION, {"version": version})
