"""Attachments in the ledger: stored with the chunks that have them, gone with the last of these."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Select,
    String,
    Table,
    Text,
    bindparam,
    delete,
    exists,
    select,
)

from recallmesh.core.attachment import AttachmentOutline, StoredAttachment
from recallmesh.core.errors import AttachmentNotFound, ConflictingWrite
from recallmesh.core.memory import Outline
from recallmesh.core.write import Write
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among, insert_new
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.reading import read_outlines
from recallmesh.ledger.rows import unpack
from recallmesh.ledger.schema import chunks, memories, metadata

attachments = Table(
    "attachments",
    metadata,
    Column("bank_uid", String(36), ForeignKey("banks.uid", ondelete="CASCADE"), primary_key=True),
    Column("id", String(64), primary_key=True),
    Column("media_type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
)
chunk_attachments = Table(
    "chunk_attachments",
    metadata,
    Column("bank_uid", String(36), primary_key=True),
    Column("chunk_id", Text, primary_key=True),
    Column("attachment_id", String(64), primary_key=True),
    ForeignKeyConstraint(["bank_uid", "chunk_id"], ["chunks.bank_uid", "chunks.id"], ondelete="CASCADE"),
    # Cascades, though nothing deletes one that a chunk has: a bank takes all with it in one statement.
    ForeignKeyConstraint(["bank_uid", "attachment_id"], ["attachments.bank_uid", "attachments.id"], ondelete="CASCADE"),
    Index("chunk_attachments_attachment", "bank_uid", "attachment_id"),
)

_held = chunk_attachments.c


class SqlAttachments:
    """``AttachmentLedger`` on SQL."""

    _database: Database

    async def outline_attachment(self, bank_uid: str, attachment_id: str) -> AttachmentOutline:
        """Return what decides whether an attachment may be shown; raises ``AttachmentNotFound``."""
        return await self._database.read(lambda connection: _outline(connection, bank_uid, attachment_id))

    async def read_attachments(self, bank_uid: str, attachment_ids: tuple[str, ...]) -> tuple[StoredAttachment, ...]:
        """Return those of the attachments that are there, in no particular order."""
        query = select(attachments.c.id, attachments.c.media_type, attachments.c.data).where(
            attachments.c.bank_uid == bank_uid, among(attachments.c.id, attachment_ids)
        )
        return await self._database.read(lambda connection: tuple(stored_of(row) for row in connection.execute(query)))


def put_attachments(connection: Connection, write: Write) -> None:
    """Store the attachments of those chunks of a write that were stored, and that these have them."""
    brought = {one.id: one for one in write.attachments}
    wanted = {
        content.chunk.id: content.attachments
        for document in write.documents
        for content in document.chunks
        if content.attachments
    }
    if not wanted:
        return
    stored = select(chunks.c.id).where(chunks.c.bank_uid == write.bank_uid, among(chunks.c.id, wanted))
    uses = {chunk_id: wanted[chunk_id] for chunk_id in connection.execute(stored).scalars()}
    used = dict.fromkeys(chain.from_iterable(uses.values()))
    if used:
        _put(connection, write.bank_uid, [_row(write.bank_uid, brought[one], write.at) for one in used])
        insert_uses(connection, write.bank_uid, uses)


def _put(connection: Connection, bank_uid: str, rows: list[dict[str, object]]) -> None:
    """Store what is not there; what is there is held fast, since its last chunk may be going at this moment."""
    ids = [str(row["id"]) for row in rows]
    lock = (
        select(attachments.c.id)
        .where(attachments.c.bank_uid == bank_uid, among(attachments.c.id, ids))
        .order_by(attachments.c.id)
        .with_for_update(read=True, key_share=True)
    )
    for _ in range(2):
        insert_new(connection, attachments, sorted(rows, key=lambda row: str(row["id"])))
        if len(connection.execute(lock).all()) == len(ids):
            return
    raise ConflictingWrite("an attachment was deleted meanwhile; try again")


def had_by(connection: Connection, bank_uid: str, chunk_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the attachments of those chunks that have any, in their order."""
    query = select(_held.chunk_id, _held.attachment_id).where(
        _held.bank_uid == bank_uid, among(_held.chunk_id, chunk_ids)
    )
    found: dict[str, tuple[str, ...]] = {}
    for chunk_id, attachment_id in connection.execute(query.order_by(_held.chunk_id, _held.attachment_id)):
        found[chunk_id] = (*found.get(chunk_id, ()), attachment_id)
    return found


def insert_attachments(connection: Connection, bank_uid: str, made: Iterable[StoredAttachment], at: datetime) -> None:
    """Store attachments that no chunk has yet."""
    insert_new(connection, attachments, [_row(bank_uid, one, at) for one in made])


def insert_uses(connection: Connection, bank_uid: str, uses: Mapping[str, Iterable[str]]) -> None:
    """Store which chunks have which attachments."""
    rows: list[dict[str, object]] = [
        {"bank_uid": bank_uid, "chunk_id": chunk_id, "attachment_id": attachment_id}
        for chunk_id, ids in uses.items()
        for attachment_id in dict.fromkeys(ids)
    ]
    insert_new(connection, chunk_attachments, rows)


def stored_of(row: Any) -> StoredAttachment:  # noqa: ANN401 - rows of queries differ in type
    """Return a row's attachment."""
    return StoredAttachment(row.id, row.media_type, bytes(row.data))


def _row(bank_uid: str, one: StoredAttachment, at: datetime) -> dict[str, object]:
    return {"bank_uid": bank_uid, "id": one.id, "media_type": one.media_type, "data": one.data, "created": to_us(at)}


def delete_chunks(connection: Connection, bank_uid: str, which: ColumnElement[bool]) -> None:
    """Delete chunks, and the attachments that no other has."""
    of_bank = (chunks.c.bank_uid == bank_uid) & which
    same = (_held.bank_uid == chunks.c.bank_uid) & (_held.chunk_id == chunks.c.id)
    had = set(connection.execute(select(_held.attachment_id).join(chunks, same).where(of_bank)).scalars())
    connection.execute(delete(chunks).where(of_bank))
    _delete_unused(connection, bank_uid, had)


def forget_attachments(connection: Connection, bank_uid: str, chunk_ids: Iterable[str]) -> None:
    """Let chunks of which memories were deleted go without those attachments that no memory left was drawn from."""
    had = connection.execute(
        select(_held.chunk_id, _held.attachment_id).where(_held.bank_uid == bank_uid, among(_held.chunk_id, chunk_ids))
    ).all()
    if not had:
        return
    drawn = {
        (memory.chunk_id, attachment_id)
        for memory in connection.execute(_memories_of({row.chunk_id for row in had}, bank_uid)).all()
        for attachment_id in unpack(memory.attachments)
    }
    gone = [
        {"gone_chunk": chunk_id, "gone_id": attachment_id}
        for chunk_id, attachment_id in had
        if (chunk_id, attachment_id) not in drawn
    ]
    if gone:
        pair = (_held.chunk_id == bindparam("gone_chunk")) & (_held.attachment_id == bindparam("gone_id"))
        connection.execute(delete(chunk_attachments).where(_held.bank_uid == bank_uid, pair), gone)
        _delete_unused(connection, bank_uid, {one["gone_id"] for one in gone})


def _delete_unused(connection: Connection, bank_uid: str, attachment_ids: Iterable[str]) -> None:
    ids = sorted(attachment_ids)
    if not ids:
        return
    these = (attachments.c.bank_uid == bank_uid) & among(attachments.c.id, ids)
    # Locked first: a write that is giving one of them to a new chunk is waited for, and then seen.
    connection.execute(select(attachments.c.id).where(these).order_by(attachments.c.id).with_for_update()).all()
    used = (_held.bank_uid == attachments.c.bank_uid) & (_held.attachment_id == attachments.c.id)
    connection.execute(delete(attachments).where(these, ~exists().where(used)))


def _memories_of(chunk_ids: Iterable[str], bank_uid: str) -> Select[Any]:
    """Return the query for memories made of chunks; by way of their documents, which have an index."""
    ids = list(chunk_ids)
    of_documents = select(chunks.c.document_id).where(chunks.c.bank_uid == bank_uid, among(chunks.c.id, ids))
    return select(memories.c.id, memories.c.chunk_id, memories.c.attachments).where(
        memories.c.bank_uid == bank_uid,
        memories.c.document_id.in_(of_documents),
        among(memories.c.chunk_id, ids),
    )


def _outline(connection: Connection, bank_uid: str, attachment_id: str) -> AttachmentOutline:
    same = (_held.bank_uid == chunks.c.bank_uid) & (_held.chunk_id == chunks.c.id)
    having = connection.execute(
        select(chunks.c.id, chunks.c.outdated)
        .join(chunk_attachments, same)
        .where(_held.bank_uid == bank_uid, _held.attachment_id == attachment_id)
    ).all()
    if not having:
        raise AttachmentNotFound(attachment_id)
    of_chunks = connection.execute(_memories_of({row.id for row in having}, bank_uid)).all()
    drawn = [memory.id for memory in of_chunks if attachment_id in unpack(memory.attachments)]
    outlines: tuple[Outline, ...] = read_outlines(connection, bank_uid, drawn) if drawn else ()
    return AttachmentOutline(attachment_id, any(not row.outdated for row in having), outlines)
