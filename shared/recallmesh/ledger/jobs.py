"""Operations in the ledger, as workers see them: taken for a time, kept, given back, finished."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, update

from recallmesh.core.job import Job, Standing
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.ledger.banks import bank_of
from recallmesh.ledger.database import Database
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.operations import operation_of
from recallmesh.ledger.rows import pack
from recallmesh.ledger.schema import banks, operations

_IS_PENDING = operations.c.state == OperationState.PENDING.value
_IS_RUNNING = operations.c.state == OperationState.RUNNING.value


class SqlJobs:
    """``JobLedger`` on SQL."""

    _database: Database

    async def lease_job(
        self, worker: str, kinds: tuple[OperationKind, ...], *, lease: timedelta, now: datetime
    ) -> Job | None:
        """Take the oldest operation of the kinds that is due or whose worker is gone; an idle poll takes no lock."""
        found = select(operations.c.seq).where(_is_free(kinds, now)).limit(1)
        if await self._database.read(lambda connection: connection.execute(found).first()) is None:
            return None
        return await self._database.write(lambda connection: _lease(connection, worker, kinds, lease, now))

    async def renew_job(
        self,
        operation_id: str,
        worker: str,
        *,
        lease: timedelta,
        now: datetime,
        progress: tuple[int, int] | None = None,
    ) -> Standing:
        """Hold an operation for longer, and write how far it is."""
        change: dict[str, Any] = {"lease_until": to_us(now + lease)}
        if progress is not None:
            done, total = progress
            change |= {"done": done, "total": total, "updated": to_us(now)}
        held = _is_held(operation_id, worker)

        def work(connection: Connection) -> Standing:
            connection.execute(update(operations).where(held).values(change))
            cancelling = connection.execute(select(operations.c.cancelling).where(held)).scalar()
            if cancelling is None:
                return Standing.LOST
            return Standing.CANCELLED if cancelling else Standing.HELD

        return await self._database.write(work)

    async def finish_job(
        self, operation_id: str, worker: str, *, memory_ids: tuple[str, ...] = (), error: str = "", at: datetime
    ) -> None:
        """Mark an operation succeeded or failed; success lets go of the payload: nothing will ask for it again."""
        change: dict[str, Any] = {"error": error, "state": OperationState.FAILED.value}
        if not error:
            done = {"state": OperationState.SUCCEEDED.value, "done": operations.c.total, "payload": b""}
            change |= done | {"memory_ids": pack(memory_ids)}
        await self._let_go(operation_id, worker, change | {"lease_until": None}, at)

    async def return_job(
        self, operation_id: str, worker: str, *, error: str = "", due: datetime, at: datetime, begun: bool = True
    ) -> None:
        """Make an operation pending again, due at a moment, or cancelled if that was asked for."""
        cancelled = (operations.c.cancelling, OperationState.CANCELLED.value)
        change = {"error": error, "state": case(cancelled, else_=OperationState.PENDING.value)}
        if not begun:
            change["attempts"] = operations.c.attempts - 1
        await self._let_go(operation_id, worker, change | {"lease_until": to_us(due)}, at)

    async def operation_lag(self, now: datetime) -> tuple[tuple[OperationKind, int, timedelta], ...]:
        """Return per kind the number of operations that have not ended, and the age of the oldest."""
        query = (
            select(operations.c.kind, func.count(), func.min(operations.c.created))
            .where(or_(_IS_PENDING, _IS_RUNNING))
            .group_by(operations.c.kind)
            .order_by(operations.c.kind)
        )

        def work(connection: Connection) -> tuple[tuple[OperationKind, int, timedelta], ...]:
            return tuple(
                (OperationKind(kind), number, max(timedelta(), now - from_us(oldest)))
                for kind, number, oldest in connection.execute(query)
            )

        return await self._database.read(work)

    async def _let_go(self, operation_id: str, worker: str, change: dict[str, Any], at: datetime) -> None:
        free = {"worker": "", "cancelling": False, "updated": to_us(at)}
        statement = update(operations).where(_is_held(operation_id, worker)).values(change | free)
        await self._database.write(lambda connection: connection.execute(statement))


def _lease(
    connection: Connection, worker: str, kinds: tuple[OperationKind, ...], lease: timedelta, now: datetime
) -> Job | None:
    left = _is_free(kinds, now) & operations.c.cancelling
    gone = {"state": OperationState.CANCELLED.value, "cancelling": False, "worker": "", "updated": to_us(now)}
    connection.execute(update(operations).where(left).values(gone))
    free = select(operations.c.seq).where(_is_free(kinds, now)).order_by(operations.c.seq).limit(1)
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
    return Job(operation_of(row), bank_of(bank), bytes(row.payload), row.origin)


def _is_free(kinds: tuple[OperationKind, ...], now: datetime) -> ColumnElement[bool]:
    over = operations.c.lease_until <= to_us(now)
    wanted = operations.c.kind.in_([kind.value for kind in kinds])
    return and_(wanted, or_(and_(_IS_PENDING, or_(operations.c.lease_until.is_(None), over)), and_(_IS_RUNNING, over)))


def _is_held(operation_id: str, worker: str) -> ColumnElement[bool]:
    return and_(operations.c.id == operation_id, operations.c.worker == worker, _IS_RUNNING)
