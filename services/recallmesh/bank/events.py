"""Events over the ledger: listed, watched, and the webhooks that they are posted to."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from recallmesh.core.address import url_violations
from recallmesh.core.bank import BankRef
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.errors import BankNotFound, FieldViolation, InvalidArgument
from recallmesh.core.event import FROM_THE_START, Event, EventFilter, EventKind, EventLedger, Webhook, WebhookDraft
from recallmesh.core.ledger import Ledger
from recallmesh.core.limits import WEBHOOK_SECRET_BYTES
from recallmesh.core.page import PAGE_SIZE_MAX, Page, PageRequest
from recallmesh.core.signature import SECRET_BYTES_MIN, key_of
from recallmesh.core.text import name_violations
from recallmesh.core.time import Clock

POST_TIMEOUT_MAX = timedelta(seconds=30)
"""The longest that one post may take: a worker has no more patience, and others wait for it."""


@dataclass(frozen=True, slots=True)
class WebhookRules:
    """Where webhooks may point: plain http, and addresses that are not public."""

    http: bool = False
    private: bool = False


PUBLIC_ONLY = WebhookRules()
"""What webhooks may be unless the settings allow more."""


class LedgerEvents:
    """``Events`` on the ledger; a watch reads it again every ``watch_interval_s``."""

    _ledger: Ledger
    _now: Clock
    _watch_interval_s: float
    _webhooks: WebhookRules
    _new_id: Callable[[], str]

    async def list_events(self, ref: BankRef, wanted: EventFilter, page: PageRequest) -> Page[Event]:
        """List events, oldest first."""
        return await self._ledger.list_events(await self._uid(ref), wanted, page)

    async def watch_events(
        self, ref: BankRef, kinds: tuple[EventKind, ...] = (), after: str = ""
    ) -> AsyncIterator[Event]:
        """Yield events as they happen until the caller stops."""
        uid = await self._uid(ref)
        if after:
            await self._ledger.check_cursor(uid, after)
        try:
            async for event in follow(self._ledger, uid, kinds, after, self._watch_interval_s):
                yield event
        except BankNotFound as error:
            # The ledger's word for the bank is its uid.
            raise BankNotFound(ref.bank_id) from error

    async def list_security_events(self, ref: BankRef, page: PageRequest) -> Page[SecurityEvent]:
        """List memory defense's decisions, oldest first."""
        return await self._ledger.list_security_events(await self._uid(ref), page)

    async def create_webhook(self, ref: BankRef, draft: WebhookDraft) -> Webhook:
        """Register an address."""
        violations = tuple(_violations(draft, self._webhooks))
        if violations:
            raise InvalidArgument(*violations)
        return await self._ledger.create_webhook(await self._uid(ref), self._new_id(), draft, self._now())

    async def list_webhooks(self, ref: BankRef, page: PageRequest) -> Page[Webhook]:
        """List webhooks by id."""
        return await self._ledger.list_webhooks(await self._uid(ref), page)

    async def delete_webhook(self, ref: BankRef, webhook_id: str) -> None:
        """Forget a webhook."""
        await self._ledger.delete_webhook(await self._uid(ref), webhook_id)

    async def _uid(self, ref: BankRef) -> str:
        return (await self._ledger.get_bank(ref)).uid


async def follow(
    ledger: EventLedger, uid: str, kinds: tuple[EventKind, ...], after: str, interval_s: float
) -> AsyncIterator[Event]:
    """Yield a bank's events after an id, or from now on, for ever."""
    wanted = EventFilter(kinds)
    seen = after or await ledger.last_event_id(uid)
    while True:
        # Before the list: what is written between the two is found by the list or the next time.
        last = await ledger.last_event_id(uid)
        if seen != FROM_THE_START and seen >= last:
            await asyncio.sleep(interval_s)
            continue
        page = await ledger.list_events(uid, wanted, PageRequest(PAGE_SIZE_MAX, seen))
        for event in page.rows:
            yield event
        newest = page.rows[-1].id if page.rows else last
        seen = newest if page.next_after else max(newest, last)


def _violations(draft: WebhookDraft, rules: WebhookRules) -> Iterator[FieldViolation]:
    yield from url_violations("url", draft.url, http=rules.http, private=rules.private)
    faults = tuple(name_violations("secret", draft.secret, WEBHOOK_SECRET_BYTES))
    yield from faults
    if not faults:
        key = key_of(draft.secret)
        if key is None:
            yield FieldViolation("secret", 'is not "whsec_" and a key in base64')
        elif len(key) < SECRET_BYTES_MIN:
            yield FieldViolation("secret", f"has {len(key)} bytes; at least {SECRET_BYTES_MIN} are needed")
    if not timedelta() < draft.timeout <= POST_TIMEOUT_MAX:
        yield FieldViolation("timeout", f"must be in (0, {POST_TIMEOUT_MAX.total_seconds():g}] s")
