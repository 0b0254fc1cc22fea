"""Banks moved: read out as one moment has them, and written into an empty one."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, groupby, islice
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Select, Table, func, insert, select, update

from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import BankConfig
from recallmesh.core.document import Document
from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.errors import BankNotFound, NotReady
from recallmesh.core.export import Exported, Imported, Past
from recallmesh.core.key import key_of
from recallmesh.core.memory import VISIBLE_STATES, FactType, Memory, Mention
from recallmesh.core.source import ChunkSource
from recallmesh.core.write import OutboxAction
from recallmesh.ledger.attachments import attachments, had_by, insert_attachments, insert_uses, stored_of
from recallmesh.ledger.config import config_to_plain
from recallmesh.ledger.database import Database
from recallmesh.ledger.documents import memory_counts
from recallmesh.ledger.entities import read_entities, words
from recallmesh.ledger.evidence import adopt_observations
from recallmesh.ledger.keys import claim
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.outbox import Due, put_rows
from recallmesh.ledger.past import pasts, put_pasts
from recallmesh.ledger.reading import read_memories
from recallmesh.ledger.rows import chunk_of, chunk_row, document_of, pack, select_chunks
from recallmesh.ledger.schema import banks, chunks, documents, entities, entity_words, is_live, memories
from recallmesh.ledger.writing import insert_memories

T = TypeVar("T")

BATCH = 500
"""Rows read or written at once: what is in memory of a bank that is moved."""


class SqlExports:
    """``ExportLedger`` on SQL."""

    _database: Database

    async def export_bank(self, bank_uid: str, take: Callable[[Exported], None]) -> None:
        """Hand over all that a bank holds, of one moment."""

        def work(connection: Connection) -> None:
            for thing in _things(connection, bank_uid):
                take(thing)

        await self._database.read(work, again=False)

    async def import_bank(
        self, bank_uid: str, config: BankConfig, things: Iterable[Exported], arms: tuple[ArmName, ...], at: datetime
    ) -> Imported:
        """Fill an empty bank, all or nothing."""

        def work(connection: Connection) -> tuple[int, ...]:
            _claim(connection, bank_uid, config)
            counts = {Document: 0, Memory: 0}
            for kind, some in groupby(things, type):
                for batch in _batches(some, 1 if kind is StoredAttachment else BATCH):
                    if kind is Past:
                        put_pasts(connection, bank_uid, cast("list[Past]", batch))
                    else:
                        _put(connection, bank_uid, batch, arms, at)
                    counts[kind] = counts.get(kind, 0) + len(batch)
            adopt_observations(connection, bank_uid)
            return counts[Document], counts[Memory]

        return Imported(*await self._database.write(work, again=False))


def _things(connection: Connection, bank_uid: str) -> Iterator[Exported]:
    of_bank = select(documents).where(documents.c.bank_uid == bank_uid)
    for rows in _pages(connection, of_bank, documents):
        counts = memory_counts(connection, bank_uid, [row.id for row in rows])
        yield from (document_of(row, counts[row.id]) for row in rows)
    live = (chunks.c.bank_uid == bank_uid) & (chunks.c.retiring_write == "")
    # One at a time: each may be as large as all else of a page together.
    of_attachments = select(attachments.c.id, attachments.c.media_type, attachments.c.data).where(
        attachments.c.bank_uid == bank_uid
    )
    for rows in _pages(connection, of_attachments, attachments, size=1):
        yield from map(stored_of, rows)
    for rows in _pages(connection, select_chunks().add_columns(chunks.c.said).where(live), chunks):
        had = had_by(connection, bank_uid, [row.id for row in rows])
        yield from (ChunkSource(chunk_of(row[:-1]), row[-1], had.get(row.id, ())) for row in rows)
    for rows in _pages(connection, select(entities.c.id).where(entities.c.bank_uid == bank_uid), entities):
        found = read_entities(connection, bank_uid, [row.id for row in rows])
        yield from (replace(one, memory_count=0, last_mentioned=None) for one in _by_id(found))
    kept = select(memories.c.id).where(memories.c.bank_uid == bank_uid, is_live)
    for rows in _pages(connection, kept, memories):
        yield from map(_bare, _by_id(read_memories(connection, bank_uid, [row.id for row in rows])))
    # Of facts alone: what an observation said before is told only with the evidence of then, which stays behind.
    for rows in _pages(connection, kept.where(memories.c.fact_type != FactType.OBSERVATION.value), memories):
        yield from pasts(connection, bank_uid, [row.id for row in rows])


def _pages(connection: Connection, query: Select[Any], table: Table, *, size: int = BATCH) -> Iterator[Sequence[Any]]:
    last = ""
    while rows := connection.execute(query.where(table.c.id > last).order_by(table.c.id).limit(size)).all():
        yield rows
        last = rows[-1].id


def _by_id(found: Iterable[T]) -> list[T]:
    return sorted(found, key=lambda one: one.id)  # type: ignore[attr-defined]


def _bare(memory: Memory) -> Memory:
    return replace(memory, mentions=tuple(Mention(one.entity_id, one.name, one.kind) for one in memory.mentions))


def _claim(connection: Connection, bank_uid: str, config: BankConfig) -> None:
    """See that the bank is there and empty, and set it up."""
    row = connection.execute(select(banks.c.version).where(banks.c.uid == bank_uid).with_for_update()).first()
    if row is None:
        raise BankNotFound(bank_uid)
    for table in (documents, entities, memories):
        if connection.execute(select(func.count()).select_from(table).where(table.c.bank_uid == bank_uid)).scalar():
            raise NotReady("the bank holds something already: import into a new one")
    changes = {"config": json.dumps(config_to_plain(config), ensure_ascii=False), "version": row.version + 1}
    connection.execute(update(banks).where(banks.c.uid == bank_uid).values(changes))


def _batches(things: Iterable[Exported], size: int) -> Iterator[list[Exported]]:
    drawn = iter(things)
    while batch := list(islice(drawn, size)):
        yield batch


def _put(
    connection: Connection, bank_uid: str, batch: Sequence[Exported], arms: tuple[ArmName, ...], at: datetime
) -> None:
    rows: list[dict[str, Any]] = []
    held: list[Memory] = []
    made: list[Entity] = []
    uses: dict[str, tuple[str, ...]] = {}
    table = documents
    for thing in batch:
        match thing:
            case Document():
                rows.append(_document_row(bank_uid, thing))
            case StoredAttachment():
                insert_attachments(connection, bank_uid, (thing,), at)
            case ChunkSource(chunk, said, had):
                table = chunks
                uses[chunk.id] = had
                rows.append({**chunk_row(bank_uid, chunk, said), "outdated": chunk.outdated})
            case Entity():
                made.append(thing)
            case Memory():
                held.append(thing)
    if rows:
        connection.execute(insert(table), rows)
    insert_uses(connection, bank_uid, uses)
    if made:
        _insert_entities(connection, bank_uid, made)
    insert_memories(connection, bank_uid, held)
    shown = [(memory.id, memory.version) for memory in held if memory.state in VISIBLE_STATES]
    if shown:
        put_rows(connection, bank_uid, OutboxAction.INDEX, shown, arms, Due(at))


def _insert_entities(connection: Connection, bank_uid: str, made: Sequence[Entity]) -> None:
    rows = [
        {
            "bank_uid": bank_uid,
            "id": entity.id,
            "name": entity.name,
            "key": entity.key,
            "is_label": entity.kind == LABEL,
            "kind": entity.kind,
            "aliases": pack(entity.aliases),
            "created": to_us(entity.created),
            "apart": pack(entity.apart),
        }
        for entity in made
    ]
    connection.execute(insert(entities), rows)
    own = {(one.key, one.kind == LABEL): one.id for one in made}
    others = {(key_of(alias, one.kind), one.kind == LABEL): one.id for one in made for alias in one.aliases}
    claim(connection, bank_uid, {**others, **own})  # a name of its own goes before another's alias
    spelt = [
        {"bank_uid": bank_uid, "word": word, "entity_id": entity.id}
        for entity in made
        if entity.kind != LABEL  # labels match exactly, never by a word
        for word in sorted(frozenset(chain.from_iterable(map(words, (entity.name, entity.key, *entity.aliases)))))
    ]
    if spelt:
        connection.execute(insert(entity_words), spelt)


def _document_row(bank_uid: str, document: Document) -> dict[str, Any]:
    return {
        "bank_uid": bank_uid,
        "id": document.id,
        "created": to_us(document.created),
        "updated": to_us(document.updated),
        "version": document.version,
        "tags": pack(document.tags),
        "metadata": pack(document.metadata),
        "chunk_count": document.chunk_count,
        "tokens": document.tokens,
    }
