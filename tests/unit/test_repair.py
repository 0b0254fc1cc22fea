"""Repair over a real ledger: what an index lacks it gets, what it should not have it loses, whatever it remembers."""

import asyncio
from dataclasses import replace

import pytest
from unit.retain_fakes import Bench, FakeArm, open_bench

from recallmesh.core.arm import ArmName, Removal
from recallmesh.core.comparison import compare
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.job import Job
from recallmesh.core.memory import MemoryState
from recallmesh.core.operation import OperationKind
from recallmesh.retain.repair import Repairer

SEMANTIC, KEYWORD, GRAPH = ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH


class ListedArm(FakeArm):
    """An arm that keeps what is newer than a removal, and forgets with its file."""

    async def remove(self, bank_uid, removals):
        kept = {one: entry.version for one, entry in self.entries.items()}
        await super().remove(bank_uid, tuple(one for one in removals if kept.get(one.memory_id, 0) <= one.version))

    def lose(self):
        self.entries.clear()
        self.removed.clear()


@pytest.fixture
async def bench(tmp_path):
    async with open_bench(tmp_path) as bench:
        for name in bench.arms:
            bench.arms[name] = ListedArm()
        yield bench


async def keep(bench: Bench, *texts: str) -> list[str]:
    await bench.keep(*texts)
    return [memory.id for memory in await bench.memories()]


async def drain(bench: Bench) -> None:
    bench.clock.forward(120)
    for name in bench.arms:
        while await bench.outbox.drain(name):
            pass


async def mend(bench: Bench, progress=None) -> list[tuple[int, int]]:
    """Carry out a repair; returns what it told of its progress."""
    told = []

    async def note(done, total):
        told.append((done, total))

    submitted = await bench.ledger.submit(bench.bank.uid, OperationKind.REPAIR, b"", 0, bench.clock())
    repairer = Repairer(bench.ledger, bench.arms, bench.embedder, now=bench.clock)
    await repairer.work(Job(submitted.operation, bench.bank, b""), progress or note)
    return told


async def is_equal(bench: Bench) -> bool:
    return all(one.is_equal for one in await compare(bench.ledger, bench.arms, bench.bank.uid))


async def test_a_lost_index_is_made_anew(bench):
    await keep(bench, *(f"Fact {number}." for number in range(450)))
    texts = bench.arms[KEYWORD].texts
    for arm in bench.arms.values():
        arm.lose()
    assert not await is_equal(bench)
    told = await mend(bench)
    assert await is_equal(bench)
    assert bench.arms[KEYWORD].texts == texts
    assert told == [(0, 450), (200, 450), (400, 450)]
    assert all(entry.vector for entry in bench.arms[GRAPH].entries.values())


async def test_each_text_is_embedded_once_for_all_arms(bench):
    await keep(bench, "Ida keeps bees.", "Ole keeps sheep.")
    for arm in bench.arms.values():
        arm.lose()
    bench.embedder.asked.clear()
    await mend(bench)
    assert sorted(bench.embedder.asked) == sorted(set(bench.embedder.asked))


async def test_what_is_equal_is_left_alone(bench):
    await keep(bench, "Ida keeps bees.", "Ole keeps sheep.")
    for arm in bench.arms.values():
        arm.stored.clear()
    bench.embedder.asked.clear()
    await mend(bench)
    assert not any(arm.stored for arm in bench.arms.values())
    assert bench.embedder.asked == []


async def test_stale_and_extra_are_mended(bench):
    stale, hidden, kept = await keep(bench, "One.", "Two.", "Three.")
    for one in (stale, hidden):
        await bench.ledger.set_state(bench.bank.uid, one, MemoryState.INVALIDATED, (), bench.clock())
    await bench.ledger.set_state(bench.bank.uid, stale, MemoryState.ACTIVE, (), bench.clock())
    arm = bench.arms[KEYWORD]
    arm.entries["foreign"] = replace(arm.entries[kept], memory_id="foreign")
    await mend(bench)
    assert await is_equal(bench)
    assert {one: entry.version for one, entry in arm.entries.items() if one != kept} == {stale: 3}


@pytest.mark.parametrize("remembered", ["a newer version", "a removal"])
async def test_an_index_that_remembers_more_than_a_restored_ledger_is_outranked(bench, remembered):
    (one,) = await keep(bench, "Ida keeps bees.")
    arm = bench.arms[KEYWORD]
    if remembered == "a removal":
        await arm.remove("", (Removal(one, 4),))
    else:
        arm.entries[one] = replace(arm.entries[one], version=4, text="As it was said later.")
        arm.removed[one] = 3
    await mend(bench)
    await drain(bench)
    assert await is_equal(bench)
    assert arm.texts == ["Ida keeps bees."]
    assert {arm.entries[one].version > 4 for arm in bench.arms.values()} == {True}


async def test_an_arm_that_is_down_costs_its_own_repair_alone(bench):
    await keep(bench, "Ida keeps bees.")
    for arm in bench.arms.values():
        arm.lose()
    bench.arms[SEMANTIC].down = True
    with pytest.raises(StoreUnavailable, match="semantic is not mended: the arm does not answer"):
        await mend(bench)
    assert bench.arms[KEYWORD].texts == bench.arms[GRAPH].texts == ["Ida keeps bees."]
    bench.arms[SEMANTIC].down = False
    await mend(bench)
    assert await is_equal(bench)


async def test_a_repair_that_is_cut_off_goes_on_where_it_was(bench):
    await keep(bench, *(f"Fact {number}." for number in range(450)))
    bench.arms[KEYWORD].lose()

    async def cut_off(done, _total):
        if done >= 200:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await mend(bench, cut_off)
    assert len(bench.arms[KEYWORD].entries) == 200
    bench.arms[KEYWORD].stored.clear()
    await mend(bench)
    assert await is_equal(bench)
    assert len(bench.arms[KEYWORD].stored) == 250
