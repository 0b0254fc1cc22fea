"""Memories deleted, with all that only they held."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, select, update

from recallmesh.core.write import OutboxAction
from recallmesh.ledger.attachments import delete_chunks, forget_attachments
from recallmesh.ledger.dialect import among
from recallmesh.ledger.entities import delete_orphans
from recallmesh.ledger.evidence import let_go
from recallmesh.ledger.outbox import Removing, put_rows, supersede
from recallmesh.ledger.rows import unpack
from recallmesh.ledger.schema import chunks, is_retiring, memories, memory_entities, memory_tags


def delete_where(connection: Connection, bank_uid: str, which: ColumnElement[bool], removing: Removing) -> int:
    """Delete the bank's memories of which a condition is true; returns how many there were.

    Observations that are left with too little evidence go with them, uncounted.
    """
    rows = _rows(connection, bank_uid, which)
    if rows:
        doomed = let_go(connection, bank_uid, [row.id for row in rows], removing, deleted=True)
        _delete(connection, bank_uid, rows, removing)
        if doomed:
            delete_where(connection, bank_uid, among(memories.c.id, doomed), removing)
    return len(rows)


def _rows(connection: Connection, bank_uid: str, which: ColumnElement[bool]) -> Sequence[Any]:
    query = (
        select(
            memories.c.id,
            memories.c.version,
            memories.c.tags,
            memories.c.entities,
            memories.c.document_id,
            memories.c.chunk_id,
        )
        .where(memories.c.bank_uid == bank_uid, which)
        .order_by(memories.c.id)
        .with_for_update()
    )
    return connection.execute(query).all()


def _delete(connection: Connection, bank_uid: str, rows: Sequence[Any], removing: Removing) -> None:
    ids = [row.id for row in rows]
    connection.execute(delete(memories).where(memories.c.bank_uid == bank_uid, among(memories.c.id, ids)))
    _delete_links(connection, bank_uid, rows)
    _close_gaps(connection, bank_uid, rows)
    supersede(connection, bank_uid, ids)
    # One more than the memory had, so that whatever an index still holds or gets late is older.
    versions = [(row.id, row.version + 1) for row in rows]
    put_rows(connection, bank_uid, OutboxAction.REMOVE, versions, removing.arms, removing.due)


def retired_by(write_id: str) -> ColumnElement[bool]:
    """Return the condition of memories that a write left to retire."""
    return (memories.c.retiring_write == write_id) & is_retiring


def delete_tags(connection: Connection, bank_uid: str, tagged: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Forget the tags of memories (id and tags)."""
    pairs = [{"gone_tag": tag, "gone_id": memory_id} for memory_id, tags in tagged for tag in set(tags)]
    if pairs:
        pair = (memory_tags.c.tag == bindparam("gone_tag")) & (memory_tags.c.memory_id == bindparam("gone_id"))
        connection.execute(delete(memory_tags).where(memory_tags.c.bank_uid == bank_uid, pair), pairs)


def _delete_links(connection: Connection, bank_uid: str, rows: Sequence[Any]) -> None:
    delete_tags(connection, bank_uid, [(row.id, unpack(row.tags)) for row in rows])
    pairs = [{"gone_entity": entity, "gone_id": row.id} for row in rows for entity in unpack(row.entities)]
    if pairs:
        table = memory_entities.c
        pair = (table.entity_id == bindparam("gone_entity")) & (table.memory_id == bindparam("gone_id"))
        connection.execute(delete(memory_entities).where(table.bank_uid == bank_uid, pair), pairs)
    delete_orphans(connection, bank_uid, (pair["gone_entity"] for pair in pairs))


def _close_gaps(connection: Connection, bank_uid: str, rows: Sequence[Any]) -> None:
    """Let no memory name a deleted one as the one before it, and no chunk tell what a deleted one said.

    A chunk whose document has moved on goes with its last memory. Another stays, so that the same content again brings
    back nothing; its words are withheld, and forgotten once no memory has come of them.
    """
    documents = {row.document_id for row in rows} - {""}
    if not documents:
        return
    of_documents = (memories.c.bank_uid == bank_uid) & among(memories.c.document_id, documents)
    orphaned = among(memories.c.previous_id, (row.id for row in rows))
    connection.execute(update(memories).where(of_documents, orphaned).values(previous_id=""))
    chunk_ids = {row.chunk_id for row in rows if row.chunk_id}
    held = select(memories.c.chunk_id).distinct().where(of_documents, among(memories.c.chunk_id, chunk_ids))
    emptied = chunk_ids.difference(connection.execute(held).scalars())
    if emptied:
        delete_chunks(connection, bank_uid, (chunks.c.retiring_write != "") & among(chunks.c.id, emptied))
        of_bank = chunks.c.bank_uid == bank_uid
        connection.execute(update(chunks).where(of_bank, among(chunks.c.id, emptied)).values(text="", outdated=True))
    withhold_chunks(connection, bank_uid, chunk_ids - emptied)
    forget_attachments(connection, bank_uid, chunk_ids)


def withhold_chunks(connection: Connection, bank_uid: str, chunk_ids: Iterable[str]) -> None:
    """Withhold the words of chunks that say what one of their memories no longer says."""
    which = (chunks.c.bank_uid == bank_uid) & among(chunks.c.id, chunk_ids)
    connection.execute(update(chunks).where(which).values(outdated=True))
