"""Consolidation's side of the ledger: what is new and due, observations as they are, and their one transaction."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, delete, exists, func, select, update

from recallmesh.core.arm import ArmName
from recallmesh.core.consolidation import ASKED, DUE, Backlog, Consolidated, Consolidation, HeldObservation, NewFact
from recallmesh.core.event import EventDraft, EventKind
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.write import OutboxAction
from recallmesh.ledger import operations
from recallmesh.ledger.banks import hold_bank, lock_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among
from recallmesh.ledger.event_schema import events
from recallmesh.ledger.events import put_events
from recallmesh.ledger.evidence import make_due
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.observation import write_observations
from recallmesh.ledger.observed import (
    consolidations,
    evidence,
    fact_scopes,
    is_again,
    is_evidence,
    is_stale,
    new_facts,
    observations,
)
from recallmesh.ledger.reading import read_memories
from recallmesh.ledger.schema import operations as operation_rows
from recallmesh.ledger.schema import outbox

_UNFINISHED = (OperationState.PENDING.value, OperationState.RUNNING.value)


class SqlConsolidation:
    """``ConsolidationLedger`` on SQL."""

    _database: Database
    _new_id: Callable[[], str]
    _own_for: timedelta

    async def new_facts(
        self, bank_uid: str, *, limit: int, after: str = "", again: bool = False
    ) -> tuple[NewFact, ...]:
        """Return marked facts by id, but those that the semantic arm still waits for."""
        return await self._database.read(
            lambda connection: _new_facts(connection, bank_uid, limit=limit, after=after, again=again)
        )

    async def has_new_facts(self, bank_uid: str, *, again: bool = False) -> bool:
        """Tell whether any fact is marked."""
        query = select(new_facts.c.memory_id).where(new_facts.c.bank_uid == bank_uid).limit(1)
        marked = query.where(is_again) if again else query
        return await self._database.read(lambda connection: connection.execute(marked).first() is not None)

    async def own_scopes(self, bank_uid: str, fact_ids: tuple[str, ...]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the scopes that came with those of the facts that have any of their own."""
        return await self._database.read(lambda connection: _scopes(connection, bank_uid, fact_ids))

    async def observations_of(
        self, bank_uid: str, fact_ids: tuple[str, ...], observation_ids: tuple[str, ...]
    ) -> tuple[HeldObservation, ...]:
        """Return the observations that the facts are evidence for, and those of the ids, by id."""

        def work(connection: Connection) -> tuple[HeldObservation, ...]:
            of_facts = select(evidence.c.observation_id).where(
                evidence.c.bank_uid == bank_uid, among(evidence.c.memory_id, fact_ids), is_evidence
            )
            ids = {*connection.execute(of_facts).scalars(), *observation_ids}
            return _held(connection, bank_uid, ids)

        return await self._database.read(work)

    async def stale_observations(self, bank_uid: str, *, limit: int) -> tuple[HeldObservation, ...]:
        """Return observations that wait to be written anew, by id."""
        query = select(observations.c.id).where(observations.c.bank_uid == bank_uid, is_stale)

        def work(connection: Connection) -> tuple[HeldObservation, ...]:
            ids = connection.execute(query.order_by(observations.c.id).limit(limit)).scalars().all()
            return _held(connection, bank_uid, ids)

        return await self._database.read(work)

    async def consolidate(self, change: Consolidation) -> Consolidated:
        """Write one transaction of consolidation; raises ``ConflictingWrite``, ``BankNotFound``."""
        return await self._database.write(
            lambda connection: write_observations(connection, change, self._new_id(), self._own_for)
        )

    async def tell_consolidated(self, bank_uid: str, operation: Operation, memory_count: int, at: datetime) -> None:
        """Write the event that an operation consolidated a bank, once."""
        draft = EventDraft(EventKind.CONSOLIDATION_COMPLETED, operation_id=operation.id, memory_count=memory_count)
        same = (events.c.kind == draft.kind.value) & (events.c.operation_id == operation.id)
        told = select(events.c.number).where(
            events.c.bank_uid == bank_uid, events.c.time >= to_us(operation.created), same
        )

        def work(connection: Connection) -> None:
            lock_bank(connection, bank_uid)
            if connection.execute(told).first() is None:
                put_events(connection, bank_uid, (draft,), at)

        await self._database.write(work)

    async def ask_consolidation(self, bank_uid: str, at: datetime) -> Operation:
        """Return a pending operation that consolidates all that is new in a bank."""
        operation = operations.new_operation(self._new_id, OperationKind.CONSOLIDATE, 0, at)
        return await self._database.write(lambda connection: _ask(connection, bank_uid, operation))

    async def start_consolidations(self, at: datetime) -> int:
        """Make an operation for each bank that is due, unless one has not ended yet; an idle poll takes no lock."""
        busy = exists().where(
            operation_rows.c.bank_uid == consolidations.c.bank_uid,
            operation_rows.c.kind == OperationKind.CONSOLIDATE.value,
            operation_rows.c.state.in_(_UNFINISHED),
        )
        free = select(consolidations.c.bank_uid).where(consolidations.c.due <= to_us(at), ~busy)
        query = free.order_by(consolidations.c.due, consolidations.c.bank_uid)
        found = await self._database.read(lambda connection: connection.execute(query).scalars().all())
        return sum([await self._start(bank_uid, free, at) for bank_uid in found])

    async def _start(self, bank_uid: str, free: Select[Any], at: datetime) -> int:
        """Make a bank's operation if it is due still; a transaction of its own, which holds no other bank."""
        operation = operations.new_operation(self._new_id, OperationKind.CONSOLIDATE, 0, at)

        def work(connection: Connection) -> int:
            hold_bank(connection, bank_uid)
            if connection.execute(free.where(consolidations.c.bank_uid == bank_uid)).first() is None:
                return 0
            of_bank = select(consolidations.c.origin).where(consolidations.c.bank_uid == bank_uid)
            origin = connection.execute(of_bank).scalar_one()
            operations.submit_operation(connection, bank_uid, operation, DUE, None, origin=origin)
            connection.execute(delete(consolidations).where(consolidations.c.bank_uid == bank_uid))
            return 1

        return await self._database.write(work)

    async def ask_again(self, bank_uid: str, due: datetime) -> None:
        """Make a bank due; one that is due already stays so."""
        await self._database.write(lambda connection: make_due(connection, bank_uid, due))

    async def consolidation_backlog(self, at: datetime) -> Backlog:
        """Count what is left to do in the banks that are due or at work, and what is stale."""
        return await self._database.read(lambda connection: _backlog(connection, at))


def _new_facts(connection: Connection, bank_uid: str, *, limit: int, after: str, again: bool) -> tuple[NewFact, ...]:
    waits = exists().where(
        outbox.c.bank_uid == bank_uid,
        outbox.c.memory_id == new_facts.c.memory_id,
        outbox.c.arm == ArmName.SEMANTIC.value,
        outbox.c.action == OutboxAction.INDEX.value,
    )
    query = (
        select(new_facts.c.memory_id)
        .where(new_facts.c.bank_uid == bank_uid, new_facts.c.memory_id > after, ~waits)
        .order_by(new_facts.c.memory_id)
        .limit(limit)
    )
    ids = connection.execute(query.where(is_again) if again else query).scalars().all()
    scopes = _scopes(connection, bank_uid, ids)
    found = sorted(read_memories(connection, bank_uid, ids), key=lambda memory: memory.id)
    return tuple(NewFact(memory, scopes.get(memory.id, ())) for memory in found)


def _scopes(connection: Connection, bank_uid: str, ids: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    query = select(fact_scopes.c.memory_id, fact_scopes.c.scopes)
    which = (fact_scopes.c.bank_uid == bank_uid) & among(fact_scopes.c.memory_id, ids)
    return {
        memory_id: tuple(tuple(tags) for tags in json.loads(packed))
        for memory_id, packed in connection.execute(query.where(which))
    }


def _held(connection: Connection, bank_uid: str, ids: Iterable[str]) -> tuple[HeldObservation, ...]:
    ids = list(ids)
    if not ids:
        return ()
    of_observations = (evidence.c.bank_uid == bank_uid) & among(evidence.c.observation_id, ids) & is_evidence
    told: dict[str, dict[str, bool]] = defaultdict(dict)
    rows = select(evidence.c.observation_id, evidence.c.memory_id, evidence.c.told).where(of_observations)
    for observation_id, memory_id, is_told in connection.execute(rows.order_by(evidence.c.memory_id)):
        told[observation_id][memory_id] = bool(is_told)
    which = (observations.c.bank_uid == bank_uid) & among(observations.c.id, ids)
    stored = connection.execute(select(observations.c.id, observations.c.scope, observations.c.stale).where(which))
    scopes = {observation_id: (scope, bool(stale)) for observation_id, scope, stale in stored}
    memories = read_memories(connection, bank_uid, list(scopes))
    return tuple(
        HeldObservation(memory, scopes[memory.id][0], told[memory.id], scopes[memory.id][1])
        for memory in sorted(memories, key=lambda memory: memory.id)
    )


def _ask(connection: Connection, bank_uid: str, operation: Operation) -> Operation:
    lock_bank(connection, bank_uid)
    which = (
        (operation_rows.c.bank_uid == bank_uid)
        & (operation_rows.c.kind == OperationKind.CONSOLIDATE.value)
        & (operation_rows.c.state == OperationState.PENDING.value)
    )
    pending = connection.execute(
        select(operation_rows.c.id).where(which).order_by(operation_rows.c.seq).limit(1).with_for_update()
    ).scalar()
    if pending is None:
        return operations.submit_operation(connection, bank_uid, operation, ASKED, None).operation
    connection.execute(update(operation_rows).where(operation_rows.c.id == pending).values(payload=ASKED))
    return operations.get_operation(connection, bank_uid, pending)


def _backlog(connection: Connection, at: datetime) -> Backlog:
    at_work = select(operation_rows.c.bank_uid).where(
        operation_rows.c.kind == OperationKind.CONSOLIDATE.value, operation_rows.c.state.in_(_UNFINISHED)
    )
    due = select(consolidations.c.bank_uid)
    counted = select(func.count()).select_from(new_facts).where(new_facts.c.bank_uid.in_(due.union(at_work)))
    stale = select(func.count()).select_from(observations).where(is_stale)
    oldest = connection.execute(select(func.min(consolidations.c.due))).scalar()
    return Backlog(
        facts=int(connection.execute(counted).scalar_one()),
        observations=int(connection.execute(stale).scalar_one()),
        age=timedelta() if oldest is None else max(timedelta(), at - from_us(oldest)),
    )
