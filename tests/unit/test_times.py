"""Queries are read for a time on threads of their own (SPEC R2)."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReading
from recallmesh.recall.times import open_times

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
FOUND = TimeReading(Occurrence(Window(NOW, NOW), Precision.DAY), 0, 3, "en.day")


class Held:
    """A reader that is held up by every text but "short" until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.beginning = threading.Semaphore(0)
        self.begun: list[str] = []
        self.threads: set[str] = set()

    def read(self, text: str, now: datetime) -> TimeReading | None:
        self.begun.append(text)
        self.beginning.release()
        self.threads.add(threading.current_thread().name)
        if text != "short":
            assert self.go.wait(30)
        return FOUND if now == NOW else None

    def read_all(self, text: str, now: datetime) -> tuple[TimeReading, ...]:  # noqa: ARG002 - the port's names
        return ()


@pytest.fixture
def reader():
    held = Held()
    yield held
    held.go.set()


async def begun(reader: Held, count: int) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(reader.beginning.acquire, timeout=20)


async def test_a_query_is_read_off_the_loop_and_its_time_returned(reader):
    async with open_times(reader) as times:
        assert await times.read("short", NOW) == FOUND
    assert threading.current_thread().name not in reader.threads


async def test_queries_of_a_documents_length_take_no_thread_from_other_blocking_work(reader):
    async with open_times(reader) as times:
        long = [asyncio.create_task(times.read(f"long {number}", NOW)) for number in range(200)]
        await begun(reader, 2)
        # As many as the loop's own threads could ever be: they would not be done if one of those were taken.
        async with asyncio.timeout(20):
            await asyncio.gather(*(asyncio.to_thread(int) for _ in range(100)))
        assert len(reader.begun) == 2
        reader.go.set()
        assert await asyncio.gather(*long) == [FOUND] * 200
    assert len(reader.threads) == 2


async def test_other_blocking_work_takes_no_thread_from_the_reading_of_queries(reader):
    block = threading.Event()
    try:
        waiting = [asyncio.create_task(asyncio.to_thread(block.wait, 30)) for _ in range(100)]
        await asyncio.sleep(0)
        async with open_times(reader) as times:
            async with asyncio.timeout(20):
                assert await times.read("short", NOW) == FOUND
            block.set()
        await asyncio.gather(*waiting)
    finally:
        block.set()


async def test_a_query_whose_call_was_given_up_is_never_read(reader):
    async with open_times(reader, threads=1) as times:
        first, second = (asyncio.create_task(times.read(text, NOW)) for text in ("long", "given up"))
        await begun(reader, 1)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        reader.go.set()
        assert await first == FOUND
        assert await times.read("short", NOW) == FOUND
    assert reader.begun == ["long", "short"]


async def test_after_the_end_nothing_is_read_and_no_thread_is_left(reader):
    async with open_times(reader) as times:
        await times.read("short", NOW)
    assert not [thread for thread in threading.enumerate() if thread.name in reader.threads]
    with pytest.raises(StoreUnavailable, match="shutting down"):
        await times.read("short", NOW)
