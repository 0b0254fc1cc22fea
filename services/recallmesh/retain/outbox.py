"""The outbox worker: brings to every arm what it missed, until it has it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Any

import structlog

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.encoder import Embedder
from recallmesh.core.errors import ArmTimeout, MeshError, Overloaded, StoreUnavailable
from recallmesh.core.time import Clock
from recallmesh.core.write import OutboxRow
from recallmesh.retain.delivery import Carrier
from recallmesh.retain.encoding import Encodings
from recallmesh.retain.fan_out import still_to_index
from recallmesh.retain.lease import Lease
from recallmesh.retain.pause import pause
from recallmesh.retain.retainer import RetainLedger

_log = structlog.get_logger()
_LONGEST_WAIT_S = 60.0
_TOO_MANY_DOUBLINGS = 10
# Later than any fan-out still at work: retiring is its business first.
_RETIRE_AFTER = timedelta(minutes=1)
RETIRE_EVERY_S = 10.0
Delivering = Callable[[ArmName, Sequence[OutboxRow], Coroutine[Any, Any, None]], Awaitable[None]]
"""Awaits the delivery of some rows to an arm, and takes note of it."""
_PASSING = (StoreUnavailable, Overloaded, ArmTimeout)


async def plainly(_name: ArmName, _rows: Sequence[OutboxRow], work: Coroutine[Any, Any, None]) -> None:
    """Deliver, and take note of nothing."""
    await work


class OutboxWorker:
    """Delivers the outbox's rows, each arm for itself, in order per memory, exactly once in effect.

    Delivered twice is as once, since entries carry versions. A failure makes rows wait (1 s, doubling up to 60 s);
    no failure of an arm, the embedder or the ledger ends the worker.
    """

    def __init__(
        self,
        ledger: RetainLedger,
        arms: Mapping[ArmName, Arm],
        embedder: Embedder,
        *,
        worker: str,
        now: Clock,
        random: Callable[[], float],
        poll_s: float = 0.5,
        batch: int = 200,
        lease_s: float = 15.0,
        delivering: Delivering = plainly,
        encodings: Encodings | None = None,
    ) -> None:
        """Serve ``arms``; ``worker`` names this one among others, ``random`` gives numbers in [0, 1).

        ``encodings`` say which models' vectors are written, where there may be another than the embedder's.
        """
        self._delivering = delivering
        self._ledger = ledger
        self._arms = arms
        self._carrier = Carrier(ledger, embedder, encodings)
        self._worker = worker
        self._now = now
        self._random = random
        self._poll_s = poll_s
        self._batch = batch
        self._lease = timedelta(seconds=lease_s)
        self._woken = {name: asyncio.Event() for name in arms}

    def wake(self) -> None:
        """Look at the outbox at once."""
        for event in self._woken.values():
            event.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for name in self._arms:
                tasks.create_task(self._serve(name))
            tasks.create_task(self._retire())

    async def drain(self, name: ArmName) -> bool:
        """Deliver one batch that is due at an arm; tells whether there may be more."""
        rows = await self._ledger.lease_outbox(
            self._worker, name, limit=self._batch, lease=self._lease, now=self._now()
        )
        for _, group in groupby(sorted(rows, key=lambda row: (row.bank_uid, row.seq)), key=lambda row: row.bank_uid):
            await self._bring(name, list(group))
        return bool(rows)

    async def retire(self) -> None:
        """Retire what writes left behind whose caller is gone, once an arm has their new version."""
        for bank_uid, write_id in await self._ledger.unretired(self._now() - _RETIRE_AFTER):
            waiting = still_to_index(await self._ledger.own_outbox(write_id))
            if not self._arms or waiting < self._arms.keys():
                await self._ledger.retire(bank_uid, write_id, tuple(self._arms), self._now())

    async def _serve(self, name: ArmName) -> None:
        woken = self._woken[name]
        while True:
            woken.clear()
            try:
                more = await self.drain(name)
            except MeshError as error:
                _log.warning("outbox.failed", arm=name, error=error.message)
                more = False
            if not more:
                await pause(woken, self._poll_s)

    async def _retire(self) -> None:
        while True:
            try:
                await self.retire()
            except MeshError as error:
                _log.warning("outbox.retire_failed", error=error.message)
            await asyncio.sleep(RETIRE_EVERY_S)

    async def _bring(self, name: ArmName, rows: Sequence[OutboxRow]) -> None:
        try:
            async with Lease(self._lease.total_seconds(), partial(self._hold, rows)).kept():
                await self._delivering(name, rows, self._carrier.deliver(name, self._arms[name], rows))
        except _PASSING as error:
            await self._defer(name, rows, error.message)
        except TimeoutError:
            await self._defer(name, rows, "its lease was lost")
        except MeshError as error:
            if len(rows) == 1:
                await self._defer(name, rows, error.message)
                return
            # One that the arm refuses must not hold up the others.
            for row in rows:
                await self._bring(name, [row])
        else:
            await self._ledger.settle_outbox(tuple(row.seq for row in rows))

    async def _hold(self, rows: Sequence[OutboxRow]) -> bool:
        until = self._now() + self._lease
        return bool(await self._ledger.hold_outbox(self._worker, tuple(row.seq for row in rows), until=until))

    async def _defer(self, name: ArmName, rows: Sequence[OutboxRow], why: str) -> None:
        attempts = max(row.attempts for row in rows)
        _log.warning("outbox.deferred", arm=name, rows=len(rows), attempts=attempts, error=why)
        delay = min(_LONGEST_WAIT_S, 2.0 ** min(attempts, _TOO_MANY_DOUBLINGS)) * (0.5 + self._random() / 2)
        until = self._now() + timedelta(seconds=delay)
        await self._ledger.defer_outbox(tuple(row.seq for row in rows), until=until, error=why)
