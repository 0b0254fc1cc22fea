"""Documents are replaced, appended to and deleted, and what was derived from them follows (cases 38 and 40 to 42)."""

import asyncio
import re
from dataclasses import replace

import pytest
from deployment import NOW, every, until

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, ExtractionMode, RetainTuning
from recallmesh.core.errors import DocumentNotFound, MemoryNotFound
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.operation import OperationState
from recallmesh.core.retain import RetainItem, UpdateMode
from recallmesh.core.time import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

ONE = "The tidal mill at Bréhat turns twice a day."
TWO = "Its miller, Soazig Le Goff, learned the craft from her aunt."
THREE = "The oak wheel was replaced by a bronze one in the great repair."


def part(text, mode=UpdateMode.REPLACE, document_id="mill"):
    return RetainItem((text,), time=NOW, document_id=document_id, update_mode=mode)


async def found_by(diary, word):
    """Return which arms find a text that holds the word."""
    arms = set()
    for arm in ArmName:
        window = Window(NOW, NOW) if arm is ArmName.TEMPORAL else None
        if any(word in text for text in await diary.texts(word, arm, window=window)):
            arms.add(arm)
    return arms


async def test_a_new_version_takes_away_what_it_no_longer_says(mesh, diary):
    await diary.retain(part(ONE), part(TWO), part(THREE))
    assert await diary.words("bronze") == [THREE]
    second = await diary.retain(part(ONE), part(TWO))
    assert await found_by(diary, "bronze") == set()
    assert await found_by(diary, "Soazig") == set(ArmName)
    again = await diary.retain(part(ONE), part(TWO))
    assert [item.unchanged for item in again.items] == [True, True]
    assert [item.memory_ids for item in again.items] == [item.memory_ids for item in second.items]
    document = await mesh.faces.admin.get_document(diary.ref, "mill")
    assert (document.chunk_count, document.memory_count) == (2, 2)
    assert (await mesh.faces.admin.bank_stats(diary.ref)).memories == 2


async def test_during_a_replacement_one_version_is_always_found(diary):
    versions = [f"The harbour gate opens with code {number} this week." for number in range(6)]
    await diary.retain(part(versions[0], document_id="gate"))
    silent = []

    async def keep_asking():
        while True:
            if not [text for text in await diary.words("harbour gate code") if text in versions]:
                silent.append(True)

    asking = asyncio.create_task(keep_asking())
    for text in versions[1:]:
        await diary.retain(part(text, document_id="gate"))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert silent == []
    assert await diary.words("harbour gate code") == [versions[-1]]


async def test_eight_appends_at_once_lose_nothing(mesh, diary):
    await diary.retain(part("Log of the mill.", document_id="log"))
    lines = [f"Entry number {number}: the sluice {name} was oiled." for number, name in enumerate("ABCDEFGH")]
    await asyncio.gather(*(diary.retain(part(line, UpdateMode.APPEND, "log")) for line in lines))
    chunks = await every(lambda page: mesh.faces.admin.list_chunks(diary.ref, "log", page))
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    told = " ".join(chunk.text for chunk in chunks)
    assert [line for line in lines if line not in told] == []
    assert sorted(text for text in await diary.words("sluice oiled") if text in lines) == lines


async def test_a_document_is_read_once_more_as_the_bank_is_set_up_now(mesh, diary):
    lines = [f"Ines: I painted boat {name} on the slip." for name in ("Alca", "Bonxie", "Corvina")]
    await diary.retain(part("\n\n".join(lines), document_id="boats"))
    admin = mesh.faces.admin
    config = (await admin.get_bank(diary.ref)).config
    await admin.update_bank(
        diary.ref, config=replace(config, retain=replace(config.retain, mode=ExtractionMode.VERBOSE))
    )
    operation = await admin.reprocess_document(diary.ref, "boats")
    async for step in admin.watch_operation(diary.ref, operation.id):
        last = step
    memories = await diary.memories()
    assert (last.state, last.error, len(memories)) == (OperationState.SUCCEEDED, "", 3)
    assert sorted(last.memory_ids) == sorted(memory.id for memory in memories)
    assert sorted(await diary.words("painted boat slip")) == sorted(memory.text for memory in memories)
    with pytest.raises(DocumentNotFound):
        await admin.reprocess_document(diary.ref, "ships")


async def test_deleting_a_document_leaves_nothing_of_it(mesh, diary):
    admin = mesh.faces.admin
    await diary.keep("Kept: the bell rings at noon.", document_id="bell", tags=("bell",))
    before = await admin.bank_stats(diary.ref)
    answer = await diary.retain(part(ONE), part(TWO), tags=("mill",))
    chunks = await every(lambda page: admin.list_chunks(diary.ref, "mill", page))
    assert await admin.delete_document(diary.ref, "mill") == answer.memory_count == 2
    for item in answer.items:
        with pytest.raises(MemoryNotFound):
            await admin.get_memory(diary.ref, item.memory_ids[0])
    for call in (admin.get_document(diary.ref, "mill"), admin.delete_document(diary.ref, "mill")):
        with pytest.raises(DocumentNotFound):
            await call
    assert "Soazig" not in repr(await diary.ask("Soazig Le Goff", chunk_tokens=1000, trace=True))
    assert [tag.tag for tag in await every(lambda page: admin.list_tags(diary.ref, page))] == ["bell"]

    async def settled():
        stats = await admin.bank_stats(diary.ref)
        return stats if stats.pending == 0 else None

    after = await until(settled)
    assert after == replace(before, pending=0)
    # Every store, too, holds what it held before: the one memory that was kept.
    found = await admin.verify_bank(diary.ref)
    assert [(one.shown, one.indexed, one.is_equal) for one in found] == [(1, 1, True)] * len(found)
    assert chunks
    assert await found_by(diary, "Soazig") == set()


async def test_deleting_a_memory_leaves_nothing_of_it(mesh, diary):
    (gone,), (kept,) = await diary.keep(ONE), await diary.keep(TWO)
    await mesh.faces.admin.delete_memory(diary.ref, gone)
    with pytest.raises(MemoryNotFound):
        await mesh.faces.admin.delete_memory(diary.ref, gone)
    assert [memory.id for memory in await diary.memories()] == [kept]
    assert await diary.words("tidal mill") == []
    assert await found_by(diary, "Bréhat") == set()


async def test_a_long_document_is_found_in_all_its_parts(mesh):
    # Longer than a model's window: a quarter of the embedding, and the words are found all the same.
    diary = await mesh.diary(BankConfig(retain=RetainTuning(chunk_tokens=2048)))
    filler = "The ferry was late again and nobody on the quay was surprised about it at all. " * 36
    marks = [f"Marker sentence {number} speaks of the {word}." for number, word in enumerate(WORDS)]
    text = "\n\n".join(f"{filler}\n{mark}" for mark in marks)
    assert len(text) > 85_000
    await diary.retain(RetainItem((text,), time=NOW, document_id="long"))
    chunks = await every(lambda page: mesh.faces.admin.list_chunks(diary.ref, "long", page), size=9)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    missing = []
    for number, word in enumerate(WORDS):
        best = await diary.words(word, max_tokens=100_000, limit=1)
        if not any(marks[number] in re.sub(r"\s+", " ", text) for text in best):
            missing.append(number)
    assert missing == []
    listed = await diary.memories(MemoryFilter(document_id="long"))
    assert len(listed) == (await mesh.faces.admin.get_document(diary.ref, "long")).memory_count


WORDS = (
    *("astrolabe", "barometer", "crankshaft", "davit", "escapement", "flywheel", "gimbal", "halyard", "impeller"),
    *("jib", "keelson", "lanyard", "manometer", "nocturlabe", "outrigger", "pantograph", "quadrant", "ratchet"),
    *("sextant", "theodolite", "uniform", "ventilator", "windlass", "xebec", "yardarm", "zither", "bollard"),
    *("capstan", "dinghy", "fender"),
)
