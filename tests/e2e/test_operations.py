"""A retain that does not wait is an operation that can be watched, and one request id is one write (case 36)."""

import asyncio
from uuid import uuid4

import pytest
from deployment import NOW, every

from recallmesh.core.errors import RequestIdReused
from recallmesh.core.operation import FINISHED, OperationKind, OperationState
from recallmesh.core.retain import RetainItem

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

TEXT = "The archive of Oulu moved to the old salt store."
ITEM = RetainItem((TEXT,), time=NOW)


async def watched(mesh, diary, operation_id):
    async with asyncio.timeout(30):
        return [seen async for seen in mesh.faces.admin.watch_operation(diary.ref, operation_id)]


async def test_an_operation_is_watched_until_it_succeeded(mesh, diary):
    answer = await diary.retain(ITEM, wait=False)
    assert (answer.items, answer.operation_id != "") == ((), True)
    seen = await watched(mesh, diary, answer.operation_id)
    last = seen[-1]
    assert (last.kind, last.state, last.error) == (OperationKind.RETAIN, OperationState.SUCCEEDED, "")
    assert all(one.state not in FINISHED for one in seen[:-1])
    assert await diary.words("salt store") == [TEXT]
    assert [memory.id for memory in await diary.memories()] == list(last.memory_ids)
    assert await mesh.faces.admin.get_operation(diary.ref, answer.operation_id) == last
    for change in (mesh.faces.admin.cancel_operation, mesh.faces.admin.retry_operation):
        assert await change(diary.ref, answer.operation_id) == last


async def test_operations_are_listed_oldest_first(mesh, diary):
    ids = []
    for number in range(5):
        answer = await diary.retain(RetainItem((f"Shelf {number} holds maps.",), time=NOW), wait=False)
        ids.append(answer.operation_id)
    for operation_id in ids:
        await watched(mesh, diary, operation_id)
    listed = await every(lambda page: mesh.faces.admin.list_operations(diary.ref, page), size=2)
    assert [operation.id for operation in listed] == ids
    assert len(await diary.memories()) == 5


async def test_one_request_id_five_times_at_once_is_one_memory(diary):
    request_id = uuid4().hex
    answers = await asyncio.gather(*(diary.retain(ITEM, request_id=request_id) for _ in range(5)))
    answers.append(await diary.retain(ITEM, request_id=request_id))
    assert {answer.items for answer in answers} == {answers[0].items}
    assert [answer.replayed for answer in answers].count(False) == 1
    assert [memory.text for memory in await diary.memories()] == [TEXT]
    with pytest.raises(RequestIdReused):
        await diary.retain(RetainItem(("Something else entirely.",), time=NOW), request_id=request_id)
    assert [memory.text for memory in await diary.memories()] == [TEXT]


async def test_one_request_id_is_one_memory_whether_or_not_one_waits(mesh, diary):
    request_id = uuid4().hex
    first = await diary.retain(ITEM, wait=False, request_id=request_id)
    await watched(mesh, diary, first.operation_id)
    again = await diary.retain(ITEM, request_id=request_id)
    assert again.replayed
    assert [memory.text for memory in await diary.memories()] == [TEXT]


async def test_the_same_request_id_in_another_bank_is_another_request(mesh, diary):
    other, request_id = await mesh.diary(), uuid4().hex
    await diary.retain(ITEM, request_id=request_id)
    answer = await other.retain(RetainItem(("Of another bank.",), time=NOW), request_id=request_id)
    assert not answer.replayed
    assert [memory.text for memory in await other.memories()] == ["Of another bank."]
