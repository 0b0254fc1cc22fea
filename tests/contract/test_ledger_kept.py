"""What was read before is read as it is now, whoever has written since, in this process or in another.

As recall does, the bank is asked for before what it holds.
"""

from dataclasses import replace

import pytest
from contract.ledger_bed import ARMS, LATER, NOW, Backend, Bed, backend, bed, chunk, fact, new_bank, open_bed

from recallmesh.core.arm import Indexed
from recallmesh.core.bank import Bank, BankRef, RetainTuning
from recallmesh.core.errors import BankNotFound
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.memory import MemoryState
from recallmesh.core.page import PageRequest

__all__ = ["backend", "bed"]


async def test_an_edit_of_this_process_is_read(bed: Bed):
    told = fact("It rained")
    await bed.write("d", chunk("a", told))
    assert [one.text for one in await bed.ledger.read(bed.uid, (told.id,), mentions=False)] == ["It rained"]
    await bed.ledger.edit_memory(bed.uid, told.id, MemoryEdit(text="It snowed", tokens=2), ARMS, NOW)
    assert [one.text for one in await bed.ledger.read(bed.uid, (told.id,), mentions=False)] == ["It snowed"]


async def test_what_another_process_writes_is_read(backend: Backend):
    first, second = fact("It rained"), fact("It rained again")
    async with open_bed(backend) as bed, backend.open() as other:
        await bed.write("d", chunk("a", first, second))
        ids = (first.id, second.id)
        before = await bed.ledger.outline(bed.uid, ids)
        assert {one.state for one in before} == {MemoryState.ACTIVE}
        await other.set_state(bed.uid, first.id, MemoryState.INVALIDATED, ARMS, NOW)
        await bed.ledger.get_bank(bed.bank.ref)
        after = {one.id: one.state for one in await bed.ledger.outline(bed.uid, ids)}
        assert after == {first.id: MemoryState.INVALIDATED, second.id: MemoryState.ACTIVE}
        await other.delete_memories(bed.uid, (second.id,), ARMS, NOW)
        await bed.ledger.get_bank(bed.bank.ref)
        assert [one.id for one in await bed.ledger.outline(bed.uid, ids)] == [first.id]
        assert [one.id for one in await bed.ledger.read(bed.uid, ids, mentions=False)] == [first.id]


CHANGES = {
    "edited": lambda other, bank, ids: other.edit_memory(bank, ids[0], MemoryEdit(text="Hail", tokens=1), ARMS, NOW),
    "retagged": lambda other, bank, ids: other.edit_memory(bank, ids[0], MemoryEdit(tags=("a", "b")), ARMS, NOW),
    "invalidated": lambda other, bank, ids: other.set_state(bank, ids[0], MemoryState.INVALIDATED, ARMS, NOW),
    "deleted": lambda other, bank, ids: other.delete_memories(bank, ids[:1], ARMS, NOW),
    "document deleted": lambda other, bank, _: other.delete_document(bank, "d", ARMS, NOW),
    "versions raised": lambda other, bank, ids: other.outrank(bank, (Indexed(ids[0], 7),), ARMS, NOW),
    "document replaced": lambda other, bank, _: Bed(other, bank_of(bank)).write("d", chunk("b", "It thawed"), at=LATER),
}


def bank_of(bank_uid):
    return Bank(BankRef("bank"), bank_uid, NOW)


@pytest.mark.parametrize("change", CHANGES)
async def test_whatever_another_process_changes_in_a_bank_is_read(backend: Backend, change):
    facts = [fact("It rained"), fact("It rained again")]
    async with open_bed(backend) as bed, backend.open() as other:
        await bed.write("d", chunk("a", *facts))
        ids = tuple(one.id for one in facts)

        async def seen(ledger):
            bank = (await ledger.get_bank(bed.bank.ref)).uid
            whole, outlined = await ledger.read(bank, ids, mentions=False), await ledger.outline(bank, ids)
            return {one.id: one for one in whole}, {one.id: one for one in outlined}

        before = await seen(bed.ledger)
        assert before == await seen(bed.ledger)
        await CHANGES[change](other, bed.uid, ids)
        after = await seen(bed.ledger)
        assert after == await seen(other)
        assert after != before


async def test_what_is_read_of_a_bank_that_nobody_wrote_is_not_asked_of_the_server_again(backend: Backend, monkeypatch):
    async with open_bed(backend) as bed, backend.open() as other:
        asked = []
        glance = bed.ledger._database.glance
        monkeypatch.setattr(bed.ledger._database, "glance", lambda work: asked.append(work) or glance(work))
        mine, theirs = fact("It rained"), fact("It snowed")
        second = await new_bank(other, "second")
        await bed.write("d", chunk("a", mine))

        async def look():
            asked.clear()
            await bed.ledger.get_bank(bed.bank.ref)
            found = await bed.ledger.outline(bed.uid, (mine.id,))
            return [one.id for one in found], len(asked)

        assert await look() == ([mine.id], 2)
        again = 0 if backend.kind == "sqlite" else 1
        assert await look() == ([mine.id], again)
        await Bed(other, second).write("d", chunk("b", theirs))
        assert await look() == ([mine.id], 2 if backend.kind == "sqlite" else 1)


async def test_what_is_read_in_parts_is_whole(bed: Bed):
    facts = [fact(f"Day {number}") for number in range(5)]
    await bed.write("d", chunk("a", *facts))
    ids = tuple(one.id for one in facts)
    await bed.ledger.read(bed.uid, ids[1:3], mentions=False)
    whole = await bed.ledger.read(bed.uid, (*ids, "none of them"), mentions=False)
    assert {one.id: one for one in whole} == {
        one.id: replace(one, mentions=()) for one in await bed.ledger.read(bed.uid, ids)
    }


async def test_a_bank_changed_or_deleted_by_another_process_is_so_here(backend: Backend):
    async with open_bed(backend) as bed, backend.open() as other:
        bank = (await bed.ledger.list_banks("default", PageRequest())).rows[0]
        assert (await bed.ledger.get_bank(bank.ref)).config == bank.config
        told = replace(bank.config, retain=RetainTuning(mission="plans"))
        await other.update_bank(bank.ref, name=None, config=told, version=0)
        assert (await bed.ledger.get_bank(bank.ref)).config == told
        await other.delete_bank(bank.ref, ARMS, NOW)
        with pytest.raises(BankNotFound):
            await bed.ledger.get_bank(bank.ref)
