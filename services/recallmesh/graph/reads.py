"""How the embedded graph store is read: every statement starts from an index and stops at its limit."""

import json
import sqlite3
from collections.abc import Collection, Iterator

from recallmesh.core.arm import Indexed
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.graph.store import Edge, LinkKind, NamedEntity, Names, Scope, Sighting, Subject
from recallmesh.graph.tags import Condition, condition

NAMES_PER_PREFIX = 1000
_TYPE = {fact_type.value: fact_type for fact_type in FactType}
_LAST = "\U0010ffff"

_NAME = """
SELECT e.id, e.name, n.key, e.kind, e.memories FROM name n JOIN entity e ON e.row = n.entity
WHERE n.bank = ? AND n.key {test} AND e.memories > 0 ORDER BY n.key, e.id LIMIT ?"""

# CROSS JOIN fixes the order: the entity's rows from the newest, each memory looked up, until there are enough.
_SIGHTING = """
SELECT m.id FROM mention c CROSS JOIN memory m ON m.row = c.memory
WHERE c.entity = ? AND c.type = ? AND m.live AND {passes} ORDER BY c.recency DESC, c.memory DESC LIMIT ?"""

# Only live memories mention anything; not asking that again leaves the table out, half of the time.
_SUBJECT = """
SELECT m.id, e.id, e.name, e.memories FROM json_each(?) j CROSS JOIN memory m ON m.bank = ? AND m.id = j.value
CROSS JOIN mention c INDEXED BY mention_memory ON c.memory = m.row {among} CROSS JOIN entity e ON e.row = c.entity"""

_LINK = """
SELECT m.id, m.type, l.weight, l.claimed FROM link l CROSS JOIN memory m ON m.row = l.target
WHERE l.source = ? AND l.kind = ? AND m.live AND {passes} ORDER BY l.weight DESC, l.target LIMIT ?"""

_PLACE = """
SELECT m.id, m.type FROM memory m WHERE m.bank = ? AND m.document = ? AND m.position {side} ? AND m.live
AND m.document <> '' AND {passes} ORDER BY m.position {order} LIMIT 1"""


class SqliteReads:
    """Fulfils GraphReads on a connection, in the thread of who calls."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read through this connection, which nobody else uses meanwhile."""
        self._connection = connection

    def names(self, bank_uid: str, keys: tuple[str, ...], prefixes: tuple[str, ...]) -> Names:
        """Find entities by name; see GraphReads.names."""
        found = self._connection.execute("SELECT row, memories FROM bank WHERE uid = ?", (bank_uid,)).fetchone()
        if found is None:
            return Names((), 0)
        bank, memories = found
        exact = _NAME.format(test="IN (SELECT value FROM json_each(?))")
        rows = set(self._connection.execute(exact, (bank, json.dumps(sorted(set(keys))), -1)))
        for prefix in prefixes:
            rows.update(
                self._connection.execute(
                    _NAME.format(test="BETWEEN ? AND ?"), (bank, prefix, prefix + _LAST, NAMES_PER_PREFIX)
                )
            )
        return Names(tuple(NamedEntity(*row) for row in sorted(rows, key=lambda row: (row[2], row[0]))), memories)

    def mentioning(self, scope: Scope, entity_ids: tuple[str, ...], limit: int) -> tuple[Sighting, ...]:
        """Find the most recent memories of entities; see GraphReads.mentioning."""
        passes, values = condition(scope.tags)
        statement = _SIGHTING.format(passes=passes)
        found: list[Sighting] = []
        for row, entity_id in _entities(self._connection, scope.bank_uid, entity_ids):
            for fact_type in scope.fact_types:
                rows = self._connection.execute(statement, (row, fact_type.value, *values, limit)).fetchall()
                found += [Sighting(memory_id, fact_type, entity_id) for (memory_id,) in rows]
        return tuple(found)

    def subjects(
        self, bank_uid: str, memory_ids: tuple[str, ...], among: tuple[str, ...] | None = None
    ) -> tuple[Subject, ...]:
        """Tell what entities memories mention; see GraphReads.subjects."""
        bank = _bank(self._connection, bank_uid)
        if bank is None:
            return ()
        values: tuple[str | int, ...] = (json.dumps(memory_ids), bank)
        test = ""
        if among is not None:
            rows = [row for row, _ in _entities(self._connection, bank_uid, among)]
            test = f"AND c.entity IN ({', '.join('?' * len(rows))})"
            values = (*values, *rows)
        return tuple(Subject(*row) for row in self._connection.execute(_SUBJECT.format(among=test), values))

    def edges(
        self,
        scope: Scope,
        memory_ids: tuple[str, ...],
        limit: int,
        kinds: Collection[LinkKind] = tuple(LinkKind),
    ) -> tuple[Edge, ...]:
        """Follow links; see GraphReads.edges."""
        bank = _bank(self._connection, scope.bank_uid)
        if bank is None:
            return ()
        tags, values = condition(scope.tags)
        passes = _types(scope, tags), values
        stored = [kind for kind in (LinkKind.SEMANTIC, LinkKind.CAUSAL) if kind in kinds]
        found: list[Edge] = []
        for memory_id in memory_ids:
            place = self._connection.execute(
                "SELECT row, document, position FROM memory WHERE bank = ? AND id = ? AND live", (bank, memory_id)
            ).fetchone()
            if place is not None:
                row, document, position = place
                for kind in stored:
                    found.extend(_links(self._connection, passes, (memory_id, row, kind), limit))
                if document and LinkKind.TEMPORAL in kinds:
                    found.extend(_beside(self._connection, passes, memory_id, (bank, document, position)))
        return tuple(found)


def scan(connection: sqlite3.Connection, bank_uid: str, page: PageRequest) -> Page[Indexed]:
    """List what is stored of a bank."""
    rows = connection.execute(
        "SELECT m.id, m.version FROM memory m JOIN bank b ON b.row = m.bank "
        "WHERE b.uid = ? AND m.live AND m.id > ? ORDER BY m.id LIMIT ?",
        (bank_uid, page.after, page.size + 1),
    ).fetchall()
    shown = tuple(Indexed(memory_id, version) for memory_id, version in rows[: page.size])
    return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")


def _bank(connection: sqlite3.Connection, uid: str) -> int | None:
    found = connection.execute("SELECT row FROM bank WHERE uid = ?", (uid,)).fetchone()
    return None if found is None else int(found[0])


def _entities(connection: sqlite3.Connection, bank_uid: str, ids: tuple[str, ...]) -> list[tuple[int, str]]:
    return connection.execute(
        "SELECT e.row, e.id FROM bank b CROSS JOIN json_each(?) j CROSS JOIN entity e ON e.bank = b.row "
        "AND e.id = j.value WHERE b.uid = ?",
        (json.dumps(ids), bank_uid),
    ).fetchall()


def _types(scope: Scope, passes: str) -> str:
    # Fact types are members of an enum, never text from outside.
    return f"m.type IN ({', '.join(repr(str(t)) for t in scope.fact_types)}) AND {passes}"


def _links(
    connection: sqlite3.Connection, passes: Condition, origin: tuple[str, int, LinkKind], limit: int
) -> list[Edge]:
    test, values = passes
    memory_id, row, kind = origin
    strongest: dict[str, Edge] = {}
    # Twice as many rows: two memories that named each other have two links.
    found = connection.execute(_LINK.format(passes=test), (row, kind.value, *values, 2 * limit))
    for target, name, weight, claimed in found:
        cause = kind is LinkKind.CAUSAL and not claimed
        strongest.setdefault(target, Edge(memory_id, target, _TYPE[name], kind, weight, cause))
    return list(strongest.values())[:limit]


def _beside(
    connection: sqlite3.Connection, passes: Condition, memory_id: str, place: tuple[int, str, int]
) -> Iterator[Edge]:
    test, values = passes
    for side, order in (("<", "DESC"), (">", "ASC")):
        statement = _PLACE.format(side=side, order=order, passes=test)
        for target, name in connection.execute(statement, (*place, *values)):
            yield Edge(memory_id, target, _TYPE[name], LinkKind.TEMPORAL, 1.0)
