"""Lines as they come."""

import asyncio
import threading
from collections import deque

import pytest

from recallmesh.cli.stream import AHEAD, Cut, packets
from recallmesh.core.errors import FieldViolation, InvalidArgument


def lines(count):
    return [b"%d" % number for number in range(count)]


async def test_all_lines_come_in_order():
    found = [packet async for packet in packets(lines(7), Cut(3))]
    assert found == [(b"0", b"1", b"2"), (b"3", b"4", b"5"), (b"6",)]


async def test_a_packet_ends_when_it_has_enough_bytes():
    found = [len(packet) async for packet in packets([b"x" * 10] * 5, Cut(100, size=20))]
    assert found == [2, 2, 1]


async def test_packets_end_where_it_was_set_beforehand_and_then_as_always():
    cut = Cut(2, size=3, sizes=deque([1, 4]))
    assert [len(packet) async for packet in packets(lines(9), cut)] == [1, 4, 2, 2]


async def test_nothing_comes_of_nothing():
    assert [packet async for packet in packets([], Cut(3))] == []


class Slow:
    """Gives a line, and another when it is told to."""

    def __init__(self):
        self.more = threading.Event()

    def __iter__(self):
        yield b"a"
        self.more.wait(30)
        yield b"b"


async def test_what_has_come_is_handed_on_when_no_more_follows():
    slowly = Slow()
    coming = packets(slowly, Cut(10), idle_s=0.01)
    assert await anext(coming) == (b"a",)
    slowly.more.set()
    assert await anext(coming) == (b"b",)


async def test_what_has_an_end_set_beforehand_waits_for_it():
    slowly = Slow()
    coming = packets(slowly, Cut(10, sizes=deque([2])), idle_s=0.01)
    waiting = asyncio.create_task(anext(coming))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    slowly.more.set()
    assert await waiting == (b"a", b"b")


async def test_only_a_few_packets_are_read_ahead():
    read = []

    def counted():
        for number in range(1000):
            read.append(number)
            yield b"%d" % number

    coming = packets(counted(), Cut(2))
    await anext(coming)
    await asyncio.sleep(0.05)
    assert len(read) <= 2 * (AHEAD + 2)
    await coming.aclose()


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), InvalidArgument(FieldViolation("line 2", "is long"))]
)
async def test_what_reading_raised_comes_after_the_lines_before_it(error):
    def failing():
        yield b"a"
        raise error

    coming = packets(failing(), Cut(10))
    assert await anext(coming) == (b"a",)
    with pytest.raises(type(error)):
        await anext(coming)
