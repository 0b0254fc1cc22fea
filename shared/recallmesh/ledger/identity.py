"""Who is who, as people mend it: entities merged, split and named, each in one transaction."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from recallmesh.core.entity import CONCEPT
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import EntityNotFound, NameTaken, NotReady
from recallmesh.core.key import fold
from recallmesh.ledger.banks import lock_bank
from recallmesh.ledger.dialect import among
from recallmesh.ledger.entities import forget_words, learn_words, words
from recallmesh.ledger.keys import became, claim, hand_over, merge_keys, owners
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.outbox import Removing
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import entities, memory_entities
from recallmesh.ledger.telling import in_place_of, memories_of, move_mentions, tell_anew


@dataclass(frozen=True, slots=True)
class _Held:
    """An entity as it is before a change."""

    id: str
    name: str
    key: str
    kind: str
    aliases: tuple[str, ...]
    apart: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def keys(self) -> frozenset[str]:
        return frozenset((self.key, *map(fold, self.aliases)))


def merge(connection: Connection, bank_uid: str, into_id: str, from_ids: Iterable[str], telling: Removing) -> str:
    """Make entities one; returns the id of the one that stays."""
    lock_bank(connection, bank_uid)
    into, *others = _held(connection, bank_uid, (into_id, *from_ids))
    gone = {one.id: one for one in others if one.id != into.id}
    if not gone:
        return into.id
    told = memories_of(connection, bank_uid, (into.id, *gone))
    change = in_place_of(gone, into.id)
    tell_anew(connection, bank_uid, told, lambda _, mentioned: change(mentioned), telling)
    move_mentions(connection, bank_uid, gone, into.id, told)
    merge_keys(connection, bank_uid, gone, into.id)
    for one in gone.values():
        forget_words(connection, bank_uid, one.id, _words(*one.names, one.key))
    connection.execute(delete(entities).where(entities.c.bank_uid == bank_uid, among(entities.c.id, gone)))
    names = [*into.aliases, *(name for one in gone.values() for name in one.names)]
    keys = into.keys.union(*(one.keys for one in gone.values()))
    kinds = (one.kind for one in (into, *gone.values()) if one.kind != CONCEPT)
    changed = {
        "aliases": _others(into.name, names),
        "apart": tuple(dict.fromkeys(key for one in (into, *gone.values()) for key in one.apart if key not in keys)),
    }
    _change(connection, bank_uid, into, kind=next(kinds, CONCEPT), **changed)
    learn_words(connection, bank_uid, into.id, [name for one in gone.values() for name in (*one.names, one.key)])
    return into.id


def add_alias(connection: Connection, bank_uid: str, entity_id: str, alias: str, telling: Removing) -> str:
    """Give an entity another name; returns its id."""
    lock_bank(connection, bank_uid)
    [one] = _held(connection, bank_uid, (entity_id,))
    key = fold(alias)
    owner = claim(connection, bank_uid, {(key, False): one.id})[key, False]
    if owner != one.id:
        raise _taken(alias, owner)
    if key in one.keys:
        return one.id
    apart = tuple(other for other in one.apart if other != key)
    _change(connection, bank_uid, one, aliases=(*one.aliases, alias), apart=apart)
    learn_words(connection, bank_uid, one.id, (alias,))
    told = memories_of(connection, bank_uid, (one.id,))
    tell_anew(connection, bank_uid, told, lambda _, mentioned: mentioned, telling)
    return one.id


def split(
    connection: Connection, bank_uid: str, entity_id: str, wanted: EntitySplit, new_id: str, telling: Removing
) -> tuple[str, str]:
    """Make a new entity of a part of one, or go on with one that was split off before; returns both ids."""
    lock_bank(connection, bank_uid)
    [one] = _held(connection, bank_uid, (entity_id,))
    made = _split_off(connection, bank_uid, one, wanted.name)
    names = _moving(connection, bank_uid, one, made, wanted)
    moved = _leaving(connection, bank_uid, one, made, wanted.memory_ids)
    if made is not None and not moved and not names:
        return one.id, made.id
    new = made or _Held(new_id, wanted.name, fold(wanted.name), one.kind, (), ())
    if made is None:
        _make(connection, bank_uid, new, telling)
    keys = frozenset(map(fold, (new.name, *names)))
    claim(connection, bank_uid, {(key, False): new.id for key in sorted(keys)})
    hand_over(connection, bank_uid, keys, new.id)
    kept = tuple(alias for alias in one.aliases if fold(alias) not in keys)
    told = moved if kept == one.aliases else memories_of(connection, bank_uid, (one.id, new.id))
    leaving, change = frozenset(moved), in_place_of((one.id,), new.id)
    tell_anew(
        connection,
        bank_uid,
        told,
        lambda memory_id, mentioned: change(mentioned) if memory_id in leaving else mentioned,
        telling,
    )
    move_mentions(connection, bank_uid, (one.id,), new.id, moved)
    forget_words(connection, bank_uid, one.id, _words(*one.names, one.key) - _words(one.name, *kept, one.key))
    learn_words(connection, bank_uid, new.id, (new.name, new.key, *names))
    stays = frozenset((one.key, *map(fold, kept)))
    _change(connection, bank_uid, one, aliases=kept, apart=_together(one.apart, keys))
    aliases = _others(new.name, (*new.aliases, *names))
    _change(connection, bank_uid, new, aliases=aliases, apart=_together(new.apart, stays))
    return one.id, new.id


def _held(connection: Connection, bank_uid: str, entity_ids: tuple[str, ...]) -> list[_Held]:
    """Return entities in the order they are named; raises ``EntityNotFound``, and ``NotReady`` of a label."""
    now = became(connection, bank_uid, entity_ids)
    wanted = [now.get(entity_id, entity_id) for entity_id in entity_ids]
    query = select(entities).where(entities.c.bank_uid == bank_uid, among(entities.c.id, sorted(set(wanted))))
    rows: dict[str, Row[Any]] = {row.id: row for row in connection.execute(query.with_for_update())}
    for named, entity_id in zip(entity_ids, wanted, strict=True):
        if entity_id not in rows:
            raise EntityNotFound(named)
        if rows[entity_id].is_label:
            raise NotReady(f"entity {named} is a label: labels are changed in the bank's vocabulary")
    return [
        _Held(row.id, row.name, row.key, row.kind, unpack(row.aliases), unpack(row.apart))
        for row in (rows[entity_id] for entity_id in wanted)
    ]


def _split_off(connection: Connection, bank_uid: str, one: _Held, name: str) -> _Held | None:
    """Return the entity of a name that was split off before, nothing when it is to be made; raises ``NameTaken``."""
    key = fold(name)
    owner = owners(connection, bank_uid, [key]).get((key, False), one.id)
    if key == one.key or (owner != one.id and key not in one.apart):
        raise _taken(name, owner)
    return None if owner == one.id else _held(connection, bank_uid, (owner,))[0]


def _moving(
    connection: Connection, bank_uid: str, one: _Held, made: _Held | None, wanted: EntitySplit
) -> tuple[str, ...]:
    """Return the aliases that move; raises ``NameTaken`` for one that cannot."""
    keys = [fold(alias) for alias in wanted.aliases]
    owned = owners(connection, bank_uid, keys)
    moving: list[str] = []
    for alias, key in zip(wanted.aliases, keys, strict=True):
        owner = owned.get((key, False), one.id)
        if key == one.key or owner not in {one.id, made.id if made else one.id}:
            raise _taken(alias, owner)
        if owner == one.id:
            moving.append(alias)
    # What the entity called it stays its spelling, and the new name is none of its aliases any more.
    return tuple(moving)


def _leaving(
    connection: Connection, bank_uid: str, one: _Held, made: _Held | None, memory_ids: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the memories that move; those that moved before are passed over."""
    table = memory_entities.c
    held = select(table.memory_id).where(table.bank_uid == bank_uid, among(table.memory_id, memory_ids))
    its_own = frozenset(connection.execute(held.where(table.entity_id == one.id)).scalars())
    moved = frozenset(connection.execute(held.where(table.entity_id == made.id)).scalars() if made else ())
    for memory_id in memory_ids:
        if memory_id not in its_own | moved:
            raise NotReady(f"memory {memory_id} does not mention entity {one.id}")
    count = select(func.count()).where(table.bank_uid == bank_uid, table.entity_id == one.id)
    if connection.execute(count).scalar_one() == len(its_own):
        raise NotReady(f"entity {one.id} would be left without memories: give it an alias instead")
    return tuple(sorted(its_own))


def _make(connection: Connection, bank_uid: str, new: _Held, telling: Removing) -> None:
    row = {
        "bank_uid": bank_uid,
        "id": new.id,
        "name": new.name,
        "key": new.key,
        "is_label": False,
        "kind": new.kind,
        "aliases": "",
        "created": to_us(telling.due.at),
    }
    connection.execute(insert(entities).values(row))


def _change(connection: Connection, bank_uid: str, one: _Held, **changes: object) -> None:
    """Write what an entity is now; its version tells indexes that its names are others."""
    packed = {name: pack(value) if isinstance(value, tuple) else value for name, value in changes.items()}
    same = (entities.c.bank_uid == bank_uid) & (entities.c.id == one.id)
    connection.execute(update(entities).where(same).values(**packed, version=entities.c.version + 1))


def _others(name: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(other for other in names if other != name))


def _together(apart: tuple[str, ...], keys: frozenset[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*apart, *sorted(keys))))


def _words(*names: str) -> frozenset[str]:
    return frozenset().union(*map(words, names))


def _taken(name: str, entity_id: str) -> NameTaken:
    said = f"the name {name!r} is that of entity {entity_id}: merge the two, or split it off there"
    return NameTaken(said, metadata={"name": name, "entity": entity_id})
