"""A stored document read once more: what changes, what stays, and what comes in between."""

import pytest
from unit.retain_fakes import NOW, REF, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.bank import BankConfig, ExtractionMode, RetainTuning
from recallmesh.core.errors import ConflictingWrite, DocumentNotFound
from recallmesh.core.job import Job
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import NamedEntity, UpdateMode

TEXT = "Ines: I painted the boat red.\n\nIngvar: I sold the house in Bergen."
WHOLE = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))
FACTS = BankConfig(retain=RetainTuning(mode=ExtractionMode.VERBOSE))


async def nobody(_done, _total):
    """Ask for nothing."""


def admin_of(bench):
    return LedgerAdmin(bench.ledger, arms=tuple(bench.arms), tokens=WordCounter(), now=bench.clock)


async def reprocess(bench, document_id="d", config=None):
    admin = admin_of(bench)
    if config is not None:
        await admin.update_bank(REF, config=config)
    operation = await admin.reprocess_document(REF, document_id)
    job = Job(operation, await bench.ledger.get_bank(REF), document_id.encode())
    return await bench.retainer.reprocess(job, nobody)


async def test_what_is_read_as_it_was_read_before_stays_memory_for_memory(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep(TEXT, document_id="d", mode=None)
        before = await bench.memories()
        assert await reprocess(bench) == ()
        assert await bench.memories() == before
        assert (await admin_of(bench).get_document(REF, "d")).version == 1


async def test_a_document_is_read_as_the_bank_is_set_up_now_with_all_that_was_said_besides(tmp_path):
    async with open_bench(tmp_path) as bench:
        said = {"tags": ("diary",), "metadata": {"page": "7"}, "entities": (NamedEntity("Alca", "product"),)}
        await bench.keep(TEXT, document_id="d", time=NOW, context="a diary", **said)
        (whole,) = await bench.memories()
        made = await reprocess(bench, config=FACTS)
        memories = await bench.memories()
        assert [memory.id for memory in memories] == list(made)
        assert len(memories) == 2
        assert whole.id not in made
        for memory in memories:
            assert (memory.tags, memory.metadata, memory.context) == (("diary",), {"page": "7"}, "a diary")
            assert memory.mentioned == NOW
            assert "Alca" in {mention.name for mention in memory.mentions}
        assert all(sorted(arm.texts) == sorted(memory.text for memory in memories) for arm in bench.arms.values())
        # The same content from the caller, in the mode of now, is what is there already.
        answer = await bench.keep(TEXT, document_id="d", time=NOW, context="a diary", mode=None, **said)
        assert answer.items[0].unchanged


async def test_content_whose_time_nobody_gave_keeps_the_time_it_came_at(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep(TEXT, document_id="d")
        (whole,) = await bench.memories()
        await reprocess(bench, config=FACTS)
        assert {memory.mentioned for memory in await bench.memories()} == {whole.mentioned}
        assert (await bench.keep(TEXT, document_id="d", mode=None)).items[0].unchanged


async def test_what_was_deleted_or_edited_does_not_come_back(tmp_path):
    async with open_bench(tmp_path, chunk_tokens=16) as bench:
        await bench.keep(TEXT, document_id="d", mode=ExtractionMode.VERBOSE)
        painted, sold = await bench.memories()
        await admin_of(bench).delete_memory(REF, painted.id)
        assert await reprocess(bench, config=FACTS) == ()
        assert [memory.id for memory in await bench.memories()] == [sold.id]


async def test_what_is_appended_while_a_document_is_read_is_not_lost(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep(TEXT, document_id="d")
        admin = admin_of(bench)
        await admin.update_bank(REF, config=FACTS)
        read = bench.retainer._ledger.read_sources

        class Slow:
            def __getattr__(self, name):
                return getattr(bench.ledger, name)

            async def read_sources(self, bank_uid, document_id):
                found = await read(bank_uid, document_id)
                await bench.keep("Ola: I bought a goat.", document_id="d", update_mode=UpdateMode.APPEND)
                return found

        own = bench.retainer._ledger
        bench.retainer._ledger = Slow()
        with pytest.raises(ConflictingWrite):
            await reprocess(bench)
        bench.retainer._ledger = own
        await reprocess(bench)
        assert len(await bench.memories()) == 3
        assert any("goat" in memory.text for memory in await bench.memories())


async def test_a_document_that_is_not_there_is_not_found(tmp_path):
    async with open_bench(tmp_path) as bench:
        with pytest.raises(DocumentNotFound):
            await admin_of(bench).reprocess_document(REF, "d")
        await bench.keep(TEXT, document_id="d")
        operation = await admin_of(bench).reprocess_document(REF, "d")
        await admin_of(bench).delete_document(REF, "d")
        with pytest.raises(DocumentNotFound):
            await bench.retainer.reprocess(Job(operation, await bench.ledger.get_bank(REF), b"d"), nobody)


async def test_a_chunk_that_another_write_took_away_meanwhile_is_read_and_not_left_empty(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("Ida keeps bees.", "Ola keeps sheep.", document_id="d")
        own = bench.retainer._ledger

        class Late:
            done = False

            def __getattr__(self, name):
                return getattr(bench.ledger, name)

            async def known_digests(self, bank_uid, document_id):
                known = await bench.ledger.known_digests(bank_uid, document_id)
                if not self.done:
                    self.done = True
                    await bench.keep("Ola keeps sheep.", document_id="d")
                return known

        bench.retainer._ledger = Late()
        answer = await bench.keep("Ida keeps bees.", "Ola keeps sheep.", "Eva keeps geese.", document_id="d")
        bench.retainer._ledger = own
        assert [len(item.memory_ids) for item in answer.items] == [1, 1, 1]
        assert sorted(await bench.texts()) == ["Eva keeps geese.", "Ida keeps bees.", "Ola keeps sheep."]
        assert (await admin_of(bench).list_chunks(REF, "d", PageRequest())).rows[0].text == "Ida keeps bees."
