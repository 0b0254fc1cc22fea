"""Whom an entity is met with: read for names that could mean it, so its cost is bounded."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, select

from recallmesh.ledger.dialect import among_bound
from recallmesh.ledger.rows import unpack
from recallmesh.ledger.schema import memories, memory_entities

MEMORIES = 50
"""Memories of an entity, the most recently told, that are looked at."""

_RECENT = (
    select(memory_entities.c.memory_id)
    .where(memory_entities.c.bank_uid == bindparam("bank"), memory_entities.c.entity_id == bindparam("entity"))
    .order_by(memory_entities.c.mentioned.desc(), memory_entities.c.memory_id)
    .limit(MEMORIES)
)
_MENTIONED = select(memories.c.entities).where(
    memories.c.bank_uid == bindparam("bank"), among_bound(memories.c.id, "ids")
)


def met(connection: Connection, bank_uid: str, entity_ids: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Return for each of the entities which others its recent memories mention."""
    found: dict[str, frozenset[str]] = {}
    for entity_id in dict.fromkeys(entity_ids):
        recent = connection.execute(_RECENT, {"bank": bank_uid, "entity": entity_id}).scalars()
        rows = connection.execute(_MENTIONED, {"bank": bank_uid, "ids": list(recent)}).scalars()
        found[entity_id] = frozenset(other for packed in rows for other in unpack(packed)) - {entity_id}
    return found
