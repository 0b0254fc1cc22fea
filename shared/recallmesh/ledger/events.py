"""Events in the ledger: numbered and written within a transaction, read in their order, forgotten in the end."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from recallmesh.core.defense import DefenseAction, DefenseDetector, DefenseViolation, SecurityEvent, Severity
from recallmesh.core.errors import FieldViolation, InvalidArgument, NotReady
from recallmesh.core.event import FROM_THE_START, Event, EventDraft, EventFilter, EventKind, decided
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.trace_context import current_trace
from recallmesh.core.write import Write, WrittenDocument
from recallmesh.ledger.banks import check_bank, lock_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among
from recallmesh.ledger.event_schema import event_heads, events, security_events
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.paging import cut
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import banks

DIGITS = 12
"""Of an event's number in its id, so that ids are ordered as text."""

_FORGET = delete(events).where(events.c.bank_uid == bindparam("bank"), events.c.number == bindparam("its"))
_PUT = insert(events)
_PUT_DECISIONS = insert(security_events)
_HEAD = select(event_heads.c.last).where(event_heads.c.bank_uid == bindparam("bank"))


class SqlEvents:
    """``EventLedger`` on SQL."""

    _database: Database

    async def record_events(self, bank_uid: str, drafts: tuple[EventDraft, ...], at: datetime) -> None:
        """Write events in one transaction."""

        def work(connection: Connection) -> None:
            lock_bank(connection, bank_uid)
            put_events(connection, bank_uid, drafts, at)

        await self._database.write(work)

    async def list_events(self, bank_uid: str, wanted: EventFilter, page: PageRequest) -> Page[Event]:
        """List events, oldest first."""
        after = number_of(bank_uid, page.after, "page_token") if page.after else 0

        def work(connection: Connection) -> Page[Event]:
            check_bank(connection, bank_uid)
            found = read_events(connection, bank_uid, wanted, after, page.size + 1)
            return cut(found, page.size, lambda event: event.id)

        return await self._database.read(work)

    async def last_event_id(self, bank_uid: str) -> str:
        """Return the id of the newest event; of a bank without any, one before all."""

        def work(connection: Connection) -> str:
            check_bank(connection, bank_uid)
            return event_id(bank_uid, head_of(connection, bank_uid))

        return await self._database.read(work)

    async def check_cursor(self, bank_uid: str, event_id: str) -> None:
        """Return if all events after this one are kept."""
        number = number_of(bank_uid, event_id, "after_id")
        first = select(func.min(events.c.number)).where(events.c.bank_uid == bank_uid)

        def work(connection: Connection) -> None:
            check_bank(connection, bank_uid)
            last = head_of(connection, bank_uid)
            if number > last:
                raise InvalidArgument(FieldViolation("after_id", "is no event of this bank"))
            oldest = connection.execute(first).scalar() or last + 1
            if event_id != FROM_THE_START and number < oldest - 1:
                raise NotReady("events after this one are no longer kept; list those that are, and watch after them")

        await self._database.read(work)

    async def list_security_events(self, bank_uid: str, page: PageRequest) -> Page[SecurityEvent]:
        """List decisions, oldest first."""
        table = security_events.c
        query = select(security_events).where(table.bank_uid == bank_uid).order_by(table.number).limit(page.size + 1)
        if page.after:
            query = query.where(table.number > number_of(bank_uid, page.after, "page_token"))

        def work(connection: Connection) -> Page[SecurityEvent]:
            check_bank(connection, bank_uid)
            rows = connection.execute(query).all()
            found = cut(rows, page.size, lambda row: event_id(bank_uid, row.number))
            return Page(tuple(_decision_of(row) for row in found.rows), found.next_after)

        return await self._database.read(work)

    async def forget_events(self, before: datetime, *, limit: int) -> int:
        """Delete events older than a moment; an idle look takes no write lock."""
        old = (
            select(events.c.bank_uid, events.c.number)
            .where(events.c.time < to_us(before))
            .order_by(events.c.time)
            .limit(limit)
        )
        if not await self._database.read(lambda connection: connection.execute(old.limit(1)).first()):
            return 0

        def work(connection: Connection) -> int:
            # Not as a subquery of the deletion: PostgreSQL may run that again and again, each time locking more.
            found = connection.execute(old.with_for_update(skip_locked=True)).all()
            if found:
                connection.execute(_FORGET, [{"bank": row.bank_uid, "its": row.number} for row in found])
            return len(found)

        return await self._database.write(work)


def put_events(connection: Connection, bank_uid: str, drafts: Sequence[EventDraft], at: datetime) -> None:
    """Write events at the end of a transaction, which holds the bank; a decision that is there already is left out."""
    known = _known_decisions(connection, bank_uid, drafts)
    new = [draft for draft in drafts if draft.security is None or draft.security.id not in known]
    if not new:
        return
    first = _take_numbers(connection, bank_uid, len(new))
    numbered = [(first + place, draft) for place, draft in enumerate(new)]
    connection.execute(_PUT, [_row(bank_uid, number, draft, at) for number, draft in numbered])
    decisions = [_decision_row(bank_uid, number, draft.security) for number, draft in numbered if draft.security]
    if decisions:
        connection.execute(_PUT_DECISIONS, decisions)


def put_retained(connection: Connection, write: Write, written: Iterable[WrittenDocument]) -> None:
    """Write the events of a retain: that it is complete, and what memory defense decided of it."""
    documents = tuple(written)
    complete = EventDraft(
        EventKind.RETAIN_COMPLETED,
        tuple(document.document_id for document in documents),
        write.operation_id,
        sum(len(ids) for document in documents for ids in document.memory_ids),
    )
    put_events(connection, write.bank_uid, (*decided(write.decisions), complete), write.at)


def read_events(
    connection: Connection, bank_uid: str, wanted: EventFilter, after: int, limit: int, *, through: int | None = None
) -> list[Event]:
    """Return the first events after a number, up to another."""
    query = _select(bank_uid, wanted, after).limit(limit)
    if through is not None:
        query = query.where(events.c.number <= through)
    return [_event_of(row) for row in connection.execute(query)]


def head_of(connection: Connection, bank_uid: str) -> int:
    """Return the number of the newest event; 0 before the first."""
    return int(connection.execute(_HEAD, {"bank": bank_uid}).scalar() or 0)


def event_id(bank_uid: str, number: int) -> str:
    """Return the id of a bank's event of this number."""
    return f"{number:0{DIGITS}}-{bank_uid}"


def number_of(bank_uid: str, given: str, field: str) -> int:
    """Return the number of an event's id, 0 for ``FROM_THE_START``; raises ``InvalidArgument``."""
    digits, sign, uid = given.partition("-")
    if given == FROM_THE_START:
        return 0
    if not sign or uid != bank_uid or not (digits.isascii() and digits.isdecimal() and len(digits) == DIGITS):
        raise InvalidArgument(FieldViolation(field, "is no event of this bank"))
    return int(digits)


def _select(bank_uid: str, wanted: EventFilter, after: int) -> Select[Any]:
    decision = security_events.c
    of_event = (decision.bank_uid == events.c.bank_uid) & (decision.number == events.c.number)
    columns = [column for column in security_events.c if column.name not in events.c]
    query = (
        select(events, banks.c.bank_id, *columns)
        .join(banks, banks.c.uid == events.c.bank_uid)
        .outerjoin(security_events, of_event)
        .where(events.c.bank_uid == bank_uid, events.c.number > after)
        .order_by(events.c.number)
    )
    if wanted.kinds:
        query = query.where(among(events.c.kind, [kind.value for kind in wanted.kinds]))
    return query if wanted.start is None else query.where(events.c.time >= to_us(wanted.start))


def _take_numbers(connection: Connection, bank_uid: str, count: int) -> int:
    """Return the first of so many new numbers."""
    put = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    upsert = put(event_heads).values(bank_uid=bank_uid, last=count)
    more = {"last": event_heads.c.last + count}
    taken = upsert.on_conflict_do_update(index_elements=["bank_uid"], set_=more).returning(event_heads.c.last)
    return int(connection.execute(taken).scalar_one()) - count + 1


def _known_decisions(connection: Connection, bank_uid: str, drafts: Sequence[EventDraft]) -> frozenset[str]:
    ids = [draft.security.id for draft in drafts if draft.security]
    if not ids:
        return frozenset()
    table = security_events.c
    known = select(table.id).where(table.bank_uid == bank_uid, among(table.id, ids))
    return frozenset(connection.execute(known).scalars())


def _row(bank_uid: str, number: int, draft: EventDraft, at: datetime) -> dict[str, object]:
    return {
        "bank_uid": bank_uid,
        "number": number,
        "kind": draft.kind.value,
        "time": to_us(at),
        "document_ids": pack(draft.document_ids),
        "operation_id": draft.operation_id,
        "memory_count": draft.memory_count,
        "origin": current_trace().parent,
    }


def _decision_row(bank_uid: str, number: int, decision: SecurityEvent) -> dict[str, object]:
    return {
        "bank_uid": bank_uid,
        "number": number,
        "id": decision.id,
        "time": to_us(decision.time),
        "detector": decision.violation.detector.value,
        "action": decision.violation.action.value,
        "severity": decision.violation.severity.value,
        "message": decision.violation.message,
        "document_id": decision.document_id,
        "item_index": decision.item_index,
        "receipt_uri": decision.receipt_uri,
    }


def _event_of(row: Row[Any]) -> Event:
    return Event(
        id=event_id(row.bank_uid, row.number),
        kind=EventKind(row.kind),
        time=from_us(row.time),
        bank_id=row.bank_id,
        document_ids=unpack(row.document_ids),
        operation_id=row.operation_id,
        memory_count=row.memory_count,
        security=_decision_of(row) if row.id is not None else None,
        origin=row.origin,
    )


def _decision_of(row: Row[Any]) -> SecurityEvent:
    violation = DefenseViolation(
        DefenseDetector(row.detector), DefenseAction(row.action), Severity(row.severity), row.message
    )
    return SecurityEvent(row.id, from_us(row.time), violation, row.document_id, row.item_index, row.receipt_uri)
