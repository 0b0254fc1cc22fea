"""Memories on the wire."""

from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.memory import CausalLink, Memory, Mention
from recallmesh.rpc.codec.enums import FACT_TYPE, MEMORY_STATE
from recallmesh.rpc.codec.time import (
    local_moment_from_pb,
    moment_from_pb,
    moment_to_pb,
    occurrence_from_pb,
    occurrence_to_pb,
    offset_to_pb,
)
from recallmesh.v1 import memory_pb2, memory_service_pb2


def memory_to_pb(memory: Memory) -> memory_pb2.Memory:
    """Write a memory."""
    return memory_pb2.Memory(
        id=memory.id,
        text=memory.text,
        fact_type=FACT_TYPE.to_pb(memory.fact_type),
        create_time=moment_to_pb(memory.created),
        occurred=None if memory.occurred is None else occurrence_to_pb(memory.occurred),
        mention_time=None if memory.mentioned is None else moment_to_pb(memory.mentioned),
        mention_utc_offset=offset_to_pb(memory.mentioned),
        context=memory.context,
        tags=memory.tags,
        metadata=memory.metadata,
        document_id=memory.document_id,
        chunk_id=memory.chunk_id,
        position=memory.position,
        previous_id=memory.previous_id,
        mentions=[mention_to_pb(mention) for mention in memory.mentions],
        causes=[cause_to_pb(cause) for cause in memory.causes],
        source_ids=memory.sources,
        attachment_ids=memory.attachments,
        proof_count=memory.proof_count,
        token_count=memory.tokens,
        state=MEMORY_STATE.to_pb(memory.state),
        version=memory.version,
    )


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
        tags=tuple(message.tags),
        metadata=dict(message.metadata),
        document_id=message.document_id,
        chunk_id=message.chunk_id,
        position=message.position,
        previous_id=message.previous_id,
        mentions=tuple(mention_from_pb(mention) for mention in message.mentions),
        causes=tuple(cause_from_pb(cause) for cause in message.causes),
        sources=tuple(message.source_ids),
        attachments=tuple(message.attachment_ids),
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
