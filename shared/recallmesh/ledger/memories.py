"""Memories, documents and entities as administration and recall ask for them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from recallmesh.core.arm import ArmName
from recallmesh.core.document import Chunk, ChunkOutline, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.errors import MemoryNotFound
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import VISIBLE_STATES, FactType, Memory, MemoryState, Outline
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.source import ChunkSource
from recallmesh.core.write import OutboxAction
from recallmesh.ledger import documents, entities
from recallmesh.ledger.banks import hold_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among
from recallmesh.ledger.evidence import let_go, mark_again
from recallmesh.ledger.kept import Shelf, parted
from recallmesh.ledger.outbox import Due, Removing, put_rows, supersede
from recallmesh.ledger.paging import cut
from recallmesh.ledger.reading import list_memories, read_chunk_outlines, read_memories, read_outlines
from recallmesh.ledger.removal import delete_tags, delete_where, withhold_chunks
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import memories, memory_tags
from recallmesh.ledger.versions import EDIT, Changed, keep_versions
from recallmesh.ledger.writing import insert_tags

_EVIDENCE = frozenset({"text", "tags", "state"})
"""What of a fact decides whether it is evidence."""


class SqlMemories:
    """``MemoryLedger`` on SQL."""

    _database: Database

    async def read(self, bank_uid: str, memory_ids: tuple[str, ...], *, mentions: bool = True) -> tuple[Memory, ...]:
        """Return those of the memories that are there, in any state, in no particular order."""
        if not memory_ids:
            return ()
        if mentions:
            # It takes two statements, between which two entities may become one.
            return await self._database.read(lambda connection: read_memories(connection, bank_uid, memory_ids))
        shelf = self._database.kept(bank_uid) or Shelf(None)
        held = shelf.memories[bank_uid]
        found, others = parted(held, memory_ids)
        if others:
            more = await self._database.glance(
                lambda connection: read_memories(connection, bank_uid, others, mentions=False)
            )
            shelf.put(Memory, held, more)
            found.extend(more)
        return tuple(found)

    async def outline(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Outline, ...]:
        """Return the outlines of those that are there, in any state, in no particular order."""
        if not memory_ids:
            return ()
        shelf = self._database.kept(bank_uid) or Shelf(None)
        held = shelf.outlines[bank_uid]
        found, others = parted(held, memory_ids)
        if others:
            more = await self._database.glance(lambda connection: read_outlines(connection, bank_uid, others))
            shelf.put(Outline, held, more)
            found.extend(more)
        return tuple(found)

    async def list_memories(self, bank_uid: str, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
        """List memories by id."""
        return await self._database.read(lambda connection: list_memories(connection, bank_uid, wanted, page))

    async def edit_memory(
        self, bank_uid: str, memory_id: str, edit: MemoryEdit, arms: tuple[ArmName, ...], at: datetime
    ) -> Memory:
        """Change a memory and put it into the outbox again; an edit of nothing changes nothing."""
        changes: dict[str, Any] = {
            name: value
            for name, value in (("text", edit.text), ("context", edit.context), ("tokens", edit.tokens))
            if value is not None
        }
        if edit.tags is not None:
            changes["tags"] = pack(edit.tags)

        def change(row: Row[Any]) -> dict[str, Any]:
            return {name: value for name, value in changes.items() if getattr(row, name) != value}

        return await self._database.write(
            lambda connection: _change_memory(connection, (bank_uid, memory_id), change, Removing(arms, Due(at)))
        )

    async def set_state(
        self, bank_uid: str, memory_id: str, state: MemoryState, arms: tuple[ArmName, ...], at: datetime
    ) -> Memory:
        """Invalidate or restore a memory; one that has the state already stays as it is."""

        def change(row: Row[Any]) -> dict[str, Any]:
            wanted = state
            if row.retiring_write and state is MemoryState.ACTIVE:
                wanted = MemoryState.RETIRING  # restored, but its document has moved on all the same
            return {"state": wanted.value} if row.state != wanted.value else {}

        return await self._database.write(
            lambda connection: _change_memory(connection, (bank_uid, memory_id), change, Removing(arms, Due(at)))
        )

    async def delete_memories(
        self, bank_uid: str, memory_ids: tuple[str, ...], arms: tuple[ArmName, ...], at: datetime
    ) -> int:
        """Delete memories and what only they held; returns how many."""
        which, removing = among(memories.c.id, memory_ids), Removing(arms, Due(at))

        def work(connection: Connection) -> int:
            hold_bank(connection, bank_uid)
            return delete_where(connection, bank_uid, which, removing)

        return await self._database.write(work)

    async def get_document(self, bank_uid: str, document_id: str) -> Document:
        """Return a document; raises ``DocumentNotFound``."""
        return await self._database.read(lambda connection: documents.get_document(connection, bank_uid, document_id))

    async def list_documents(self, bank_uid: str, page: PageRequest) -> Page[Document]:
        """List documents by id."""
        return await self._database.read(lambda connection: documents.list_documents(connection, bank_uid, page))

    async def delete_document(self, bank_uid: str, document_id: str, arms: tuple[ArmName, ...], at: datetime) -> int:
        """Delete a document, its chunks and memories; returns the number of memories."""

        def work(connection: Connection) -> int:
            hold_bank(connection, bank_uid)
            documents.delete_document_row(connection, bank_uid, document_id)
            of_document = memories.c.document_id == document_id
            return delete_where(connection, bank_uid, of_document, Removing(arms, Due(at)))

        return await self._database.write(work)

    async def read_chunks(self, bank_uid: str, chunk_ids: tuple[str, ...]) -> tuple[Chunk, ...]:
        """Return those of the chunks that are there, in no particular order."""
        return await self._database.read(lambda connection: documents.read_chunks(connection, bank_uid, chunk_ids))

    async def outline_chunks(self, bank_uid: str, chunk_ids: tuple[str, ...]) -> tuple[ChunkOutline, ...]:
        """Return the outlines of those of the chunks that have memories, in no particular order."""
        if not chunk_ids:
            return ()
        return await self._database.read(lambda connection: read_chunk_outlines(connection, bank_uid, chunk_ids))

    async def read_sources(self, bank_uid: str, document_id: str) -> tuple[Document, tuple[ChunkSource, ...]]:
        """Return a document and all its chunks in order, both of one moment; raises ``DocumentNotFound``."""
        return await self._database.read(lambda connection: documents.read_sources(connection, bank_uid, document_id))

    async def list_chunks(self, bank_uid: str, document_id: str, page: PageRequest) -> Page[Chunk]:
        """List a document's chunks by number."""
        return await self._database.read(
            lambda connection: documents.list_chunks(connection, bank_uid, document_id, page)
        )

    async def get_entity(self, bank_uid: str, entity_id: str) -> Entity:
        """Return an entity; raises ``EntityNotFound``."""
        return await self._database.read(lambda connection: entities.get_entity(connection, bank_uid, entity_id))

    async def list_entities(self, bank_uid: str, page: PageRequest) -> Page[Entity]:
        """List entities by id."""
        return await self._database.read(lambda connection: entities.list_entities(connection, bank_uid, page))

    async def entities_like(self, bank_uid: str, keys: tuple[str, ...]) -> tuple[Entity, ...]:
        """Return the candidates for resolution, a bounded number."""
        return await self._database.read(lambda connection: entities.entities_like(connection, bank_uid, keys))

    async def list_tags(self, bank_uid: str, page: PageRequest) -> Page[TagCount]:
        """List tags of visible memories with their counts, by tag."""
        same = (memories.c.bank_uid == memory_tags.c.bank_uid) & (memories.c.id == memory_tags.c.memory_id)
        query = (
            select(memory_tags.c.tag, func.count())
            .join(memories, same)
            .where(
                memory_tags.c.bank_uid == bank_uid,
                memory_tags.c.tag > page.after,
                memories.c.state.in_([state.value for state in VISIBLE_STATES]),
            )
            .group_by(memory_tags.c.tag)
            .order_by(memory_tags.c.tag)
            .limit(page.size + 1)
        )

        def work(connection: Connection) -> Page[TagCount]:
            found = [TagCount(tag, number) for tag, number in connection.execute(query)]
            return cut(found, page.size, lambda count: count.tag)

        return await self._database.read(work)


def _change_memory(
    connection: Connection, name: tuple[str, str], change: Callable[[Row[Any]], dict[str, Any]], telling: Removing
) -> Memory:
    """Change a memory's columns, count its version up, and tell the arms what it is now."""
    bank_uid, memory_id = name
    hold_bank(connection, bank_uid)
    which = (memories.c.bank_uid == bank_uid) & (memories.c.id == memory_id)
    row = connection.execute(select(memories).where(which).with_for_update()).first()
    if row is None:
        raise MemoryNotFound(memory_id)
    changes = change(row)
    if changes:
        version = row.version + 1
        connection.execute(update(memories).where(which).values(**changes, version=version))
        said = Changed(row, version, changes.get("text", row.text), changes.get("tags", row.tags), _reason(changes))
        keep_versions(connection, bank_uid, [said], telling.due.at)
        shown = changes.get("state", row.state) != MemoryState.INVALIDATED.value
        action = OutboxAction.INDEX if shown else OutboxAction.REMOVE
        supersede(connection, bank_uid, [memory_id])
        put_rows(connection, bank_uid, action, [(memory_id, version)], telling.arms, telling.due)
    [memory] = read_memories(connection, bank_uid, [memory_id])
    if "text" in changes:
        withhold_chunks(connection, bank_uid, (row.chunk_id,))
    if "tags" in changes:
        delete_tags(connection, bank_uid, [(memory_id, unpack(row.tags))])
        insert_tags(connection, bank_uid, [memory])
    if memory.fact_type is not FactType.OBSERVATION and changes.keys() & _EVIDENCE:
        _consolidate_again(connection, bank_uid, memory, telling)
    return memory


def _consolidate_again(connection: Connection, bank_uid: str, memory: Memory, telling: Removing) -> None:
    """Let observations rest no more on what a fact said or was, and look at what it says now."""
    doomed = let_go(connection, bank_uid, [memory.id], telling, deleted=False)
    if doomed:
        delete_where(connection, bank_uid, among(memories.c.id, doomed), telling)
    if memory.state is MemoryState.ACTIVE:
        mark_again(connection, bank_uid, memory.id, telling.due.at)


def _reason(changes: dict[str, Any]) -> str:
    state = changes.get("state")
    if state is not None:
        return f"{EDIT}: {'invalidated' if state == MemoryState.INVALIDATED.value else 'restored'}"
    return f"{EDIT}: {', '.join(name for name in ('text', 'tags', 'context') if name in changes)}"
