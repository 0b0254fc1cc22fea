"""Entities in the ledger: found or made by a write, listed, and offered as candidates for resolution."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, exists, func, select, update

from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.errors import ConflictingWrite, EntityNotFound
from recallmesh.core.memory import Memory, Mention
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.write import NewEntity, Write
from recallmesh.ledger.dialect import among, among_bound, bound, insert_new
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.paging import cut
from recallmesh.ledger.reading import mentions_by_id
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import entities, entity_words, memory_entities

CANDIDATES = 200
"""Candidates that share a word, beside those whose key is asked: beyond that a word says nothing (a hub's surname)."""

_OF_BANK = select(entities).where(entities.c.bank_uid == bindparam("bank"))
_OF_ID = _OF_BANK.where(entities.c.id == bindparam("id"))
_OF_IDS = _OF_BANK.where(among_bound(entities.c.id, "ids"))
_PAGE = _OF_BANK.where(entities.c.id > bindparam("after")).order_by(entities.c.id).limit(bindparam("size"))
_KEYED = select(entities.c.key, entities.c.is_label, entities.c.id, entities.c.name, entities.c.aliases).where(
    entities.c.bank_uid == bindparam("bank"), among_bound(entities.c.key, "keys")
)
_SHARED = (
    select(entity_words.c.entity_id)
    .where(entity_words.c.bank_uid == bindparam("bank"), among_bound(entity_words.c.word, "words"))
    .group_by(entity_words.c.entity_id)
    .order_by(func.count().desc(), entity_words.c.entity_id)
    .limit(bindparam("most"))
)
_COUNTED = (
    select(memory_entities.c.entity_id, func.count(), func.max(memory_entities.c.mentioned))
    .where(memory_entities.c.bank_uid == bindparam("bank"), among_bound(memory_entities.c.entity_id, "ids"))
    .group_by(memory_entities.c.entity_id)
)
_WORD = re.compile(r"\w+")
_Key = tuple[str, bool]


def words(name: str) -> frozenset[str]:
    """Return a name's words, folded: no case, no accents."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return frozenset(_WORD.findall(bare.casefold()))


def resolve(
    connection: Connection, write: Write, drafts: Iterable[Memory], new_id: Callable[[], str]
) -> dict[str, Mention]:
    """Find or make the entities that the memories mention; returns them by the id they are mentioned under.

    Entities that only chunks the document has already would mention are not made: nothing would hold them.

    Raises:
        ConflictingWrite: an entity that a memory mentions by the bank's own id was deleted meanwhile.

    """
    mentioned = {mention.entity_id for memory in drafts for mention in memory.mentions}
    named = [entity for entity in write.entities if entity.id in mentioned]
    own = _upsert(connection, write, named, new_id)
    others = mentioned - {entity.id for entity in named}
    known = mentions_by_id(connection, write.bank_uid, {*own.values(), *others})
    if not others <= known.keys():
        raise ConflictingWrite("an entity was deleted meanwhile; try again")
    return {entity_id: known[own.get(entity_id, entity_id)] for entity_id in mentioned}


def get_entity(connection: Connection, bank_uid: str, entity_id: str) -> Entity:
    """Return an entity; raises ``EntityNotFound``."""
    found = _entities(connection, _OF_ID, {"bank": bank_uid, "id": entity_id})
    if not found:
        raise EntityNotFound(entity_id)
    return found[0]


def read_entities(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> list[Entity]:
    """Return those of the entities that are there, in no particular order."""
    return _entities(connection, _OF_IDS, {"bank": bank_uid, "ids": bound(entity_ids)})


def list_entities(connection: Connection, bank_uid: str, page: PageRequest) -> Page[Entity]:
    """List entities by id."""
    found = _entities(connection, _PAGE, {"bank": bank_uid, "after": page.after, "size": page.size + 1})
    return cut(found, page.size, lambda entity: entity.id)


def entities_like(connection: Connection, bank_uid: str, keys: tuple[str, ...]) -> tuple[Entity, ...]:
    """Return the entities of these keys, and the ``CANDIDATES`` that share most words with them."""
    asked = frozenset(chain.from_iterable(words(key) for key in keys))
    shared = {"bank": bank_uid, "words": bound(sorted(asked)), "most": max(CANDIDATES, len(keys))}
    of_keys = connection.execute(_KEYED, {"bank": bank_uid, "keys": bound(keys)})
    found = dict.fromkeys([*(row.id for row in of_keys), *connection.execute(_SHARED, shared).scalars()])
    if not found:
        return ()
    return tuple(_entities(connection, _OF_IDS, {"bank": bank_uid, "ids": bound(found)}))


def delete_orphans(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> None:
    """Delete those of the entities that no memory mentions any more."""
    of_entity = (memory_entities.c.bank_uid == entities.c.bank_uid) & (memory_entities.c.entity_id == entities.c.id)
    names = connection.execute(
        select(entities.c.id, entities.c.name, entities.c.key, entities.c.aliases).where(
            entities.c.bank_uid == bank_uid,
            among(entities.c.id, set(entity_ids)),
            ~exists().where(of_entity),  # one seek each: a hub's mentions are not walked through
        )
    ).all()
    if not names:
        return
    pairs = [
        {"gone_word": word, "gone_id": entity_id}
        for entity_id, name, key, aliases in names
        for word in frozenset(chain.from_iterable(words(one) for one in (name, key, *unpack(aliases))))
    ]
    if pairs:
        pair = (entity_words.c.word == bindparam("gone_word")) & (entity_words.c.entity_id == bindparam("gone_id"))
        connection.execute(delete(entity_words).where(entity_words.c.bank_uid == bank_uid, pair), pairs)
    connection.execute(
        delete(entities).where(entities.c.bank_uid == bank_uid, among(entities.c.id, [row.id for row in names]))
    )


def _upsert(
    connection: Connection, write: Write, named: Sequence[NewEntity], new_id: Callable[[], str]
) -> dict[str, str]:
    """Return the bank's id for each of the write's."""
    asked: dict[_Key, list[NewEntity]] = {}
    for entity in named:
        asked.setdefault((entity.key, entity.kind == LABEL), []).append(entity)
    held = _by_key(connection, write.bank_uid, asked)
    made = [
        {
            "bank_uid": write.bank_uid,
            "id": new_id(),
            "name": asked[key][0].name,
            "key": key[0],
            "is_label": key[1],
            "kind": asked[key][0].kind,
            "aliases": "",
            "created": to_us(write.at),
        }
        for key in sorted(asked.keys() - held.keys())  # sorted: concurrent writers lock in one order
    ]
    if made:
        insert_new(connection, entities, made)
        held = _by_key(connection, write.bank_uid, asked)
    fresh = {str(row["id"]) for row in made}
    spellings: list[dict[str, object]] = []
    for key, group in asked.items():
        entity_id, name, aliases = held[key]
        wanted = dict.fromkeys(chain.from_iterable(entity.aliases for entity in group))
        new = tuple(alias for alias in wanted if alias != name and alias not in aliases)
        if new:
            same = (entities.c.bank_uid == write.bank_uid) & (entities.c.id == entity_id)
            connection.execute(update(entities).where(same).values(aliases=pack((*aliases, *new))))
        if not key[1]:  # labels match exactly, never by a word
            spelt = (name, key[0], *new) if entity_id in fresh else new
            spellings.extend(
                {"bank_uid": write.bank_uid, "word": word, "entity_id": entity_id}
                for word in sorted(frozenset(chain.from_iterable(words(one) for one in spelt)))
            )
    insert_new(connection, entity_words, spellings)
    return {entity.id: held[key][0] for key, group in asked.items() for entity in group}


def _by_key(
    connection: Connection, bank_uid: str, asked: Iterable[_Key]
) -> dict[_Key, tuple[str, str, tuple[str, ...]]]:
    found = connection.execute(_KEYED, {"bank": bank_uid, "keys": bound({key for key, _ in asked})})
    return {
        (key, bool(is_label)): (entity_id, name, unpack(aliases)) for key, is_label, entity_id, name, aliases in found
    }


def _entities(connection: Connection, query: Select[Any], values: dict[str, object]) -> list[Entity]:
    rows = connection.execute(query, values).all()
    if not rows:
        return []
    counted = connection.execute(_COUNTED, {"bank": values["bank"], "ids": bound(row.id for row in rows)})
    counts = {entity_id: (number, last) for entity_id, number, last in counted}
    return [
        Entity(
            id=row.id,
            name=row.name,
            key=row.key,
            kind=row.kind,
            created=from_us(row.created),
            aliases=unpack(row.aliases),
            memory_count=counts[row.id][0],
            last_mentioned=from_us(counts[row.id][1]),
        )
        for row in rows
    ]
