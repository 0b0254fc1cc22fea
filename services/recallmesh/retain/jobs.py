"""The job worker: carries out operations that callers did not wait for."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import structlog

from recallmesh.core.errors import ArmTimeout, ConflictingWrite, MeshError, Overloaded, StoreUnavailable
from recallmesh.core.job import Handler, Job, JobLedger, Standing
from recallmesh.core.operation import OperationKind
from recallmesh.core.time import Clock

_log = structlog.get_logger()
_MOST_ATTEMPTS = 5
_PASSING = (StoreUnavailable, Overloaded, ArmTimeout, ConflictingWrite)
# Of a lease: two renewals may fail before it is over.
_RENEW_AT = 1 / 3


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
                await _wait(woken, self._poll_s)

    async def _carry_out(self, job: Job, hold: "_Hold") -> None:
        task = asyncio.current_task()
        try:
            async with hold.kept():
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


@dataclass(slots=True)
class _Hold:
    """One operation in one worker's hand: fulfils ``Progress``, and renews the lease meanwhile."""

    ledger: JobLedger
    operation_id: str
    worker: str
    lease: timedelta
    now: Clock
    _limit: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))

    async def __call__(self, done: int, total: int) -> None:
        if await self._renew((done, total)) is not Standing.HELD:
            raise asyncio.CancelledError

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep the operation while the work inside goes on.

        Raises:
            TimeoutError: it could not be kept, so that it may be another's.

        """
        seconds = self.lease.total_seconds()
        async with asyncio.timeout(seconds) as self._limit:
            keeping = asyncio.create_task(self._keep(seconds * _RENEW_AT))
            try:
                yield
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                await self._renew()
            except MeshError as error:
                _log.warning("jobs.not_renewed", operation_id=self.operation_id, error=error.message)

    async def _renew(self, progress: tuple[int, int] | None = None) -> Standing:
        began = asyncio.get_running_loop().time()
        standing = await self.ledger.renew_job(
            self.operation_id, self.worker, lease=self.lease, now=self.now(), progress=progress
        )
        if not self._limit.expired():
            lost = standing is Standing.LOST
            self._limit.reschedule(began if lost else began + self.lease.total_seconds())
        return standing


async def _wait(woken: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        return
