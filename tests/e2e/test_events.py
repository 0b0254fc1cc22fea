"""What happened in a bank is told: listed, watched as it happens, gone on with after a break, posted when allowed."""

import asyncio
from contextlib import aclosing

import pytest
from deployment import NOW, every, until

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.event import FROM_THE_START, EventFilter, EventKind, WebhookDraft
from recallmesh.core.retain import RetainItem

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]


async def listed(mesh, diary, *kinds):
    return await every(lambda page: mesh.faces.admin.list_events(diary.ref, EventFilter(kinds), page), size=2)


async def watched(mesh, diary, count, after):
    seen = []
    async with asyncio.timeout(30), aclosing(mesh.faces.admin.watch_events(diary.ref, after=after)) as watch:
        async for event in watch:
            seen.append(event)
            if len(seen) == count:
                return seen
    return seen


async def test_a_retain_says_what_came_of_it_also_that_nothing_can_be_recalled(mesh, diary):
    await diary.keep("The lighthouse of Skomvær has a new lamp.", document_id="lamp")
    await diary.keep("hello", mode=ExtractionMode.CONCISE, document_id="greeting")
    events = await listed(mesh, diary)
    assert [(event.kind, event.document_ids, event.memory_count) for event in events] == [
        (EventKind.RETAIN_COMPLETED, ("lamp",), 1),
        (EventKind.RETAIN_COMPLETED, ("greeting",), 0),
    ]
    assert {event.bank_id for event in events} == {diary.ref.bank_id}


async def test_a_retain_that_nobody_waits_for_names_its_operation(mesh, diary):
    answer = await diary.retain(RetainItem(("The ferry leaves at six.",), time=NOW), wait=False)
    [event] = await watched(mesh, diary, 1, FROM_THE_START)
    assert (event.operation_id, event.memory_count) == (answer.operation_id, 1)


async def test_a_watch_is_gone_on_with_after_the_last_event_and_nothing_is_told_twice(mesh, diary):
    for number in range(3):
        await diary.keep(f"Boat {number} is tarred.", document_id=f"b{number}")
    first = await watched(mesh, diary, 2, FROM_THE_START)
    await diary.keep("Boat 3 is tarred.", document_id="b3")
    rest = await watched(mesh, diary, 2, first[-1].id)
    assert [event.document_ids for event in (*first, *rest)] == [("b0",), ("b1",), ("b2",), ("b3",)]
    assert [*first, *rest] == await listed(mesh, diary)


async def test_a_request_that_is_made_again_tells_nothing_new(mesh, diary):
    for _ in range(3):
        await diary.retain(RetainItem(("The nets are mended.",), time=NOW), request_id="nets")
    assert len(await listed(mesh, diary)) == 1


async def test_no_private_address_can_be_registered(mesh, diary):
    for url in ("https://127.0.0.1:9/x", "https://[::1]/x", "https://169.254.169.254/x", "http://example.com/x"):
        with pytest.raises(InvalidArgument, match="url"):
            await mesh.faces.admin.create_webhook(diary.ref, WebhookDraft(url, "sixteen bytes ok"))


async def test_an_address_that_cannot_be_resolved_is_tried_again_and_says_why(mesh, diary):
    hook = await mesh.faces.admin.create_webhook(
        diary.ref, WebhookDraft("https://no-such-host.invalid/x", "sixteen bytes ok")
    )
    await diary.keep("The pier is closed.")

    async def failed():
        [found] = await every(lambda page: mesh.faces.admin.list_webhooks(diary.ref, page))
        return found if found.failed_attempts else None

    tried = await until(failed)
    assert (tried.id, tried.error, tried.gave_up) == (hook.id, "its name cannot be resolved", None)
    assert "sixteen bytes ok" not in repr(tried)
    assert all("sixteen bytes ok" not in said for _, said in mesh.logs())
