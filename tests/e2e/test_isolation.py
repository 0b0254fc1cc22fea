"""Banks and tenants know nothing of each other (cases 30 and 39)."""

import pytest
from deployment import NOW

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import (
    BankNotFound,
    ChunkNotFound,
    DocumentNotFound,
    EntityNotFound,
    Forbidden,
    MemoryNotFound,
    OperationNotFound,
)
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.time import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

TEXT = "Rune Iversen keeps the spare key of cabin 17 under the third stone."
PAGE = PageRequest()


async def test_the_same_text_in_two_banks_is_two_memories(mesh, diary):
    other = await mesh.diary()
    (mine,), (theirs,) = await diary.keep(TEXT), await other.keep(TEXT)
    assert mine != theirs
    for arm in ArmName:
        window = Window(NOW, NOW) if arm is ArmName.TEMPORAL else None
        for bank, own in ((diary, mine), (other, theirs)):
            answer = await bank.ask(TEXT, arm, reranking=False, window=window)
            assert [one.memory.id for one in answer.memories] == [own], arm
    everything = await diary.ask(TEXT, chunk_tokens=1000, source_tokens=1000, trace=True, include_entities=True)
    assert theirs not in repr(everything)


async def test_a_foreign_id_is_not_found_by_any_call(mesh, diary):
    foreign = await mesh.diary()
    item = RetainItem((TEXT,), document_id="cabin", time=NOW)
    answer = await foreign.retain(item, mode=None)
    memory_id = answer.items[0].memory_ids[0]
    operation_id = (await foreign.retain(item, mode=None, wait=False)).operation_id
    admin, ref = mesh.faces.admin, diary.ref
    chunk_id = (await admin.list_chunks(foreign.ref, "cabin", PAGE)).rows[0].id
    entity_id = (await admin.list_entities(foreign.ref, PAGE)).rows[0].id
    calls = [
        (MemoryNotFound, admin.get_memory(ref, memory_id)),
        (MemoryNotFound, admin.edit_memory(ref, memory_id, MemoryEdit(text="Mine now."))),
        (MemoryNotFound, admin.invalidate_memory(ref, memory_id)),
        (MemoryNotFound, admin.restore_memory(ref, memory_id)),
        (MemoryNotFound, admin.delete_memory(ref, memory_id)),
        (DocumentNotFound, admin.get_document(ref, "cabin")),
        (DocumentNotFound, admin.delete_document(ref, "cabin")),
        (DocumentNotFound, admin.list_chunks(ref, "cabin", PAGE)),
        (ChunkNotFound, admin.get_chunk(ref, chunk_id)),
        (EntityNotFound, admin.get_entity(ref, entity_id)),
        (OperationNotFound, admin.get_operation(ref, operation_id)),
        (OperationNotFound, admin.cancel_operation(ref, operation_id)),
        (OperationNotFound, admin.retry_operation(ref, operation_id)),
        (OperationNotFound, anext(admin.watch_operation(ref, operation_id))),
    ]
    for error, call in calls:
        with pytest.raises(error):
            await call
    assert (await admin.list_memories(ref, MemoryFilter(document_id="cabin"), PAGE)).rows == ()
    assert (await admin.list_memories(ref, MemoryFilter(entity_id=entity_id), PAGE)).rows == ()
    assert (await admin.get_memory(foreign.ref, memory_id)).text == TEXT


async def test_an_unknown_bank_is_not_found_by_any_call(mesh):
    admin, ref = mesh.faces.admin, BankRef("nobody-made-this")
    calls = [
        mesh.faces.recaller.recall(RecallRequest(ref, "keys")),
        mesh.faces.retainer.retain(RetainRequest(ref, (RetainItem((TEXT,)),))),
        admin.get_bank(ref),
        admin.update_bank(ref, name="x"),
        admin.delete_bank(ref),
        admin.bank_stats(ref),
        admin.get_document(ref, "d"),
        admin.list_documents(ref, PAGE),
        admin.delete_document(ref, "d"),
        admin.get_chunk(ref, "c"),
        admin.list_chunks(ref, "d", PAGE),
        admin.get_memory(ref, "m"),
        admin.list_memories(ref, MemoryFilter(), PAGE),
        admin.edit_memory(ref, "m", MemoryEdit(text="x")),
        admin.invalidate_memory(ref, "m"),
        admin.restore_memory(ref, "m"),
        admin.delete_memory(ref, "m"),
        admin.list_tags(ref, PAGE),
        admin.get_entity(ref, "e"),
        admin.list_entities(ref, PAGE),
        admin.get_operation(ref, "o"),
        admin.list_operations(ref, PAGE),
        admin.cancel_operation(ref, "o"),
        admin.retry_operation(ref, "o"),
        anext(admin.watch_operation(ref, "o")),
    ]
    for call in calls:
        with pytest.raises(BankNotFound):
            await call


async def test_another_tenants_bank_of_the_same_name_is_another(mesh, diary):
    await diary.keep(TEXT)
    theirs = BankRef(diary.ref.bank_id, "acme")
    # Without authentication there is one tenant: over the wire, to take oneself for another is refused.
    refusal = BankNotFound if mesh.in_process else Forbidden
    for call in (
        mesh.faces.recaller.recall(RecallRequest(theirs, TEXT)),
        mesh.faces.admin.bank_stats(theirs),
        mesh.faces.admin.delete_bank(theirs),
        mesh.faces.retainer.retain(RetainRequest(theirs, (RetainItem((TEXT,)),))),
    ):
        with pytest.raises(refusal):
            await call
    if mesh.in_process:
        await mesh.faces.admin.create_bank(theirs)
        assert (await mesh.faces.recaller.recall(RecallRequest(theirs, TEXT))).memories == ()
        listed = (await mesh.faces.admin.list_banks("acme", PAGE)).rows
        assert [bank.ref for bank in listed] == [theirs]
    assert await diary.words("spare key") == [TEXT]


async def test_deleting_one_bank_leaves_the_other_and_frees_the_name(mesh, diary):
    other = await mesh.diary()
    await diary.keep(TEXT)
    await other.keep(TEXT)
    await mesh.faces.admin.delete_bank(diary.ref)
    assert await other.texts(TEXT) == [TEXT]
    assert await other.words("spare key") == [TEXT]
    with pytest.raises(BankNotFound):
        await diary.ask(TEXT)
    await mesh.faces.admin.create_bank(diary.ref)
    for arm in ArmName:
        window = Window(NOW, NOW) if arm is ArmName.TEMPORAL else None
        assert (await diary.ask(TEXT, arm, window=window)).memories == ()
    stats = await mesh.faces.admin.bank_stats(diary.ref)
    assert (stats.memories, stats.documents, stats.chunks, stats.entities, stats.tags) == (0, 0, 0, 0, 0)
    await diary.keep("A second life begins.")
    assert await diary.texts(TEXT) == ["A second life begins."]
