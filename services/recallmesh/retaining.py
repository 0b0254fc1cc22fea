# ruff: noqa: PLC0415 - a process has only the extras of the parts it hosts, and starts faster for what it does not load
"""Opens the retain service, and the loops that finish what its calls left: the outbox, operations, webhooks, expiry."""

import os
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from recallmesh.changing import EncodingsInUse
from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.event import Event, Webhook
from recallmesh.core.job import Handler, Job, Progress
from recallmesh.core.ledger import Ledger
from recallmesh.core.operation import OperationKind
from recallmesh.core.retain import Retainer
from recallmesh.core.time import system_clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.write import OutboxRow
from recallmesh.loops import running
from recallmesh.retain.extraction import Extractor
from recallmesh.retain.observation import ObservationWriter
from recallmesh.settings import Settings
from recallmesh.telemetry.attribute import ATTEMPTS, BANK_UID, EVENT_ID, ITEMS, OPERATION_ID, PART, WEBHOOK_ID
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.tracing import Attributes

if TYPE_CHECKING:
    from recallmesh.retain.outbox import Delivering
    from recallmesh.retain.posting import Failure
    from recallmesh.retain.webhooks import PostingOne


@asynccontextmanager
async def open_retainer(
    settings: Settings,
    *,
    ledger: Ledger,
    arms: Mapping[ArmName, Arm],
    encodings: EncodingsInUse,
    extractor: Extractor,
    writer: ObservationWriter,
    tokens: TokenCounter,
    metrics: Metrics,
) -> AsyncIterator[Retainer]:
    """Make the retainer, and run the loops that finish what its calls left: the outbox and the operations."""
    from recallmesh.retain.consolidating import Consolidating, ConsolidationClock
    from recallmesh.retain.consolidator import Consolidator, Limits
    from recallmesh.retain.delivery import Carrier
    from recallmesh.retain.expiry import ExpiryWorker
    from recallmesh.retain.fan_out import FanOut
    from recallmesh.retain.httpcore2 import open_httpcore_poster
    from recallmesh.retain.jobs import JobWorker
    from recallmesh.retain.lag import LagClock
    from recallmesh.retain.outbox import OutboxWorker
    from recallmesh.retain.repair import Repairer
    from recallmesh.retain.retainer import MeshRetainer
    from recallmesh.retain.webhooks import WebhookWorker

    own, embedder = settings.retain, encodings.all[0].embedder
    guard = Guard("worker", timeout_s=None, metrics=metrics)
    worker = f"{os.getpid()}-{uuid4().hex[:8]}"
    outbox = OutboxWorker(
        ledger,
        arms,
        embedder,
        worker=worker,
        now=system_clock,
        random=random.random,
        poll_s=own.outbox_poll_s,
        batch=own.outbox_batch,
        lease_s=own.outbox_lease_s,
        delivering=_delivering(guard, metrics),
        encodings=encodings,
    )
    wakes: list[Callable[[], None]] = [outbox.wake]

    def wake() -> None:
        for one in wakes:
            one()

    consolidating = Consolidating(own.consolidation, timedelta(seconds=own.consolidation_delay_s))
    consolidators = [
        Consolidator(
            ledger,
            {**arms, **one.arms},
            one.embedder,
            writer,
            FanOut(ledger, arms, Carrier(ledger, one.embedder, encodings), system_clock, own.arm_timeout_s),
            tokens,
            now=system_clock,
            new_id=lambda: str(uuid4()),
            consolidating=consolidating,
            limits=Limits(again=timedelta(seconds=own.consolidation_again_s)),
        )
        for one in encodings.all
    ]

    async def consolidate(job: Job, progress: Progress) -> tuple[str, ...]:
        # One model for the whole of it: what is near by one is not by another.
        in_use = encodings.all.index((await encodings.written()).in_use)
        return await consolidators[in_use].work(job, progress)

    retainer = MeshRetainer(
        ledger,
        arms,
        embedder,
        extractor,
        tokens,
        now=system_clock,
        new_id=lambda: str(uuid4()),
        arm_timeout_s=own.arm_timeout_s,
        batches=own.batches,
        batch_timeout_s=own.timeout_s,
        consolidation=consolidating,
        on_pending=wake,
        on_retained=metrics.observe_retained,
        encodings=encodings,
    )
    repairer = Repairer(ledger, arms, embedder, now=system_clock, on_pending=wake, encodings=encodings)
    handlers: dict[OperationKind, Handler] = {
        OperationKind.RETAIN: retainer.work,
        OperationKind.REPROCESS: retainer.reprocess,
        OperationKind.REPAIR: repairer.work,
        OperationKind.CONSOLIDATE: consolidate,
    }
    jobs = JobWorker(
        ledger,
        {kind: _guarded(guard, kind, handler) for kind, handler in handlers.items()},
        worker=worker,
        now=system_clock,
        poll_s=own.outbox_poll_s,
        lease_s=own.job_lease_s,
    )
    wakes.append(jobs.wake)
    expiry = ExpiryWorker(ledger, keep=timedelta(days=settings.events.kept_days), now=system_clock)
    clock = ConsolidationClock(
        ledger,
        now=system_clock,
        poll_s=own.outbox_poll_s,
        on_begun=jobs.wake,
        observe=metrics.observe_backlog,
    )
    lag = LagClock(ledger, now=system_clock, outbox=metrics.observe_outbox, operations=metrics.observe_operations)
    async with open_httpcore_poster(private=settings.events.webhook_private) as poster:
        webhooks = WebhookWorker(
            ledger,
            poster,
            worker=worker,
            now=system_clock,
            random=random.random,
            attempts=settings.events.webhook_attempts,
            poll_s=own.outbox_poll_s,
            posting=_posting(guard, metrics),
        )
        async with running(guard, outbox.run, jobs.run, webhooks.run, expiry.run, clock.run, lag.run):
            yield retainer


def _guarded(guard: Guard, kind: OperationKind, handler: Handler) -> Handler:
    async def called(job: Job, progress: Progress) -> tuple[str, ...]:
        return await handler(job, progress)

    def about(job: Job) -> Attributes:
        operation = job.operation
        return {
            BANK_UID: job.bank.uid,
            OPERATION_ID: operation.id,
            ATTEMPTS: operation.attempts,
            ITEMS: operation.total,
        }

    return lambda job, progress: guard.run(
        f"operation_{kind}", called(job, progress), asked=partial(about, job), origins=(job.origin,)
    )


def _delivering(guard: Guard, metrics: Metrics) -> "Delivering":
    def about(name: ArmName, rows: Sequence[OutboxRow]) -> Attributes:
        attempts = max(row.attempts for row in rows)
        return {PART: name.value, BANK_UID: rows[0].bank_uid, ITEMS: len(rows), ATTEMPTS: attempts}

    async def deliver(name: ArmName, rows: Sequence[OutboxRow], work: Coroutine[Any, Any, None]) -> None:
        origins = (row.origin for row in rows)
        await guard.run("deliver", work, asked=partial(about, name, rows), origins=origins)
        metrics.outbox_delivered.labels(name.value).inc(len(rows))

    return deliver


def _posting(guard: Guard, metrics: Metrics) -> "PostingOne":
    def about(webhook: Webhook, event: Event) -> Attributes:
        return {WEBHOOK_ID: webhook.id, EVENT_ID: event.id, ATTEMPTS: webhook.failed_attempts}

    async def post(webhook: Webhook, event: Event, work: Coroutine[Any, Any, "Failure | None"]) -> "Failure | None":
        failure = await guard.run("post", work, asked=partial(about, webhook, event), origins=(event.origin,))
        metrics.webhook_posts.labels("delivered" if failure is None else "failed").inc()
        return failure

    return post
