"""The job worker: carries out operations that callers did not wait for."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import structlog

from recallmesh.core.errors import ArmTimeout, ConflictingWrite, MeshError, Overloaded, StoreUnavailable
from recallmesh.core.ledger import WriteLedger
from recallmesh.core.operation import OperationKind
from recallmesh.core.time import Clock
from recallmesh.core.write import Job

_log = structlog.get_logger()
_MOST_ATTEMPTS = 5
_PASSING = (StoreUnavailable, Overloaded, ArmTimeout, ConflictingWrite)

Handler = Callable[[Job], Awaitable[tuple[str, ...]]]
"""Does one kind of operation; returns the ids of the memories that came of it."""


class JobWorker:
    """Carries out queued operations one after another; what a dead worker left is taken over after its lease.

    An operation that fails in passing is tried again, five times in all. It is cut off when its lease ends, so two
    workers never do the same one.
    """

    def __init__(
        self,
        ledger: WriteLedger,
        handlers: Mapping[OperationKind, Handler],
        *,
        worker: str,
        now: Clock,
        poll_s: float = 0.5,
        lease_s: float = 300.0,
    ) -> None:
        """Do operations of the handlers' kinds; ``worker`` names this one among others."""
        self._ledger = ledger
        self._handlers = handlers
        self._worker = worker
        self._now = now
        self._poll_s = poll_s
        self._lease_s = lease_s
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Look at the queue at once."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._woken.clear()
            try:
                busy = await self.step()
            except MeshError as error:
                _log.warning("jobs.failed", error=error.message)
                busy = False
            if not busy:
                await self._pause()

    async def step(self) -> bool:
        """Carry out one operation; tells whether there was one."""
        job = await self._ledger.lease_job(self._worker, lease=timedelta(seconds=self._lease_s), now=self._now())
        if job is None:
            return False
        memory_ids: tuple[str, ...] = ()
        error, retry = "", False
        try:
            async with asyncio.timeout(self._lease_s):
                memory_ids = await self._handle(job)
        except TimeoutError:
            error, retry = f"was not done within {self._lease_s:g} s", True
        except _PASSING as failure:
            error, retry = failure.message, True
        except MeshError as failure:
            error = failure.message
        retry = retry and job.operation.attempts < _MOST_ATTEMPTS
        if error:
            _log.warning("jobs.operation_failed", operation_id=job.operation.id, error=error, retry=retry)
        await self._ledger.finish_job(job.operation.id, memory_ids=memory_ids, error=error, at=self._now(), retry=retry)
        # After a passing failure a pause: what was down is hardly up again at once.
        return not retry

    async def _handle(self, job: Job) -> tuple[str, ...]:
        if job.operation.attempts > _MOST_ATTEMPTS:
            # Its workers died or ran out of time, each of them: another would too.
            raise MeshError("its workers did not finish it")
        handler = self._handlers.get(job.operation.kind)
        if handler is None:
            raise MeshError(f"operations of kind {job.operation.kind} are not carried out here")
        return await handler(job)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._poll_s):
                await self._woken.wait()
        except TimeoutError:
            return
