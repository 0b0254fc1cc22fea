"""Whose turn it is at the vector index's worker."""

import asyncio

from recallmesh.vectors.turns import SMALL_IN_A_ROW, Turns


async def caller(turns, got, name, *, large=False, parts=1):
    for _ in range(parts):
        await turns.take(large=large)
        got.append(name)
        await asyncio.sleep(0)
        turns.give_back(large=large)


async def order(turns, *callers):
    got = []
    async with asyncio.TaskGroup() as group:
        for name, given in callers:
            group.create_task(caller(turns, got, name, **given))
    return got


async def test_a_small_call_goes_before_the_parts_of_a_large_one_that_came_first():
    got = await order(Turns(at_once=1), ("A", {"large": True, "parts": 50}), ("b", {}), ("c", {}))
    assert got == ["A", "b", "c", *["A"] * 49]


async def test_the_parts_of_large_calls_take_turns():
    got = await order(Turns(at_once=1), ("A", {"large": True, "parts": 3}), ("B", {"large": True, "parts": 3}))
    assert got == ["A", "B"] * 3


async def test_small_calls_without_end_let_a_large_one_through():
    small = [(f"s{n}", {"parts": 20}) for n in range(3)]
    got = await order(Turns(at_once=1), *small, ("A", {"large": True, "parts": 5}))
    places = [place for place, name in enumerate(got) if name == "A"]
    assert all(later - former <= SMALL_IN_A_ROW + 2 for former, later in zip([0, *places], places, strict=False))


async def test_a_small_call_is_under_way_beside_a_large_one_but_never_two_large_ones():
    turns = Turns(at_once=2)
    await turns.take(large=True)
    second = asyncio.create_task(turns.take(large=True))
    await turns.take(large=False)
    turns.give_back(large=False)
    assert not second.done()
    turns.give_back(large=True)
    await second


async def test_a_caller_that_is_cancelled_while_it_waits_takes_no_turn():
    turns = Turns(at_once=1)
    await turns.take(large=False)
    gone = [asyncio.create_task(turns.take(large=large)) for large in (False, True)]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    turns.give_back(large=False)
    await turns.take(large=True)


async def test_a_caller_that_is_cancelled_as_its_turn_comes_gives_it_back():
    turns = Turns(at_once=1)
    await turns.take(large=True)
    gone = asyncio.create_task(turns.take(large=True))
    await asyncio.sleep(0)
    turns.give_back(large=True)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await asyncio.wait_for(turns.take(large=True), 30)
