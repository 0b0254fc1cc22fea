"""The webhook worker against a real receiver: signed, in order, tried again, given up, and gone on with elsewhere."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from deployment import until
from receiver import always, never, open_receiver, take
from unit.retain_fakes import NOW, Moving, open_bench

from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.event import EventDraft, EventFilter, EventKind, WebhookDraft
from recallmesh.core.page import PageRequest
from recallmesh.retain.expiry import ExpiryWorker
from recallmesh.retain.httpcore2 import open_httpcore_poster
from recallmesh.retain.webhooks import WebhookWorker

GIVEN = "a secret of the test's own"
KEY = GIVEN.encode()
OTHERS = "another secret, of another bank"


class Town:
    """A bank with webhooks, and workers that post."""

    def __init__(self, bench, poster):
        self.bench = bench
        self.ledger = bench.ledger
        self.clock: Moving = bench.clock
        self.uid = bench.bank.uid
        self.poster = poster
        self.worker = self.hire("w1")

    def hire(self, name, attempts=3):
        return WebhookWorker(
            self.ledger,
            self.poster,
            worker=name,
            now=self.clock,
            random=lambda: 1.0,
            attempts=attempts,
            poll_s=0.01,
        )

    async def hook(self, url, *kinds, name="h1", seconds=5):
        draft = WebhookDraft(url, GIVEN, kinds, timedelta(seconds=seconds))
        return await self.ledger.create_webhook(self.uid, name, draft, self.clock())

    async def happen(self, *counts, kind=EventKind.RETAIN_COMPLETED):
        drafts = tuple(EventDraft(kind, (f"d{count}",), memory_count=count) for count in counts)
        await self.ledger.record_events(self.uid, drafts, self.clock())

    async def webhook(self):
        [found] = (await self.ledger.list_webhooks(self.uid, PageRequest())).rows
        return found


@pytest.fixture
async def town(tmp_path):
    async with open_bench(tmp_path) as bench, open_httpcore_poster(private=True) as poster:
        yield Town(bench, poster)


async def test_events_are_posted_signed_in_their_order_and_once(town):
    async with open_receiver() as receiver:
        await town.happen(0)
        await town.hook(receiver.url())
        await town.happen(1, 2)
        assert await town.worker.step()
        assert not await town.worker.step()
    assert [post.said["data"]["memory_count"] for post in receiver.posts] == [1, 2]
    assert all(post.is_signed_by(KEY) for post in receiver.posts)
    assert not any(post.is_signed_by(b"another key") for post in receiver.posts)
    assert int(receiver.posts[0].headers["webhook-timestamp"]) == int(NOW.timestamp())
    first = receiver.posts[0]
    assert first.headers["content-type"] == "application/json"
    assert first.said == {
        "type": "retain.completed",
        "id": first.event_id,
        "timestamp": NOW.isoformat(),
        "data": {"bank_id": "b1", "document_ids": ["d1"], "operation_id": "", "memory_count": 1},
    }
    assert (await town.webhook()).last_event_id == receiver.posts[1].event_id


async def test_only_the_kinds_that_are_wanted_are_posted(town):
    async with open_receiver() as receiver:
        await town.hook(receiver.url(), EventKind.CONSOLIDATION_COMPLETED)
        await town.happen(1)
        await town.happen(2, kind=EventKind.CONSOLIDATION_COMPLETED)
        await town.happen(3)
        await town.worker.step()
    assert [post.said["type"] for post in receiver.posts] == ["consolidation.completed"]
    assert not await town.worker.step()


async def test_a_post_that_fails_is_made_again_after_a_growing_pause_under_its_id(town):
    async with open_receiver(always("503 Busy")) as receiver:
        await town.hook(receiver.url())
        await town.happen(1, 2)
        await town.worker.step()
        assert not await town.worker.step()
        failed = await town.webhook()
        assert (failed.failed_attempts, failed.error, failed.gave_up) == (1, "answered 503", None)
        town.clock.forward(4.9)
        assert not await town.worker.step()
        town.clock.forward(0.2)
        await town.worker.step()
        town.clock.forward(9.9)
        assert not await town.worker.step()
        receiver.answer = take
        town.clock.forward(0.2)
        await town.worker.step()
    ids = [post.event_id for post in receiver.posts]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    stamps = [int(post.headers["webhook-timestamp"]) for post in receiver.posts]
    assert stamps == sorted(stamps)
    assert stamps[0] < stamps[2]
    assert all(post.is_signed_by(KEY) for post in receiver.posts)
    served = await town.webhook()
    assert (served.failed_attempts, served.error) == (0, "")


async def test_an_address_that_never_answers_is_given_up_with_a_record(town):
    async with open_receiver(always("500 No")) as receiver:
        await town.hook(receiver.url())
        await town.happen(1, 2)
        for _ in range(5):
            await town.worker.step()
            town.clock.forward(3600)
    assert len(receiver.posts) == 3
    dead = await town.webhook()
    assert (dead.failed_attempts, dead.error, dead.gave_up) == (3, "answered 500", NOW + timedelta(hours=2))
    await town.happen(3)
    assert not await town.worker.step()


async def test_the_tries_of_one_event_do_not_count_for_the_next(town):
    async with open_receiver(always("500 No")) as receiver:
        await town.hook(receiver.url())
        await town.happen(1, 2)
        for _ in range(2):
            await town.worker.step()
            town.clock.forward(3600)

        async def first_alone(post):
            return await (take if post.said["data"]["memory_count"] == 1 else always("500 No"))(post)

        receiver.answer = first_alone
        await town.worker.step()
    hook = await town.webhook()
    assert (hook.failed_attempts, hook.gave_up) == (1, None)


async def test_an_address_that_says_it_is_gone_is_given_up_at_once(town):
    async with open_receiver(always("410 Gone")) as receiver:
        await town.hook(receiver.url())
        await town.happen(1)
        await town.worker.step()
    dead = await town.webhook()
    assert (dead.failed_attempts, dead.gave_up is None) == (1, False)


async def test_a_redirect_is_a_failure_and_is_not_followed(town):
    async with open_receiver() as other, open_receiver(always("302 Found", f"location: {other.url()}")) as receiver:
        await town.hook(receiver.url())
        await town.happen(1)
        await town.worker.step()
    assert (await town.webhook()).error == "answered 302: redirects are not followed"
    assert other.posts == []


async def test_a_slow_receiver_fails_in_its_own_time_and_holds_up_nobody(town):
    async with open_receiver(never) as slow, open_receiver() as quick:
        await town.hook(slow.url(), name="h1", seconds=0.3)
        await town.hook(quick.url(), name="h2")
        await town.happen(1)
        working = asyncio.create_task(town.worker.run())

        async def both():
            first = (await town.ledger.list_webhooks(town.uid, PageRequest())).rows[0]
            return quick.posts and first.error

        await until(both)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    slow_hook, quick_hook = (await town.ledger.list_webhooks(town.uid, PageRequest())).rows
    assert slow_hook.error == "did not answer within 0.3 s"
    assert quick_hook.error == ""


async def test_what_a_dead_worker_had_in_hand_another_posts_after_its_lease(town):
    async with open_receiver(never) as receiver:
        await town.hook(receiver.url())
        await town.happen(1)
        dying = asyncio.create_task(town.worker.step())

        async def arrived():
            return receiver.posts

        await until(arrived)
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        receiver.answer = take
        heir = town.hire("w2")
        assert not await heir.step()
        town.clock.forward(600)
        assert await heir.step()
    assert receiver.posts[0].event_id == receiver.posts[1].event_id
    assert (await town.webhook()).last_event_id == receiver.posts[1].event_id


async def test_a_worker_that_lost_its_lease_notes_nothing(town):
    async with open_receiver() as receiver:
        await town.hook(receiver.url())
        await town.happen(1, 2)
        [late] = await town.ledger.lease_postings("w1", limit=1, events=9, lease=timedelta(minutes=1), now=NOW)
        town.clock.forward(120)
        await town.hire("w2").step()
        assert not await town.ledger.settle_posting(late.webhook.id, "w1", late.events[0].id, more=False)
        await town.ledger.defer_posting(late.webhook.id, "w1", until=NOW, error="late")
        await town.ledger.give_up_posting(late.webhook.id, "w1", at=NOW, error="late")
    hook = await town.webhook()
    assert (hook.last_event_id, hook.error, hook.gave_up) == (receiver.posts[-1].event_id, "", None)


async def test_one_banks_events_go_to_its_own_addresses_alone(town):
    other = await town.ledger.create_bank(Bank(BankRef("b2"), "uid-2", NOW))
    async with open_receiver() as receiver, open_receiver() as others:
        await town.hook(receiver.url())
        await town.ledger.create_webhook(other.uid, "h9", WebhookDraft(others.url(), OTHERS), NOW)
        await town.happen(1)
        await town.ledger.record_events(other.uid, (EventDraft(EventKind.RETAIN_COMPLETED, memory_count=7),), NOW)
        await town.worker.step()
    assert [post.said["data"]["bank_id"] for post in receiver.posts] == ["b1"]
    assert [post.said["data"]["bank_id"] for post in others.posts] == ["b2"]
    assert others.posts[0].is_signed_by(OTHERS.encode())


async def test_a_secret_is_in_no_text_of_what_holds_it(town):
    await town.hook("https://example.com/")
    await town.happen(1)
    [posting] = await town.ledger.lease_postings("w1", limit=1, events=9, lease=timedelta(minutes=1), now=NOW)
    assert posting.secret == GIVEN
    assert GIVEN not in repr((posting, WebhookDraft("https://example.com/", GIVEN), await town.webhook()))


@asynccontextmanager
async def at_work(worker):
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_events_are_forgotten_when_their_time_is_over_and_webhooks_go_on(town):
    async with open_receiver() as receiver:
        await town.hook(receiver.url())
        await town.happen(*range(1, 4))
        town.clock.forward(86_400)
        await town.happen(4)

        async def forgotten():
            kept = await town.ledger.list_events(town.uid, EventFilter(), PageRequest())
            return len(kept.rows) == 1

        async with at_work(ExpiryWorker(town.ledger, keep=timedelta(hours=12), now=town.clock, every_s=0.01)):
            await until(forgotten)
        await town.worker.step()
    assert [post.said["data"]["memory_count"] for post in receiver.posts] == [4]
