"""Entities on the wire."""

from recallmesh.core.entity import Entity
from recallmesh.rpc.codec.time import moment_from_pb, moment_to_pb
from recallmesh.v1 import entity_pb2


def entity_to_pb(entity: Entity) -> entity_pb2.Entity:
    """Write an entity."""
    return entity_pb2.Entity(
        id=entity.id,
        name=entity.name,
        key=entity.key,
        kind=entity.kind,
        aliases=entity.aliases,
        memory_count=entity.memory_count,
        create_time=moment_to_pb(entity.created),
        last_mention_time=None if entity.last_mentioned is None else moment_to_pb(entity.last_mentioned),
        apart_keys=entity.apart,
    )


def entity_from_pb(message: entity_pb2.Entity) -> Entity:
    """Read an entity out of an answer."""
    last = message.last_mention_time if message.HasField("last_mention_time") else None
    return Entity(
        id=message.id,
        name=message.name,
        key=message.key,
        kind=message.kind,
        created=moment_from_pb(message.create_time, "entity.create_time"),
        aliases=tuple(message.aliases),
        memory_count=message.memory_count,
        last_mentioned=None if last is None else moment_from_pb(last, "entity.last_mention_time"),
        apart=tuple(message.apart_keys),
    )
