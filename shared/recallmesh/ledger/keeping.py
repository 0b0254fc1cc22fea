"""Memories that a document's new version says in the same words: they stay what they are, under their ids."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from recallmesh.core.memory import CausalLink, Memory, MemoryState
from recallmesh.core.write import ChunkWrite, OutboxAction, Write
from recallmesh.ledger.dialect import among
from recallmesh.ledger.entities import delete_orphans
from recallmesh.ledger.evidence import let_go, mark_again
from recallmesh.ledger.layout import Layout
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.observed import fact_scopes, memory_versions
from recallmesh.ledger.outbox import Due, Removing, put_rows, supersede
from recallmesh.ledger.removal import delete_tags, delete_where
from recallmesh.ledger.rows import memory_row, unpack
from recallmesh.ledger.schema import chunks, memories, memory_entities, memory_tags
from recallmesh.ledger.versions import EDIT, RETAIN, Changed, keep_versions

_PLACE = frozenset({"chunk_id", "position", "previous_id", "version"})
"""Columns that are no part of what an index holds a version of."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory that stays: its row as it was, and what it is from now on, of the version that it had."""

    row: Row[Any]
    memory: Memory


@dataclass(frozen=True, slots=True)
class Recognised:
    """Rows whose words are said again, by the id that the write gave them anew; and what a person edited of each."""

    rows: Mapping[str, Row[Any]]
    edits: Mapping[str, frozenset[str]]

    @property
    def ids(self) -> dict[str, str]:
        """The ids that they have, by those that the write gave them."""
        return {draft_id: row.id for draft_id, row in self.rows.items()}

    def kept(self, added: Iterable[Memory]) -> tuple[Kept, ...]:
        """Return those of the memories laid out under their own ids, as they are from now on."""
        rows = {row.id: row for row in self.rows.values()}
        return tuple(
            Kept(rows[one.id], _becomes(rows[one.id], one, self.edits[one.id])) for one in added if one.id in rows
        )


NOTHING = Recognised({}, {})


def recognise(connection: Connection, bank_uid: str, layout: Layout, written: Sequence[ChunkWrite]) -> Recognised:
    """Find what would vanish and is said again: each memory once, in the document's order.

    What a person has edited of it, its tags or its context, stays while the caller says the same besides the text; so
    does that it is invalidated.
    """
    ids = [place.memory_id for chunk in layout.vanished for place in chunk.places]
    if not ids or not layout.added:
        return NOTHING
    query = select(memories).where(memories.c.bank_uid == bank_uid, among(memories.c.id, ids))
    left: dict[tuple[str, str], deque[Row[Any]]] = defaultdict(deque)
    for row in connection.execute(query.order_by(memories.c.position, memories.c.id)):
        left[row.text, row.fact_type].append(row)
    found: dict[str, Row[Any]] = {}
    chunks_of: dict[str, tuple[str, str]] = {}
    for memory in layout.added:
        if same := left.get((memory.text, memory.fact_type.value)):
            found[memory.id] = row = same.popleft()
            chunks_of[row.id] = (row.chunk_id, memory.chunk_id)
    said = {one.chunk.id: one.said for one in written}
    edits = _edits(connection, bank_uid, chunks_of)
    again = _said_again(connection, bank_uid, chunks_of, said)
    return Recognised(found, {one: edits[one] if one in again else frozenset() for one in chunks_of})


def renamed(written: Iterable[ChunkWrite], ids: Mapping[str, str]) -> tuple[ChunkWrite, ...]:
    """Return chunks whose memories have other ids, in the links between them too."""
    return tuple(
        replace(chunk, memories=tuple(_renamed(memory, ids) for memory in chunk.memories)) for chunk in written
    )


def keep(connection: Connection, write: Write, kept: Sequence[Kept], due: Due) -> None:
    """Store what memories that stay are from now on, and tell the arms of those that changed."""
    if not kept:
        return
    changed = [one for one in kept if _differs(write.bank_uid, one)]
    grown = {one.memory.id: replace(one.memory, version=one.row.version + 1) for one in changed}
    _store(connection, write.bank_uid, [grown.get(one.memory.id, one.memory) for one in kept])
    if not changed:
        return
    shown = [(one.id, one.version) for one in grown.values() if one.state is not MemoryState.INVALIDATED]
    supersede(connection, write.bank_uid, [one.memory.id for one in changed])
    put_rows(connection, write.bank_uid, OutboxAction.INDEX, shown, write.arms, due)
    _mention(connection, write.bank_uid, changed)
    _retag(connection, write, [one for one in changed if set(unpack(one.row.tags)) != set(one.memory.tags)], due)


def _becomes(row: Row[Any], memory: Memory, edited: frozenset[str]) -> Memory:
    own: dict[str, Any] = {}
    if "tags" in edited:
        own["tags"] = unpack(row.tags)
    if "context" in edited:
        own["context"] = row.context
    state = MemoryState(row.state)
    return replace(memory, id=row.id, created=from_us(row.created), version=row.version, state=state, **own)


def _said_again(
    connection: Connection, bank_uid: str, chunks_of: Mapping[str, tuple[str, str]], said: Mapping[str, str]
) -> set[str]:
    """Return the memories beside whose text the caller says what was said before."""
    query = select(chunks.c.id, chunks.c.said).where(
        chunks.c.bank_uid == bank_uid, among(chunks.c.id, {before for before, _ in chunks_of.values()})
    )
    held = {row.id: row.said for row in connection.execute(query)}
    return {one for one, (before, now) in chunks_of.items() if before in held and held[before] == said.get(now)}


def _edits(connection: Connection, bank_uid: str, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the parts of each memory that a person has edited."""
    table = memory_versions.c
    edits: dict[str, frozenset[str]] = defaultdict(frozenset)
    query = select(table.memory_id, table.reason).where(
        table.bank_uid == bank_uid, among(table.memory_id, ids), table.reason.startswith(f"{EDIT}: ")
    )
    for memory_id, reason in connection.execute(query):
        edits[memory_id] |= frozenset(reason.removeprefix(f"{EDIT}: ").split(", "))
    return edits


def _renamed(memory: Memory, ids: Mapping[str, str]) -> Memory:
    causes = tuple(CausalLink(ids.get(link.cause_id, link.cause_id), link.weight) for link in memory.causes)
    return replace(memory, id=ids.get(memory.id, memory.id), causes=causes)


def _differs(bank_uid: str, one: Kept) -> bool:
    row = memory_row(bank_uid, one.memory)
    return any(getattr(one.row, name) != value for name, value in row.items() if name not in _PLACE)


def _store(connection: Connection, bank_uid: str, kept: Iterable[Memory]) -> None:
    rows = [memory_row(bank_uid, memory) for memory in kept]
    names = [name for name in rows[0] if name not in {"bank_uid", "id", "created"}]
    which = (memories.c.bank_uid == bank_uid) & (memories.c.id == bindparam("kept_id"))
    statement = update(memories).where(which).values({name: bindparam(f"kept_{name}") for name in names})
    connection.execute(statement, [{f"kept_{name}": row[name] for name in ("id", *names)} for row in rows])


def _mention(connection: Connection, bank_uid: str, changed: Iterable[Kept]) -> None:
    table, gone, now = memory_entities.c, set[str](), []
    for one in changed:
        before, mentioned = set(unpack(one.row.entities)), {mention.entity_id for mention in one.memory.mentions}
        gone |= before - mentioned
        at = to_us(one.memory.mentioned or one.memory.created)
        now += [
            {"bank_uid": bank_uid, "entity_id": entity_id, "memory_id": one.memory.id, "mentioned": at}
            for entity_id in mentioned
        ]
        pair = (table.memory_id == one.memory.id) & among(table.entity_id, before | mentioned)
        connection.execute(delete(memory_entities).where(table.bank_uid == bank_uid, pair))
    if now:
        connection.execute(insert(memory_entities), now)
    delete_orphans(connection, bank_uid, gone)


def _retag(connection: Connection, write: Write, retagged: Sequence[Kept], due: Due) -> None:
    """Let other readers see them, and observations rest on them only where these meet their tags."""
    if not retagged:
        return
    bank_uid = write.bank_uid
    delete_tags(connection, bank_uid, [(one.memory.id, unpack(one.row.tags)) for one in retagged])
    rows = [
        {"bank_uid": bank_uid, "tag": tag, "memory_id": one.memory.id}
        for one in retagged
        for tag in dict.fromkeys(one.memory.tags)
    ]
    if rows:
        connection.execute(insert(memory_tags), rows)
    keep_versions(connection, bank_uid, _versions(bank_uid, retagged), write.at)
    telling = Removing(write.arms, due)
    doomed = let_go(connection, bank_uid, [one.memory.id for one in retagged], telling, deleted=False)
    if doomed:
        delete_where(connection, bank_uid, among(memories.c.id, doomed), telling)
    for one in retagged:
        if one.memory.state is MemoryState.ACTIVE:
            mark_again(connection, bank_uid, one.memory.id, write.at)


def _versions(bank_uid: str, retagged: Iterable[Kept]) -> Iterator[Changed]:
    for one in retagged:
        tags = str(memory_row(bank_uid, one.memory)["tags"])
        yield Changed(one.row, one.row.version + 1, one.row.text, tags, f"{RETAIN}: tags")


def forget_scopes(connection: Connection, bank_uid: str, kept: Iterable[Kept]) -> None:
    """Forget the scopes that came with memories that stay: those that come now take their place."""
    ids = [one.memory.id for one in kept]
    if ids:
        of_bank = fact_scopes.c.bank_uid == bank_uid
        connection.execute(delete(fact_scopes).where(of_bank, among(fact_scopes.c.memory_id, ids)))
