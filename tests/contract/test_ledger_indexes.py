"""The ledger's contract: what every index should hold, what is on its way, and how an index is outranked."""

from contract.ledger_bed import ARMS, LATER, NOW, Bed, backend, bed, chunk

from recallmesh.core.arm import ArmName, Indexed
from recallmesh.core.memory import MemoryState
from recallmesh.core.page import PageRequest
from recallmesh.core.write import OutboxAction

__all__ = ["backend", "bed"]


async def shown(bed: Bed) -> list[Indexed]:
    page = await bed.ledger.shown(bed.uid, PageRequest(2))
    rows = list(page.rows)
    while page.next_after:
        page = await bed.ledger.shown(bed.uid, PageRequest(2, page.next_after))
        rows += page.rows
    return rows


async def test_what_may_be_shown_is_listed_with_its_version_by_id(bed: Bed):
    commit = await bed.write("doc", chunk("a", "a1", "a2", "a3"), chunk("b", "b1"))
    hidden, edited, *_ = sorted(memory.id for memory in commit.added)
    await bed.ledger.set_state(bed.uid, hidden, MemoryState.INVALIDATED, ARMS, NOW)
    await bed.ledger.set_state(bed.uid, edited, MemoryState.INVALIDATED, ARMS, NOW)
    await bed.ledger.set_state(bed.uid, edited, MemoryState.ACTIVE, ARMS, NOW)
    rest = sorted({memory.id for memory in commit.added} - {hidden, edited})
    assert await shown(bed) == [Indexed(edited, 3), *(Indexed(one, 1) for one in rest)]
    assert (await bed.ledger.shown("another", PageRequest())).rows == ()


async def test_what_retires_is_shown_until_it_is_gone(bed: Bed):
    first = await bed.write("doc", chunk("a", "a1"))
    second = await bed.write("doc", chunk("b", "b1"))
    assert {row.memory_id for row in await shown(bed)} == {first.added[0].id, second.added[0].id}
    await bed.ledger.retire(bed.uid, second.write_id, ARMS, NOW)
    assert {row.memory_id for row in await shown(bed)} == {second.added[0].id}


async def test_what_is_in_the_outbox_waits_for_its_arm(bed: Bed):
    commit = await bed.write("doc", chunk("a", "a1", "a2"))
    one, other = (memory.id for memory in commit.added)
    assert await bed.ledger.waiting(bed.uid, ArmName.GRAPH, (one, other, "x")) == {one, other}
    await bed.deliver((ArmName.GRAPH,))
    assert await bed.ledger.waiting(bed.uid, ArmName.GRAPH, (one, other)) == frozenset()
    assert await bed.ledger.waiting(bed.uid, ArmName.KEYWORD, (one,)) == {one}
    assert await bed.ledger.waiting("another", ArmName.KEYWORD, (one,)) == frozenset()


async def test_a_memory_outranks_what_an_index_remembers_and_every_arm_hears_of_it(bed: Bed):
    commit = await bed.write("doc", chunk("a", "a1", "a2", "a3"))
    low, high, hidden = (memory.id for memory in commit.added)
    await bed.ledger.set_state(bed.uid, hidden, MemoryState.INVALIDATED, ARMS, NOW)
    await bed.deliver()
    floors = (Indexed(low, 7), Indexed(high, 0), Indexed(hidden, 5), Indexed("unknown", 3))
    assert await bed.ledger.outrank(bed.uid, floors, ARMS, LATER) == 2
    assert {row.memory_id: row.version for row in await shown(bed)} == {low: 8, high: 1}
    rows = [(row.action, row.memory_id, row.version) for row in await bed.lease(ArmName.KEYWORD)]
    assert sorted(rows) == sorted([(OutboxAction.INDEX, low, 8), (OutboxAction.REMOVE, hidden, 6)])
