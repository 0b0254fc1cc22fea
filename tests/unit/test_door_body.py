"""A body is read no faster than it is used, in lines wherever it is cut, and a client that leaves is noticed."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.errors import InvalidArgument, Overloaded
from recallmesh.door.body import Body, Room, TooLarge


class Connection:
    """Gives these chunks, then is silent or gone."""

    def __init__(self, *chunks, leaves=False):
        self.given = 0
        self._chunks = list(chunks)
        self._leaves = leaves

    async def receive(self):
        if self.given < len(self._chunks):
            self.given += 1
            more = self.given < len(self._chunks) or self._leaves
            return {"type": "http.request", "body": self._chunks[self.given - 1], "more_body": more}
        return {"type": "http.disconnect"}


def body(*chunks, leaves=False):
    return Body(Connection(*chunks, leaves=leaves).receive, Room(1_000_000))


async def lines(*chunks, most=1000):
    return [(one.line, one.text) async for one in body(*chunks).lines(most)]


async def test_lines_are_those_of_the_whole_and_blank_ones_count_but_do_not_come():
    assert await lines(b'{"a"', b":1}\n\n  \r\n{", b"}\r\n{}") == [(1, b'{"a":1}'), (4, b"{}\r"), (5, b"{}")]


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b" ", b"\r\n"]), max_size=12), st.integers(1, 5))
def test_it_does_not_matter_how_a_body_is_cut(pieces, size):
    whole = b"".join(pieces)
    cut = [whole[start : start + size] for start in range(0, len(whole), size)] or [b""]
    wanted = [(number, line) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]
    assert asyncio.run(lines(*cut)) == wanted


@pytest.mark.parametrize("chunks", [(b"x" * 11,), (b"x" * 6, b"x" * 5), (b"1\n", b"x" * 11, b"\n")])
async def test_a_line_that_is_too_long_is_refused_by_its_number(chunks):
    with pytest.raises(InvalidArgument, match=r"line \d: is longer than 10 bytes"):
        await lines(*chunks, most=10)


async def test_no_more_is_read_than_is_used():
    connection = Connection(b"1\n", b"2\n", b"3\n")
    async for one in Body(connection.receive, Room(1_000_000)).lines(10):
        assert connection.given == one.line


async def test_the_whole_of_a_body_has_a_bound():
    assert await body(b"12", b"34").whole(4) == b"1234"
    with pytest.raises(TooLarge):
        await body(b"12", b"345").whole(4)


async def test_a_client_that_leaves_after_its_body_is_gone():
    one = body(b"{}")
    assert await one.whole(10) == b"{}"
    async with asyncio.timeout(30):
        await one.gone()


async def test_a_body_that_breaks_off_is_never_taken_for_a_whole_one():
    one = body(b'{"half', leaves=True)
    reading = asyncio.create_task(one.whole(100))
    async with asyncio.timeout(30):
        await one.gone()
    assert not reading.done()
    reading.cancel()


async def test_what_is_not_read_does_not_hide_that_the_client_left():
    one = body(b"x")
    one.skip()
    async with asyncio.timeout(30):
        await one.gone()


async def test_what_all_bodies_hold_is_bounded_and_given_back():
    room = Room(10)
    first = Body(Connection(b"x" * 6).receive, room)
    assert await first.whole(100) == b"x" * 6
    second = Body(Connection(b"y" * 4, b"y").receive, room)
    with pytest.raises(Overloaded):
        await second.whole(100)
    second.forget()
    first.forget()
    assert await Body(Connection(b"z" * 10).receive, room).whole(100) == b"z" * 10


async def test_of_a_stream_only_the_line_that_has_not_ended_is_held():
    room = Room(10)
    stream = Body(Connection(b"1234567\n12", b"345678\n", b"12345\n").receive, room)
    seen = []
    async for one in stream.lines(100):
        seen.append(one.text)
        room.take(2)  # what is left of it is another's
        room.take(-2)
    assert seen == [b"1234567", b"12345678", b"12345"]
    stream.forget()
    room.take(10)
