"""What waits in the ledger, counted now and then: changes for the arms, operations for a worker."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import MeshError
from recallmesh.core.operation import OperationKind
from recallmesh.core.time import Clock

_log = structlog.get_logger()
COUNT_EVERY_S = 10.0

OutboxLag = Sequence[tuple[ArmName, int, timedelta]]
OperationLag = Sequence[tuple[OperationKind, int, timedelta]]


class LagLedger(Protocol):
    """What of the ledger is counted."""

    async def outbox_lag(self, now: datetime) -> tuple[tuple[ArmName, int, timedelta], ...]:
        """Return per arm the number of rows and the age of the oldest."""
        ...

    async def operation_lag(self, now: datetime) -> tuple[tuple[OperationKind, int, timedelta], ...]:
        """Return per kind the number of operations that have not ended, and the age of the oldest."""
        ...


class LagClock:
    """Tells what waits, for as long as it runs."""

    def __init__(
        self,
        ledger: LagLedger,
        *,
        now: Clock,
        outbox: Callable[[OutboxLag], None],
        operations: Callable[[OperationLag], None],
        every_s: float = COUNT_EVERY_S,
    ) -> None:
        """Count every so many seconds, and tell both."""
        self._ledger = ledger
        self._now = now
        self._outbox = outbox
        self._operations = operations
        self._every_s = every_s

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                await self.count()
            except MeshError as error:
                _log.warning("lag.not_counted", error=error.message)
            await asyncio.sleep(self._every_s)

    async def count(self) -> None:
        """Count once."""
        self._outbox(await self._ledger.outbox_lag(self._now()))
        self._operations(await self._ledger.operation_lag(self._now()))
