"""Documents and chunks in the ledger: stored by a write, read, listed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from recallmesh.core.document import Chunk, Document
from recallmesh.core.errors import ConflictingWrite, DocumentNotFound
from recallmesh.core.memory import Memory, MemoryState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.retain import UpdateMode
from recallmesh.core.source import ChunkSource
from recallmesh.core.write import DocumentWrite, Write, WrittenDocument
from recallmesh.ledger.attachments import delete_chunks
from recallmesh.ledger.dialect import among
from recallmesh.ledger.keeping import NOTHING, Kept, recognise, renamed
from recallmesh.ledger.layout import HeldChunk, Layout, Place, lay_behind, lay_over
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.paging import cut, number_after
from recallmesh.ledger.rows import chunk_of, chunk_row, document_of, pack, select_chunks, unpack, unpack_map
from recallmesh.ledger.schema import chunks, documents, is_live, memories

_ROW = select(documents).where(documents.c.bank_uid == bindparam("bank"), documents.c.id == bindparam("document"))
_ROW_LOCKED = _ROW.with_for_update()
_PUT = insert(documents)
_PUT_CHUNKS = insert(chunks)
_DIGESTS = select(chunks.c.digest).where(
    chunks.c.bank_uid == bindparam("bank"), chunks.c.document_id == bindparam("document"), chunks.c.retiring_write == ""
)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a write made of one document.

    ``added`` and ``kept`` are not stored yet and still mention the write's entities; ``renamed`` has, by the ids that
    the write gave them, those that the kept ones have.
    """

    written: WrittenDocument
    added: tuple[Memory, ...]
    retiring: tuple[str, ...]
    kept: tuple[Kept, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


def store_document(connection: Connection, write: Write, content: DocumentWrite, write_id: str) -> Stored:
    """Store a document and its chunks, move what stays, and let what vanished retire."""
    bank_uid, document_id = write.bank_uid, content.document.id
    row = _row(connection, bank_uid, document_id, lock=True)
    if content.version and (row is None or row.version != content.version):
        raise ConflictingWrite("the document has another version by now; try again")
    known = NOTHING
    if content.mode is UpdateMode.APPEND:
        last = _last_place(connection, bank_uid, document_id) if row else None
        layout = lay_behind(document_id, content.chunks, row.chunk_count if row else 0, last)
    else:
        held = _held(connection, bank_uid, document_id) if row else ()
        layout = lay_over(document_id, content.chunks, held)
        known = recognise(connection, bank_uid, layout, content.chunks)
        if known.rows:
            # Laid once more, under their own ids: what stands behind a memory names it as the one before.
            layout = lay_over(document_id, renamed(content.chunks, known.ids), held)
    _put_document(connection, write, content, row, layout)
    if layout.new_chunks:
        connection.execute(_PUT_CHUNKS, [chunk_row(bank_uid, *new) for new in layout.new_chunks])
    _move(connection, bank_uid, layout)
    kept = known.kept(layout.added)
    staying = {one.memory.id for one in kept}
    retiring = _retire_later(connection, write, layout, write_id, staying)
    return Stored(
        WrittenDocument(document_id, tuple(layout.memory_ids), row is not None and layout.is_unchanged),
        tuple(memory for memory in layout.added if memory.id not in staying),
        retiring,
        kept,
        known.ids,
    )


def known_digests(connection: Connection, bank_uid: str, document_id: str) -> frozenset[str]:
    """Return the digests of a document's chunks."""
    found = connection.execute(_DIGESTS, {"bank": bank_uid, "document": document_id})
    return frozenset(found.scalars()) - {""}


def get_document(connection: Connection, bank_uid: str, document_id: str) -> Document:
    """Return a document; raises ``DocumentNotFound``."""
    row = _row(connection, bank_uid, document_id)
    if row is None:
        raise DocumentNotFound(document_id)
    return document_of(row, memory_counts(connection, bank_uid, [document_id])[document_id])


def list_documents(connection: Connection, bank_uid: str, page: PageRequest) -> Page[Document]:
    """List documents by id."""
    query = (
        select(documents)
        .where(documents.c.bank_uid == bank_uid, documents.c.id > page.after)
        .order_by(documents.c.id)
        .limit(page.size + 1)
    )
    rows = connection.execute(query).all()
    counts = memory_counts(connection, bank_uid, [row.id for row in rows])
    return cut([document_of(row, counts[row.id]) for row in rows], page.size, lambda document: document.id)


def delete_document_row(connection: Connection, bank_uid: str, document_id: str) -> None:
    """Delete a document and its chunks, not its memories; raises ``DocumentNotFound``."""
    if _row(connection, bank_uid, document_id, lock=True) is None:
        raise DocumentNotFound(document_id)
    connection.execute(delete(documents).where(documents.c.bank_uid == bank_uid, documents.c.id == document_id))
    delete_chunks(connection, bank_uid, chunks.c.document_id == document_id)


def read_chunks(connection: Connection, bank_uid: str, chunk_ids: Iterable[str]) -> tuple[Chunk, ...]:
    """Return those of the chunks that are there, retiring ones too: a memory that is shown has its source."""
    query = select_chunks().where(chunks.c.bank_uid == bank_uid, among(chunks.c.id, chunk_ids))
    return tuple(chunk_of(row) for row in connection.execute(query))


def read_sources(connection: Connection, bank_uid: str, document_id: str) -> tuple[Document, tuple[ChunkSource, ...]]:
    """Return a document and all its chunks, with what was said besides their text."""
    document = get_document(connection, bank_uid, document_id)
    query = (
        select_chunks()
        .add_columns(chunks.c.said)
        .where(chunks.c.bank_uid == bank_uid, chunks.c.document_id == document_id, chunks.c.retiring_write == "")
    )
    rows = connection.execute(query.order_by(chunks.c.number))
    return document, tuple(ChunkSource(chunk_of(row[:-1]), row[-1]) for row in rows)


def list_chunks(connection: Connection, bank_uid: str, document_id: str, page: PageRequest) -> Page[Chunk]:
    """List a document's chunks by number."""
    query = (
        select_chunks()
        .where(
            chunks.c.bank_uid == bank_uid,
            chunks.c.document_id == document_id,
            chunks.c.number > number_after(page.after),
            chunks.c.retiring_write == "",
        )
        .order_by(chunks.c.number)
        .limit(page.size + 1)
    )
    found = [chunk_of(row) for row in connection.execute(query)]
    return cut(found, page.size, lambda chunk: str(chunk.number))


def _row(connection: Connection, bank_uid: str, document_id: str, *, lock: bool = False) -> Row[Any] | None:
    named = {"bank": bank_uid, "document": document_id}
    return connection.execute(_ROW_LOCKED if lock else _ROW, named).first()


def memory_counts(connection: Connection, bank_uid: str, document_ids: list[str]) -> dict[str, int]:
    """Count the memories of documents instead of keeping counts: a count that is made cannot be wrong."""
    query = (
        select(memories.c.document_id, func.count())
        .where(memories.c.bank_uid == bank_uid, among(memories.c.document_id, document_ids), is_live)
        .group_by(memories.c.document_id)
    )
    counts = dict.fromkeys(document_ids, 0)
    counts.update((document_id, number) for document_id, number in connection.execute(query))
    return counts


def _last_place(connection: Connection, bank_uid: str, document_id: str) -> Place | None:
    query = (
        select(memories.c.id, memories.c.position, memories.c.previous_id)
        .where(memories.c.bank_uid == bank_uid, memories.c.document_id == document_id, is_live)
        .order_by(memories.c.position.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    return Place(*row) if row else None


def _held(connection: Connection, bank_uid: str, document_id: str) -> list[HeldChunk]:
    places: dict[str, list[Place]] = defaultdict(list)
    of_memories = (
        select(memories.c.chunk_id, memories.c.id, memories.c.position, memories.c.previous_id)
        .where(memories.c.bank_uid == bank_uid, memories.c.document_id == document_id, is_live)
        .order_by(memories.c.position)
    )
    for chunk_id, *place in connection.execute(of_memories):
        places[chunk_id].append(Place(*place))
    of_chunks = (
        select(chunks.c.id, chunks.c.number, chunks.c.digest)
        .where(chunks.c.bank_uid == bank_uid, chunks.c.document_id == document_id, chunks.c.retiring_write == "")
        .order_by(chunks.c.number)
    )
    return [
        HeldChunk(chunk_id, number, digest, tuple(places[chunk_id]))
        for chunk_id, number, digest in connection.execute(of_chunks)
    ]


def _put_document(
    connection: Connection, write: Write, content: DocumentWrite, row: Row[Any] | None, layout: Layout
) -> None:
    document, tokens = content.document, sum(one.chunk.tokens for one in content.chunks)
    tags, held_metadata, version = document.tags, dict(document.metadata), 1
    if row is not None:
        version = row.version if layout.is_unchanged else row.version + 1
        if content.mode is UpdateMode.APPEND:
            tokens += row.tokens
            tags = (*unpack(row.tags), *document.tags)
            held_metadata = {**unpack_map(row.metadata), **held_metadata}
    values: dict[str, object] = {
        "updated": to_us(write.at) if row is None or not layout.is_unchanged else row.updated,
        "version": version,
        "tags": pack(dict.fromkeys(tags).keys()),
        "metadata": pack(held_metadata),
        "chunk_count": layout.number,
        "tokens": tokens,
    }
    if row is None:
        key: dict[str, object] = {
            "bank_uid": write.bank_uid,
            "id": document.id,
            "created": to_us(document.created),
        }
        connection.execute(_PUT, key | values)
    else:
        same = (documents.c.bank_uid == write.bank_uid) & (documents.c.id == document.id)
        connection.execute(update(documents).where(same).values(values))


def _move(connection: Connection, bank_uid: str, layout: Layout) -> None:
    """Renumber what stays; a place is no part of what an index holds a version of."""
    if layout.moved_chunks:
        statement = update(chunks).where(chunks.c.bank_uid == bank_uid, chunks.c.id == bindparam("held_id"))
        rows = [{"held_id": chunk_id, "number": number} for chunk_id, number in layout.moved_chunks]
        connection.execute(statement.values(number=bindparam("number")), rows)
    if layout.moved:
        same = update(memories).where(memories.c.bank_uid == bank_uid, memories.c.id == bindparam("held_id"))
        places = [
            {"held_id": place.memory_id, "position": place.position, "previous_id": place.previous_id}
            for place in layout.moved
        ]
        to = same.values(position=bindparam("position"), previous_id=bindparam("previous_id"))
        connection.execute(to, places)


def _retire_later(
    connection: Connection, write: Write, layout: Layout, write_id: str, staying: set[str]
) -> tuple[str, ...]:
    """Mark vanished chunks and those of their memories that do not stay; chunks without any go at once.

    An invalidated memory retires too but stays hidden.
    """
    leaving = {
        chunk.id: [place.memory_id for place in chunk.places if place.memory_id not in staying]
        for chunk in layout.vanished
    }
    retiring = tuple(memory_id for ids in leaving.values() for memory_id in ids)
    gone = [chunk_id for chunk_id, ids in leaving.items() if not ids]
    if gone:
        delete_chunks(connection, write.bank_uid, among(chunks.c.id, gone))
    if retiring:
        of_bank = memories.c.bank_uid == write.bank_uid
        mark = {"retiring_write": write_id, "retiring_at": to_us(write.at)}
        connection.execute(update(memories).where(of_bank, among(memories.c.id, retiring)).values(mark))
        shown = memories.c.state == MemoryState.ACTIVE.value
        state = {"state": MemoryState.RETIRING.value}
        connection.execute(update(memories).where(of_bank, among(memories.c.id, retiring), shown).values(state))
        chunk_ids = [chunk_id for chunk_id, ids in leaving.items() if ids]
        left = update(chunks).where(chunks.c.bank_uid == write.bank_uid, among(chunks.c.id, chunk_ids))
        connection.execute(left.values(retiring_write=write_id))
    return retiring
