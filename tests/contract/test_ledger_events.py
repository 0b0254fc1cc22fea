"""Events in the ledger: in the transaction of what they tell, numbered without gaps, and kept for a while."""

import asyncio
from datetime import timedelta

import pytest
from contract.ledger_bed import NOW, Bed, backend, bed, chunk, new_bank

from recallmesh.core.defense import DefenseAction, DefenseDetector, DefenseViolation, SecurityEvent, Severity
from recallmesh.core.errors import BankNotFound, InvalidArgument, NotReady, RequestIdReused
from recallmesh.core.event import EventDraft, EventFilter, EventKind, WebhookDraft
from recallmesh.core.page import PageRequest
from recallmesh.core.write import RequestRecord

__all__ = ["backend", "bed"]

ALL = EventFilter()
KEY = "sixteen bytes, or more"


async def events(bed: Bed, wanted: EventFilter = ALL, size: int = 100, after: str = ""):
    return (await bed.ledger.list_events(bed.uid, wanted, PageRequest(size, after))).rows


def decision(number: int = 1) -> SecurityEvent:
    found = DefenseViolation(DefenseDetector.SECRET, DefenseAction.REDACT, Severity.HIGH, "a key")
    return SecurityEvent(f"s{number}", NOW, found, f"d{number}", number, f"urn:receipt:{number}")


def triggered(number: int) -> EventDraft:
    return EventDraft(EventKind.MEMORY_DEFENSE_TRIGGERED, (f"d{number}",), security=decision(number))


async def test_a_write_tells_of_itself_once_with_the_memories_that_can_be_recalled(bed: Bed):
    await bed.write("d1", chunk("a", "one", "two"), chunk("b"))
    [event] = await events(bed)
    assert (event.kind, event.time, event.bank_id) == (EventKind.RETAIN_COMPLETED, NOW, "bank")
    assert (event.document_ids, event.memory_count, event.operation_id) == (("d1",), 2, "")
    await bed.write("d1", chunk("a", known=True), chunk("b", known=True))
    await bed.write("d2", chunk("c"))
    assert [event.memory_count for event in await events(bed)] == [2, 2, 0]


async def test_a_write_that_is_replayed_or_refused_tells_nothing(bed: Bed):
    record = RequestRecord("r1", "h1")
    await bed.write("d1", chunk("a", "one"), request=record)
    await bed.write("d1", chunk("a", "one"), request=record)
    with pytest.raises(RequestIdReused):
        await bed.write("d1", chunk("b", "two"), request=RequestRecord("r1", "h2"))
    assert len(await events(bed)) == 1


async def test_ids_grow_without_gaps_whatever_is_written_at_once(bed: Bed):
    await asyncio.gather(*(bed.write(f"d{number}", chunk("a", "one")) for number in range(20)))
    ids = [event.id for event in await events(bed)]
    assert ids == sorted(ids)
    assert [int(one.partition("-")[0]) for one in ids] == list(range(1, 21))


async def test_banks_number_their_own_and_ids_meet_nowhere(bed: Bed):
    other = await new_bank(bed.ledger, "other")
    for uid in (bed.uid, other.uid, bed.uid):
        await bed.ledger.record_events(uid, (EventDraft(EventKind.CONSOLIDATION_COMPLETED),), NOW)
    theirs = (await bed.ledger.list_events(other.uid, ALL, PageRequest())).rows
    assert [event.bank_id for event in theirs] == ["other"]
    assert len({event.id for event in (*theirs, *await events(bed))}) == 3
    with pytest.raises(InvalidArgument, match="no event of this bank"):
        await bed.ledger.check_cursor(bed.uid, theirs[0].id)


async def test_a_filter_keeps_kinds_and_what_is_not_before_its_start(bed: Bed):
    for minutes, kind in enumerate((*EventKind, EventKind.RETAIN_COMPLETED)):
        draft = EventDraft(kind, security=decision() if kind is EventKind.MEMORY_DEFENSE_TRIGGERED else None)
        await bed.ledger.record_events(bed.uid, (draft,), NOW + timedelta(minutes=minutes))
    retained = await events(bed, EventFilter((EventKind.RETAIN_COMPLETED,)))
    assert [event.time.minute for event in retained] == [0, 3]
    late = await events(bed, EventFilter(start=NOW + timedelta(minutes=2)))
    assert [event.time.minute for event in late] == [2, 3]
    assert [event.time.minute for event in await events(bed, EventFilter(tuple(EventKind), NOW), 2)] == [0, 1]


async def test_decisions_are_events_and_outlive_them(bed: Bed):
    await bed.ledger.record_events(bed.uid, (triggered(1), triggered(2)), NOW)
    [first, second] = await events(bed)
    assert (first.security, second.security) == (decision(1), decision(2))
    assert await bed.ledger.forget_events(NOW + timedelta(days=1), limit=10) == 2
    page = await bed.ledger.list_security_events(bed.uid, PageRequest(1))
    assert page.rows == (decision(1),)
    rest = await bed.ledger.list_security_events(bed.uid, PageRequest(1, page.next_after))
    assert (rest.rows, rest.next_after) == ((decision(2),), "")


async def test_a_decision_that_is_taken_again_is_told_once(bed: Bed):
    await bed.ledger.record_events(bed.uid, (triggered(1),), NOW)
    await bed.ledger.record_events(bed.uid, (triggered(1), triggered(2)), NOW)
    await bed.ledger.record_events(bed.uid, (triggered(1),), NOW)
    assert [event.security.id for event in await events(bed)] == ["s1", "s2"]


async def test_a_cursor_is_good_as_long_as_all_that_follows_it_is_kept(bed: Bed):
    assert (await bed.ledger.last_event_id(bed.uid)).startswith("000000000000-")
    await bed.ledger.check_cursor(bed.uid, await bed.ledger.last_event_id(bed.uid))
    for day in range(4):
        await bed.write(f"d{day}", chunk("a", "one"), at=NOW + timedelta(days=day))
    found = [event.id for event in await events(bed)]
    assert await bed.ledger.last_event_id(bed.uid) == found[-1]
    assert await bed.ledger.forget_events(NOW + timedelta(days=1, hours=1), limit=10) == 2
    assert [event.id for event in await events(bed)] == found[2:]
    for good in ("0", *found[1:]):
        await bed.ledger.check_cursor(bed.uid, good)
    with pytest.raises(NotReady, match="no longer kept"):
        await bed.ledger.check_cursor(bed.uid, found[0])
    await bed.ledger.forget_events(NOW + timedelta(days=9), limit=10)
    assert await bed.ledger.last_event_id(bed.uid) == found[-1]
    await bed.ledger.check_cursor(bed.uid, found[-1])
    with pytest.raises(NotReady):
        await bed.ledger.check_cursor(bed.uid, found[-2])
    await bed.write("d9", chunk("a", "one"))
    assert (await events(bed))[0].id > found[-1]


@pytest.mark.parametrize(
    "given", ["x", "7", "-", "000000000001-", "000000000001-other", "000000000009-{uid}", "１-{uid}"]
)
async def test_what_is_no_cursor_of_the_bank_is_refused(bed: Bed, given: str):
    await bed.write("d1", chunk("a", "one"))
    with pytest.raises(InvalidArgument, match="no event of this bank"):
        await bed.ledger.check_cursor(bed.uid, given.format(uid=bed.uid))


async def test_a_little_is_forgotten_at_once_the_oldest_first(bed: Bed):
    for day in range(3):
        await bed.write(f"d{day}", chunk("a", "one"), at=NOW + timedelta(days=day))
    assert [await bed.ledger.forget_events(NOW + timedelta(days=9), limit=2) for _ in range(3)] == [2, 1, 0]


async def test_a_bank_takes_its_events_decisions_and_webhooks_with_it(bed: Bed):
    await bed.ledger.record_events(bed.uid, (triggered(1),), NOW)
    await bed.ledger.create_webhook(bed.uid, "w1", WebhookDraft("https://example.com/", KEY), NOW)
    await bed.ledger.record_events(bed.uid, (triggered(2),), NOW)
    await bed.ledger.delete_bank(bed.bank.ref, (), NOW)
    for call in (
        bed.ledger.list_events(bed.uid, ALL, PageRequest()),
        bed.ledger.last_event_id(bed.uid),
        bed.ledger.check_cursor(bed.uid, "0"),
        bed.ledger.list_security_events(bed.uid, PageRequest()),
        bed.ledger.list_webhooks(bed.uid, PageRequest()),
        bed.ledger.record_events(bed.uid, (triggered(3),), NOW),
        bed.ledger.create_webhook(bed.uid, "w2", WebhookDraft("https://example.com/", KEY), NOW),
        bed.ledger.delete_webhook(bed.uid, "w1"),
    ):
        with pytest.raises(BankNotFound):
            await call
    lease = bed.ledger.lease_postings("w", limit=9, events=9, lease=timedelta(minutes=1), now=NOW + timedelta(days=9))
    assert await lease == ()


async def test_webhooks_are_listed_by_id_and_are_as_many_as_allowed(bed: Bed):
    draft = WebhookDraft("https://example.com/", KEY, (EventKind.RETAIN_COMPLETED,), timedelta(seconds=2.5))
    for number in range(16):
        await bed.ledger.create_webhook(bed.uid, f"w{number:02}", draft, NOW)
    with pytest.raises(NotReady, match="16 webhooks"):
        await bed.ledger.create_webhook(bed.uid, "w99", draft, NOW)
    page = await bed.ledger.list_webhooks(bed.uid, PageRequest(10))
    rest = await bed.ledger.list_webhooks(bed.uid, PageRequest(10, page.next_after))
    assert [one.id for one in (*page.rows, *rest.rows)] == [f"w{number:02}" for number in range(16)]
    first = page.rows[0]
    assert (first.url, first.kinds, first.timeout, first.created) == (draft.url, draft.kinds, draft.timeout, NOW)
    for _ in range(2):
        await bed.ledger.delete_webhook(bed.uid, "w00")
    await bed.ledger.create_webhook(bed.uid, "w99", draft, NOW)
