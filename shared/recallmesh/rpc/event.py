# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of events and webhooks over the wire; the bank service offers it beside banks."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.bank import BankRef
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.event import Event, EventFilter, EventKind, Events, Webhook, WebhookDraft
from recallmesh.core.page import Page, PageRequest
from recallmesh.rpc.call import stream, unary
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.defense import decision_from_pb, decision_to_pb
from recallmesh.rpc.codec.event import (
    draft_from_pb,
    draft_to_pb,
    event_filter_from_pb,
    event_from_pb,
    event_to_pb,
    kinds_from_pb,
    kinds_to_pb,
    webhook_from_pb,
    webhook_to_pb,
)
from recallmesh.rpc.codec.time import moment_to_pb
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import bank_service_pb2 as pb
from recallmesh.v1 import bank_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class EventServicer(bank_service_pb2_grpc.BankServiceServicer):
    """Translates calls to events; the rest of the bank service is in ``BankServicer``."""

    def __init__(self, events: Events) -> None:
        """Offer these events."""
        self._events = events

    async def ListEvents(self, request: pb.ListEventsRequest, context: Context) -> pb.ListEventsResponse:
        tenant = tenant_of(context)

        def write(page: Page[Event]) -> pb.ListEventsResponse:
            token = token_to_pb(request, page.next_after, tenant)
            return pb.ListEventsResponse(events=[event_to_pb(event) for event in page.rows], next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        read = partial(self._events.list_events, bank_ref(request.bank_id, tenant), event_filter_from_pb(request))
        return await page_to_pb(read, wanted, write)

    async def WatchEvents(
        self, request: pb.WatchEventsRequest, context: Context
    ) -> AsyncIterator[pb.WatchEventsResponse]:
        ref = bank_ref(request.bank_id, tenant_of(context))
        async for event in self._events.watch_events(ref, kinds_from_pb(request.kinds), request.after_id):
            yield pb.WatchEventsResponse(event=event_to_pb(event))

    async def ListSecurityEvents(
        self, request: pb.ListSecurityEventsRequest, context: Context
    ) -> pb.ListSecurityEventsResponse:
        tenant = tenant_of(context)

        def write(page: Page[SecurityEvent]) -> pb.ListSecurityEventsResponse:
            token = token_to_pb(request, page.next_after, tenant)
            rows = [decision_to_pb(decision) for decision in page.rows]
            return pb.ListSecurityEventsResponse(events=rows, next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        read = partial(self._events.list_security_events, bank_ref(request.bank_id, tenant))
        return await page_to_pb(read, wanted, write)

    async def CreateWebhook(self, request: pb.CreateWebhookRequest, context: Context) -> pb.CreateWebhookResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        return pb.CreateWebhookResponse(
            webhook=webhook_to_pb(await self._events.create_webhook(ref, draft_from_pb(request)))
        )

    async def ListWebhooks(self, request: pb.ListWebhooksRequest, context: Context) -> pb.ListWebhooksResponse:
        tenant = tenant_of(context)

        def write(page: Page[Webhook]) -> pb.ListWebhooksResponse:
            token = token_to_pb(request, page.next_after, tenant)
            rows = [webhook_to_pb(webhook) for webhook in page.rows]
            return pb.ListWebhooksResponse(webhooks=rows, next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        read = partial(self._events.list_webhooks, bank_ref(request.bank_id, tenant))
        return await page_to_pb(read, wanted, write)

    async def DeleteWebhook(self, request: pb.DeleteWebhookRequest, context: Context) -> pb.DeleteWebhookResponse:
        await self._events.delete_webhook(bank_ref(request.bank_id, tenant_of(context)), request.webhook_id)
        return pb.DeleteWebhookResponse()


class RemoteEvents:
    """Events at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the events; ``timeout_s`` bounds each call but a watch, within the deadline in hand."""
        self._events = bank_service_pb2_grpc.BankServiceStub(channel)
        self._timeout_s = timeout_s

    async def list_events(self, ref: BankRef, wanted: EventFilter, page: PageRequest) -> Page[Event]:
        """List events; the keys to go on from are page tokens. Kinds that only a newer server has are left out."""

        def request() -> pb.ListEventsRequest:
            return pb.ListEventsRequest(
                bank_id=ref.bank_id,
                kinds=kinds_to_pb(wanted.kinds),
                start_time=None if wanted.start is None else moment_to_pb(wanted.start),
                page_size=page.size,
                page_token=page.after,
            )

        found = await unary(self._events.ListEvents, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        read = map(event_from_pb, found.events)
        return Page(tuple(event for event in read if event is not None), found.next_page_token)

    async def watch_events(
        self, ref: BankRef, kinds: tuple[EventKind, ...] = (), after: str = ""
    ) -> AsyncIterator[Event]:
        """Yield events as they happen, without those of a kind that only a newer server has."""
        request = partial(pb.WatchEventsRequest, bank_id=ref.bank_id, kinds=kinds_to_pb(kinds), after_id=after)
        async for found in stream(self._events.WatchEvents, request, timeout_s=None, tenant=ref.tenant):
            event = event_from_pb(found.event)
            if event is not None:
                yield event

    async def list_security_events(self, ref: BankRef, page: PageRequest) -> Page[SecurityEvent]:
        """List decisions; the keys to go on from are page tokens."""
        request = partial(pb.ListSecurityEventsRequest, bank_id=ref.bank_id, page_size=page.size, page_token=page.after)
        found = await unary(self._events.ListSecurityEvents, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(decision_from_pb(event) for event in found.events), found.next_page_token)

    async def create_webhook(self, ref: BankRef, draft: WebhookDraft) -> Webhook:
        """Register an address."""
        request = partial(draft_to_pb, ref.bank_id, draft)
        found = await unary(self._events.CreateWebhook, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return webhook_from_pb(found.webhook)

    async def list_webhooks(self, ref: BankRef, page: PageRequest) -> Page[Webhook]:
        """List webhooks; the keys to go on from are page tokens."""
        request = partial(pb.ListWebhooksRequest, bank_id=ref.bank_id, page_size=page.size, page_token=page.after)
        found = await unary(self._events.ListWebhooks, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(webhook_from_pb(webhook) for webhook in found.webhooks), found.next_page_token)

    async def delete_webhook(self, ref: BankRef, webhook_id: str) -> None:
        """Forget a webhook."""
        request = partial(pb.DeleteWebhookRequest, bank_id=ref.bank_id, webhook_id=webhook_id)
        await unary(self._events.DeleteWebhook, request, timeout_s=self._timeout_s, tenant=ref.tenant)
