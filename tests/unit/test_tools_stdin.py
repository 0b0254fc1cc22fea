"""Lines of a descriptor come whole and in order, and a reader that leaves holds nothing up."""

import asyncio
import json
import os
import threading

import pytest

from recallmesh.tools.stdin import READ_BYTES, Lines, whole


@pytest.fixture
def pipe():
    read, write = os.pipe()
    with os.fdopen(write, "wb", buffering=0) as end:
        yield read, end
    os.close(read)


async def read_all(descriptor):
    lines = Lines(descriptor)
    lines.start()
    async with asyncio.timeout(30):
        return [line async for line in lines]


async def test_lines_come_whole_however_they_were_written(pipe):
    read, end = pipe
    for piece in (b"one\ntw", b"o\n\n", "drei 🍞".encode()[:7], "drei 🍞".encode()[7:], b"\nwithout an end"):
        end.write(piece)
    end.close()
    assert await read_all(read) == ["one", "two", "", "drei 🍞", "without an end"]


async def test_what_is_no_utf_8_is_replaced_and_no_lines_are_none(pipe):
    read, end = pipe
    end.write(b"\xff\xfe\n")
    end.close()
    assert await read_all(read) == ["\ufffd\ufffd"]
    assert await read_all(read) == []


async def test_a_line_that_is_long_comes_whole(pipe):
    read, end = pipe
    long = b"x" * (READ_BYTES * 3 + 1)
    writing = threading.Thread(target=lambda: (end.write(long + b"\n"), end.close()))
    writing.start()
    assert await read_all(read) == [long.decode()]
    writing.join()


async def test_a_reader_that_leaves_lets_the_thread_end(pipe):
    read, end = pipe
    end.write(b"line\n" * 100)
    end.close()
    before = set(threading.enumerate())

    async def leave():
        lines = Lines(read)
        lines.start()
        assert await anext(lines) == "line"
        lines.close()

    await asyncio.to_thread(asyncio.run, leave())
    for thread in set(threading.enumerate()) - before:
        if thread.name == "stdin":
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (r'"cut \ud83d"', "cut \ufffd"),
        (r'"\uDE00 cut"', "\ufffd cut"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d"', "\\\ufffd"),
        (r'"\ud83d\n"', "\ufffd\n"),
        ('"plain"', "plain"),
    ],
)
def test_half_a_character_is_read_as_one_that_cannot_be_read(written, told):
    assert json.loads(whole(written)) == told
