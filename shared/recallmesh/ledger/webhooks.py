"""Webhooks in the ledger: where events are posted, how far each address is, and whose turn it is to post."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, select, update

from recallmesh.core.errors import NotFound, NotReady
from recallmesh.core.event import EventFilter, EventKind, Posting, Webhook, WebhookDraft
from recallmesh.core.limits import WEBHOOKS_PER_BANK
from recallmesh.core.page import Page, PageRequest
from recallmesh.ledger.banks import check_bank, lock_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among
from recallmesh.ledger.event_schema import event_heads, webhooks
from recallmesh.ledger.events import event_id, head_of, number_of, read_events
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.paging import cut
from recallmesh.ledger.rows import pack, unpack

_MICROSECOND = timedelta(microseconds=1)


class SqlWebhooks:
    """``WebhookLedger`` on SQL."""

    _database: Database

    async def create_webhook(self, bank_uid: str, webhook_id: str, draft: WebhookDraft, at: datetime) -> Webhook:
        """Store a webhook that is told what happens from now on."""
        held = select(func.count()).select_from(webhooks).where(webhooks.c.bank_uid == bank_uid)

        def work(connection: Connection) -> Webhook:
            lock_bank(connection, bank_uid)
            if connection.execute(held).scalar_one() >= WEBHOOKS_PER_BANK:
                raise NotReady(f"the bank has {WEBHOOKS_PER_BANK} webhooks, which is the most; delete one first")
            row = {
                "id": webhook_id,
                "bank_uid": bank_uid,
                "url": draft.url,
                "secret": draft.secret,
                "kinds": pack(kind.value for kind in draft.kinds),
                "timeout": draft.timeout // _MICROSECOND,
                "created": to_us(at),
                "delivered": head_of(connection, bank_uid),
                "due": to_us(at),
                "worker": "",
                "attempts": 0,
                "error": "",
            }
            connection.execute(insert(webhooks).values(row))
            return get_webhook(connection, bank_uid, webhook_id)

        return await self._database.write(work)

    async def list_webhooks(self, bank_uid: str, page: PageRequest) -> Page[Webhook]:
        """List a bank's webhooks by id."""
        query = (
            select(webhooks)
            .where(webhooks.c.bank_uid == bank_uid, webhooks.c.id > page.after)
            .order_by(webhooks.c.id)
            .limit(page.size + 1)
        )

        def work(connection: Connection) -> Page[Webhook]:
            check_bank(connection, bank_uid)
            return cut([_webhook_of(row) for row in connection.execute(query)], page.size, lambda webhook: webhook.id)

        return await self._database.read(work)

    async def delete_webhook(self, bank_uid: str, webhook_id: str) -> None:
        """Forget a webhook; one that is not there is no error."""
        which = (webhooks.c.bank_uid == bank_uid) & (webhooks.c.id == webhook_id)

        def work(connection: Connection) -> None:
            lock_bank(connection, bank_uid)
            connection.execute(delete(webhooks).where(which))

        await self._database.write(work)

    async def lease_postings(
        self, worker: str, *, limit: int, events: int, lease: timedelta, now: datetime
    ) -> tuple[Posting, ...]:
        """Take webhooks whose turn it is; an idle poll takes no write lock."""
        if not await self._database.read(lambda connection: connection.execute(_due(now).limit(1)).first()):
            return ()

        def work(connection: Connection) -> tuple[Posting, ...]:
            rows = connection.execute(_due(now).limit(limit).with_for_update(of=webhooks, skip_locked=True)).all()
            hidden = {"due": to_us(now + lease), "worker": worker}
            connection.execute(update(webhooks).where(among(webhooks.c.id, [row.id for row in rows])).values(hidden))
            return tuple(_posting(connection, row, events) for row in rows)

        return await self._database.write(work)

    async def settle_posting(self, webhook_id: str, worker: str, event_id: str, *, more: bool) -> bool:
        """Note that a webhook has all events up to one."""

        def change(row: Row[Any]) -> dict[str, object]:
            delivered = number_of(row.bank_uid, event_id, "event_id")
            done: dict[str, object] = {"delivered": delivered, "attempts": 0, "error": ""}
            return done if more else done | {"due": row.created, "worker": ""}

        return await self._change_own(webhook_id, worker, change)

    async def defer_posting(self, webhook_id: str, worker: str, *, until: datetime, error: str) -> None:
        """Count a failed try and make the webhook due again at a moment."""

        def change(row: Row[Any]) -> dict[str, object]:
            return {"attempts": row.attempts + 1, "error": error, "due": to_us(until), "worker": ""}

        await self._change_own(webhook_id, worker, change)

    async def give_up_posting(self, webhook_id: str, worker: str, *, at: datetime, error: str) -> None:
        """Count a failed try and post nothing to the webhook any more."""

        def change(row: Row[Any]) -> dict[str, object]:
            return {"attempts": row.attempts + 1, "error": error, "gave_up": to_us(at), "worker": ""}

        await self._change_own(webhook_id, worker, change)

    async def _change_own(self, webhook_id: str, worker: str, change: Callable[[Row[Any]], dict[str, object]]) -> bool:
        own = (webhooks.c.id == webhook_id) & (webhooks.c.worker == worker)

        def work(connection: Connection) -> bool:
            row = connection.execute(select(webhooks).where(own).with_for_update()).first()
            if row is None:
                return False
            connection.execute(update(webhooks).where(own).values(change(row)))
            return True

        return await self._database.write(work)


def get_webhook(connection: Connection, bank_uid: str, webhook_id: str) -> Webhook:
    """Return a webhook; raises ``NotFound``."""
    which = (webhooks.c.bank_uid == bank_uid) & (webhooks.c.id == webhook_id)
    row = connection.execute(select(webhooks).where(which)).first()
    if row is None:
        raise NotFound(webhook_id)
    return _webhook_of(row)


def _due(now: datetime) -> Any:  # noqa: ANN401 - a query, or a locking one
    """Webhooks that are due and have not heard of the newest event, those that wait longest first."""
    behind: ColumnElement[bool] = and_(
        webhooks.c.gave_up.is_(None), webhooks.c.due <= to_us(now), webhooks.c.delivered < event_heads.c.last
    )
    return (
        select(webhooks)
        .join(event_heads, event_heads.c.bank_uid == webhooks.c.bank_uid)
        .where(behind)
        .order_by(webhooks.c.due, webhooks.c.id)
    )


def _posting(connection: Connection, row: Row[Any], limit: int) -> Posting:
    webhook = _webhook_of(row)
    head = head_of(connection, row.bank_uid)
    # Not beyond it: what another write adds between these two statements is told the next time, and then once.
    found = read_events(connection, row.bank_uid, EventFilter(webhook.kinds), row.delivered, limit, through=head)
    through = found[-1].id if len(found) == limit else event_id(row.bank_uid, head)
    return Posting(webhook, row.secret, tuple(found), through)


def _webhook_of(row: Row[Any]) -> Webhook:
    return Webhook(
        id=row.id,
        url=row.url,
        created=from_us(row.created),
        kinds=tuple(EventKind(kind) for kind in unpack(row.kinds)),
        timeout=row.timeout * _MICROSECOND,
        last_event_id=event_id(row.bank_uid, row.delivered) if row.delivered else "",
        failed_attempts=row.attempts,
        error=row.error,
        gave_up=None if row.gave_up is None else from_us(row.gave_up),
    )
