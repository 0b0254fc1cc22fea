"""An event that could not be posted is posted after its process was killed, by the one that takes its place."""

from contextlib import aclosing

import pytest
from deployment import NOW, Process, free_ports, open_processes, until
from receiver import always, open_receiver, take

from recallmesh.client import open_client
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.event import FROM_THE_START, WebhookDraft
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainItem, RetainRequest

pytestmark = pytest.mark.timeout(600)

REF = BankRef("b1")
SECRET = "a secret of this test"  # noqa: S105 - it signs the posts to this test
ALLOWED = {"RECALLMESH_EVENTS__WEBHOOK_HTTP": "true", "RECALLMESH_EVENTS__WEBHOOK_PRIVATE": "true"}


async def test_a_post_survives_the_kill_of_its_process_and_is_signed_and_the_watch_goes_on(tmp_path):
    [port] = free_ports(1)
    process = Process(("all",), tmp_path / "data", tmp_path / "log", ALLOWED, port)
    async with open_receiver(always("503 Busy")) as receiver, open_processes({"all": process}):
        async with open_client(process.address) as faces:
            await faces.admin.create_bank(REF)
            await faces.admin.create_webhook(REF, WebhookDraft(receiver.url(), SECRET))
            item = RetainItem(("The lighthouse has a new lamp.",), time=NOW, document_id="lamp")
            await faces.retainer.retain(RetainRequest(REF, (item,), mode=ExtractionMode.CHUNKS))

            async def refused():
                [hook] = (await faces.admin.list_webhooks(REF, PageRequest())).rows
                return hook.error

            assert await until(refused) == "answered 503"
            async with aclosing(faces.admin.watch_events(REF, after=FROM_THE_START)) as watch:
                seen = await anext(watch)
        process.kill()
        receiver.answer = take
        process.start()
        await process.ready()
        async with open_client(process.address) as faces:

            async def arrived():
                [hook] = (await faces.admin.list_webhooks(REF, PageRequest())).rows
                return hook.last_event_id

            assert await until(arrived, 60) == seen.id
            item = RetainItem(("The lamp is lit.",), time=NOW, document_id="lit")
            await faces.retainer.retain(RetainRequest(REF, (item,), mode=ExtractionMode.CHUNKS))
            async with aclosing(faces.admin.watch_events(REF, after=seen.id)) as watch:
                assert (await anext(watch)).document_ids == ("lit",)
    first = [post for post in receiver.posts if post.said["data"]["document_ids"] == ["lamp"]]
    assert len(first) >= 2
    assert {post.event_id for post in first} == {seen.id}
    assert all(post.is_signed_by(SECRET.encode()) for post in receiver.posts)
    assert SECRET not in process.told()
