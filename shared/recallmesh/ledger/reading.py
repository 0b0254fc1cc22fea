"""Memories read: by id for recall, and by page."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, bindparam, select

from recallmesh.core.document import ChunkOutline
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import Memory, Mention, Outline
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import TagTest, is_open, passes
from recallmesh.ledger.decoder import Decoder, outlines
from recallmesh.ledger.dialect import among_bound, in_one_row
from recallmesh.ledger.keys import became
from recallmesh.ledger.paging import cut
from recallmesh.ledger.rows import CAUSES, ENTITIES, select_memories, select_outlines, unpack, unpack_causes
from recallmesh.ledger.schema import chunks, entities, memories, memory_entities


class _ByIds:
    """A query for the rows of a bank that have one of the ids in a column, made once and run often."""

    def __init__(self, query: Select[Any], table: Table, column: str = "id") -> None:
        self._rows = query.where(table.c.bank_uid == bindparam("bank"), among_bound(table.c[column], "ids"))
        self._packed = in_one_row(self._rows)

    def all(self, connection: Connection, bank_uid: str, ids: Iterable[str]) -> Sequence[Any]:
        """Return the driver's own tuples: SQLAlchemy's rows around them would cost a tenth of the read.

        That passes over what SQLAlchemy makes of values, which is nothing for texts and integers on either database.
        """
        asked = {"bank": bank_uid, "ids": list(ids)}
        if connection.dialect.name == "sqlite":
            packed: list[Any] = json.loads(connection.execute(self._packed, asked).scalar_one())
            return packed
        rows: Sequence[Any] = connection.execute(self._rows, asked).cursor.fetchall()
        return rows


_READ = _ByIds(select_memories(), memories)
_OUTLINE = _ByIds(select_outlines(), memories)
# By way of their documents, which have an index: 6 ms in a document of 20,000 memories. One of the chunks' own would
# cost every write.
_OF_CHUNKS = _ByIds(
    select(memories.c.chunk_id, *select_outlines().selected_columns).where(
        memories.c.document_id.in_(
            select(chunks.c.document_id).where(chunks.c.bank_uid == bindparam("bank"), among_bound(chunks.c.id, "ids"))
        )
    ),
    memories,
    "chunk_id",
)
_THERE = _ByIds(select(memories.c.id), memories)
_NAMES = _ByIds(
    select(entities.c.id, entities.c.name, entities.c.kind, entities.c.aliases, entities.c.version), entities
)

BATCH = 200
"""Rows read at once while a tag test, which SQL does not know, decides which of them count."""


def read_memories(
    connection: Connection, bank_uid: str, memory_ids: Iterable[str], *, mentions: bool = True
) -> tuple[Memory, ...]:
    """Return those of the memories that are there."""
    return tuple(_decoded(connection, bank_uid, _READ.all(connection, bank_uid, memory_ids), mentions=mentions))


def read_outlines(connection: Connection, bank_uid: str, memory_ids: Iterable[str]) -> tuple[Outline, ...]:
    """Return the outlines of those that are there."""
    return tuple(outlines(_OUTLINE.all(connection, bank_uid, memory_ids)))


def read_chunk_outlines(connection: Connection, bank_uid: str, chunk_ids: Iterable[str]) -> tuple[ChunkOutline, ...]:
    """Return the outlines of those of the chunks that have memories."""
    rows = _OF_CHUNKS.all(connection, bank_uid, chunk_ids)
    members: dict[str, list[Outline]] = defaultdict(list)
    for row, outline in zip(rows, outlines(row[1:] for row in rows), strict=True):
        members[row[0]].append(outline)
    return tuple(ChunkOutline(chunk_id, tuple(held)) for chunk_id, held in members.items())


def list_memories(connection: Connection, bank_uid: str, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
    """List memories by id."""
    if wanted.entity_id:
        now = became(connection, bank_uid, [wanted.entity_id])
        wanted = replace(wanted, entity_id=now.get(wanted.entity_id, wanted.entity_id))
    found: list[Any] = []
    after = page.after
    more = True
    while more and len(found) <= page.size:
        size = max(BATCH, page.size + 1)
        rows = connection.execute(_filtered(bank_uid, wanted).where(memories.c.id > after).limit(size)).all()
        found.extend(_passing(connection, bank_uid, rows, wanted.tags))
        more = len(rows) == size
        after = rows[-1].id if rows else after
    return cut(_decoded(connection, bank_uid, found[: page.size + 1]), page.size, lambda memory: memory.id)


def _passing(connection: Connection, bank_uid: str, rows: Sequence[Any], test: TagTest) -> list[Any]:
    """Return the rows that pass the test, an observation only if all that it rests on does."""
    passing = [row for row in rows if passes(test, unpack(row.tags))]
    sources = {row.id: unpack(row.sources) for row in passing if row.sources and not is_open(test)}
    if not sources:
        return passing
    evidence = {one.id: one for one in read_outlines(connection, bank_uid, chain.from_iterable(sources.values()))}
    hidden = {one.id for one in evidence.values() if not passes(test, one.tags)}
    return [row for row in passing if hidden.isdisjoint(sources.get(row.id, ()))]


def mentions_by_id(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> dict[str, Mention]:
    """Return entities as memories mention them, with their names of now."""
    return {
        entity_id: Mention(entity_id, name, kind, unpack(aliases), version)
        for entity_id, name, kind, aliases, version in _NAMES.all(connection, bank_uid, entity_ids)
    }


def _filtered(bank_uid: str, wanted: MemoryFilter) -> Select[Any]:
    query = select_memories().where(memories.c.bank_uid == bank_uid).order_by(memories.c.id)
    if wanted.fact_types:
        query = query.where(memories.c.fact_type.in_([kind.value for kind in wanted.fact_types]))
    if wanted.states:
        query = query.where(memories.c.state.in_([state.value for state in wanted.states]))
    if wanted.document_id:
        query = query.where(memories.c.document_id == wanted.document_id)
    if wanted.entity_id:
        mentions = and_(
            memory_entities.c.bank_uid == memories.c.bank_uid,
            memory_entities.c.memory_id == memories.c.id,
            memory_entities.c.entity_id == wanted.entity_id,
        )
        query = query.join(memory_entities, mentions)
    return query


def _decoded(connection: Connection, bank_uid: str, rows: Sequence[Any], *, mentions: bool = True) -> list[Memory]:
    named = _mentions(connection, bank_uid, rows) if mentions else defaultdict[str, tuple[Mention, ...]](tuple)
    return Decoder(named, _causes_there(connection, bank_uid, rows)).memories(rows)


def _mentions(connection: Connection, bank_uid: str, rows: Sequence[Any]) -> dict[str, tuple[Mention, ...]]:
    """Return what the rows' packed entity ids stand for."""
    mentioned = {packed: unpack(packed) for packed in {row[ENTITIES] for row in rows}}
    named = set(chain.from_iterable(mentioned.values()))
    known = mentions_by_id(connection, bank_uid, named) if named else {}
    return {packed: tuple(filter(None, map(known.get, ids))) for packed, ids in mentioned.items()}


def _causes_there(connection: Connection, bank_uid: str, rows: Sequence[Any]) -> Callable[[str], bool]:
    """Return the test whether a cause still exists; links to deleted memories are left where they are."""
    causes = {cause for row in rows if row[CAUSES] for cause, _ in unpack_causes(row[CAUSES])}
    if causes:
        causes = {memory_id for (memory_id,) in _THERE.all(connection, bank_uid, causes)}
    return causes.__contains__
