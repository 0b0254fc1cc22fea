"""Jobs: operations as those see them who carry them out, who hold one for a time and say how far they are."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from recallmesh.core.bank import Bank
from recallmesh.core.operation import Operation, OperationKind


@dataclass(frozen=True, slots=True)
class Job:
    """A leased operation and the request to carry out, as the bytes that were put in.

    ``origin`` is the ``traceparent`` of what asked for it; empty: that was not traced.
    """

    operation: Operation
    bank: Bank
    payload: bytes
    origin: str = ""


class Progress(Protocol):
    """How a handler says how far it is, and hears that it is to stop."""

    async def __call__(self, done: int, total: int, /) -> None:
        """Write that ``done`` of ``total`` items are done; call it where the work can be left without loss.

        Raises:
            asyncio.CancelledError: the operation was cancelled. Let it pass.

        """
        ...


Handler = Callable[[Job, Progress], Awaitable[tuple[str, ...]]]
"""Does one kind of operation; returns the ids of the memories that came of it.

It may be begun again after it was cut off at any point: what it did before must do no harm, and is best not done twice.
"""


class Standing(StrEnum):
    """How a worker and its operation stand to each other."""

    HELD = "held"
    """The worker holds it and is to go on."""
    CANCELLED = "cancelled"
    """The worker holds it and is to stop where it can."""
    LOST = "lost"
    """It is another worker's, finished, or gone with its bank."""


class JobLedger(Protocol):
    """The worker's side of the queue of operations."""

    async def lease_job(
        self, worker: str, kinds: tuple[OperationKind, ...], *, lease: timedelta, now: datetime
    ) -> Job | None:
        """Take the oldest operation of the kinds that is pending and due, or running with its lease over.

        One that was to be cancelled and whose worker is gone becomes cancelled instead.
        """
        ...

    async def renew_job(
        self,
        operation_id: str,
        worker: str,
        *,
        lease: timedelta,
        now: datetime,
        progress: tuple[int, int] | None = None,
    ) -> Standing:
        """Hold an operation for longer, and write how far it is (items done, items in all)."""
        ...

    async def finish_job(
        self, operation_id: str, worker: str, *, memory_ids: tuple[str, ...] = (), error: str = "", at: datetime
    ) -> None:
        """Mark an operation succeeded (no error) or failed, unless the worker holds it no more."""
        ...

    async def operation_lag(self, now: datetime) -> tuple[tuple[OperationKind, int, timedelta], ...]:
        """Return per kind the number of operations that have not ended, and the age of the oldest."""
        ...

    async def return_job(
        self, operation_id: str, worker: str, *, error: str = "", due: datetime, at: datetime, begun: bool = True
    ) -> None:
        """Make an operation pending again, due at a moment, or cancelled if that was asked for.

        ``begun`` off: it is as if the worker had never had it, and no attempt is counted. Nothing happens if the worker
        holds it no more.
        """
        ...
