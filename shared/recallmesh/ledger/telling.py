"""Memories told anew to the arms, since who they mention is another one or is called otherwise."""

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, delete, literal, select, update

from recallmesh.core.memory import MemoryState
from recallmesh.core.write import OutboxAction
from recallmesh.ledger.dialect import among, insert_from
from recallmesh.ledger.outbox import Removing, put_rows, supersede
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import memories, memory_entities

Mentioned = tuple[str, ...]
"""The ids of the entities that a memory mentions, in order."""


def memories_of(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the memories, in any state, that mention one of the entities."""
    table = memory_entities.c
    query = select(table.memory_id).where(table.bank_uid == bank_uid, among(table.entity_id, entity_ids)).distinct()
    return tuple(connection.execute(query).scalars())


def tell_anew(
    connection: Connection,
    bank_uid: str,
    memory_ids: Iterable[str],
    change: Callable[[str, Mentioned], Mentioned],
    telling: Removing,
) -> None:
    """Write what memories (by id) mention now, count their versions up and put them into the outbox again."""
    query = (
        select(memories.c.id, memories.c.version, memories.c.entities, memories.c.state)
        .where(memories.c.bank_uid == bank_uid, among(memories.c.id, memory_ids))
        .order_by(memories.c.id)
        .with_for_update()
    )
    rows: list[Any] = list(connection.execute(query))
    if not rows:
        return
    mentioned = {row.id: pack(change(row.id, unpack(row.entities))) for row in rows}
    changed = [{"held_id": row.id, "now": mentioned[row.id]} for row in rows if mentioned[row.id] != row.entities]
    of_bank = memories.c.bank_uid == bank_uid
    if changed:
        of_memory = update(memories).where(of_bank, memories.c.id == bindparam("held_id"))
        connection.execute(of_memory.values(entities=bindparam("now")), changed)
    grown = update(memories).where(of_bank, among(memories.c.id, [row.id for row in rows]))
    connection.execute(grown.values(version=memories.c.version + 1))
    supersede(connection, bank_uid, [row.id for row in rows])
    for action in (OutboxAction.INDEX, OutboxAction.REMOVE):
        hides = action is OutboxAction.REMOVE
        versions = [(row.id, row.version + 1) for row in rows if (row.state == MemoryState.INVALIDATED.value) is hides]
        put_rows(connection, bank_uid, action, versions, telling.arms, telling.due)


def move_mentions(
    connection: Connection, bank_uid: str, from_ids: Iterable[str], into_id: str, memory_ids: Iterable[str]
) -> None:
    """Let memories be found under another entity than these."""
    table = memory_entities.c
    of_bank = (table.bank_uid == bank_uid) & among(table.memory_id, memory_ids)
    moved = of_bank & among(table.entity_id, from_ids)
    query = select(table.bank_uid, literal(into_id), table.memory_id, table.mentioned).where(moved)
    insert_from(connection, memory_entities, ("bank_uid", "entity_id", "memory_id", "mentioned"), query)
    connection.execute(delete(memory_entities).where(moved))


def in_place_of(gone: Iterable[str], entity_id: str) -> Callable[[Mentioned], Mentioned]:
    """Return what puts one entity in the place of others, once."""
    replaced = frozenset(gone)

    def change(mentioned: Mentioned) -> Mentioned:
        return tuple(dict.fromkeys(entity_id if one in replaced else one for one in mentioned))

    return change
