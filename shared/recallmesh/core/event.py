"""Events: what happened in a bank, kept in the ledger, read, watched, and posted to webhooks."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from recallmesh.core.bank import BankRef
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.page import Page, PageRequest

POST_TIMEOUT = timedelta(seconds=10)
"""How long one post may take unless its webhook says otherwise."""
FROM_THE_START = "0"
"""What to watch after to be told all that is kept."""


class EventKind(StrEnum):
    """What happened."""

    RETAIN_COMPLETED = "retain.completed"
    CONSOLIDATION_COMPLETED = "consolidation.completed"
    MEMORY_DEFENSE_TRIGGERED = "memory_defense.triggered"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event as it is written, in the transaction of what it tells; the ledger gives it its id."""

    kind: EventKind
    document_ids: tuple[str, ...] = ()
    operation_id: str = ""
    memory_count: int = 0
    security: SecurityEvent | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a bank.

    ``id`` is unique in the mesh and grows with time within the bank, as text too. ``memory_count`` 0 of a retain says
    that nothing of what was told can be recalled. ``security`` is the decision that memory defense took.
    """

    id: str
    kind: EventKind
    time: datetime
    bank_id: str
    document_ids: tuple[str, ...] = ()
    operation_id: str = ""
    memory_count: int = 0
    security: SecurityEvent | None = None
    origin: str = field(default="", compare=False, repr=False)
    """The ``traceparent`` of what it tells of; empty: that was not traced. Stays in the mesh."""


def decided(decisions: Iterable[SecurityEvent]) -> tuple[EventDraft, ...]:
    """Return the events that tell of memory defense's decisions."""
    return tuple(
        EventDraft(
            EventKind.MEMORY_DEFENSE_TRIGGERED,
            (one.document_id,) if one.document_id else (),
            security=one,
        )
        for one in decisions
    )


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events; empty parts do not filter. ``start`` is included."""

    kinds: tuple[EventKind, ...] = ()
    start: datetime | None = None


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    """An address to register. ``secret`` signs the posts; it is never shown again."""

    url: str
    secret: str = field(repr=False)
    kinds: tuple[EventKind, ...] = ()
    timeout: timedelta = POST_TIMEOUT


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address to which a bank's events (of ``kinds``; empty: all) are posted in their order, each at least once.

    ``last_event_id`` is the last event that it has or that came before it. After a failure ``failed_attempts`` counts
    the tries of the next event and ``error`` says why the last failed; ``gave_up`` is when it was left for good.
    """

    id: str
    url: str
    created: datetime
    kinds: tuple[EventKind, ...] = ()
    timeout: timedelta = POST_TIMEOUT
    last_event_id: str = ""
    failed_attempts: int = 0
    error: str = ""
    gave_up: datetime | None = None


@dataclass(frozen=True, slots=True)
class Posting:
    """A webhook whose turn it is, what signs its posts, and the events to post, oldest first; may be none.

    ``through`` is the id up to which the webhook has everything once these are posted.
    """

    webhook: Webhook
    secret: str = field(repr=False)
    events: tuple[Event, ...]
    through: str


class EventLedger(Protocol):
    """Events of a bank (named by its ``uid``) as the ledger keeps them; raise ``BankNotFound``.

    A commit writes its own events; these methods read them, and write what no commit carries.
    """

    async def record_events(self, bank_uid: str, events: tuple[EventDraft, ...], at: datetime) -> None:
        """Write events in one transaction; a decision of an id that is there already is left out."""
        ...

    async def list_events(self, bank_uid: str, wanted: EventFilter, page: PageRequest) -> Page[Event]:
        """List events, oldest first; pages go on after an event's id."""
        ...

    async def last_event_id(self, bank_uid: str) -> str:
        """Return the id of the newest event, whether or not it is kept; of a bank without any: one before all."""
        ...

    async def check_cursor(self, bank_uid: str, event_id: str) -> None:
        """Return if all events after this one are kept.

        Raises:
            InvalidArgument: it is no event of this bank.
            NotReady: some are no longer kept.

        """
        ...

    async def list_security_events(self, bank_uid: str, page: PageRequest) -> Page[SecurityEvent]:
        """List memory defense's decisions, oldest first; they are kept as long as the bank."""
        ...

    async def forget_events(self, before: datetime, *, limit: int) -> int:
        """Delete events older than a moment, of all banks, the oldest ``limit`` at most; returns how many."""
        ...


class WebhookLedger(Protocol):
    """Webhooks as the ledger keeps them, and the turns of those who post."""

    async def create_webhook(self, bank_uid: str, webhook_id: str, draft: WebhookDraft, at: datetime) -> Webhook:
        """Store a webhook; raises ``BankNotFound``, and ``NotReady`` where the bank has as many as it may."""
        ...

    async def list_webhooks(self, bank_uid: str, page: PageRequest) -> Page[Webhook]:
        """List a bank's webhooks by id."""
        ...

    async def delete_webhook(self, bank_uid: str, webhook_id: str) -> None:
        """Forget a webhook; one that is not there is no error."""
        ...

    async def lease_postings(
        self, worker: str, *, limit: int, events: int, lease: timedelta, now: datetime
    ) -> tuple[Posting, ...]:
        """Take webhooks that have events to be told and are due, hidden from others for the lease."""
        ...

    async def settle_posting(self, webhook_id: str, worker: str, event_id: str, *, more: bool) -> bool:
        """Note that a webhook has all events up to one, and end the lease unless there are ``more`` in hand.

        Returns false, and notes nothing, when another worker has the webhook by now.
        """
        ...

    async def defer_posting(self, webhook_id: str, worker: str, *, until: datetime, error: str) -> None:
        """Count a failed try and make the webhook due again at a moment; nothing when another worker has it."""
        ...

    async def give_up_posting(self, webhook_id: str, worker: str, *, at: datetime, error: str) -> None:
        """Count a failed try and post nothing to the webhook any more; nothing when another worker has it."""
        ...


class Events(Protocol):
    """What happened in a bank, for callers; methods raise ``BankNotFound``."""

    async def list_events(self, ref: BankRef, wanted: EventFilter, page: PageRequest) -> Page[Event]:
        """List events, oldest first, as far back as they are kept."""
        ...

    def watch_events(self, ref: BankRef, kinds: tuple[EventKind, ...] = (), after: str = "") -> AsyncIterator[Event]:
        """Yield events as they happen until the caller stops; ``after`` an id, from ``FROM_THE_START``, or from now.

        Raises:
            InvalidArgument: ``after`` is no event of this bank.
            NotReady: some that followed it are no longer kept.

        """
        ...

    async def list_security_events(self, ref: BankRef, page: PageRequest) -> Page[SecurityEvent]:
        """List memory defense's decisions, oldest first."""
        ...

    async def create_webhook(self, ref: BankRef, draft: WebhookDraft) -> Webhook:
        """Register an address; raises ``InvalidArgument`` (the address is not allowed, the secret too short)."""
        ...

    async def list_webhooks(self, ref: BankRef, page: PageRequest) -> Page[Webhook]:
        """List webhooks by id."""
        ...

    async def delete_webhook(self, ref: BankRef, webhook_id: str) -> None:
        """Forget a webhook; one that is not there is no error."""
        ...
