"""Retain's side of the ledger: the write transaction, idempotency, the outbox and the queue of operations."""

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from recallmesh.core.arm import ArmName
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.event import decided
from recallmesh.core.operation import OperationKind
from recallmesh.core.write import Commit, OutboxRow, RequestRecord, Submission, Write
from recallmesh.ledger import operations, outbox
from recallmesh.ledger.banks import hold_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.documents import known_digests
from recallmesh.ledger.events import put_events
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.removal import delete_where, retired_by
from recallmesh.ledger.schema import is_retiring, memories
from recallmesh.ledger.writing import commit_write, find_request


class SqlWrites:
    """``WriteLedger`` on SQL."""

    _database: Database
    _new_id: Callable[[], str]
    _own_for: timedelta

    async def find_request(self, bank_uid: str, request: RequestRecord) -> Commit | None:
        """Return what the request id wrote before; raises ``RequestIdReused``."""
        return await self._database.read(lambda connection: find_request(connection, bank_uid, request))

    async def known_digests(self, bank_uid: str, document_id: str) -> frozenset[str]:
        """Return the digests of a document's chunks."""
        return await self._database.read(lambda connection: known_digests(connection, bank_uid, document_id))

    async def commit(self, write: Write) -> Commit:
        """Write everything in one transaction, or replay what the request id wrote.

        The outbox rows are the caller's own for a while (``own_lease`` of ``open_ledger``) from ``write.at``: it
        delivers them now; only when it does not, others do.
        """
        return await self._database.write(
            lambda connection: commit_write(connection, write, new_id=self._new_id, own_for=self._own_for)
        )

    async def retire(self, bank_uid: str, write_id: str, arms: tuple[ArmName, ...], at: datetime) -> int:
        """Delete the memories that a write left to retire; the outbox rows are due at once, under the write's id."""
        removing = outbox.Removing(arms, outbox.Due(at, write_id))

        def work(connection: Connection) -> int:
            hold_bank(connection, bank_uid)
            return delete_where(connection, bank_uid, retired_by(write_id), removing)

        return await self._database.write(work)

    async def unretired(self, before: datetime) -> tuple[tuple[str, str], ...]:
        """Return (bank_uid, write_id) of writes before a moment that still have memories to retire, oldest first."""
        query = (
            select(memories.c.bank_uid, memories.c.retiring_write)
            .where(is_retiring, memories.c.retiring_at < to_us(before))
            .distinct()
            .order_by(memories.c.bank_uid, memories.c.retiring_write)
        )
        return await self._database.read(
            lambda connection: tuple((bank_uid, write_id) for bank_uid, write_id in connection.execute(query))
        )

    async def lease_outbox(
        self, worker: str, arm: ArmName, *, limit: int, lease: timedelta, now: datetime
    ) -> tuple[OutboxRow, ...]:
        """Take due rows of an arm, oldest first; an idle poll takes no write lock."""
        if not await self._database.read(lambda connection: outbox.has_due(connection, arm, now)):
            return ()
        return await self._database.write(
            lambda connection: outbox.lease_rows(connection, worker, arm, limit=limit, lease=lease, now=now)
        )

    async def hold_outbox(self, worker: str, seqs: tuple[int, ...], *, until: datetime) -> int:
        """Hide leased rows for longer; returns how many the worker still has."""
        return await self._database.write(lambda connection: outbox.hold_rows(connection, worker, seqs, until=until))

    async def own_outbox(self, write_id: str) -> tuple[OutboxRow, ...]:
        """Return a write's rows that are still there."""
        return await self._database.read(lambda connection: outbox.rows_of_write(connection, write_id))

    async def settle_outbox(self, seqs: tuple[int, ...]) -> None:
        """Forget delivered rows."""
        if seqs:
            await self._database.write(lambda connection: outbox.settle_rows(connection, seqs))

    async def defer_outbox(self, seqs: tuple[int, ...], *, until: datetime, error: str) -> None:
        """Count an attempt and make the rows due again at a moment."""
        if seqs:
            await self._database.write(lambda connection: outbox.defer_rows(connection, seqs, until=until, error=error))

    async def outbox_lag(self, now: datetime) -> tuple[tuple[ArmName, int, timedelta], ...]:
        """Return per arm that has any the number of rows and the age of the oldest."""
        return await self._database.read(lambda connection: outbox.lag(connection, now))

    async def submit(
        self,
        bank_uid: str,
        kind: OperationKind,
        payload: bytes,
        total: int,
        at: datetime,
        request: RequestRecord | None = None,
        *,
        decisions: tuple[SecurityEvent, ...] = (),
    ) -> Submission:
        """Put an operation in the queue, or find the one that has the request id."""
        operation = operations.new_operation(self._new_id, kind, total, at)

        def work(connection: Connection) -> Submission:
            submitted = operations.submit_operation(connection, bank_uid, operation, payload, request)
            if not submitted.replayed:
                put_events(connection, bank_uid, decided(decisions), at)
            return submitted

        return await self._database.write(work)
