"""The transaction of a retain: documents, chunks, memories, entities, request id and outbox, all or nothing."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection, bindparam, insert, select

from recallmesh.core.errors import RequestIdReused
from recallmesh.core.memory import Memory, Mention
from recallmesh.core.write import Commit, OutboxAction, RequestRecord, Write, WrittenDocument
from recallmesh.ledger.attachments import put_attachments
from recallmesh.ledger.banks import lock_bank
from recallmesh.ledger.documents import store_document
from recallmesh.ledger.entities import resolve
from recallmesh.ledger.events import put_retained
from recallmesh.ledger.evidence import keep_scopes, make_due, mark_facts, take_up_observations
from recallmesh.ledger.keeping import forget_scopes, keep
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.outbox import Due, put_rows
from recallmesh.ledger.rows import memory_row
from recallmesh.ledger.schema import memories, memory_entities, memory_tags, operations, requests

_PUT = insert(memories)
_PUT_TAGS = insert(memory_tags)
_PUT_MENTIONS = insert(memory_entities)
_PUT_REQUEST = insert(requests)
_REQUEST = select(requests.c.content_hash, requests.c.write_id, requests.c.documents).where(
    requests.c.bank_uid == bindparam("bank"), requests.c.request_id == bindparam("request")
)
_QUEUED = select(operations.c.content_hash).where(
    operations.c.bank_uid == bindparam("bank"), operations.c.request_id == bindparam("request")
)


def commit_write(connection: Connection, write: Write, *, new_id: Callable[[], str], own_for: timedelta) -> Commit:
    """Write everything, or replay what the request id wrote before."""
    lock_bank(connection, write.bank_uid)
    if write.request:
        replayed = find_request(connection, write.bank_uid, write.request)
        if replayed:
            return replayed
    write_id = new_id()
    stored = [store_document(connection, write, document, write_id) for document in write.documents]
    put_attachments(connection, write)
    drafts = [memory for document in stored for memory in document.added]
    kept = [one for document in stored for one in document.kept]
    mentions = resolve(connection, write, [*drafts, *(one.memory for one in kept)], new_id)
    added = _with_mentions(drafts, mentions)
    insert_memories(connection, write.bank_uid, added)
    due = Due(write.at, write_id, own_for)
    take_up_observations(connection, write.bank_uid, added)
    kept = [
        replace(one, memory=told)
        for one, told in zip(kept, _with_mentions((k.memory for k in kept), mentions), strict=True)
    ]
    keep(connection, write, kept, due)
    forget_scopes(connection, write.bank_uid, kept)
    ids = {memory.id: memory.id for memory in added} | {old: new for one in stored for old, new in one.renamed.items()}
    keep_scopes(connection, write.bank_uid, _scopes(write, ids))
    if added and write.consolidate is not None:
        make_due(connection, write.bank_uid, write.consolidate)
    versions = [(memory.id, memory.version) for memory in added]
    put_rows(connection, write.bank_uid, OutboxAction.INDEX, versions, write.arms, due)
    written = tuple(document.written for document in stored)
    if write.request:
        _record_request(connection, write, write.request, write_id, written)
    retiring = tuple(memory_id for document in stored for memory_id in document.retiring)
    put_retained(connection, write, written)
    return Commit(write_id, written, added, retiring)


def find_request(connection: Connection, bank_uid: str, request: RequestRecord) -> Commit | None:
    """Return what a request id wrote before; raises ``RequestIdReused``, for an id that an operation has too."""
    named = {"bank": bank_uid, "request": request.request_id}
    row = connection.execute(_REQUEST, named).first()
    queued = connection.execute(_QUEUED, named).scalar() if row is None else None
    known = queued if row is None else row.content_hash
    if known not in (None, request.content_hash):
        said = f"request id {request.request_id!r} came before with other content"
        raise RequestIdReused(said, metadata={"request_id": request.request_id})
    if row is None:
        return None
    documents = tuple(
        WrittenDocument(document_id, tuple(tuple(ids) for ids in memory_ids), unchanged)
        for document_id, memory_ids, unchanged in json.loads(row.documents)
    )
    return Commit(row.write_id, documents, replayed=True)


def insert_memories(connection: Connection, bank_uid: str, added: Iterable[Memory]) -> None:
    """Store new memories with what SQL filters and counts by."""
    rows = [memory_row(bank_uid, memory) for memory in added]
    if not rows:
        return
    connection.execute(_PUT, rows)
    insert_tags(connection, bank_uid, added)
    mark_facts(connection, bank_uid, added)
    mentions = [
        {
            "bank_uid": bank_uid,
            "entity_id": mention.entity_id,
            "memory_id": memory.id,
            "mentioned": to_us(memory.mentioned or memory.created),
        }
        for memory in added
        for mention in memory.mentions
    ]
    if mentions:
        connection.execute(_PUT_MENTIONS, mentions)


def _scopes(write: Write, ids: Mapping[str, str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    chunks = [chunk for document in write.documents for chunk in document.chunks if chunk.scopes]
    return {ids[memory.id]: chunk.scopes for chunk in chunks for memory in chunk.memories if memory.id in ids}


def insert_tags(connection: Connection, bank_uid: str, tagged: Iterable[Memory]) -> None:
    """Store the tags of memories."""
    rows = [
        {"bank_uid": bank_uid, "tag": tag, "memory_id": memory.id}
        for memory in tagged
        for tag in dict.fromkeys(memory.tags)
    ]
    if rows:
        connection.execute(_PUT_TAGS, rows)


def _with_mentions(drafts: Iterable[Memory], mentions: dict[str, Mention]) -> tuple[Memory, ...]:
    """Put the bank's own entities in the place of the write's, each once in a memory."""
    return tuple(
        replace(
            memory,
            mentions=tuple({own.entity_id: own for own in (mentions[m.entity_id] for m in memory.mentions)}.values()),
        )
        for memory in drafts
    )


def _record_request(
    connection: Connection, write: Write, request: RequestRecord, write_id: str, written: tuple[WrittenDocument, ...]
) -> None:
    row = {
        "bank_uid": write.bank_uid,
        "request_id": request.request_id,
        "content_hash": request.content_hash,
        "write_id": write_id,
        "documents": json.dumps([[one.document_id, one.memory_ids, one.unchanged] for one in written]),
        "created": to_us(write.at),
    }
    connection.execute(_PUT_REQUEST, row)
