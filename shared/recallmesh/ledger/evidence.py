"""Evidence in the ledger: taken up with an observation, let go in the transaction that changes or deletes a fact."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, insert, select, update

from recallmesh.core.consolidation import FEWEST
from recallmesh.core.memory import VISIBLE_STATES, FactType, Memory
from recallmesh.core.scope import Meeting, Scope
from recallmesh.core.trace_context import current_trace
from recallmesh.core.write import OutboxAction
from recallmesh.ledger.dialect import among, insert_new
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.observed import consolidations, evidence, fact_scopes, is_evidence, new_facts, observations
from recallmesh.ledger.outbox import Removing, put_rows, supersede
from recallmesh.ledger.reading import BATCH, read_memories
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import memories, memory_entities
from recallmesh.ledger.versions import CONSOLIDATE, Changed, forget_versions, keep_versions

_SAID = (
    "text", "occurred_start", "occurred_start_offset", "occurred_end", "occurred_end_offset", "occurred_precision",
    "mentioned", "mentioned_offset", "context", "entities", "tokens",
)  # fmt: skip
"""What an observation takes over from the fact that it says."""


def mark_facts(connection: Connection, bank_uid: str, added: Iterable[Memory]) -> None:
    """Mark new facts as not consolidated."""
    facts = [memory for memory in added if memory.fact_type is not FactType.OBSERVATION]
    insert_new(connection, new_facts, [{"bank_uid": bank_uid, "memory_id": fact.id, "again": False} for fact in facts])


def take_up_observations(connection: Connection, bank_uid: str, added: Iterable[Memory]) -> None:
    """Take up observations that came ready made: in a scope of their own, they lose evidence as any other."""
    for memory in added:
        if memory.fact_type is FactType.OBSERVATION and memory.sources:
            told = frozenset(memory.sources)
            put_evidence(connection, bank_uid, memory, scope=f"of {memory.id}", told=told)


def adopt_observations(connection: Connection, bank_uid: str) -> None:
    """Take up all observations of a bank that was moved, each in the scope that its tags and its facts' tell."""
    of_kind = (memories.c.bank_uid == bank_uid) & (memories.c.fact_type == FactType.OBSERVATION.value)
    last = ""
    while (
        ids := connection.execute(
            select(memories.c.id).where(of_kind, memories.c.id > last).order_by(memories.c.id).limit(BATCH)
        )
        .scalars()
        .all()
    ):
        last = ids[-1]
        for read in sorted(read_memories(connection, bank_uid, ids, mentions=False), key=lambda one: one.id):
            memory = read
            facts = {one.id: one for one in read_memories(connection, bank_uid, memory.sources, mentions=False)}
            held = tuple(one for one in memory.sources if one in facts)
            if held != memory.sources:
                memory = _resting_on(connection, bank_uid, memory, held)
            said = frozenset(one.id for one in facts.values() if one.text == memory.text)
            told = said or frozenset(memory.sources)
            scope = _scope_of(memory, facts.values()).key
            taken = exists().where(
                evidence.c.bank_uid == bank_uid,
                evidence.c.scope == scope,
                among(evidence.c.memory_id, memory.sources),
                is_evidence,
            )
            if connection.execute(select(taken)).scalar():
                scope = f"of {memory.id}"
            put_evidence(connection, bank_uid, memory, scope=scope, told=told)


def _resting_on(connection: Connection, bank_uid: str, memory: Memory, held: tuple[str, ...]) -> Memory:
    """Let an observation rest on those of its facts alone that came with it: nobody can see what is not there."""
    which = (memories.c.bank_uid == bank_uid) & (memories.c.id == memory.id)
    connection.execute(update(memories).where(which).values(sources=pack(held), proof_count=len(held)))
    return replace(memory, sources=held, proof_count=len(held))


def _scope_of(memory: Memory, facts: Iterable[Memory]) -> Scope:
    tags = tuple(sorted(memory.tags))
    if all(set(fact.tags) == set(tags) for fact in facts):
        return Scope(Meeting.EXACTLY, tags)
    return Scope(Meeting.WITH, tags) if tags else Scope(Meeting.ALL)


def keep_scopes(connection: Connection, bank_uid: str, scopes: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """Keep the scopes that came with facts, by memory id."""
    rows = [
        {"bank_uid": bank_uid, "memory_id": memory_id, "scopes": pack([list(tags) for tags in named])}
        for memory_id, named in scopes.items()
    ]
    if rows:
        connection.execute(insert(fact_scopes), rows)


def mark_again(connection: Connection, bank_uid: str, memory_id: str, at: datetime) -> None:
    """Mark a fact that says something else, or is shown again.

    One that has its mark was never consolidated, and waits as it did. Any other is consolidated again, and soon.
    """
    which = (new_facts.c.bank_uid == bank_uid) & (new_facts.c.memory_id == memory_id)
    if connection.execute(select(new_facts.c.memory_id).where(which)).first() is None:
        connection.execute(insert(new_facts).values(bank_uid=bank_uid, memory_id=memory_id, again=True))
        make_due(connection, bank_uid, at)


def make_due(connection: Connection, bank_uid: str, due: datetime) -> None:
    """Let a bank's consolidation begin at a moment; one that is due already stays so."""
    row = {"bank_uid": bank_uid, "due": to_us(due), "origin": current_trace().parent}
    insert_new(connection, consolidations, [row])


def put_evidence(
    connection: Connection,
    bank_uid: str,
    memory: Memory,
    *,
    scope: str,
    told: frozenset[str],
    quotes: Mapping[str, str] | None = None,
) -> None:
    """Hold the observation's evidence to its sources: what is new begins with its version, what is gone ends."""
    of_observation = (evidence.c.bank_uid == bank_uid) & (evidence.c.observation_id == memory.id) & is_evidence
    held = dict(
        tuple(row) for row in connection.execute(select(evidence.c.memory_id, evidence.c.told).where(of_observation))
    )
    gone = held.keys() - set(memory.sources)
    if gone:
        ended = update(evidence).where(of_observation, among(evidence.c.memory_id, gone))
        connection.execute(ended.values(to_version=memory.version))
    for other in (one for one, was in held.items() if one not in gone and was is not (one in told)):
        same = update(evidence).where(of_observation, evidence.c.memory_id == other)
        connection.execute(same.values(told=other in told))
    new = [one for one in dict.fromkeys(memory.sources) if one not in held]
    if new:
        said = quotes or _texts(connection, bank_uid, new)
        common = {"bank_uid": bank_uid, "observation_id": memory.id, "from_version": memory.version, "scope": scope}
        rows = [common | {"memory_id": one, "told": one in told, "quote": said.get(one, "")} for one in new]
        connection.execute(insert(evidence), rows)
    stored = {"bank_uid": bank_uid, "id": memory.id, "scope": scope, "stale": False}
    insert_new(connection, observations, [stored])
    which = (observations.c.bank_uid == bank_uid) & (observations.c.id == memory.id)
    connection.execute(update(observations).where(which).values(stale=False))


def let_go(
    connection: Connection, bank_uid: str, memory_ids: Sequence[str], telling: Removing, *, deleted: bool
) -> list[str]:
    """Let facts be evidence no more, and forget what was kept of deleted ones.

    Observations follow at once: what they say is what facts say that are still there. Returns those that are left with
    too few, for the caller to delete.
    """
    lost: dict[str, set[str]] = defaultdict(set)
    told: set[str] = set()
    of_bank = evidence.c.bank_uid == bank_uid
    query = select(evidence.c.observation_id, evidence.c.memory_id, evidence.c.told)
    for observation_id, memory_id, is_told in connection.execute(
        query.where(of_bank, among(evidence.c.memory_id, memory_ids), is_evidence)
    ):
        lost[observation_id].add(memory_id)
        if is_told:
            told.add(observation_id)
    doomed = [
        row.id
        for row in _observation_rows(connection, bank_uid, lost.keys() - set(memory_ids))
        if not _keep(connection, bank_uid, row, lost[row.id], telling, told=row.id in told)
    ]
    if told - set(doomed):
        make_due(connection, bank_uid, telling.due.at)
    if deleted:
        forget_versions(connection, bank_uid, memory_ids)
        for table, column in (
            (new_facts, new_facts.c.memory_id),
            (fact_scopes, fact_scopes.c.memory_id),
            (observations, observations.c.id),
            (evidence, evidence.c.observation_id),
        ):
            connection.execute(delete(table).where(table.c.bank_uid == bank_uid, among(column, memory_ids)))
    return doomed


def _observation_rows(connection: Connection, bank_uid: str, ids: Iterable[str]) -> Sequence[Row[Any]]:
    which = (memories.c.bank_uid == bank_uid) & among(memories.c.id, ids)
    return connection.execute(select(memories).where(which).order_by(memories.c.id).with_for_update()).all()


def _keep(
    connection: Connection, bank_uid: str, row: Row[Any], lost: set[str], telling: Removing, *, told: bool
) -> bool:
    """Let an observation go on without some of its evidence; tells whether enough is left."""
    left = [one for one in unpack(row.sources) if one not in lost]
    if len(left) < FEWEST:
        return False
    version = row.version + 1
    changes: dict[str, Any] = {"sources": pack(left), "proof_count": len(left), "version": version}
    of_observation = (evidence.c.bank_uid == bank_uid) & (evidence.c.observation_id == row.id) & is_evidence
    ended = update(evidence).where(of_observation, among(evidence.c.memory_id, lost))
    connection.execute(ended.values(to_version=version))
    if told:
        said = max(_observation_rows(connection, bank_uid, left), key=lambda fact: (len(fact.text), fact.id))
        changes |= {name: getattr(said, name) for name in _SAID}
        sole = update(evidence).where(of_observation)
        connection.execute(sole.values(told=False))
        connection.execute(sole.where(evidence.c.memory_id == said.id).values(told=True))
        which = (observations.c.bank_uid == bank_uid) & (observations.c.id == row.id)
        connection.execute(update(observations).where(which).values(stale=True))
        move_mentions(connection, bank_uid, row, said.entities, changes["mentioned"] or row.created)
    same = (memories.c.bank_uid == bank_uid) & (memories.c.id == row.id)
    connection.execute(update(memories).where(same).values(changes))
    reason = f"{CONSOLIDATE}: {len(lost)} of its facts no longer says so"
    change = Changed(row, version, changes.get("text", row.text), row.tags, reason)
    keep_versions(connection, bank_uid, [change], telling.due.at)
    if row.state in [state.value for state in VISIBLE_STATES]:
        supersede(connection, bank_uid, [row.id])
        put_rows(connection, bank_uid, OutboxAction.INDEX, [(row.id, version)], telling.arms, telling.due)
    return True


def move_mentions(connection: Connection, bank_uid: str, row: Row[Any], entities: str, mentioned: int) -> None:
    """Let a memory, whose row is given, mention other entities (as packed) than it does."""
    held, wanted = set(unpack(row.entities)), set(unpack(entities))
    of_memory = (memory_entities.c.bank_uid == bank_uid) & (memory_entities.c.memory_id == row.id)
    if held - wanted:
        gone = delete(memory_entities).where(of_memory, among(memory_entities.c.entity_id, held - wanted))
        connection.execute(gone)
    new = [
        {"bank_uid": bank_uid, "entity_id": one, "memory_id": row.id, "mentioned": mentioned}
        for one in sorted(wanted - held)
    ]
    insert_new(connection, memory_entities, new)


def _texts(connection: Connection, bank_uid: str, ids: Sequence[str]) -> dict[str, str]:
    which = (memories.c.bank_uid == bank_uid) & among(memories.c.id, ids)
    return dict(tuple(row) for row in connection.execute(select(memories.c.id, memories.c.text).where(which)))
