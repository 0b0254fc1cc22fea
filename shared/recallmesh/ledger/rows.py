"""Memories, documents, chunks and operations as rows, and back."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from json.scanner import make_scanner
from types import MappingProxyType
from typing import Any, cast

from sqlalchemy import Row, Select, select

from recallmesh.core.document import Chunk, Document
from recallmesh.core.memory import Memory
from recallmesh.ledger.moment import from_us, offset_of, to_us
from recallmesh.ledger.schema import chunks, memories

_COLUMNS = tuple(
    memories.c[name]
    for name in (
        "id", "text", "fact_type", "created", "occurred_start", "occurred_start_offset", "occurred_end",
        "occurred_end_offset", "occurred_precision", "mentioned", "mentioned_offset", "context", "tags", "metadata",
        "document_id", "chunk_id", "position", "previous_id", "entities", "causes", "sources", "attachments",
        "proof_count", "tokens", "state", "version",
    )
)  # fmt: skip


_parse: Callable[[str, int], tuple[Any, int]] = make_scanner(cast("Any", json.JSONDecoder()))
"""``json.loads`` without its checks and two more calls: what comes was packed here, and recall unpacks thousands."""

ENTITIES = 18
CAUSES = 19
"""Where ``select_memories`` has these columns."""


def pack(values: Iterable[object] | Mapping[str, str]) -> str:
    """Return values as JSON text; nothing as empty text, which costs nothing to read."""
    held = dict(values) if isinstance(values, Mapping) else list(values)
    return json.dumps(held, ensure_ascii=False, separators=(",", ":")) if held else ""


def unpack(packed: str) -> tuple[str, ...]:
    """Return the strings that were packed."""
    return tuple(_parse(packed, 0)[0]) if packed else ()


def unpack_map(packed: str) -> Mapping[str, str]:
    """Return the map that was packed."""
    return MappingProxyType(_parse(packed, 0)[0] if packed else {})


def unpack_causes(packed: str) -> list[tuple[str, float]]:
    """Return the causal links that were packed: the cause's id and the weight."""
    return cast("list[tuple[str, float]]", _parse(packed, 0)[0])


def select_memories() -> Select[Any]:
    """Return the columns ``Decoder`` reads, of all memories."""
    return select(*_COLUMNS)


def select_outlines() -> Select[Any]:
    """Return the columns ``outlines`` reads, of all memories."""
    table = memories.c
    return select(table.id, table.fact_type, table.tags, table.sources, table.tokens, table.state)


def memory_row(bank_uid: str, memory: Memory) -> dict[str, object]:
    """Return a memory as a row."""
    window = memory.occurred.window if memory.occurred else None
    return {
        "bank_uid": bank_uid,
        "id": memory.id,
        "text": memory.text,
        "fact_type": memory.fact_type.value,
        "created": to_us(memory.created),
        "occurred_start": to_us(window.start) if window else None,
        "occurred_start_offset": offset_of(window.start) if window else None,
        "occurred_end": to_us(window.end) if window else None,
        "occurred_end_offset": offset_of(window.end) if window else None,
        "occurred_precision": memory.occurred.precision.value if memory.occurred else None,
        "mentioned": to_us(memory.mentioned) if memory.mentioned else None,
        "mentioned_offset": offset_of(memory.mentioned) if memory.mentioned else None,
        "context": memory.context,
        "tags": pack(memory.tags),
        "metadata": pack(memory.metadata),
        "document_id": memory.document_id,
        "chunk_id": memory.chunk_id,
        "position": memory.position,
        "previous_id": memory.previous_id,
        "entities": pack(mention.entity_id for mention in memory.mentions),
        "causes": pack([link.cause_id, link.weight] for link in memory.causes),
        "sources": pack(memory.sources),
        "attachments": pack(memory.attachments),
        "proof_count": memory.proof_count,
        "tokens": memory.tokens,
        "state": memory.state.value,
        "version": memory.version,
    }


def chunk_row(bank_uid: str, chunk: Chunk, said: str) -> dict[str, object]:
    """Return a chunk, and what was said besides its text, as a row."""
    return {
        "bank_uid": bank_uid,
        "id": chunk.id,
        "document_id": chunk.document_id,
        "number": chunk.number,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "digest": chunk.digest,
        "context": chunk.context,
        "time": to_us(chunk.time) if chunk.time else None,
        "time_offset": offset_of(chunk.time) if chunk.time else None,
        "said": said,
    }


def select_chunks() -> Select[Any]:
    """Return the columns ``chunk_of`` reads, of all chunks."""
    table = chunks.c
    return select(
        table.id,
        table.document_id,
        table.number,
        table.text,
        table.tokens,
        table.digest,
        table.context,
        table.time,
        table.time_offset,
        table.outdated,
    )


def chunk_of(row: Sequence[Any]) -> Chunk:
    """Return a row's chunk."""
    id_, document_id, number, text, tokens, digest, context, time, offset, outdated = row
    said = None if time is None else from_us(time, offset)
    return Chunk(id_, document_id, number, "" if outdated else text, tokens, digest, context, said, bool(outdated))


def document_of(row: Row[Any], memory_count: int) -> Document:
    """Return a row's document."""
    return Document(
        id=cast("str", row.id),
        created=from_us(row.created),
        updated=from_us(row.updated),
        version=row.version,
        tags=unpack(row.tags),
        metadata=unpack_map(row.metadata),
        chunk_count=row.chunk_count,
        memory_count=memory_count,
        tokens=row.tokens,
    )
