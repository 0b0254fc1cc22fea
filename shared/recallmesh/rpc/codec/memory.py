"""Memories on the wire."""

from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.memory import CausalLink, Memory, Mention
from recallmesh.rpc.codec.enums import FACT_TYPE, MEMORY_STATE
from recallmesh.rpc.codec.time import (
    local_moment_from_pb,
    moment_from_pb,
    moment_to_pb,
    occurrence_from_pb,
    offset_to_pb,
    write_moment,
    write_occurrence,
)
from recallmesh.v1 import memory_pb2, memory_service_pb2


def memory_to_pb(memory: Memory) -> memory_pb2.Memory:
    """Write a memory."""
    message = memory_pb2.Memory()
    write_memory(memory, message)
    return message


def write_memory(memory: Memory, message: memory_pb2.Memory) -> None:
    """Write a memory where it belongs.

    An answer holds a hundred of them: what is made by itself is written, read and copied once more for each message
    that it is put in. What is empty is what is not written.
    """
    message.id = memory.id
    message.text = memory.text
    message.fact_type = FACT_TYPE.to_pb(memory.fact_type)
    write_moment(memory.created, message.create_time)
    if memory.occurred is not None:
        write_occurrence(memory.occurred, message.occurred)
    if memory.mentioned is not None:
        write_moment(memory.mentioned, message.mention_time)
        if (offset := offset_to_pb(memory.mentioned)) is not None:
            message.mention_utc_offset.CopyFrom(offset)
    message.context = memory.context
    message.document_id = memory.document_id
    message.chunk_id = memory.chunk_id
    message.position = memory.position
    message.previous_id = memory.previous_id
    message.proof_count = memory.proof_count
    message.token_count = memory.tokens
    message.state = MEMORY_STATE.to_pb(memory.state)
    message.version = memory.version
    _write_lists(memory, message)


def _write_lists(memory: Memory, message: memory_pb2.Memory) -> None:
    if memory.tags:
        message.tags.extend(memory.tags)
    if memory.metadata:
        message.metadata.update(memory.metadata)
    if memory.mentions:
        message.mentions.extend(map(mention_to_pb, memory.mentions))
    if memory.causes:
        message.causes.extend(map(cause_to_pb, memory.causes))
    if memory.sources:
        message.source_ids.extend(memory.sources)
    if memory.attachments:
        message.attachment_ids.extend(memory.attachments)


def memory_from_pb(message: memory_pb2.Memory) -> Memory:
    """Read a memory out of an answer."""
    occurred = message.occurred if message.HasField("occurred") else None
    mentioned = message.mention_time if message.HasField("mention_time") else None
    return Memory(
        id=message.id,
        text=message.text,
        fact_type=FACT_TYPE.from_server(message.fact_type),
        created=moment_from_pb(message.create_time, "memory.create_time"),
        occurred=None if occurred is None else occurrence_from_pb(occurred, "memory.occurred", door=False),
        mentioned=(
            None
            if mentioned is None
            else local_moment_from_pb(mentioned, message.mention_utc_offset, "memory.mention_time")
        ),
        context=message.context,
        tags=tuple(message.tags) if message.tags else (),
        metadata=dict(message.metadata) if message.metadata else {},
        document_id=message.document_id,
        chunk_id=message.chunk_id,
        position=message.position,
        previous_id=message.previous_id,
        mentions=tuple(map(mention_from_pb, message.mentions)) if message.mentions else (),
        causes=tuple(map(cause_from_pb, message.causes)) if message.causes else (),
        sources=tuple(message.source_ids) if message.source_ids else (),
        attachments=tuple(message.attachment_ids) if message.attachment_ids else (),
        proof_count=message.proof_count,
        tokens=message.token_count,
        state=MEMORY_STATE.from_server(message.state),
        version=message.version,
    )


def mention_to_pb(mention: Mention) -> memory_pb2.Mention:
    """Write a mention."""
    return memory_pb2.Mention(
        entity_id=mention.entity_id,
        name=mention.name,
        kind=mention.kind,
        aliases=mention.aliases,
        version=mention.version,
    )


def mention_from_pb(message: memory_pb2.Mention) -> Mention:
    """Read a mention."""
    return Mention(message.entity_id, message.name, message.kind, tuple(message.aliases), message.version)


def cause_to_pb(cause: CausalLink) -> memory_pb2.CausalLink:
    """Write a causal link."""
    return memory_pb2.CausalLink(cause_id=cause.cause_id, weight=cause.weight)


def cause_from_pb(message: memory_pb2.CausalLink) -> CausalLink:
    """Read a causal link."""
    return CausalLink(message.cause_id, message.weight)


def version_to_pb(version: MemoryVersion) -> memory_service_pb2.MemoryVersion:
    """Write one version of a memory."""
    return memory_service_pb2.MemoryVersion(
        version=version.version,
        text=version.text,
        create_time=moment_to_pb(version.created),
        reason=version.reason,
        source_ids=sorted(version.quotes),
        quotes=version.quotes,
        tags=version.tags,
    )


def version_from_pb(message: memory_service_pb2.MemoryVersion) -> MemoryVersion:
    """Read one version of a memory out of an answer."""
    return MemoryVersion(
        version=message.version,
        text=message.text,
        created=moment_from_pb(message.create_time, "version.create_time"),
        reason=message.reason,
        tags=tuple(message.tags),
        quotes=dict(message.quotes),
    )
