"""The job worker: carries out operations that callers did not wait for."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from uuid import uuid4

import structlog

from recallmesh.core.errors import ArmTimeout, ConflictingWrite, MeshError, Overloaded, StoreUnavailable
from recallmesh.core.job import Handler, Job, JobLedger, Standing
from recallmesh.core.operation import OperationKind
from recallmesh.core.time import Clock
from recallmesh.retain.lease import Lease
from recallmesh.retain.pause import pause

_log = structlog.get_logger()
_MOST_ATTEMPTS = 5
_PASSING = (StoreUnavailable, Overloaded, ArmTimeout, ConflictingWrite)


class JobWorker:
    """Carries out queued operations, those of a kind one after another, kinds beside each other.

    What a dead worker left is taken over when its lease ends; a living one renews its lease for as long as the work
    goes on, and one that is stopped gives its operations back at once. An operation that fails in passing is tried
    again, five times in all, after 2, 4, 8 and 16 s.
    """

    def __init__(
        self,
        ledger: JobLedger,
        handlers: Mapping[OperationKind, Handler],
        *,
        worker: str,
        now: Clock,
        poll_s: float = 0.5,
        lease_s: float = 30.0,
    ) -> None:
        """Do operations of the handlers' kinds; ``worker`` names this one among others."""
        self._ledger = ledger
        self._handlers = handlers
        self._worker = worker
        self._now = now
        self._poll_s = poll_s
        self._lease = timedelta(seconds=lease_s)
        self._woken = {kind: asyncio.Event() for kind in handlers}

    def wake(self) -> None:
        """Look at the queue at once."""
        for event in self._woken.values():
            event.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for kind in self._handlers:
                tasks.create_task(self._serve(kind))

    async def step(self, *kinds: OperationKind) -> bool:
        """Carry out one operation, of the kinds or of any; tells whether there was one."""
        # A name of its own for each: what this process had and lost is another's, even another's within it.
        worker = f"{self._worker}-{uuid4().hex[:8]}"
        job = await self._ledger.lease_job(worker, kinds or tuple(self._handlers), lease=self._lease, now=self._now())
        if job is not None:
            await self._carry_out(job, _Hold(self._ledger, job.operation.id, worker, self._lease, self._now))
        return job is not None

    async def _serve(self, kind: OperationKind) -> None:
        woken = self._woken[kind]
        while True:
            woken.clear()
            try:
                busy = await self.step(kind)
            except MeshError as error:
                _log.warning("jobs.failed", kind=kind, error=error.message)
                busy = False
            if not busy:
                await pause(woken, self._poll_s)

    async def _carry_out(self, job: Job, hold: "_Hold") -> None:
        task = asyncio.current_task()
        try:
            async with hold.lease.kept():
                memory_ids = await self._handle(job, hold)
        except asyncio.CancelledError:
            leaving = task is not None and task.cancelling() > 0
            await self._return(job, hold, begun=not leaving)
            if leaving:
                raise
        except TimeoutError:
            await self._retry(job, hold, "its worker could not keep it")
        except _PASSING as failure:
            await self._retry(job, hold, failure.message)
        except MeshError as failure:
            await self._fail(job, hold, failure.message)
        else:
            await self._ledger.finish_job(job.operation.id, hold.worker, memory_ids=memory_ids, at=self._now())

    async def _handle(self, job: Job, hold: "_Hold") -> tuple[str, ...]:
        if job.operation.attempts > _MOST_ATTEMPTS:
            # Its workers died, each of them: another would too.
            raise MeshError("its workers did not finish it")
        handler = self._handlers.get(job.operation.kind)
        if handler is None:
            raise MeshError(f"operations of kind {job.operation.kind} are not carried out here")
        return await handler(job, hold)

    async def _retry(self, job: Job, hold: "_Hold", why: str) -> None:
        if job.operation.attempts >= _MOST_ATTEMPTS:
            await self._fail(job, hold, why)
            return
        _log.warning("jobs.operation_waits", operation_id=job.operation.id, kind=job.operation.kind, error=why)
        # What was down is hardly up again at once.
        pause = timedelta(seconds=2**job.operation.attempts)
        await self._return(job, hold, error=why, pause=pause)

    async def _fail(self, job: Job, hold: "_Hold", why: str) -> None:
        _log.warning("jobs.operation_failed", operation_id=job.operation.id, kind=job.operation.kind, error=why)
        await self._ledger.finish_job(job.operation.id, hold.worker, error=why, at=self._now())

    async def _return(
        self, job: Job, hold: "_Hold", *, error: str = "", pause: timedelta = timedelta(), begun: bool = True
    ) -> None:
        at = self._now()
        await self._ledger.return_job(job.operation.id, hold.worker, error=error, due=at + pause, at=at, begun=begun)


class _Hold:
    """One operation in one worker's hand: fulfils ``Progress``, and keeps the lease meanwhile."""

    def __init__(self, ledger: JobLedger, operation_id: str, worker: str, length: timedelta, now: Clock) -> None:
        self.worker = worker
        self._ledger = ledger
        self._operation_id = operation_id
        self._length = length
        self._now = now
        self.lease = Lease(length.total_seconds(), self._renew)

    async def __call__(self, done: int, total: int) -> None:
        began = asyncio.get_running_loop().time()
        standing = await self._ask((done, total))
        self.lease.extend(began, held=standing is not Standing.LOST)
        if standing is not Standing.HELD:
            raise asyncio.CancelledError

    async def _renew(self) -> bool:
        return await self._ask() is not Standing.LOST

    async def _ask(self, progress: tuple[int, int] | None = None) -> Standing:
        return await self._ledger.renew_job(
            self._operation_id, self.worker, lease=self._length, now=self._now(), progress=progress
        )
