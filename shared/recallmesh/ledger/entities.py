"""Entities in the ledger: found or made by a write, listed, and offered as candidates for resolution."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, bindparam, delete, exists, func, literal_column, select, update

from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.errors import ConflictingWrite, EntityNotFound
from recallmesh.core.key import key_of
from recallmesh.core.memory import Memory, Mention
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.write import NewEntity, Write
from recallmesh.ledger.dialect import among, among_bound, insert_new
from recallmesh.ledger.entity_tables import entity_keys
from recallmesh.ledger.keys import Key, became, claim, forget_keys, owners
from recallmesh.ledger.moment import from_us, from_us_in_utc, to_us
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
_KEYED = (
    select(entity_keys.c.key, entity_keys.c.is_label, entities.c.id, entities.c.name, entities.c.aliases)
    .join(entities, (entities.c.bank_uid == entity_keys.c.bank_uid) & (entities.c.id == entity_keys.c.entity_id))
    .where(entity_keys.c.bank_uid == bindparam("bank"), among_bound(entity_keys.c.key, "keys"))
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
COUNTED = 1000
"""The most memories of a candidate that are counted: beyond that, more of them make no difference to resolution."""
# SQLAlchemy correlates no subquery two levels down; the names are the schema's and no value is in it.
_SOME = literal_column(
    "(SELECT count(*) FROM (SELECT 1 FROM memory_entities AS m WHERE m.bank_uid = entities.bank_uid"  # noqa: S608
    f" AND m.entity_id = entities.id LIMIT {COUNTED}) AS some_of_them)",
    Integer,
)
_LAST = (
    select(func.max(memory_entities.c.mentioned))
    .where(memory_entities.c.bank_uid == entities.c.bank_uid, memory_entities.c.entity_id == entities.c.id)
    .scalar_subquery()
)
_LIKE = (
    select(entities, _SOME.label("memory_count"), _LAST.label("last_mentioned"))
    .where(entities.c.bank_uid == bindparam("bank"))
    .where(among_bound(entities.c.id, "ids"))
)
_WORD = re.compile(r"\w+")
_JOINED = 3
"""The most words that are also kept as one."""
_LONG = 7
"""The fewest letters of a word in which a slip is looked for, behind as many as are sure to be right."""
_HEAD = 4


def words(name: str) -> frozenset[str]:
    """Return a name's words, folded (no case, no accents), and what names that are alike share without a word.

    That is the letters without spaces (Door Dash, DoorDash) and the beginning of a single long word (a slip in it).
    """
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    found = _WORD.findall(bare.casefold())
    joined = "".join(found)
    if 1 < len(found) <= _JOINED:
        found.append(joined)
    elif len(found) == 1 and len(joined) >= _LONG:
        found.append(f"^{joined[:_HEAD]}")
    return frozenset(found)


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
    if others:
        own |= became(connection, write.bank_uid, others)
    meant = {entity_id: own.get(entity_id, entity_id) for entity_id in mentioned}
    known = mentions_by_id(connection, write.bank_uid, set(meant.values()))
    if not known.keys() >= set(meant.values()):
        raise ConflictingWrite("an entity was deleted meanwhile; try again")
    return {entity_id: known[own_id] for entity_id, own_id in meant.items()}


def get_entity(connection: Connection, bank_uid: str, entity_id: str) -> Entity:
    """Return an entity, of an id that was merged the one that stays; raises ``EntityNotFound``."""
    now = became(connection, bank_uid, [entity_id]).get(entity_id, entity_id)
    found = _entities(connection, _OF_ID, {"bank": bank_uid, "id": now})
    if not found:
        raise EntityNotFound(entity_id)
    return found[0]


def read_entities(connection: Connection, bank_uid: str, entity_ids: Iterable[str]) -> list[Entity]:
    """Return those of the entities that are there, in no particular order."""
    return _entities(connection, _OF_IDS, {"bank": bank_uid, "ids": list(entity_ids)})


def list_entities(connection: Connection, bank_uid: str, page: PageRequest) -> Page[Entity]:
    """List entities by id."""
    found = _entities(connection, _PAGE, {"bank": bank_uid, "after": page.after, "size": page.size + 1})
    return cut(found, page.size, lambda entity: entity.id)


def entities_like(connection: Connection, bank_uid: str, keys: tuple[str, ...]) -> tuple[Entity, ...]:
    """Return the entities of these keys, and the ``CANDIDATES`` that share most words with them.

    Their memories are counted up to ``COUNTED``: the work does not grow with how often somebody was mentioned.
    """
    asked = frozenset(chain.from_iterable(words(key) for key in keys))
    shared = {"bank": bank_uid, "words": sorted(asked), "most": max(CANDIDATES, len(keys))}
    of_keys = connection.execute(_KEYED, {"bank": bank_uid, "keys": list(keys)})
    found = dict.fromkeys([*(row.id for row in of_keys), *connection.execute(_SHARED, shared).scalars()])
    if not found:
        return ()
    rows = connection.execute(_LIKE, {"bank": bank_uid, "ids": list(found)})
    return tuple(_entity(row, row.memory_count, row.last_mentioned) for row in rows)


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
    for entity_id, *names_of in names:
        forget_words(connection, bank_uid, entity_id, _all_words(*names_of))
    gone = [row.id for row in names]
    forget_keys(connection, bank_uid, gone)
    connection.execute(delete(entities).where(entities.c.bank_uid == bank_uid, among(entities.c.id, gone)))


def forget_words(connection: Connection, bank_uid: str, entity_id: str, spelt: Iterable[str]) -> None:
    """Let an entity no longer be a candidate by these words."""
    table = entity_words.c
    pair = (table.entity_id == entity_id) & among(table.word, spelt)
    connection.execute(delete(entity_words).where(table.bank_uid == bank_uid, pair))


def learn_words(connection: Connection, bank_uid: str, entity_id: str, names: Iterable[str]) -> None:
    """Let an entity be a candidate by the words of these names."""
    insert_new(connection, entity_words, _word_rows(bank_uid, entity_id, names))


def _upsert(
    connection: Connection, write: Write, named: Sequence[NewEntity], new_id: Callable[[], str]
) -> dict[str, str]:
    """Return the bank's id for each of the write's."""
    asked: dict[Key, list[NewEntity]] = {}
    for entity in named:
        asked.setdefault((entity.key, entity.kind == LABEL), []).append(entity)
    fresh = _make(connection, write, asked, new_id)
    held = _by_key(connection, write.bank_uid, asked)
    added = _spellings(connection, write.bank_uid, asked, held)
    spelt: list[dict[str, object]] = []
    for key in asked:
        entity_id, name, aliases = held[key]
        new = added.get(entity_id, ())
        if new:
            same = (entities.c.bank_uid == write.bank_uid) & (entities.c.id == entity_id)
            version = entities.c.version + int(entity_id not in fresh)
            changes = {"aliases": pack((*aliases, *new)), "version": version}
            connection.execute(update(entities).where(same).values(changes))
            # Two keys may mean one entity: its new spellings are added once.
            held |= {other: (*row[:2], (*row[2], *new)) for other, row in held.items() if row[0] == entity_id}
            added.pop(entity_id)
        if not key[1]:  # labels match exactly, never by a word
            spelt.extend(_word_rows(write.bank_uid, entity_id, (name, key[0], *new) if entity_id in fresh else new))
    insert_new(connection, entity_words, spelt)
    return {entity.id: held[key][0] for key, group in asked.items() for entity in group}


def _make(
    connection: Connection, write: Write, asked: Mapping[Key, Sequence[NewEntity]], new_id: Callable[[], str]
) -> frozenset[str]:
    """Make the entities whose keys are nobody's yet; returns their ids."""
    owned = owners(connection, write.bank_uid, (key for key, _ in asked))
    wanted = {key: new_id() for key in sorted(asked.keys() - owned.keys())}
    if not wanted:
        return frozenset()
    owned = claim(connection, write.bank_uid, wanted)
    made: list[dict[str, object]] = [
        {
            "bank_uid": write.bank_uid,
            "id": entity_id,
            "name": asked[key][0].name,
            "key": key[0],
            "is_label": key[1],
            "kind": asked[key][0].kind,
            "aliases": "",
            "created": to_us(write.at),
        }
        for key, entity_id in wanted.items()
        if owned[key] == entity_id
    ]
    insert_new(connection, entities, made)
    return frozenset(str(row["id"]) for row in made)


def _spellings(
    connection: Connection,
    bank_uid: str,
    asked: Mapping[Key, Sequence[NewEntity]],
    held: Mapping[Key, tuple[str, str, tuple[str, ...]]],
) -> dict[str, tuple[str, ...]]:
    """Claim the write's other spellings; returns those that are new, by entity. What is another's already stays so."""
    wanted: dict[Key, str] = {}
    said: dict[str, dict[str, Key]] = {}
    for key, group in asked.items():
        entity_id, name, aliases = held[key]
        for alias in chain.from_iterable(entity.aliases for entity in group):
            if alias != name and alias not in aliases:
                own = (key_of(alias, LABEL if key[1] else ""), key[1])
                wanted.setdefault(own, entity_id)
                said.setdefault(entity_id, {})[alias] = own
    if not wanted:
        return {}
    owned = claim(connection, bank_uid, wanted)
    return {
        entity_id: new
        for entity_id, spelt in said.items()
        if (new := tuple(alias for alias, key in spelt.items() if owned[key] == entity_id))
    }


def _word_rows(bank_uid: str, entity_id: str, names: Iterable[str]) -> list[dict[str, object]]:
    spelt = sorted(frozenset(chain.from_iterable(map(words, names))))
    return [{"bank_uid": bank_uid, "word": word, "entity_id": entity_id} for word in spelt]


def _all_words(name: str, key: str, aliases: str) -> frozenset[str]:
    return frozenset(chain.from_iterable(words(one) for one in (name, key, *unpack(aliases))))


def _by_key(connection: Connection, bank_uid: str, asked: Iterable[Key]) -> dict[Key, tuple[str, str, tuple[str, ...]]]:
    found = connection.execute(_KEYED, {"bank": bank_uid, "keys": list({key for key, _ in asked})})
    return {
        (key, bool(is_label)): (entity_id, name, unpack(aliases)) for key, is_label, entity_id, name, aliases in found
    }


def _entities(connection: Connection, query: Select[Any], values: dict[str, object]) -> list[Entity]:
    rows = connection.execute(query, values).all()
    if not rows:
        return []
    counted = connection.execute(_COUNTED, {"bank": values["bank"], "ids": [row.id for row in rows]})
    counts = {entity_id: (number, last) for entity_id, number, last in counted}
    # An export may bring one that nothing mentions: what did was about to go.
    return [_entity(row, *counts.get(row.id, (0, None))) for row in rows]


def _entity(row: Row[Any], memory_count: int, last: int | None) -> Entity:
    return Entity(
        id=row.id,
        name=row.name,
        key=row.key,
        kind=row.kind,
        created=from_us(row.created),
        aliases=unpack(row.aliases),
        memory_count=memory_count,
        last_mentioned=None if last is None else from_us_in_utc(last),
        apart=unpack(row.apart),
    )
