"""Administration checks what it is given, and does the rest on a real ledger."""

from dataclasses import replace

import pytest
import pytest_asyncio
from unit.retain_fakes import NOW, REF, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.bank.names import checked_bank_id, checked_bank_name
from recallmesh.bank.text import checked_edit
from recallmesh.core import limits
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, LabelKey, RetainTuning
from recallmesh.core.errors import (
    BankExists,
    BankNotFound,
    ChunkNotFound,
    ConflictingWrite,
    DocumentNotFound,
    InvalidArgument,
    MemoryNotFound,
    OperationNotFound,
)
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import MemoryState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import UpdateMode
from recallmesh.core.tuning import RecallTuning
from recallmesh.core.write import OutboxAction

TOKENS = WordCounter()
ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
PAGE = PageRequest()


@pytest.mark.parametrize("bank_id", ["b", "B1", "7", "a.b_c:d@e-f", "x" * 128])
def test_a_good_bank_id_is_returned(bank_id):
    assert checked_bank_id(bank_id) == bank_id


@pytest.mark.parametrize("bank_id", ["", "x" * 129, "-a", ".a", "a b", "a/b", "a\n", "ä", "a\x00", "a\ud83d"])
def test_a_bad_bank_id_is_refused(bank_id):
    with pytest.raises(InvalidArgument, match="bank_id"):
        checked_bank_id(bank_id)


@pytest.mark.parametrize("name", ["x" * 513, "a\x00", "a\ud83d"])
def test_a_bad_bank_name_is_refused(name):
    with pytest.raises(InvalidArgument, match="name"):
        checked_bank_name(name)


def test_a_bank_name_is_any_text():
    assert checked_bank_name("") == ""
    assert checked_bank_name("Ánna's diary 日記 👩‍🚀") == "Ánna's diary 日記 👩‍🚀"


def test_an_edit_counts_its_tokens_and_loses_its_nuls():
    edit = checked_edit(MemoryEdit(text="three short\x00 words", context="of\x00 old"), TOKENS)
    assert edit == MemoryEdit(text="three short words", context="of old", tokens=3)


def test_an_edit_that_changes_no_text_has_no_tokens():
    assert checked_edit(MemoryEdit(tags=("a",)), TOKENS) == MemoryEdit(tags=("a",))
    assert checked_edit(MemoryEdit(context=""), TOKENS) == MemoryEdit(context="")


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (MemoryEdit(text=""), "text"),
        (MemoryEdit(text=" \n\u200b\u2060"), "text"),
        (MemoryEdit(text="\x00"), "text"),
        (MemoryEdit(text="half \ud83d"), "text"),
        (MemoryEdit(text="é" * 524_289), "text"),
        (MemoryEdit(context="c" * 4_097), "context"),
        (MemoryEdit(context="\ud83d"), "context"),
        (MemoryEdit(tags=("ok", "\u200b")), "tags[1]"),
        (MemoryEdit(tags=("t" * 257,)), "tags[0]"),
        (MemoryEdit(tags=("t\x00",)), "tags[0]"),
        (MemoryEdit(tags=("t\ud83d",)), "tags[0]"),
        (MemoryEdit(tags=tuple(f"t{number}" for number in range(65))), "tags"),
    ],
)
def test_a_bad_edit_is_refused_by_its_field(edit, field):
    with pytest.raises(InvalidArgument) as caught:
        checked_edit(edit, TOKENS)
    assert [violation.field for violation in caught.value.violations] == [field]


def test_all_that_is_wrong_with_an_edit_is_said_at_once():
    with pytest.raises(InvalidArgument) as caught:
        checked_edit(MemoryEdit(text="", context="c" * 5_000, tags=("", "b")), TOKENS)
    assert [violation.field for violation in caught.value.violations] == ["text", "context", "tags[0]"]


@pytest_asyncio.fixture
async def bench(tmp_path):
    async with open_bench(tmp_path) as bench:
        yield bench


@pytest.fixture
def admin(bench):
    return LedgerAdmin(bench.ledger, arms=ARMS, tokens=TOKENS, now=lambda: NOW, watch_interval_s=0.01)


async def outbox(bench, action):
    rows = []
    for arm in ARMS:
        rows += await bench.ledger.lease_outbox("t", arm, limit=100, lease=bench.outbox._lease, now=NOW)
    return sorted((row.memory_id, row.arm, row.version) for row in rows if row.action is action)


async def test_a_new_bank_has_a_uid_of_its_own_and_the_moment(admin):
    made = await admin.create_bank(BankRef("b2"), name="Second")
    assert (made.ref, made.name, made.created, made.config) == (BankRef("b2"), "Second", NOW, BankConfig())
    await admin.delete_bank(BankRef("b2"))
    assert (await admin.create_bank(BankRef("b2"))).uid != made.uid
    with pytest.raises(BankExists):
        await admin.create_bank(BankRef("b2"))


async def test_a_bank_of_a_bad_name_is_not_made(admin):
    with pytest.raises(InvalidArgument):
        await admin.create_bank(BankRef("b2"), name="\ud83d")
    with pytest.raises(BankNotFound):
        await admin.get_bank(BankRef("b2"))
    with pytest.raises(InvalidArgument):
        await admin.update_bank(REF, name="x" * 1000)


async def test_a_configuration_that_no_recall_could_use_is_refused(admin):
    bad = BankConfig(RecallTuning(proof_alpha=3.0, graph_strategy="nope"), RetainTuning(chunk_tokens=0))
    with pytest.raises(InvalidArgument) as refused:
        await admin.create_bank(BankRef("b9"), config=bad)
    fields = [violation.field for violation in refused.value.violations]
    assert fields == ["config.recall.graph_strategy", "config.recall.proof_alpha", "config.retain.chunk_tokens"]
    with pytest.raises(BankNotFound):
        await admin.get_bank(BankRef("b9"))
    with pytest.raises(InvalidArgument):
        await admin.update_bank(REF, config=bad)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (BankConfig(retain=RetainTuning(mission="x" * (limits.MISSION_BYTES + 1))), "config.retain.mission"),
        (BankConfig(retain=RetainTuning(instructions="a\x00b")), "config.retain.instructions"),
        (BankConfig(retain=RetainTuning(language="x" * 36)), "config.retain.language"),
        (BankConfig(retain=RetainTuning(agent_names=("x",) * 65)), "config.retain.agent_names"),
        (BankConfig(retain=RetainTuning(agent_names=("ok", "x" * 257))), "config.retain.agent_names[1]"),
        (
            BankConfig(labels=tuple(LabelKey(f"k{n}", tuple(f"{m:0200}" for m in range(1000))) for n in range(6))),
            "config.labels",
        ),
    ],
)
async def test_a_configuration_too_large_to_be_told_is_refused(admin, config, field):
    with pytest.raises(InvalidArgument) as refused:
        await admin.update_bank(REF, config=config)
    assert [violation.field for violation in refused.value.violations] == [field]
    assert (await admin.get_bank(REF)).config != config


async def test_an_update_keeps_what_it_does_not_name(admin):
    config = BankConfig(retain=RetainTuning(mission="Remember boats."))
    await admin.update_bank(REF, name="Boats")
    changed = await admin.update_bank(REF, config=config)
    assert (changed.name, changed.config, changed.version) == ("Boats", config, 3)
    with pytest.raises(ConflictingWrite):
        await admin.update_bank(REF, name="x", version=2)


async def test_an_edit_reaches_the_ledger_and_every_arm(bench, admin):
    await bench.keep("The old text.")
    (memory,) = await bench.memories()
    edited = await admin.edit_memory(REF, memory.id, MemoryEdit(text="The new text is longer.", tags=("a", "b")))
    assert (edited.text, edited.tags, edited.tokens) == ("The new text is longer.", ("a", "b"), 5)
    assert edited.version == memory.version + 1
    rows = await outbox(bench, OutboxAction.INDEX)
    assert rows == sorted((memory.id, arm, edited.version) for arm in ARMS)


async def test_an_invalidation_twice_is_as_once_and_can_be_undone(bench, admin):
    await bench.keep("A fact.")
    (memory,) = await bench.memories()
    hidden = await admin.invalidate_memory(REF, memory.id)
    assert await admin.invalidate_memory(REF, memory.id) == hidden
    assert (hidden.state, hidden.version) == (MemoryState.INVALIDATED, memory.version + 1)
    restored = await admin.restore_memory(REF, memory.id)
    assert (restored.state, restored.version) == (MemoryState.ACTIVE, memory.version + 2)
    assert await admin.restore_memory(REF, memory.id) == restored


async def test_a_deletion_reaches_every_arm_and_is_not_found_twice(bench, admin):
    await bench.keep("A fact.", "Another.")
    first, second = await bench.memories()
    await admin.delete_memory(REF, first.id)
    assert [memory_id for memory_id, _, _ in await outbox(bench, OutboxAction.REMOVE)] == [first.id] * 3
    with pytest.raises(MemoryNotFound):
        await admin.delete_memory(REF, first.id)
    listed = await admin.list_memories(REF, MemoryFilter(), PAGE)
    assert [memory.id for memory in listed.rows] == [second.id]


async def test_documents_and_chunks_are_read_counted_and_deleted(bench, admin):
    await bench.keep("One.", document_id="d")
    await bench.keep("Two.", document_id="d", update_mode=UpdateMode.APPEND)
    document = await admin.get_document(REF, "d")
    assert (document.chunk_count, document.memory_count) == (2, 2)
    first, second = (await admin.list_chunks(REF, "d", PAGE)).rows
    assert await admin.get_chunk(REF, second.id) == second
    assert [first.number, second.number] == [0, 1]
    assert (await admin.bank_stats(REF)).memories == 2
    assert await admin.delete_document(REF, "d") == 2
    for call in (admin.get_document(REF, "d"), admin.delete_document(REF, "d"), admin.list_chunks(REF, "d", PAGE)):
        with pytest.raises(DocumentNotFound):
            await call
    with pytest.raises(ChunkNotFound):
        await admin.get_chunk(REF, first.id)


async def test_a_chunk_does_not_tell_what_a_deleted_memory_said(bench, admin):
    text = "Ines: I painted the boat.\n\nIngvar: I sold the house."
    await bench.keep(text, document_id="d", mode=ExtractionMode.VERBOSE)
    painted, sold = sorted(await bench.memories(), key=lambda memory: memory.position)
    (chunk,) = (await admin.list_chunks(REF, "d", PAGE)).rows
    assert (chunk.text, chunk.outdated, painted.chunk_id, sold.chunk_id) == (text, False, chunk.id, chunk.id)
    await admin.delete_memory(REF, painted.id)
    withheld = replace(chunk, text="", outdated=True)
    assert (await admin.list_chunks(REF, "d", PAGE)).rows == (withheld,)
    assert await admin.get_chunk(REF, chunk.id) == withheld
    # The same content again is no new content: what was deleted stays so.
    await bench.keep(text, document_id="d", mode=ExtractionMode.VERBOSE)
    assert [memory.id for memory in await bench.memories()] == [sold.id]
    await admin.delete_memory(REF, sold.id)
    assert await admin.get_chunk(REF, chunk.id) == withheld
    await bench.keep("Ines: I painted the boat.", document_id="d", mode=ExtractionMode.VERBOSE)
    (chunk,) = (await admin.list_chunks(REF, "d", PAGE)).rows
    assert (chunk.text, chunk.outdated) == ("Ines: I painted the boat.", False)


async def test_a_chunk_does_not_tell_what_an_edited_memory_said(bench, admin):
    await bench.keep("Ines: I painted the boat.", document_id="d", mode=ExtractionMode.VERBOSE)
    (memory,) = await bench.memories()
    await admin.edit_memory(REF, memory.id, MemoryEdit(tags=("boats",)))
    assert not (await admin.get_chunk(REF, memory.chunk_id)).outdated
    await admin.edit_memory(REF, memory.id, MemoryEdit(text="Ines varnished the boat."))
    chunk = await admin.get_chunk(REF, memory.chunk_id)
    assert (chunk.text, chunk.outdated) == ("", True)


async def test_what_is_not_there_is_not_found(admin):
    for error, call in (
        (MemoryNotFound, admin.get_memory(REF, "m")),
        (MemoryNotFound, admin.edit_memory(REF, "m", MemoryEdit(text="x"))),
        (MemoryNotFound, admin.invalidate_memory(REF, "m")),
        (OperationNotFound, admin.get_operation(REF, "o")),
        (OperationNotFound, anext(admin.watch_operation(REF, "o"))),
        (BankNotFound, admin.list_tags(BankRef("nobody"), PAGE)),
    ):
        with pytest.raises(error):
            await call


async def test_a_watch_yields_each_change_once_and_ends_with_the_operation(bench, admin):
    operation_id = (await bench.keep("Later.", wait=False)).operation_id
    seen = []
    async for operation in admin.watch_operation(REF, operation_id):
        seen.append(operation.state.value)
        if operation.state.value == "pending":
            await admin.cancel_operation(REF, operation_id)
    assert seen == ["pending", "cancelled"]
    assert (await admin.retry_operation(REF, operation_id)).state.value == "pending"
    assert [one.id for one in (await admin.list_operations(REF, PAGE)).rows] == [operation_id]


async def test_tags_are_counted(bench, admin):
    await bench.keep("One.", tags=("a", "b"))
    await bench.keep("Two.", tags=("b",))
    counts = (await admin.list_tags(REF, PAGE)).rows
    assert [(one.tag, one.memory_count) for one in counts] == [("a", 1), ("b", 2)]
