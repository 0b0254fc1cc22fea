"""Operations in the ledger: the queue of work that goes on after a call, and what callers see of it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, or_, select, update

from recallmesh.core.errors import OperationNotFound
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.write import Job, RequestRecord, Submission
from recallmesh.ledger.banks import bank_of, lock_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.paging import cut
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import banks, operations
from recallmesh.ledger.writing import find_request

_OF_CALLERS = tuple(column for column in operations.c if column.name != "payload")


class SqlOperations:
    """``OperationLedger`` on SQL."""

    _database: Database

    async def get_operation(self, bank_uid: str, operation_id: str) -> Operation:
        """Return an operation."""
        return await self._database.read(lambda connection: _get(connection, bank_uid, operation_id))

    async def list_operations(self, bank_uid: str, page: PageRequest) -> Page[Operation]:
        """List operations, newest last."""
        query = select(*_OF_CALLERS).where(operations.c.bank_uid == bank_uid).order_by(operations.c.seq)
        if page.after:
            last = select(operations.c.seq).where(operations.c.id == page.after).scalar_subquery()
            query = query.where(operations.c.seq > last)

        def work(connection: Connection) -> Page[Operation]:
            rows = connection.execute(query.limit(page.size + 1)).all()
            return cut([_operation_of(row) for row in rows], page.size, lambda operation: operation.id)

        return await self._database.read(work)

    async def cancel_operation(self, bank_uid: str, operation_id: str, at: datetime) -> Operation:
        """Cancel a pending operation; others stay as they are."""
        from_states = (OperationState.PENDING,)
        change = {"state": OperationState.CANCELLED.value, "updated": to_us(at)}
        return await self._change(bank_uid, operation_id, from_states, change)

    async def retry_operation(self, bank_uid: str, operation_id: str, at: datetime) -> Operation:
        """Make a failed or cancelled operation pending again; others stay as they are."""
        from_states = (OperationState.FAILED, OperationState.CANCELLED)
        change = {"state": OperationState.PENDING.value, "updated": to_us(at), "error": ""}
        return await self._change(bank_uid, operation_id, from_states, change)

    async def _change(
        self, bank_uid: str, operation_id: str, states: tuple[OperationState, ...], change: dict[str, Any]
    ) -> Operation:
        which = (operations.c.id == operation_id) & (operations.c.bank_uid == bank_uid)
        statement = update(operations).where(which, operations.c.state.in_([state.value for state in states]))

        def work(connection: Connection) -> Operation:
            connection.execute(statement.values(change))
            return _get(connection, bank_uid, operation_id)

        return await self._database.write(work)


def submit_operation(
    connection: Connection, bank_uid: str, operation: Operation, payload: bytes, request: RequestRecord | None
) -> Submission:
    """Put an operation in the queue, or find the request id's; raises ``BankNotFound``, ``RequestIdReused``."""
    lock_bank(connection, bank_uid)
    if request:
        find_request(connection, bank_uid, request)  # refuses the id if it came with other content
        which = (operations.c.bank_uid == bank_uid) & (operations.c.request_id == request.request_id)
        found = connection.execute(select(*_OF_CALLERS).where(which)).first()
        if found is not None:
            return Submission(_operation_of(found), replayed=True)
    row = {
        "id": operation.id,
        "bank_uid": bank_uid,
        "kind": operation.kind.value,
        "state": operation.state.value,
        "payload": payload,
        "created": to_us(operation.created),
        "updated": to_us(operation.updated),
        "done": operation.done,
        "total": operation.total,
        "attempts": operation.attempts,
        "error": operation.error,
        "memory_ids": pack(operation.memory_ids),
        "worker": "",
        "request_id": request.request_id if request else None,
        "content_hash": request.content_hash if request else None,
    }
    connection.execute(insert(operations).values(row))
    return Submission(operation)


def has_job(connection: Connection, now: datetime) -> bool:
    """Tell whether a lease would find an operation, without taking the write lock."""
    return connection.execute(select(operations.c.seq).where(_is_free(now)).limit(1)).first() is not None


def lease_operation(connection: Connection, worker: str, *, lease: timedelta, now: datetime) -> Job | None:
    """Take the oldest operation that is pending or whose worker is gone."""
    free = select(operations.c.seq).where(_is_free(now)).order_by(operations.c.seq).limit(1)
    seq = connection.execute(free.with_for_update(skip_locked=True)).scalar()
    if seq is None:
        return None
    taken = {
        "state": OperationState.RUNNING.value,
        "attempts": operations.c.attempts + 1,
        "worker": worker,
        "lease_until": to_us(now + lease),
        "updated": to_us(now),
    }
    connection.execute(update(operations).where(operations.c.seq == seq).values(taken))
    row = connection.execute(select(operations).where(operations.c.seq == seq)).one()
    bank = connection.execute(select(banks).where(banks.c.uid == row.bank_uid)).one()
    return Job(_operation_of(row), bank_of(bank), bytes(row.payload))


def finish_operation(
    connection: Connection, operation_id: str, *, memory_ids: tuple[str, ...], error: str, at: datetime, retry: bool
) -> None:
    """Mark an operation succeeded, failed, or pending again.

    One that was deleted with its bank or is finished already stays so. Success lets go of the payload: nothing will ask
    for it again.
    """
    change: dict[str, Any] = {"updated": to_us(at), "error": error, "worker": "", "lease_until": None}
    if retry:
        change["state"] = OperationState.PENDING.value
    elif error:
        change["state"] = OperationState.FAILED.value
    else:
        done = {"state": OperationState.SUCCEEDED.value, "done": operations.c.total, "payload": b""}
        change |= done | {"memory_ids": pack(memory_ids)}
    running = operations.c.state == OperationState.RUNNING.value
    connection.execute(update(operations).where(operations.c.id == operation_id, running).values(change))


def new_operation(new_id: Callable[[], str], kind: OperationKind, total: int, at: datetime) -> Operation:
    """Return an operation that has not begun."""
    return Operation(new_id(), kind, OperationState.PENDING, created=at, updated=at, total=total)


def _is_free(now: datetime) -> ColumnElement[bool]:
    expired = (operations.c.state == OperationState.RUNNING.value) & (operations.c.lease_until <= to_us(now))
    return or_(operations.c.state == OperationState.PENDING.value, expired)


def _get(connection: Connection, bank_uid: str, operation_id: str) -> Operation:
    which = (operations.c.id == operation_id) & (operations.c.bank_uid == bank_uid)
    row = connection.execute(select(*_OF_CALLERS).where(which)).first()
    if row is None:
        raise OperationNotFound(operation_id)
    return _operation_of(row)


def _operation_of(row: Row[Any]) -> Operation:
    return Operation(
        id=row.id,
        kind=OperationKind(row.kind),
        state=OperationState(row.state),
        created=from_us(row.created),
        updated=from_us(row.updated),
        done=row.done,
        total=row.total,
        attempts=row.attempts,
        error=row.error,
        memory_ids=unpack(row.memory_ids),
    )
