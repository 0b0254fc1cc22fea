"""Documents and chunks on the wire."""

from recallmesh.core.document import Chunk, Document
from recallmesh.rpc.codec.time import local_moment_from_pb, moment_from_pb, moment_to_pb, offset_to_pb
from recallmesh.v1 import document_pb2


def document_to_pb(document: Document) -> document_pb2.Document:
    """Write a document."""
    return document_pb2.Document(
        id=document.id,
        create_time=moment_to_pb(document.created),
        update_time=moment_to_pb(document.updated),
        version=document.version,
        tags=document.tags,
        metadata=document.metadata,
        chunk_count=document.chunk_count,
        memory_count=document.memory_count,
        token_count=document.tokens,
    )


def document_from_pb(message: document_pb2.Document) -> Document:
    """Read a document out of an answer."""
    return Document(
        id=message.id,
        created=moment_from_pb(message.create_time, "document.create_time"),
        updated=moment_from_pb(message.update_time, "document.update_time"),
        version=message.version,
        tags=tuple(message.tags),
        metadata=dict(message.metadata),
        chunk_count=message.chunk_count,
        memory_count=message.memory_count,
        tokens=message.token_count,
    )


def chunk_to_pb(chunk: Chunk) -> document_pb2.Chunk:
    """Write a chunk."""
    return document_pb2.Chunk(
        id=chunk.id,
        document_id=chunk.document_id,
        number=chunk.number,
        text=chunk.text,
        token_count=chunk.tokens,
        digest=chunk.digest,
        context=chunk.context,
        time=None if chunk.time is None else moment_to_pb(chunk.time),
        utc_offset=offset_to_pb(chunk.time),
        outdated=chunk.outdated,
    )


def chunk_from_pb(message: document_pb2.Chunk) -> Chunk:
    """Read a chunk out of an answer."""
    return Chunk(
        id=message.id,
        document_id=message.document_id,
        number=message.number,
        text=message.text,
        tokens=message.token_count,
        digest=message.digest,
        context=message.context,
        time=local_moment_from_pb(message.time, message.utc_offset, "chunk.time") if message.HasField("time") else None,
        outdated=message.outdated,
    )
