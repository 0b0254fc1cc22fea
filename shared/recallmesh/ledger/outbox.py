"""The outbox: what each arm still has to do, in order for each memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from recallmesh.core.arm import ArmName
from recallmesh.core.trace_context import current_trace
from recallmesh.core.write import OutboxAction, OutboxRow
from recallmesh.ledger.dialect import among, among_bound, held_in_order
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.schema import outbox

_COLUMNS = (
    outbox.c.seq,
    outbox.c.write_id,
    outbox.c.bank_uid,
    outbox.c.arm,
    outbox.c.action,
    outbox.c.memory_id,
    outbox.c.version,
    outbox.c.attempts,
    outbox.c.origin,
)


_PUT = insert(outbox)
_DUE = select(outbox.c.seq).where(outbox.c.arm == bindparam("to"), outbox.c.due <= bindparam("now")).limit(1)
_OF_WRITE = select(*_COLUMNS).where(outbox.c.write_id == bindparam("write")).order_by(outbox.c.seq)
_SETTLE = delete(outbox).where(held_in_order(outbox.c.seq, among_bound(outbox.c.seq, "seqs")))


@dataclass(frozen=True, slots=True)
class Due:
    """When rows were made, by which write, and from when others than that write's own process may take them."""

    at: datetime
    write_id: str = ""
    own_for: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Removing:
    """Who is told of a change, and when."""

    arms: tuple[ArmName, ...]
    due: Due


def put_rows(
    connection: Connection,
    bank_uid: str,
    action: OutboxAction,
    versions: Iterable[tuple[str, int]],
    arms: Iterable[ArmName],
    due: Due,
) -> None:
    """Add a row for each memory (id and version) and arm."""
    arms = tuple(arms)
    created, free, origin = to_us(due.at), to_us(due.at + due.own_for), current_trace().parent
    rows = [
        {
            "write_id": due.write_id,
            "bank_uid": bank_uid,
            "arm": arm.value,
            "action": action.value,
            "memory_id": memory_id,
            "version": version,
            "attempts": 0,
            "created": created,
            "due": free,
            "worker": "",
            "error": "",
            "origin": origin,
        }
        for memory_id, version in versions
        for arm in arms
    ]
    if rows:
        connection.execute(_PUT, rows)


def supersede(connection: Connection, bank_uid: str, memory_ids: Iterable[str]) -> None:
    """Forget what waits for the memories: what they are to become next is about to be put in.

    A delivery that is under way may still arrive; its older version loses in the index.
    """
    _forget(connection, (outbox.c.bank_uid == bank_uid) & among(outbox.c.memory_id, memory_ids))


def forget_bank(connection: Connection, bank_uid: str) -> None:
    """Forget all that waits for a bank."""
    _forget(connection, outbox.c.bank_uid == bank_uid)


def _forget(connection: Connection, which: ColumnElement[bool]) -> None:
    connection.execute(delete(outbox).where(held_in_order(outbox.c.seq, which)))


def has_due(connection: Connection, arm: ArmName, now: datetime) -> bool:
    """Tell whether a lease may find rows, without taking the write lock and however many rows back off."""
    return connection.execute(_DUE, {"to": arm.value, "now": to_us(now)}).first() is not None


def lease_rows(
    connection: Connection, worker: str, arm: ArmName, *, limit: int, lease: timedelta, now: datetime
) -> tuple[OutboxRow, ...]:
    """Take due rows and hide them for the lease."""
    found = connection.execute(_due(arm, now, limit).with_for_update(skip_locked=True)).all()
    if found:
        taken = [row.seq for row in found]
        hidden = {"due": to_us(now + lease), "worker": worker}
        connection.execute(update(outbox).where(among(outbox.c.seq, taken)).values(hidden))
    return tuple(_row_of(row) for row in found)


def hold_rows(connection: Connection, worker: str, seqs: tuple[int, ...], *, until: datetime) -> int:
    """Hide a worker's rows for longer; returns how many it still has."""
    its_own = (outbox.c.worker == worker) & among(outbox.c.seq, seqs)
    held = update(outbox).where(held_in_order(outbox.c.seq, its_own))
    return connection.execute(held.values(due=to_us(until))).rowcount


def rows_of_write(connection: Connection, write_id: str) -> tuple[OutboxRow, ...]:
    """Return a write's rows that are still there, in order."""
    return tuple(_row_of(row) for row in connection.execute(_OF_WRITE, {"write": write_id}))


def settle_rows(connection: Connection, seqs: tuple[int, ...]) -> None:
    """Forget delivered rows; those gone already are no error."""
    connection.execute(_SETTLE, {"seqs": list(seqs)})


def defer_rows(connection: Connection, seqs: tuple[int, ...], *, until: datetime, error: str) -> None:
    """Count an attempt and make the rows due at a moment."""
    changes = {"attempts": outbox.c.attempts + 1, "due": to_us(until), "error": error, "worker": ""}
    deferred = update(outbox).where(held_in_order(outbox.c.seq, among(outbox.c.seq, seqs)))
    connection.execute(deferred.values(changes))


def lag(connection: Connection, now: datetime) -> tuple[tuple[ArmName, int, timedelta], ...]:
    """Return per arm the number of rows and the age of the oldest."""
    query = select(outbox.c.arm, func.count(), func.min(outbox.c.created)).group_by(outbox.c.arm).order_by(outbox.c.arm)
    return tuple(
        (ArmName(arm), number, max(timedelta(), now - from_us(oldest)))
        for arm, number, oldest in connection.execute(query)
    )


def _due(arm: ArmName, now: datetime, limit: int) -> Select[Any]:
    """Due rows with nothing ahead of them: neither of the same memory, nor across the removal of a bank.

    Rows that are leased or backing off are ahead all the same: order matters more than speed. Three tests, since each
    is one seek in an index, which one test with an OR is not.
    """
    earlier = outbox.alias("earlier")
    ahead: ColumnElement[bool] = and_(
        earlier.c.bank_uid == outbox.c.bank_uid, earlier.c.arm == outbox.c.arm, earlier.c.seq < outbox.c.seq
    )
    drops_bank = outbox.c.action == OutboxAction.DROP_BANK.value
    return (
        select(*_COLUMNS)
        .where(
            outbox.c.arm == arm.value,
            outbox.c.due + 0 <= to_us(now),  # the sum keeps the index on due out: all due rows would be sorted by it
            ~exists().where(ahead, earlier.c.memory_id == outbox.c.memory_id),
            ~exists().where(ahead, earlier.c.memory_id == ""),
            or_(~drops_bank, ~exists().where(ahead)),
        )
        .order_by(outbox.c.seq)
        .limit(limit)
    )


def _row_of(row: Any) -> OutboxRow:  # noqa: ANN401 (a row of _COLUMNS)
    seq, write_id, bank_uid, arm, action, memory_id, version, attempts, origin = row
    return OutboxRow(seq, write_id, bank_uid, ArmName(arm), OutboxAction(action), memory_id, version, attempts, origin)
