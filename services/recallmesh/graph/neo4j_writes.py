"""How the graph in Neo4j changes: each function is part of one transaction, which its caller holds and may repeat.

Whoever changes a bank locks its node first, and takes what is below it in the order of its keys: two writers of one
bank follow each other, and none waits for another in a circle. One UNWIND for each kind of thing, so that a batch of a
hundred memories takes as many ways to the server as one.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from recallmesh.core.arm import IndexEntry, Removal
from recallmesh.core.memory import Mention
from recallmesh.graph.batch import newest
from recallmesh.graph.names import stored_keys
from recallmesh.graph.neo4j_schema import prefix
from recallmesh.graph.recency import recency_of
from recallmesh.graph.store import Node

Row = list[Any]
Change = Callable[[str, Mapping[str, object]], Awaitable[Row]]
"""Runs a statement with its parameters within the transaction, and returns the one row that it answers."""
KEY_BYTES = 2_048
"""Names whose key is longer cannot be asked for: an index entry of Neo4j has room for some 8,000 bytes."""
DROPPED = 1_000
"""Memories, or entities, that one transaction of a drop takes out."""

# What is set is read by nobody: to set it takes the lock.
LOCK = """
MERGE (b:Bank {uid: $bank}) ON CREATE SET b.memories = 0
SET b.held = true
WITH b
UNWIND $rows AS row
OPTIONAL MATCH (m:Memory {key: $prefix + row.id}) USING INDEX SEEK m:Memory(key)
WITH row, m
WHERE m IS NULL OR m.version < row.version OR (m.version = row.version AND (m.live OR m.version = 0 OR row.removes))
RETURN collect([row.id, m IS NOT NULL AND m.version > 0 AND m.live, coalesce(m.version, 0)])"""

# What the memories themselves said.
CLEAR_MENTIONS = """
UNWIND $ids AS id
MATCH (m:Memory {key: $prefix + id})-[c:MENTIONS]->(e) USING INDEX SEEK m:Memory(key)
DELETE c
WITH DISTINCT e
WHERE NOT EXISTS { (e)<-[:MENTIONS]-() }
OPTIONAL MATCH (n)-[:NAMES]->(e)
DETACH DELETE n
WITH DISTINCT e
DETACH DELETE e
RETURN count(*)"""
CLEAR_LINKS = """
UNWIND $ids AS id
MATCH (m:Memory {key: $prefix + id}) USING INDEX SEEK m:Memory(key)
CALL (m) { MATCH (m)-[l:SEMANTIC]->() DELETE l }
CALL (m) { MATCH (m)<-[l:CAUSES]-() DELETE l }
RETURN count(*)"""
# What others named of a text that is no more.
CLEAR_LIKENESS = """
UNWIND $ids AS id
MATCH (m:Memory {key: $prefix + id})<-[l:SEMANTIC]-() USING INDEX SEEK m:Memory(key)
DELETE l
RETURN count(*)"""

MEMORIES = """
UNWIND $rows AS row
MERGE (m:Memory {key: $prefix + row.id})
SET m += row.set, m.id = row.id, m.live = true
WITH count(*) AS written
MATCH (b:Bank {uid: $bank}) SET b.memories = b.memories + $born
RETURN written"""
EXPECTED = """
UNWIND $ids AS id
MERGE (m:Memory {key: $prefix + id}) ON CREATE SET m.id = id, m.version = 0, m.live = false
RETURN count(*)"""
ENTITIES = """
UNWIND $rows AS row
MERGE (e:Entity {key: $prefix + row.id})
WITH e, row, coalesce(e.version, 0) AS before WHERE row.version >= before
SET e.id = row.id, e.name = row.name, e.kind = row.kind, e.version = row.version
WITH e, row, before
CALL (e, row, before) {
  WITH e, row, before WHERE before > 0 AND row.version > before
  MATCH (n)-[:NAMES]->(e)
  DETACH DELETE n
}
WITH e, row
UNWIND row.keys AS key
MERGE (n:Name {key: $prefix + key, entity: row.id}) ON CREATE SET n.name = key
MERGE (n)-[:NAMES]->(e)
RETURN count(*)"""
MENTIONS = """
UNWIND $rows AS row
MATCH (m:Memory {key: $prefix + row.memory}) USING INDEX SEEK m:Memory(key)
MATCH (e:Entity {key: $prefix + row.entity}) USING INDEX SEEK e:Entity(key)
CREATE (m)-[:MENTIONS {subject: $prefix + row.entity + '/' + row.type, recency: row.recency}]->(e)
RETURN count(*)"""
SEMANTIC = """
UNWIND $rows AS row
MATCH (m:Memory {key: $prefix + row.memory}) USING INDEX SEEK m:Memory(key)
MATCH (o:Memory {key: $prefix + row.other}) USING INDEX SEEK o:Memory(key)
CREATE (m)-[:SEMANTIC {weight: row.weight}]->(o)
RETURN count(*)"""
CAUSES = """
UNWIND $rows AS row
MATCH (m:Memory {key: $prefix + row.memory}) USING INDEX SEEK m:Memory(key)
MATCH (o:Memory {key: $prefix + row.other}) USING INDEX SEEK o:Memory(key)
CREATE (o)-[:CAUSES {weight: row.weight}]->(m)
RETURN count(*)"""

REMOVE = """
UNWIND $rows AS row
MERGE (m:Memory {key: $prefix + row.id})
SET m.id = row.id, m.version = row.version, m.live = false
REMOVE m.type, m.tags, m.recency, m.entities, m.document, m.position
WITH count(*) AS removed
MATCH (b:Bank {uid: $bank}) SET b.memories = b.memories - $died
RETURN removed"""

DROP_MEMORIES = """
MATCH (b:Bank {uid: $bank}) SET b.held = true
WITH b
CALL () {
  MATCH (m:Memory) USING INDEX SEEK m:Memory(key) WHERE m.key STARTS WITH $prefix
  WITH m LIMIT $most
  DETACH DELETE m
  RETURN count(*) AS dropped
}
RETURN sum(dropped)"""
DROP_ENTITIES = """
MATCH (b:Bank {uid: $bank}) SET b.held = true
WITH b
CALL () {
  MATCH (e:Entity) USING INDEX SEEK e:Entity(key) WHERE e.key STARTS WITH $prefix
  WITH e LIMIT $most
  OPTIONAL MATCH (n)-[:NAMES]->(e)
  DETACH DELETE n
  WITH DISTINCT e
  DETACH DELETE e
  RETURN count(*) AS dropped
}
RETURN sum(dropped)"""
DROP_BANK = "MATCH (b:Bank {uid: $bank}) DELETE b RETURN count(*)"


async def put(change: Change, bank_uid: str, nodes: tuple[Node, ...]) -> None:
    """Store nodes; see GraphStore.put."""
    given = {node.entry.memory_id: node for node in newest(nodes)}
    rows = [{"id": m, "version": node.entry.version, "removes": False} for m, node in given.items()]
    (claimed,) = await change(LOCK, {**_bank(bank_uid), "rows": rows})
    written = [given[memory_id] for memory_id, _, _ in claimed]
    if not written:
        return
    await _clear(
        change,
        bank_uid,
        known=[memory_id for memory_id, _, version in claimed if version],
        reworded=[m for m, live, version in claimed if live and version < given[m].entry.version],
    )
    entries = [node.entry for node in written]
    born = sum(not live for _, live, _ in claimed)
    await _each(change, MEMORIES, bank_uid, [_memory(bank_uid, entry) for entry in entries], born=born)
    alike = [_link(node.entry, link.memory_id, link.weight) for node in written for link in _once(node)]
    causes = [_link(entry, cause, weight) for entry in entries for cause, weight in _causes(entry).items()]
    expected = sorted({str(row["other"]) for row in (*alike, *causes)} - given.keys())
    if expected:
        await change(EXPECTED, {**_bank(bank_uid), "ids": expected})
    await _each(change, ENTITIES, bank_uid, entity_rows(entries))
    await _each(change, MENTIONS, bank_uid, [row for entry in entries for row in _mentions(entry)])
    await _each(change, SEMANTIC, bank_uid, alike)
    await _each(change, CAUSES, bank_uid, causes)


async def delete(change: Change, bank_uid: str, removals: tuple[Removal, ...]) -> None:
    """Take memories out; see GraphStore.delete."""
    versions: dict[str, int] = {}
    for removal in removals:
        versions[removal.memory_id] = max(removal.version, versions.get(removal.memory_id, 0))
    rows = [{"id": memory_id, "version": versions[memory_id], "removes": True} for memory_id in sorted(versions)]
    (claimed,) = await change(LOCK, {**_bank(bank_uid), "rows": rows})
    if not claimed:
        return
    known = [memory_id for memory_id, _, version in claimed if version]
    await _clear(change, bank_uid, known=known, reworded=[memory_id for memory_id, _, _ in claimed])
    removed = [{"id": memory_id, "version": versions[memory_id]} for memory_id, _, _ in claimed]
    await _each(change, REMOVE, bank_uid, removed, died=sum(live for _, live, _ in claimed))


async def drop_some(change: Change, bank_uid: str) -> bool:
    """Take some of a bank out; return whether there may be more."""
    for statement in (DROP_MEMORIES, DROP_ENTITIES):
        (dropped,) = await change(statement, {**_bank(bank_uid), "most": DROPPED})
        if dropped:
            return True
    await change(DROP_BANK, _bank(bank_uid))
    return False


def entity_rows(entries: Iterable[IndexEntry]) -> list[dict[str, object]]:
    """Return the entities that entries mention, as their newest mentions call them, by id."""
    newest: dict[str, Mention] = {}
    names: dict[str, set[str]] = {}
    for mention in (mention for entry in entries for mention in entry.mentions):
        held = newest.get(mention.entity_id)
        if held is not None and mention.version < held.version:
            continue
        if held is None or mention.version > held.version:
            names[mention.entity_id] = set()
        newest[mention.entity_id] = mention
        names[mention.entity_id] |= stored_keys((mention.name, *mention.aliases), mention.kind)
    return [
        {
            "id": entity_id,
            "name": mention.name,
            "kind": mention.kind,
            "version": mention.version,
            "keys": sorted(key for key in names[entity_id] if len(key.encode()) <= KEY_BYTES),
        }
        for entity_id, mention in sorted(newest.items())
    ]


async def _clear(change: Change, bank_uid: str, *, known: list[str], reworded: list[str]) -> None:
    if known:
        await change(CLEAR_MENTIONS, {**_bank(bank_uid), "ids": known})
        await change(CLEAR_LINKS, {**_bank(bank_uid), "ids": known})
    if reworded:
        await change(CLEAR_LIKENESS, {**_bank(bank_uid), "ids": reworded})


async def _each(change: Change, statement: str, bank_uid: str, rows: list[dict[str, object]], **values: object) -> None:
    if rows:
        await change(statement, {**_bank(bank_uid), "rows": rows, **values})


def _bank(bank_uid: str) -> dict[str, object]:
    return {"bank": bank_uid, "prefix": prefix(bank_uid)}


def _memory(bank_uid: str, entry: IndexEntry) -> dict[str, object]:
    within = bool(entry.document_id)
    return {
        "id": entry.memory_id,
        "set": {
            "version": entry.version,
            "type": entry.fact_type.value,
            "tags": sorted(set(entry.tags)),
            "recency": recency_of(entry),
            "entities": sorted({mention.entity_id for mention in entry.mentions}),
            # What is absent is taken away: only what lies in a document is in the index of places.
            "document": prefix(bank_uid) + entry.document_id if within else None,
            "position": entry.position if within else None,
        },
    }


def _mentions(entry: IndexEntry) -> list[dict[str, object]]:
    return [
        {
            "memory": entry.memory_id,
            "entity": entity_id,
            "type": entry.fact_type.value,
            "recency": recency_of(entry),
        }
        for entity_id in sorted({mention.entity_id for mention in entry.mentions})
    ]


def _once(node: Node) -> list[Any]:
    found = {link.memory_id: link for link in node.alike if link.memory_id != node.entry.memory_id}
    return [found[other] for other in sorted(found)]


def _causes(entry: IndexEntry) -> dict[str, float]:
    found = {cause.cause_id: cause.weight for cause in entry.causes if cause.cause_id != entry.memory_id}
    return dict(sorted(found.items()))


def _link(entry: IndexEntry, other: str, weight: float) -> dict[str, object]:
    return {"memory": entry.memory_id, "other": other, "weight": weight}
