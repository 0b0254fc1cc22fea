"""Lines as they come."""

import asyncio
import threading

import pytest

from recallmesh.cli.stream import AHEAD, packets


async def test_all_lines_come_in_order():
    found = [packet async for packet in packets([str(number) for number in range(7)], 3)]
    assert found == [("0", "1", "2"), ("3", "4", "5"), ("6",)]


async def test_nothing_comes_of_nothing():
    assert [packet async for packet in packets([], 3)] == []


async def test_what_has_come_is_handed_on_when_no_more_follows():
    more = threading.Event()

    def slowly():
        yield "a"
        more.wait(30)
        yield "b"

    coming = packets(slowly(), 10, idle_s=0.01)
    assert await anext(coming) == ("a",)
    more.set()
    assert await anext(coming) == ("b",)


async def test_only_a_few_packets_are_read_ahead():
    read = []

    def counted():
        for number in range(1000):
            read.append(number)
            yield str(number)

    coming = packets(counted(), 2)
    await anext(coming)
    await asyncio.sleep(0.05)
    assert len(read) <= 2 + AHEAD * 2 + 1
    await coming.aclose()


async def test_what_reading_raised_comes_after_the_lines_before_it():
    def failing():
        yield "a"
        raise OSError(5, "Input/output error")

    coming = packets(failing(), 10)
    assert await anext(coming) == ("a",)
    with pytest.raises(OSError, match="Input/output"):
        await anext(coming)
