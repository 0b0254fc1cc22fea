"""Whose call is worked on next: fair by time held, and nobody waits for what can no longer be answered."""

import asyncio
from collections import Counter

import pytest

from recallmesh.core.deadline import within
from recallmesh.core.errors import Overloaded
from recallmesh.rpc.turns import MEMORY, Turns


class Stage:
    """Turns on a clock that a test moves, and what was begun, in order."""

    def __init__(self, at_once=1, waiting=100):
        self.time = 0.0
        self.begun = []
        self.turns = Turns(at_once, waiting, retry_after_s=0.5, now=lambda: self.time)
        self._ends = {}

    def call(self, tenant, thing="recall"):
        return asyncio.create_task(self._call(tenant, thing))

    async def _call(self, tenant, thing):
        async with self.turns.turn(tenant, thing):
            own = (tenant, thing, len(self.begun))
            self.begun.append(own[:2])
            ended = self._ends[own] = asyncio.Event()
            await ended.wait()

    async def calls(self, tenant, count, thing="recall"):
        made = [self.call(tenant, thing) for _ in range(count)]
        await settle()
        return made

    async def end(self, seconds=1.0):
        """Let that which was begun first end after so many seconds."""
        self.time += seconds
        own = next(iter(self._ends))
        self._ends.pop(own).set()
        await settle()
        return own[:2]

    async def learn(self, seconds=1.0):
        """Let as many calls pass as it takes to know how long one takes."""
        for _ in range(MEMORY):
            await self.calls("early", 1)
            await self.end(seconds)
        self.begun.clear()


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_so_many_are_worked_on_and_the_others_as_they_came():
    stage = Stage(at_once=2)
    for number in range(5):
        await stage.calls("a", 1, number)
    assert (stage.turns.inside, stage.turns.waiting) == (2, 3)
    for _ in range(3):
        await stage.end()
    assert [thing for _, thing in stage.begun] == [0, 1, 2, 3, 4]
    assert (stage.turns.inside, stage.turns.waiting) == (2, 0)


@pytest.mark.parametrize("at_once", [1, 4])
async def test_two_callers_beside_a_hundred_have_a_third_of_the_answers_and_more(at_once):
    stage = Stage(at_once, waiting=200)
    await stage.calls("greedy", 100)
    await stage.calls("few", 2)
    served = Counter()
    for _ in range(60):
        tenant, _ = await stage.end(1 / at_once)
        served[tenant] += 1
        await stage.calls(tenant, 1)  # each asks again at once
    assert served["few"] >= 20  # a hundred others would leave them one


async def test_small_calls_have_as_much_time_as_large_ones_and_so_more_turns():
    stage = Stage()
    await stage.calls("large", 20)
    await stage.calls("small", 2)
    held = Counter()
    for _ in range(110):
        tenant = stage.begun[-1][0]
        seconds = 10.0 if tenant == "large" else 1.0
        held[tenant] += seconds
        assert await stage.end(seconds) == (tenant, "recall")
        await stage.calls(tenant, 1)
    assert abs(held["large"] - held["small"]) <= 10


@pytest.mark.parametrize("other", [("bank-2", "Recall"), ("bank-1", "GetMemory")])
async def test_of_one_tenant_banks_and_methods_are_served_alike(other):
    stage = Stage()
    await stage.calls("a", 10, ("bank-1", "Recall"))
    await stage.calls("a", 2, other)
    for _ in range(4):
        await stage.end()
    assert [thing for _, thing in stage.begun[1:5]].count(other) == 2


async def test_who_comes_is_next_but_has_no_claim_to_what_was_used_before():
    stage = Stage()
    await stage.calls("old", 1)
    await stage.end(1000)
    await stage.calls("old", 10)
    await stage.calls("new", 10)
    for _ in range(8):
        await stage.end()
    assert [tenant for tenant, _ in stage.begun[2:10]] == ["new", "old"] * 4


async def test_who_goes_for_a_moment_does_not_come_back_before_the_others():
    stage = Stage()
    await stage.calls("a", 1)
    await stage.calls("b", 3)
    await stage.end(100)  # a has had much, and has nothing here now
    await stage.calls("a", 1)
    for _ in range(3):
        await stage.end()
    assert [tenant for tenant, _ in stage.begun] == ["a", "b", "b", "b", "a"]


async def test_where_too_many_wait_the_newest_of_the_longest_line_is_refused():
    stage = Stage(waiting=4)
    greedy = await stage.calls("greedy", 5)
    (few,) = await stage.calls("few", 1)
    refused = [call for call in greedy if call.done()]
    assert refused == greedy[-1:]
    with pytest.raises(Overloaded) as caught:
        refused[0].result()
    assert caught.value.retry_after.total_seconds() == 0.5
    assert stage.turns.waiting == 4
    assert not few.done()
    await stage.end()
    assert stage.begun[-1][0] == "few"


async def test_where_too_many_wait_one_more_of_the_longest_line_is_refused_and_no_other():
    stage = Stage(waiting=4)
    greedy = await stage.calls("greedy", 4)
    few = await stage.calls("few", 1)
    (more,) = await stage.calls("greedy", 1)
    assert type(more.exception()) is Overloaded
    assert not any(call.done() for call in (*greedy, *few))


async def test_of_one_tenant_the_bank_with_the_longest_line_loses_the_call():
    stage = Stage(waiting=4)
    busy = await stage.calls("a", 5, "busy")
    (quiet,) = await stage.calls("a", 1, "quiet")
    assert [call.done() for call in busy] == [False] * 4 + [True]
    assert not quiet.done()


async def test_without_room_to_wait_who_finds_no_place_is_refused():
    stage = Stage(at_once=2, waiting=0)
    held = await stage.calls("a", 2)
    (other,) = await stage.calls("b", 1)
    assert type(other.exception()) is Overloaded
    assert not any(call.done() for call in held)


async def test_who_would_come_too_late_is_refused_at_once_and_told_when_to_come():
    stage = Stage()
    await stage.learn(2.0)
    await stage.calls("a", 5)
    with within(9.0):
        (late,) = await stage.calls("a", 1)
    with within(11.0):
        (patient,) = await stage.calls("a", 1)
    with within(5.0):
        (other,) = await stage.calls("b", 1)  # its turn is the next but one
    assert late.exception().retry_after.total_seconds() == 4.0  # half of what the four that wait take
    assert not patient.done()
    assert not other.done()


async def test_a_call_that_is_given_up_waits_no_longer_and_is_never_begun():
    stage = Stage()
    first, second, third = await stage.calls("a", 3)
    second.cancel()
    await settle()
    assert stage.turns.waiting == 1
    await stage.end()
    assert len(stage.begun) == 2
    await stage.end()
    assert (first.done(), third.done(), stage.turns.inside) == (True, True, 0)


async def test_a_call_that_is_given_up_as_its_turn_comes_leaves_its_place_to_the_next():
    stage = Stage()
    first, second, _ = await stage.calls("a", 3)
    stage.time += 1
    first.cancel()
    await asyncio.sleep(0)  # the place is given to the second, which has not run yet
    assert stage.turns.waiting == 1
    second.cancel()
    await settle()
    assert [call.cancelled() for call in (first, second)] == [True, True]
    assert (len(stage.begun), stage.turns.inside, stage.turns.waiting) == (2, 1, 0)


async def test_what_fails_ends_its_turn():
    stage = Stage()
    with pytest.raises(ZeroDivisionError):
        async with stage.turns.turn("a", "x"):
            raise ZeroDivisionError
    assert stage.turns.inside == 0


async def test_those_who_went_are_forgotten_when_all_have_gone():
    stage = Stage()
    for number in range(50):
        await stage.calls(f"tenant-{number}", 1)
        await stage.end()
    await stage.calls("last", 1)
    assert len(stage.turns._all.parts) == 1
