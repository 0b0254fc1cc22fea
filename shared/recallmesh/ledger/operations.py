"""Operations in the ledger, as callers see them: put into the queue, read, listed, cancelled, retried."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, insert, select, update

from recallmesh.core.errors import OperationNotFound
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.trace_context import current_trace
from recallmesh.core.write import RequestRecord, Submission
from recallmesh.ledger.banks import lock_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.paging import cut
from recallmesh.ledger.rows import pack, unpack
from recallmesh.ledger.schema import operations
from recallmesh.ledger.writing import find_request

_OF_CALLERS = tuple(column for column in operations.c if column.name != "payload")


class SqlOperations:
    """``OperationLedger`` on SQL."""

    _database: Database

    async def get_operation(self, bank_uid: str, operation_id: str) -> Operation:
        """Return an operation."""
        return await self._database.read(lambda connection: get_operation(connection, bank_uid, operation_id))

    async def list_operations(
        self, bank_uid: str, page: PageRequest, states: tuple[OperationState, ...] = ()
    ) -> Page[Operation]:
        """List operations, newest last; those in the states, or all."""
        query = select(*_OF_CALLERS).where(operations.c.bank_uid == bank_uid).order_by(operations.c.seq)
        if states:
            query = query.where(_in(states))
        if page.after:
            last = select(operations.c.seq).where(operations.c.id == page.after).scalar_subquery()
            query = query.where(operations.c.seq > last)

        def work(connection: Connection) -> Page[Operation]:
            rows = connection.execute(query.limit(page.size + 1)).all()
            return cut([operation_of(row) for row in rows], page.size, lambda operation: operation.id)

        return await self._database.read(work)

    async def cancel_operation(self, bank_uid: str, operation_id: str, at: datetime) -> Operation:
        """Cancel a pending operation; a running one is to stop at its next step; a finished one stays as it is."""
        pending = _in((OperationState.PENDING,))
        state = case((pending, OperationState.CANCELLED.value), else_=operations.c.state)
        change = {"state": state, "cancelling": ~pending, "updated": to_us(at)}
        return await self._change(bank_uid, operation_id, (OperationState.PENDING, OperationState.RUNNING), change)

    async def retry_operation(self, bank_uid: str, operation_id: str, at: datetime) -> Operation:
        """Make a failed or cancelled operation pending again, with all its attempts; others stay as they are."""
        from_states = (OperationState.FAILED, OperationState.CANCELLED)
        change = {"state": OperationState.PENDING.value, "updated": to_us(at), "error": "", "attempts": 0}
        change |= {"cancelling": False, "lease_until": None}
        return await self._change(bank_uid, operation_id, from_states, change)

    async def _change(
        self, bank_uid: str, operation_id: str, states: tuple[OperationState, ...], change: dict[str, Any]
    ) -> Operation:
        which = and_(operations.c.id == operation_id, operations.c.bank_uid == bank_uid, _in(states))
        statement = update(operations).where(which)

        def work(connection: Connection) -> Operation:
            connection.execute(statement.values(change))
            return get_operation(connection, bank_uid, operation_id)

        return await self._database.write(work)


def submit_operation(
    connection: Connection,
    bank_uid: str,
    operation: Operation,
    payload: bytes,
    request: RequestRecord | None,
    *,
    origin: str = "",
) -> Submission:
    """Put an operation in the queue, or find the request id's; raises ``BankNotFound``, ``RequestIdReused``.

    ``origin`` is what it comes of, if that is not what is being done now.
    """
    lock_bank(connection, bank_uid)
    if request:
        find_request(connection, bank_uid, request)  # refuses the id if it came with other content
        which = (operations.c.bank_uid == bank_uid) & (operations.c.request_id == request.request_id)
        found = connection.execute(select(*_OF_CALLERS).where(which)).first()
        if found is not None:
            return Submission(operation_of(found), replayed=True)
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
        "cancelling": False,
        "request_id": request.request_id if request else None,
        "content_hash": request.content_hash if request else None,
        "origin": origin or current_trace().parent,
    }
    connection.execute(insert(operations).values(row))
    return Submission(operation)


def new_operation(new_id: Callable[[], str], kind: OperationKind, total: int, at: datetime) -> Operation:
    """Return an operation that has not begun."""
    return Operation(new_id(), kind, OperationState.PENDING, created=at, updated=at, total=total)


def get_operation(connection: Connection, bank_uid: str, operation_id: str) -> Operation:
    """Return an operation; raises ``OperationNotFound``."""
    which = (operations.c.id == operation_id) & (operations.c.bank_uid == bank_uid)
    row = connection.execute(select(*_OF_CALLERS).where(which)).first()
    if row is None:
        raise OperationNotFound(operation_id)
    return operation_of(row)


def operation_of(row: Row[Any]) -> Operation:
    """Return a row's operation."""
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


def _in(states: tuple[OperationState, ...]) -> ColumnElement[bool]:
    return operations.c.state.in_([state.value for state in states])
