"""The transaction of consolidation: observations, their evidence, versions and outbox, all or nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from recallmesh.core.consolidation import Consolidated, Consolidation, ObservationWrite
from recallmesh.core.errors import ConflictingWrite
from recallmesh.core.memory import VISIBLE_STATES, Memory, MemoryState
from recallmesh.core.write import OutboxAction
from recallmesh.ledger.banks import lock_bank
from recallmesh.ledger.dialect import among
from recallmesh.ledger.evidence import move_mentions, put_evidence
from recallmesh.ledger.observed import new_facts
from recallmesh.ledger.outbox import Due, Removing, put_rows, supersede
from recallmesh.ledger.reading import read_memories
from recallmesh.ledger.removal import delete_tags, delete_where
from recallmesh.ledger.rows import memory_row, unpack
from recallmesh.ledger.schema import memories
from recallmesh.ledger.versions import CONSOLIDATE, Changed, keep_versions
from recallmesh.ledger.writing import insert_memories, insert_tags

CHANGED = "what is consolidated changed meanwhile; try again"
_KEPT = ("id", "bank_uid", "created", "state")
"""What an observation keeps when it is written anew."""


def write_observations(
    connection: Connection, change: Consolidation, write_id: str, own_for: timedelta
) -> Consolidated:
    """Write all of it, or refuse it because something is not as it was read."""
    bank_uid = change.bank_uid
    lock_bank(connection, bank_uid)
    due = Due(change.at, write_id, own_for)
    telling = Removing(change.arms, due)
    versions = _seen(connection, change)
    gone = {held.memory.id: held.memory.version for held in change.removed}
    before = _rows(connection, bank_uid, [*gone, *(one.memory.id for one in change.written if one.memory.version)])
    for memory_id, version in gone.items():
        _hold(before, memory_id, version)
    if gone:
        delete_where(connection, bank_uid, among(memories.c.id, gone), telling)
    written = [_write(connection, change, one, before.get(one.memory.id)) for one in change.written]
    shown = [one for one in read_memories(connection, bank_uid, written) if one.state in VISIBLE_STATES]
    supersede(connection, bank_uid, [one.id for one in shown])
    put_rows(connection, bank_uid, OutboxAction.INDEX, [(one.id, one.version) for one in shown], change.arms, due)
    done = [one for one in change.done if one not in versions or versions[one] == (change.seen or {}).get(one)]
    if done:
        which = (new_facts.c.bank_uid == bank_uid) & among(new_facts.c.memory_id, done)
        connection.execute(delete(new_facts).where(which))
    return Consolidated(write_id, tuple(sorted(shown, key=lambda one: one.id)))


def _seen(connection: Connection, change: Consolidation) -> dict[str, int]:
    """Return the versions of the facts; evidence must be shown and have the version that was read."""
    seen = change.seen or {}
    which = (memories.c.bank_uid == change.bank_uid) & among(memories.c.id, {*seen, *change.done})
    rows = connection.execute(
        select(memories.c.id, memories.c.version, memories.c.state)
        .where(which)
        .order_by(memories.c.id)
        .with_for_update()
    ).all()
    shown = {row.id: row.version for row in rows if row.state == MemoryState.ACTIVE.value}
    for source in {source for one in change.written for source in one.memory.sources}:
        if shown.get(source) != seen.get(source) or source not in shown:
            raise ConflictingWrite(CHANGED)
    return {row.id: row.version for row in rows}


def _rows(connection: Connection, bank_uid: str, ids: Iterable[str]) -> dict[str, Row[Any]]:
    which = (memories.c.bank_uid == bank_uid) & among(memories.c.id, ids)
    found = connection.execute(select(memories).where(which).order_by(memories.c.id).with_for_update())
    return {row.id: row for row in found}


def _hold(before: Mapping[str, Row[Any]], memory_id: str, version: int) -> Row[Any]:
    if memory_id not in before or before[memory_id].version != version:
        raise ConflictingWrite(CHANGED)
    return before[memory_id]


def _write(connection: Connection, change: Consolidation, write: ObservationWrite, row: Row[Any] | None) -> str:
    bank_uid = change.bank_uid
    memory = replace(write.memory, version=write.memory.version + 1, proof_count=len(write.memory.sources))
    if write.memory.version == 0:
        insert_memories(connection, bank_uid, [memory])
    else:
        row = _hold({} if row is None else {row.id: row}, memory.id, write.memory.version)
        _update(connection, change, memory, row, write.reason)
    put_evidence(connection, bank_uid, memory, scope=write.scope, told=write.told, quotes=write.quotes)
    return memory.id


def _update(connection: Connection, change: Consolidation, memory: Memory, row: Row[Any], reason: str) -> None:
    bank_uid = change.bank_uid
    values = {name: value for name, value in memory_row(bank_uid, memory).items() if name not in _KEPT}
    which = (memories.c.bank_uid == bank_uid) & (memories.c.id == memory.id)
    connection.execute(update(memories).where(which).values(values))
    said = f"{CONSOLIDATE}: {reason}"
    keep_versions(
        connection, bank_uid, [Changed(row, memory.version, memory.text, str(values["tags"]), said)], change.at
    )
    move_mentions(connection, bank_uid, row, str(values["entities"]), row.mentioned or row.created)
    if row.tags != values["tags"]:
        delete_tags(connection, bank_uid, [(memory.id, unpack(row.tags))])
        insert_tags(connection, bank_uid, [memory])
