"""How the graph in Neo4j is read: statements that start from an index and stop at their limits, and what they answer.

Each answers in one row of lists: for the driver, three hundred rows are three hundred times the work of one. Each
names its index: a server that plans a statement while it holds little thinks it better to go through all of it, and
keeps to that.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable, Mapping, Sequence
from typing import Any, cast

from recallmesh.core.arm import Indexed
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.graph.neo4j_schema import prefix
from recallmesh.graph.neo4j_tags import condition
from recallmesh.graph.store import Edge, LinkKind, NamedEntity, Names, Scope, Sighting, Subject, Tie

NAMES_PER_PREFIX = 1000
LINKS_READ = 1000
"""How many of a memory's links of a kind are looked at for the strongest: the newest, where it has more."""
LAST = "\U0010ffff"
"""The last character there is: what begins with a prefix lies before the prefix and this."""
Row = list[Any]
Question = tuple[str, Mapping[str, object]]
"""A statement and its parameters."""
Ask = Callable[[str, Mapping[str, object]], Awaitable[Row]]
"""Asks the server a statement with its parameters, and returns the one row that it answers."""
_PARAMETER = re.compile(r"\$(\w+)")
_TYPE = {fact_type.value: fact_type for fact_type in FactType}

NAMES = """
OPTIONAL MATCH (b:Bank {uid: $bank})
WITH coalesce(b.memories, 0) AS memories
CALL () {
  UNWIND $keys AS key
  MATCH (n:Name) USING INDEX SEEK n:Name(key, entity)
  WHERE n.key = $prefix + key AND n.entity IS NOT NULL
  MATCH (n)-[:NAMES]->(e)
  RETURN collect([e.id, e.name, key, e.kind, COUNT { (e)<-[:MENTIONS]-() }]) AS exact
}
CALL () {
  UNWIND $beginnings AS beginning
  CALL (beginning) {
    MATCH (n:Name) USING INDEX SEEK n:Name(key, entity)
    WHERE n.key STARTS WITH $prefix + beginning AND n.entity IS NOT NULL
    WITH n ORDER BY n.key, n.entity LIMIT $most
    MATCH (n)-[:NAMES]->(e)
    RETURN e, n.name AS key
  }
  RETURN collect([e.id, e.name, key, e.kind, COUNT { (e)<-[:MENTIONS]-() }]) AS begun
}
RETURN memories, exact, begun"""

MENTIONING = """
UNWIND $entities AS entity
UNWIND $types AS type
CALL (entity, type) {{
  MATCH (m)-[c:MENTIONS]->()
  USING INDEX SEEK c:MENTIONS(subject, recency)
  WHERE c.subject = $prefix + entity + '/' + type AND c.recency IS NOT NULL AND {passes}
  WITH m, c ORDER BY c.subject DESC, c.recency DESC LIMIT $limit
  RETURN collect(m.id) AS memories
}}
RETURN collect([entity, type, memories]) AS answer"""

# A memory repeats what it mentions: to follow its mentions, the server would go through all its links.
SUBJECTS = """
UNWIND $memories AS id
MATCH (m:Memory {key: $prefix + id}) USING INDEX SEEK m:Memory(key)
UNWIND m.entities AS entity
WITH entity, collect(id) AS memories
MATCH (e:Entity {key: $prefix + entity}) USING INDEX SEEK e:Entity(key)
RETURN collect([e.id, e.name, COUNT { (e)<-[:MENTIONS]-() }, memories]) AS answer"""

TIES = """
UNWIND $memories AS id
MATCH (m:Memory {key: $prefix + id}) USING INDEX SEEK m:Memory(key)
WITH id, [entity IN m.entities WHERE entity IN $entities] AS held
WHERE size(held) > 0
RETURN collect([id, held]) AS answer"""

# Only what is live has a type. Both kinds at once, since the server keeps all links of a memory in one list.
_LINKS = """
CALL (s) {{
  MATCH (s)-[l:{relationships}]-(m)
  WITH l, m LIMIT $links
  WHERE m.type IN $types AND {passes}
  WITH type(l) AS relationship, m.id AS id, m.type AS type, l.weight AS weight, startNode(l) = s AS outgoing
  ORDER BY weight DESC, id, outgoing
  RETURN collect([relationship, id, type, weight, outgoing]) AS links
}}"""

_BESIDE = """
CALL (s) {{
  MATCH (m:Memory) USING INDEX SEEK m:Memory(document, position)
  WHERE m.document = s.document AND m.position {side} s.position AND m.type IN $types AND {passes}
  WITH m ORDER BY m.document {order}, m.position {order} LIMIT 1
  RETURN collect([m.id, m.type]) AS {name}
}}"""

_EDGES = """
UNWIND $memories AS id
MATCH (s:Memory {{key: $prefix + id}}) USING INDEX SEEK s:Memory(key) WHERE s.live {calls}
RETURN collect([id, {columns}]) AS answer"""

SCAN = """
MATCH (m:Memory) USING INDEX SEEK m:Memory(key)
WHERE m.key > $prefix + $after AND m.key < $end AND m.live
WITH m ORDER BY m.key LIMIT $most
RETURN collect([m.id, m.version])"""

_RELATIONSHIP = {LinkKind.SEMANTIC: "SEMANTIC", LinkKind.CAUSAL: "CAUSES"}
_SIDES = (("before", "<", "DESC"), ("after", ">", "ASC"))


class CypherReads:
    """Fulfils GraphReads by asking a Neo4j server."""

    def __init__(self, ask: Ask) -> None:
        """Read by asking so."""
        self._ask = ask
        self._puts = False

    async def names(self, bank_uid: str, keys: tuple[str, ...], prefixes: tuple[str, ...]) -> Names:
        """Find entities by name; see GraphReads.names."""
        asked = {
            "bank": bank_uid,
            "prefix": prefix(bank_uid),
            "keys": sorted(set(keys)),
            "beginnings": prefixes,
            "most": NAMES_PER_PREFIX,
        }
        memories, exact, begun = await self._asked(NAMES, asked)
        rows = {tuple(row) for row in (*exact, *begun)}
        return Names(tuple(NamedEntity(*row) for row in sorted(rows, key=lambda row: (row[2], row[0]))), memories)

    async def mentioning(self, scope: Scope, entity_ids: tuple[str, ...], limit: int) -> tuple[Sighting, ...]:
        """Find the most recent memories of entities; see GraphReads.mentioning."""
        if not entity_ids:
            return ()
        passes, values = condition(scope.tags)
        asked = values | {
            "prefix": prefix(scope.bank_uid),
            "entities": entity_ids,
            "types": _types(scope),
            "limit": limit,
        }
        (found,) = await self._asked(MENTIONING.format(passes=passes), asked)
        return tuple(
            [
                Sighting(memory_id, _TYPE[name], entity_id)
                for entity_id, name, memory_ids in found
                for memory_id in memory_ids
            ]
        )

    async def subjects(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Subject, ...]:
        """Tell what entities memories mention; see GraphReads.subjects."""
        if not memory_ids:
            return ()
        (found,) = await self._asked(SUBJECTS, {"prefix": prefix(bank_uid), "memories": memory_ids})
        return tuple(
            [
                Subject(memory_id, entity_id, name, memories)
                for entity_id, name, memories, memory_ids in found
                for memory_id in memory_ids
            ]
        )

    async def ties(self, bank_uid: str, memory_ids: tuple[str, ...], entity_ids: tuple[str, ...]) -> tuple[Tie, ...]:
        """Tell which memories mention which entities; see GraphReads.ties."""
        if not memory_ids or not entity_ids:
            return ()
        asked = {"prefix": prefix(bank_uid), "memories": memory_ids, "entities": entity_ids}
        (found,) = await self._asked(TIES, asked)
        return tuple([Tie(memory_id, entity_id) for memory_id, held in found for entity_id in held])

    async def edges(
        self,
        scope: Scope,
        memory_ids: tuple[str, ...],
        limit: int,
        kinds: Collection[LinkKind] = tuple(LinkKind),
    ) -> tuple[Edge, ...]:
        """Follow links; see GraphReads.edges."""
        if not memory_ids:
            return ()
        statement, values = edges_statement(scope, kinds)
        # Twice as many rows: two memories that named each other have two links.
        asked = values | {"memories": memory_ids, "most": 2 * limit}
        (found,) = await self._asked(statement, asked)
        stored = [kind for kind in _RELATIONSHIP if kind in kinds]
        edges: list[Edge] = []
        for memory_id, *lists in found:
            for kind, rows in zip(stored, lists, strict=False):
                edges += _strongest(memory_id, kind, rows)[:limit]
            edges += [
                Edge(memory_id, target, _TYPE[name], LinkKind.TEMPORAL, 1.0)
                for beside in lists[len(stored) :]
                for target, name in beside
            ]
        return tuple(edges)

    async def together(self, *works: Coroutine[Any, Any, Any]) -> tuple[Any, ...]:
        """Answer all, with one statement for each time that several ask.

        A way to the server and back costs about as much as what is done there.
        """
        sides = [_Answering(work) for work in works]
        try:
            for side in sides:
                self._go_on(side, None)
            while waiting := [side for side in sides if side.question]:
                asked = [cast("Question", side.question) for side in waiting]
                answers = await self._ask(*(merged(asked) if len(asked) > 1 else asked[0]))
                for side, answer in zip(waiting, answers, strict=True):
                    self._go_on(side, [answer])
        finally:
            for work in works:
                work.close()
        return tuple(side.made for side in sides)

    def _go_on(self, side: "_Answering", answer: Row | None) -> None:
        self._puts = True
        try:
            side.go_on(answer)
        finally:
            self._puts = False

    async def _asked(self, statement: str, values: Mapping[str, object]) -> Row:
        return await (_Put((statement, values)) if self._puts else self._ask(statement, values))


class _Put:
    """Hands a question to who goes on with the coroutine that awaits this, and returns what that one answers."""

    def __init__(self, question: Question) -> None:
        self._question = question

    def __await__(self) -> Generator[Question, Row, Row]:
        answer = yield self._question
        return answer


class _Answering:
    """A coroutine that asks: its question, as long as it has one, and then what it made of the answers."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self.question: Question | None = None
        self.made: Any = None

    def go_on(self, answer: Row | None) -> None:
        """Go on with an answer, or at the beginning with none, to the next question or the end."""
        try:
            self.question = self._work.send(answer)
        except StopIteration as done:
            self.question, self.made = None, done.value


def merged(questions: Iterable[Question]) -> Question:
    """Make one question of several, each of which answers one column; the row has a column for each."""
    texts, values = [], dict[str, object]()
    for number, (statement, given) in enumerate(questions):
        text = _PARAMETER.sub(rf"$q{number}_\1", statement)
        texts.append(f"CALL () {{{text}{number}}}")
        values |= {f"q{number}_{name}": value for name, value in given.items()}
    answers = ", ".join(f"answer{number}" for number in range(len(texts)))
    return "\n".join((*texts, f"RETURN {answers}")), values


def edges_statement(scope: Scope, kinds: Collection[LinkKind]) -> tuple[str, dict[str, object]]:
    """Return the statement that follows links of these kinds, and those of its parameters that the scope gives."""
    passes, values = condition(scope.tags)
    stored = [kind for kind in _RELATIONSHIP if kind in kinds]
    sides = _SIDES if LinkKind.TEMPORAL in kinds else ()
    calls = (
        [_LINKS.format(relationships="|".join(_RELATIONSHIP[kind] for kind in stored), passes=passes)] if stored else []
    )
    calls += [_BESIDE.format(name=name, side=side, order=order, passes=passes) for name, side, order in sides]
    columns = [f"[l IN links WHERE l[0] = '{_RELATIONSHIP[kind]}' | l[1..]][..$most]" for kind in stored]
    columns += [name for name, _, _ in sides]
    given = values | {"prefix": prefix(scope.bank_uid), "types": _types(scope), "links": LINKS_READ}
    return _EDGES.format(calls="".join(calls), columns=", ".join(columns)), given


async def scan(ask: Ask, bank_uid: str, page: PageRequest) -> Page[Indexed]:
    """List what is stored of a bank."""
    begin = prefix(bank_uid)
    asked = {"prefix": begin, "after": page.after, "end": f"{begin}{LAST}", "most": page.size + 1}
    (rows,) = await ask(SCAN, asked)
    shown = tuple(Indexed(memory_id, version) for memory_id, version in rows[: page.size])
    return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")


def _types(scope: Scope) -> list[str]:
    return [fact_type.value for fact_type in scope.fact_types]


def _strongest(memory_id: str, kind: LinkKind, rows: Sequence[tuple[str, str, float, bool]]) -> list[Edge]:
    """Make an edge of each target's strongest link: the first, as they come."""
    strongest: dict[str, Edge] = {}
    for target, name, weight, outgoing in rows:
        cause = kind is LinkKind.CAUSAL and outgoing
        strongest.setdefault(target, Edge(memory_id, target, _TYPE[name], kind, weight, cause))
    return list(strongest.values())
