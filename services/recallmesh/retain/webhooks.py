"""The webhook worker: posts each bank's events to its addresses, in order, until they have arrived."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any

import structlog

from recallmesh.core.errors import MeshError
from recallmesh.core.event import Event, Posting, Webhook, WebhookLedger
from recallmesh.core.signature import signed_headers
from recallmesh.core.time import Clock
from recallmesh.retain.posting import Failure, Poster, body_of, failure_of

_log = structlog.get_logger()
_EVENTS = 16
"""Events in hand of one address: its lease must outlast them all."""
_LEASE = timedelta(minutes=10)
"""Longer than ``_EVENTS`` posts of the longest timeout (30 s) take."""
_LANES = 8
"""Addresses that are posted to at once: a slow one holds up nobody but itself."""
_FIRST_WAIT_S = 5.0
_LONGEST_WAIT_S = 3600.0
_TOO_MANY_DOUBLINGS = 20


PostingOne = Callable[[Webhook, Event, Coroutine[Any, Any, Failure | None]], Awaitable[Failure | None]]
"""Awaits the post of one event to one address, and takes note of it."""


async def plainly(_webhook: Webhook, _event: Event, work: Coroutine[Any, Any, Failure | None]) -> Failure | None:
    """Post, and take note of nothing."""
    return await work


class WebhookWorker:
    """Posts events to webhooks; each arrives at least once, under one id, and the next only after it.

    One that fails waits (5 s, doubling up to an hour) and is tried again, by whichever worker is there then; after
    ``attempts`` tries in vain its address is given up, and says so.
    """

    def __init__(
        self,
        ledger: WebhookLedger,
        poster: Poster,
        *,
        worker: str,
        now: Clock,
        random: Callable[[], float],
        attempts: int,
        poll_s: float = 0.5,
        posting: PostingOne = plainly,
    ) -> None:
        """Post what the ledger has; ``worker`` names this one among others, ``random`` gives numbers in [0, 1)."""
        self._posting = posting
        self._ledger = ledger
        self._poster = poster
        self._worker = worker
        self._now = now
        self._random = random
        self._attempts = attempts
        self._poll_s = poll_s

    async def run(self) -> None:
        """Work until cancelled."""
        busy: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as tasks:
            while True:
                for posting in await self._lease(_LANES - len(busy)):
                    task = tasks.create_task(self._serve(posting))
                    busy.add(task)
                    task.add_done_callback(busy.discard)
                await asyncio.sleep(self._poll_s)

    async def step(self) -> bool:
        """Serve each webhook whose turn it is once; tells whether there was one."""
        postings = await self._lease(_LANES)
        await asyncio.gather(*(self._serve(posting) for posting in postings))
        return bool(postings)

    async def _lease(self, limit: int) -> tuple[Posting, ...]:
        if limit < 1:
            return ()
        try:
            return await self._ledger.lease_postings(
                self._worker, limit=limit, events=_EVENTS, lease=_LEASE, now=self._now()
            )
        except MeshError as error:
            _log.warning("webhooks.failed", error=error.message)
            return ()

    async def _serve(self, posting: Posting) -> None:
        webhook = posting.webhook
        try:
            for event in posting.events:
                failure = await self._posting(webhook, event, self._post(posting, event))
                if failure is not None:
                    await self._fail(posting, event, failure)
                    return
                own = await self._ledger.settle_posting(webhook.id, self._worker, event.id, more=True)
                if not own:
                    return
            await self._ledger.settle_posting(webhook.id, self._worker, posting.through, more=False)
        except MeshError as error:
            # The lease ends by itself; what was posted and not noted is posted again, under its id.
            _log.warning("webhooks.not_noted", webhook_id=webhook.id, error=error.message)

    async def _post(self, posting: Posting, event: Event) -> Failure | None:
        body = body_of(event)
        headers = {
            "content-type": "application/json",
            "user-agent": "recallmesh",
            **signed_headers(posting.secret, event.id, self._now(), body),
        }
        webhook = posting.webhook
        timeout_s = webhook.timeout.total_seconds()
        try:
            status = await self._poster.post(webhook.url, headers, body, timeout_s=timeout_s)
        except MeshError as error:
            return Failure(error.message)
        return failure_of(status)

    async def _fail(self, posting: Posting, event: Event, failure: Failure) -> None:
        webhook = posting.webhook
        # Only the first event's tries were counted before; what follows it is tried for the first time.
        tried = webhook.failed_attempts if event is posting.events[0] else 0
        final = failure.final or tried + 1 >= self._attempts
        _log.warning(
            "webhooks.post_failed",
            webhook_id=webhook.id,
            event_id=event.id,
            attempts=tried + 1,
            error=failure.error,
            gave_up=final,
        )
        if final:
            await self._ledger.give_up_posting(webhook.id, self._worker, at=self._now(), error=failure.error)
            return
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(tried, _TOO_MANY_DOUBLINGS))
        until = self._now() + timedelta(seconds=wait * (0.5 + self._random() / 2))
        await self._ledger.defer_posting(webhook.id, self._worker, until=until, error=failure.error)
