"""Whose a name is: the keys of entities and their aliases, each one entity's alone, and what merged ids became."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, bindparam, delete, select, update

from recallmesh.ledger.dialect import among, among_bound, insert_new
from recallmesh.ledger.entity_tables import entity_keys, merged_entities

Key = tuple[str, bool]
"""A name's key, and whether it is a label's."""

_OWNERS = select(entity_keys.c.key, entity_keys.c.is_label, entity_keys.c.entity_id).where(
    entity_keys.c.bank_uid == bindparam("bank"), among_bound(entity_keys.c.key, "keys")
)
_BECAME = select(merged_entities.c.id, merged_entities.c.into_id).where(
    merged_entities.c.bank_uid == bindparam("bank"), among_bound(merged_entities.c.id, "ids")
)


def owners(connection: Connection, bank_uid: str, keys: Iterable[str]) -> dict[Key, str]:
    """Return whose the keys are, of labels and of others; what is nobody's is left out."""
    found = connection.execute(_OWNERS, {"bank": bank_uid, "keys": list(dict.fromkeys(keys))})
    return {(key, bool(is_label)): entity_id for key, is_label, entity_id in found}


def claim(connection: Connection, bank_uid: str, wanted: Mapping[Key, str]) -> dict[Key, str]:
    """Make keys those of entities, unless they are somebody's already; returns whose they are now."""
    rows: list[dict[str, object]] = [
        {"bank_uid": bank_uid, "key": key, "is_label": is_label, "entity_id": wanted[key, is_label]}
        for key, is_label in sorted(wanted)  # sorted: concurrent writers lock in one order
    ]
    insert_new(connection, entity_keys, rows)
    return owners(connection, bank_uid, (key for key, _ in wanted))


def hand_over(connection: Connection, bank_uid: str, keys: Iterable[str], entity_id: str) -> None:
    """Give keys, which are no labels', to an entity."""
    of_bank = (entity_keys.c.bank_uid == bank_uid) & ~entity_keys.c.is_label
    given = update(entity_keys).where(of_bank, among(entity_keys.c.key, keys))
    connection.execute(given.values(entity_id=entity_id))


def merge_keys(connection: Connection, bank_uid: str, from_ids: Iterable[str], into_id: str) -> None:
    """Let all that meant the entities mean the one that stays: keys, ids, and ids that had become theirs before."""
    gone = list(from_ids)
    held = update(entity_keys).where(entity_keys.c.bank_uid == bank_uid, among(entity_keys.c.entity_id, gone))
    connection.execute(held.values(entity_id=into_id))
    before = update(merged_entities).where(
        merged_entities.c.bank_uid == bank_uid, among(merged_entities.c.into_id, gone)
    )
    connection.execute(before.values(into_id=into_id))
    insert_new(
        connection, merged_entities, [{"bank_uid": bank_uid, "id": one, "into_id": into_id} for one in sorted(gone)]
    )


def became(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> dict[str, str]:
    """Return what those of the ids became that were merged into another."""
    found = connection.execute(_BECAME, {"bank": bank_uid, "ids": list(dict.fromkeys(entity_ids))})
    return {row.id: row.into_id for row in found}


def forget_keys(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> None:
    """Free the keys of entities that are gone, and forget what was merged into them."""
    gone = list(entity_ids)
    held = (entity_keys.c.bank_uid == bank_uid) & among(entity_keys.c.entity_id, gone)
    connection.execute(delete(entity_keys).where(held))
    merged = (merged_entities.c.bank_uid == bank_uid) & among(merged_entities.c.into_id, gone)
    connection.execute(delete(merged_entities).where(merged))
