"""Events and webhooks on the wire."""

from collections.abc import Iterable

from recallmesh.core.event import POST_TIMEOUT, Event, EventFilter, EventKind, Webhook, WebhookDraft
from recallmesh.rpc.codec.defense import decision_from_pb, decision_to_pb
from recallmesh.rpc.codec.enums import EVENT_KIND
from recallmesh.rpc.codec.time import duration_from_pb, duration_to_pb, moment_from_pb, moment_to_pb
from recallmesh.v1 import bank_service_pb2, event_pb2


def event_to_pb(event: Event) -> event_pb2.Event:
    """Write an event."""
    return event_pb2.Event(
        id=event.id,
        kind=EVENT_KIND.to_pb(event.kind),
        time=moment_to_pb(event.time),
        bank_id=event.bank_id,
        document_ids=event.document_ids,
        operation_id=event.operation_id,
        memory_count=event.memory_count,
        security=None if event.security is None else decision_to_pb(event.security),
    )


def event_from_pb(message: event_pb2.Event) -> Event | None:
    """Read an event out of an answer; nothing for one of a kind that this version does not know."""
    kind = EVENT_KIND.known(message.kind)
    if kind is None:
        return None
    return Event(
        id=message.id,
        kind=kind,
        time=moment_from_pb(message.time, "event.time"),
        bank_id=message.bank_id,
        document_ids=tuple(message.document_ids),
        operation_id=message.operation_id,
        memory_count=message.memory_count,
        security=decision_from_pb(message.security) if message.HasField("security") else None,
    )


def kinds_to_pb(kinds: Iterable[EventKind]) -> "list[event_pb2.EventKind.ValueType]":
    """Write kinds of events."""
    return [EVENT_KIND.to_pb(kind) for kind in kinds]


def kinds_from_pb(numbers: Iterable[int]) -> tuple[EventKind, ...]:
    """Read which kinds a caller wants, each once."""
    return tuple(dict.fromkeys(EVENT_KIND.at_door(number, "kinds") for number in numbers))


def event_filter_from_pb(message: bank_service_pb2.ListEventsRequest) -> EventFilter:
    """Read which events a caller wants."""
    start = moment_from_pb(message.start_time, "start_time") if message.HasField("start_time") else None
    return EventFilter(kinds_from_pb(message.kinds), start)


def draft_to_pb(bank_id: str, draft: WebhookDraft) -> bank_service_pb2.CreateWebhookRequest:
    """Write an address to register."""
    return bank_service_pb2.CreateWebhookRequest(
        bank_id=bank_id,
        url=draft.url,
        kinds=kinds_to_pb(draft.kinds),
        secret=draft.secret,
        timeout=duration_to_pb(draft.timeout),
    )


def draft_from_pb(message: bank_service_pb2.CreateWebhookRequest) -> WebhookDraft:
    """Read an address to register."""
    timeout = duration_from_pb(message.timeout) if message.HasField("timeout") else POST_TIMEOUT
    return WebhookDraft(message.url, message.secret, kinds_from_pb(message.kinds), timeout)


def webhook_to_pb(webhook: Webhook) -> event_pb2.Webhook:
    """Write a webhook; its secret is not even known here."""
    return event_pb2.Webhook(
        id=webhook.id,
        url=webhook.url,
        kinds=kinds_to_pb(webhook.kinds),
        create_time=moment_to_pb(webhook.created),
        timeout=duration_to_pb(webhook.timeout),
        last_event_id=webhook.last_event_id,
        failed_attempt_count=webhook.failed_attempts,
        error=webhook.error,
        give_up_time=None if webhook.gave_up is None else moment_to_pb(webhook.gave_up),
    )


def webhook_from_pb(message: event_pb2.Webhook) -> Webhook:
    """Read a webhook out of an answer."""
    return Webhook(
        id=message.id,
        url=message.url,
        created=moment_from_pb(message.create_time, "webhook.create_time"),
        kinds=tuple(EVENT_KIND.from_server(number) for number in message.kinds),
        timeout=duration_from_pb(message.timeout),
        last_event_id=message.last_event_id,
        failed_attempts=message.failed_attempt_count,
        error=message.error,
        gave_up=moment_from_pb(message.give_up_time, "webhook.give_up_time")
        if message.HasField("give_up_time")
        else None,
    )
