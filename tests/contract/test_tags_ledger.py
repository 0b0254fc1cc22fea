"""The ledger says of a chunk who is in it, so that a reader is shown no chunk past a tag test."""

import pytest
from contract.ledger_bed import ARMS, NOW, Bed, backend, bed, chunk, fact, new_bank
from tagged import EVERY_MODE, SUBSETS

from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import MemoryState
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import passes

__all__ = ["backend", "bed"]


def members(outlined):
    return {one.id: sorted((each.id, each.tags, each.state) for each in one.memories) for one in outlined}


async def test_a_chunk_is_outlined_with_all_its_memories_in_any_state(bed: Bed) -> None:
    one, two, none = chunk("a", fact("first", tags=("x",)), fact("second")), chunk("b", "third"), chunk("c")
    await bed.write("d", one, two, none)
    first, second, third = await bed.memories()
    await bed.ledger.set_state(bed.uid, second.id, MemoryState.INVALIDATED, ARMS, NOW)
    ids = tuple(each.chunk.id for each in (one, two, none))
    outlined = await bed.ledger.outline_chunks(bed.uid, (*ids, "nobody"))
    assert members(outlined) == {
        ids[0]: sorted([(first.id, ("x",), MemoryState.ACTIVE), (second.id, (), MemoryState.INVALIDATED)]),
        ids[1]: [(third.id, (), MemoryState.ACTIVE)],
    }
    assert [each for one in outlined for each in one.memories if each not in await whole(bed)] == []
    assert await bed.ledger.outline_chunks(bed.uid, ()) == ()


async def whole(bed: Bed):
    return await bed.ledger.outline(bed.uid, tuple(memory.id for memory in await bed.memories()))


async def test_an_edit_of_tags_and_a_new_version_are_seen_at_once(bed: Bed) -> None:
    one, two = chunk("a", fact("first", tags=("x",)), "second"), chunk("b", "third")
    await bed.write("d", one, two)
    first, second, third = await bed.memories()
    await bed.ledger.edit_memory(bed.uid, first.id, MemoryEdit(tags=("y",)), ARMS, NOW)
    await bed.write("d", chunk("a"))
    outlined = members(await bed.ledger.outline_chunks(bed.uid, (one.chunk.id, two.chunk.id)))
    assert outlined == {
        one.chunk.id: sorted([(first.id, ("y",), MemoryState.ACTIVE), (second.id, (), MemoryState.ACTIVE)]),
        two.chunk.id: [(third.id, (), MemoryState.RETIRING)],
    }


async def test_another_banks_chunk_has_no_outline(bed: Bed) -> None:
    one = chunk("a", "first")
    await bed.write("d", one)
    other = await new_bank(bed.ledger, "other")
    assert await bed.ledger.outline_chunks(other.uid, (one.chunk.id,)) == ()


@pytest.mark.parametrize("size", [3, 1000], ids=["page by page", "at once"])
async def test_a_list_is_what_passes_and_no_page_is_lost(bed: Bed, size: int) -> None:
    tagged = (fact(f"f{number}", tags=tuple(sorted(SUBSETS[number % 8]))) for number in range(40))
    await bed.write("d", *(chunk(one.text, one) for one in tagged))
    everything = sorted(await bed.memories(), key=lambda memory: memory.id)
    for test in EVERY_MODE:
        found, after = [], ""
        while True:
            page = await bed.ledger.list_memories(bed.uid, MemoryFilter(tags=test), PageRequest(size, after))
            found, after = [*found, *page.rows], page.next_after
            if not after:
                break
        assert found == [memory for memory in everything if passes(test, memory.tags)], test
