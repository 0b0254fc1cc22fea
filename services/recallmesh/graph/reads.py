"""How the embedded graph store is read: every statement starts from an index and stops at its limit.

Each answers in one row, a JSON array: for every row that SQLite returns, Python's lock is let go and taken again, and
beside one busy thread reading 600 rows took 24 ms instead of 2.
"""

import json
import sqlite3
from collections.abc import Collection, Coroutine, Sequence
from typing import Any, TypeVar

from recallmesh.core.arm import Indexed
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.graph.store import Edge, LinkKind, NamedEntity, Names, Scope, Sighting, Subject, Tie
from recallmesh.graph.tags import condition

NAMES_PER_PREFIX = 1000
_T = TypeVar("_T")
_TYPE = {fact_type.value: fact_type for fact_type in FactType}

_EXACT = """
SELECT json_group_array(json_array(e.id, e.name, n.key, e.kind, e.memories))
FROM name n JOIN entity e ON e.row = n.entity
WHERE n.bank = ? AND n.key IN (SELECT value FROM json_each(?)) AND e.memories > 0"""

# char(1114111) is the last character there is: what begins with the prefix lies between.
_BEGINNING = """
SELECT json_group_array(json((SELECT json_group_array(json(found)) FROM (
  SELECT json_array(e.id, e.name, n.key, e.kind, e.memories) AS found FROM name n JOIN entity e ON e.row = n.entity
  WHERE n.bank = ? AND n.key BETWEEN p.value AND p.value || char(1114111) AND e.memories > 0
  ORDER BY n.key, e.id LIMIT ?)))) FROM json_each(?) p"""

# CROSS JOIN fixes the order: the entity's rows from the newest, each memory looked up, until there are enough.
_SIGHTING = """
SELECT json_group_array(json_array(e.id, t.value, json((SELECT json_group_array(id) FROM (
  SELECT m.id FROM mention c CROSS JOIN memory m ON m.row = c.memory
  WHERE c.entity = e.row AND c.type = t.value AND m.live AND {passes}
  ORDER BY c.recency DESC, c.memory DESC LIMIT ?)))))
FROM json_each(?) j CROSS JOIN entity e ON e.bank = (SELECT row FROM bank WHERE uid = ?) AND e.id = j.value
CROSS JOIN json_each(?) t"""

# Only live memories mention anything; not asking that again leaves the table out, half of the time.
_SUBJECT = """
SELECT json_group_array(json_array(m.id, e.id, e.name, e.memories))
FROM json_each(?) j CROSS JOIN memory m ON m.bank = (SELECT row FROM bank WHERE uid = ?) AND m.id = j.value
CROSS JOIN mention c INDEXED BY mention_memory ON c.memory = m.row CROSS JOIN entity e ON e.row = c.entity"""

_TIES = """
SELECT json_group_array(json_array(m.id, e.id))
FROM json_each(?) j CROSS JOIN memory m ON m.bank = (SELECT row FROM bank WHERE uid = ?) AND m.id = j.value
CROSS JOIN mention c INDEXED BY mention_memory ON c.memory = m.row
AND c.entity IN (SELECT row FROM entity WHERE bank = (SELECT row FROM bank WHERE uid = ?)
AND id IN (SELECT value FROM json_each(?))) CROSS JOIN entity e ON e.row = c.entity"""

# 17 digits: what JSON gets of a number by itself is 15, too few to be the same number again.
_LINKS = """
json((SELECT json_group_array(json_array(id, type, json(printf('%!.17g', weight)), claimed)) FROM (
  SELECT m.id, m.type, l.weight, l.claimed FROM link l CROSS JOIN memory m ON m.row = l.target
  WHERE l.source = s.row AND l.kind = '{kind}' AND m.live AND {passes} ORDER BY l.weight DESC, l.target LIMIT ?)))"""

_BESIDE = """
json((SELECT json_array(m.id, m.type) FROM memory m WHERE m.bank = s.bank AND m.document = s.document
  AND m.position {side} s.position AND m.live AND m.document <> '' AND {passes} ORDER BY m.position {order} LIMIT 1))"""

_EDGES = """
SELECT json_group_array(json_array(s.id, {columns})) FROM json_each(?) j
CROSS JOIN memory s ON s.bank = (SELECT row FROM bank WHERE uid = ?) AND s.id = j.value AND s.live"""


class SqliteReads:
    """Fulfils GraphReads on a connection, in the thread of who calls: each answer is there when it is awaited."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read through this connection, which nobody else uses meanwhile."""
        self._connection = connection

    async def names(self, bank_uid: str, keys: tuple[str, ...], prefixes: tuple[str, ...]) -> Names:
        """Find entities by name; see GraphReads.names."""
        found = self._connection.execute("SELECT row, memories FROM bank WHERE uid = ?", (bank_uid,)).fetchone()
        if found is None:
            return Names((), 0)
        bank, memories = found
        rows = {tuple(row) for row in self._all(_EXACT, (bank, json.dumps(sorted(set(keys)))))}
        if prefixes:
            asked = (bank, NAMES_PER_PREFIX, json.dumps(prefixes))
            rows.update(tuple(row) for listed in self._all(_BEGINNING, asked) for row in listed)
        return Names(tuple(NamedEntity(*row) for row in sorted(rows, key=lambda row: (row[2], row[0]))), memories)

    async def mentioning(self, scope: Scope, entity_ids: tuple[str, ...], limit: int) -> tuple[Sighting, ...]:
        """Find the most recent memories of entities; see GraphReads.mentioning."""
        if not entity_ids:
            return ()
        passes, values = condition(scope.tags)
        types = [fact_type.value for fact_type in scope.fact_types]
        asked = (*values, limit, json.dumps(entity_ids), scope.bank_uid, json.dumps(types))
        return tuple(
            [
                Sighting(memory_id, _TYPE[name], entity_id)
                for entity_id, name, memory_ids in self._all(_SIGHTING.format(passes=passes), asked)
                for memory_id in memory_ids
            ]
        )

    async def subjects(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Subject, ...]:
        """Tell what entities memories mention; see GraphReads.subjects."""
        return tuple([Subject(*row) for row in self._all(_SUBJECT, (json.dumps(memory_ids), bank_uid))])

    async def ties(self, bank_uid: str, memory_ids: tuple[str, ...], entity_ids: tuple[str, ...]) -> tuple[Tie, ...]:
        """Tell which memories mention which entities; see GraphReads.ties."""
        values = (json.dumps(memory_ids), bank_uid, bank_uid, json.dumps(entity_ids))
        return tuple([Tie(*row) for row in self._all(_TIES, values)])

    async def edges(
        self,
        scope: Scope,
        memory_ids: tuple[str, ...],
        limit: int,
        kinds: Collection[LinkKind] = tuple(LinkKind),
    ) -> tuple[Edge, ...]:
        """Follow links; see GraphReads.edges."""
        tags, values = condition(scope.tags)
        passes = _types(scope, tags)
        stored = [kind for kind in (LinkKind.SEMANTIC, LinkKind.CAUSAL) if kind in kinds]
        columns = [_LINKS.format(kind=kind.value, passes=passes) for kind in stored]
        # Twice as many rows: two memories that named each other have two links.
        asked: list[str | int] = [value for _ in stored for value in (*values, 2 * limit)]
        sides = (("<", "DESC"), (">", "ASC")) if LinkKind.TEMPORAL in kinds else ()
        columns += [_BESIDE.format(side=side, order=order, passes=passes) for side, order in sides]
        asked += [value for _ in sides for value in values]
        statement = _EDGES.format(columns=", ".join(columns))
        found: list[Edge] = []
        for memory_id, *lists in self._all(statement, (*asked, json.dumps(memory_ids), scope.bank_uid)):
            for kind, rows in zip(stored, lists, strict=False):
                found += _links(memory_id, kind, rows)[:limit]
            found += [
                Edge(memory_id, target[0], _TYPE[target[1]], LinkKind.TEMPORAL, 1.0)
                for target in lists[len(stored) :]
                if target
            ]
        return tuple(found)

    async def together(self, *works: Coroutine[Any, Any, Any]) -> tuple[Any, ...]:
        """Answer one after the other."""
        return tuple([await work for work in works])

    def _all(self, statement: str, values: Sequence[str | int]) -> list[Any]:
        rows: list[Any] = json.loads(self._connection.execute(statement, values).fetchone()[0])
        return rows


def complete(work: Coroutine[Any, Any, _T]) -> _T:
    """Return what the work makes of its readings: it awaits nothing else, so that it ends without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        made: _T = done.value
        return made
    work.close()
    raise RuntimeError("work on the graph awaited what is no reading of it")


def scan(connection: sqlite3.Connection, bank_uid: str, page: PageRequest) -> Page[Indexed]:
    """List what is stored of a bank."""
    rows = connection.execute(
        "SELECT m.id, m.version FROM memory m JOIN bank b ON b.row = m.bank "
        "WHERE b.uid = ? AND m.live AND m.id > ? ORDER BY m.id LIMIT ?",
        (bank_uid, page.after, page.size + 1),
    ).fetchall()
    shown = tuple(Indexed(memory_id, version) for memory_id, version in rows[: page.size])
    return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")


def _types(scope: Scope, passes: str) -> str:
    # Fact types are members of an enum, never text from outside.
    return f"m.type IN ({', '.join(repr(str(t)) for t in scope.fact_types)}) AND {passes}"


def _links(memory_id: str, kind: LinkKind, rows: Sequence[tuple[str, str, float, int]]) -> list[Edge]:
    strongest: dict[str, Edge] = {}
    for target, name, weight, claimed in rows:
        cause = kind is LinkKind.CAUSAL and not claimed
        strongest.setdefault(target, Edge(memory_id, target, _TYPE[name], kind, weight, cause))
    return list(strongest.values())
