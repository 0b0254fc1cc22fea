"""What was read before is read as it is now, whoever has written since, in this process or in another."""

from dataclasses import replace

import pytest
from contract.ledger_bed import ARMS, NOW, Backend, Bed, backend, bed, chunk, fact, open_bed

from recallmesh.core.bank import RetainTuning
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
        after = {one.id: one.state for one in await bed.ledger.outline(bed.uid, ids)}
        assert after == {first.id: MemoryState.INVALIDATED, second.id: MemoryState.ACTIVE}
        await other.delete_memories(bed.uid, (second.id,), ARMS, NOW)
        assert [one.id for one in await bed.ledger.outline(bed.uid, ids)] == [first.id]
        assert [one.id for one in await bed.ledger.read(bed.uid, ids, mentions=False)] == [first.id]


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
