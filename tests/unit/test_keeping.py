"""What a document's new version says in the same words stays the memory that it is."""

from dataclasses import replace

import pytest
from unit.retain_fakes import NOW, REF, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.errors import EntityNotFound
from recallmesh.core.export import Past
from recallmesh.core.job import Job
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.memory import MemoryState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import NamedEntity

PAINTED = "Ines: I painted the boat red."
SOLD = "Ingvar: I sold the house in Bergen."
HELLO = "Ines: Hello!"
BOUGHT = "Ola: I bought a goat in Hamar."
VERBOSE = ExtractionMode.VERBOSE
CONCISE = BankConfig(retain=RetainTuning(mode=ExtractionMode.CONCISE))


async def nobody(_done, _total):
    """Ask for nothing."""


def admin_of(bench):
    return LedgerAdmin(bench.ledger, arms=tuple(bench.arms), tokens=WordCounter(), now=bench.clock)


async def reprocess(bench, config=CONCISE):
    admin = admin_of(bench)
    await admin.update_bank(REF, config=config)
    operation = await admin.reprocess_document(REF, "d")
    return await bench.retainer.reprocess(Job(operation, await bench.ledger.get_bank(REF), b"d"), nobody)


async def keep(bench, *lines, **more):
    return await bench.keep("\n\n".join(lines), document_id="d", time=NOW, mode=VERBOSE, **more)


async def by_text(bench):
    memories = await bench.memories()
    assert len({memory.text for memory in memories}) == len(memories)
    return {memory.text: memory for memory in memories}


async def assert_every_index_is_as_the_ledger(bench):
    """Each arm holds what is shown, at its version, and nothing else."""
    uid = (await bench.ledger.get_bank(REF)).uid
    shown = {one.id: one.version for one in await bench.memories() if one.state is MemoryState.ACTIVE}
    for arm in bench.arms.values():
        held = (await arm.scan(uid, PageRequest(1000))).rows
        assert {one.memory_id: one.version for one in held} == shown
    assert await bench.ledger.outbox_lag(bench.clock()) == ()


async def test_what_is_read_in_the_same_words_keeps_its_id_and_no_arm_hears_of_it(tmp_path):
    async with open_bench(tmp_path) as bench:
        await keep(bench, HELLO, PAINTED, SOLD)
        before = await by_text(bench)
        assert set(before) == {HELLO, PAINTED, SOLD}
        assert await reprocess(bench) == ()
        after = await by_text(bench)
        assert set(after) == {PAINTED, SOLD}
        assert {(one.id, one.version) for one in after.values()} == {(before[one].id, 1) for one in (PAINTED, SOLD)}
        assert (after[PAINTED].position, after[PAINTED].previous_id) == (0, "")
        assert (after[SOLD].position, after[SOLD].previous_id) == (1, after[PAINTED].id)
        chunks = (await admin_of(bench).list_chunks(REF, "d", PageRequest())).rows
        assert [chunk.id for chunk in chunks] == [after[PAINTED].chunk_id]
        await assert_every_index_is_as_the_ledger(bench)


async def test_a_new_version_that_says_more_keeps_what_it_says_again(tmp_path):
    async with open_bench(tmp_path) as bench:
        await keep(bench, PAINTED, SOLD)
        before = await by_text(bench)
        answer = await keep(bench, BOUGHT, SOLD, PAINTED)
        after = await by_text(bench)
        assert answer.items[0].memory_ids == tuple(after[text].id for text in (BOUGHT, SOLD, PAINTED))
        assert [after[text].id for text in (PAINTED, SOLD)] == [before[text].id for text in (PAINTED, SOLD)]
        assert after[SOLD].previous_id == after[BOUGHT].id
        assert after[PAINTED].previous_id == after[SOLD].id
        assert (await admin_of(bench).get_document(REF, "d")).memory_count == 3
        await assert_every_index_is_as_the_ledger(bench)


async def test_the_same_words_twice_are_two_memories_and_once_they_are_one(tmp_path):
    async with open_bench(tmp_path) as bench:
        await keep(bench, PAINTED, PAINTED)
        first, second = await bench.memories()
        answer = await keep(bench, PAINTED)
        [left] = await bench.memories()
        assert answer.items[0].memory_ids == (left.id,)
        assert left.id in {first.id, second.id}
        assert left.position == 0
        await keep(bench, PAINTED, PAINTED, SOLD)
        assert len({one.id for one in await bench.memories()}) == 3
        await assert_every_index_is_as_the_ledger(bench)


async def test_what_a_person_has_edited_or_hidden_stays_so_while_the_caller_says_the_same(tmp_path):
    async with open_bench(tmp_path) as bench:
        await keep(bench, HELLO, PAINTED, SOLD, tags=("diary",))
        before, admin = await by_text(bench), admin_of(bench)
        edit = MemoryEdit(tags=("boats",), context="on the slip")
        await admin.edit_memory(REF, before[PAINTED].id, edit)
        await admin.invalidate_memory(REF, before[SOLD].id)
        for arm in bench.arms:
            assert await bench.outbox.drain(arm)
        assert await reprocess(bench) == ()
        after = await by_text(bench)
        assert set(after) == {PAINTED, SOLD}
        assert (after[PAINTED].id, after[PAINTED].tags) == (before[PAINTED].id, ("boats",))
        assert after[PAINTED].context == "on the slip"
        assert (after[SOLD].id, after[SOLD].state) == (before[SOLD].id, MemoryState.INVALIDATED)
        await assert_every_index_is_as_the_ledger(bench)
        # What the caller says anew goes before what was edited when it said something else.
        await keep(bench, PAINTED, tags=("public",))
        assert (await by_text(bench))[PAINTED].tags == ("public",)


async def test_what_is_said_besides_the_words_is_as_it_is_said_now(tmp_path):
    async with open_bench(tmp_path) as bench:
        await keep(bench, PAINTED, tags=("diary",), entities=(NamedEntity("Alca", "product"),))
        [before] = await bench.memories()
        answer = await keep(bench, PAINTED, tags=("public",), entities=(NamedEntity("Bonxie", "product"),))
        [after] = await bench.memories()
        assert answer.items[0].memory_ids == (after.id,) == (before.id,)
        assert (after.tags, after.version) == (("public",), 2)
        names = {mention.name for mention in after.mentions}
        assert "Bonxie" in names
        assert "Alca" not in names
        admin = admin_of(bench)
        assert [row.tag for row in (await admin.list_tags(REF, PageRequest())).rows] == ["public"]
        [alca] = [mention.entity_id for mention in before.mentions if mention.name == "Alca"]
        with pytest.raises(EntityNotFound):
            await admin.get_entity(REF, alca)
        uid = (await bench.ledger.get_bank(REF)).uid
        history = (await bench.ledger.memory_history(uid, after.id, PageRequest())).rows
        assert [(one.version, one.tags, one.reason) for one in history] == [
            (2, ("public",), "retain: tags"),
            (1, ("diary",), "retain"),
        ]
        await assert_every_index_is_as_the_ledger(bench)


async def exported(bench, uid):
    things = []
    await bench.ledger.export_bank(uid, things.append)
    return things


async def test_scopes_are_those_that_are_said_now_and_move_with_the_bank(tmp_path):
    async with open_bench(tmp_path) as bench:
        await keep(bench, PAINTED, observation_scopes=(("boats",),))
        await keep(bench, PAINTED, SOLD, observation_scopes=(("boats", "red"), ()))
        things = await exported(bench, bench.bank.uid)
        assert {one.memory_id: one.scopes for one in things if isinstance(one, Past)} == {
            memory.id: (("boats", "red"), ()) for memory in await bench.memories()
        }
        await bench.ledger.create_bank(replace(bench.bank, ref=BankRef("copy"), uid="uid-2"))
        moved = await bench.ledger.import_bank("uid-2", bench.bank.config, things, tuple(bench.arms), NOW)
        assert moved.memories == 2
        assert await exported(bench, "uid-2") == things
