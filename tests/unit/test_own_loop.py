"""Work in a loop of its own: beside the caller's, ended with the call, refused when it is closed."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from recallmesh.core.errors import StoreUnavailable
from recallmesh.graph.loop import open_own_loop

WHOSE = ContextVar("whose", default="nobody's")


async def test_work_is_done_in_the_named_thread_in_the_callers_context():
    async def work():
        await asyncio.sleep(0)
        return threading.current_thread().name, WHOSE.get()

    async with open_own_loop("beside") as loop:
        WHOSE.set("mine")
        assert await loop.run(work) == ("beside", "mine")
    assert "beside" not in {thread.name for thread in threading.enumerate()}


async def test_computing_there_does_not_hold_up_the_callers_loop():
    begun, enough = threading.Event(), threading.Event()

    async def work():
        begun.set()
        return enough.wait(30)  # it stands for computing

    async with open_own_loop("beside") as loop:
        call = asyncio.create_task(loop.run(work))
        assert await asyncio.to_thread(begun.wait, 30)
        enough.set()
        assert await call


async def test_what_the_work_raises_is_raised_to_the_caller():
    async def work():
        raise StoreUnavailable("away")

    async with open_own_loop("beside") as loop:
        with pytest.raises(StoreUnavailable, match="away"):
            await loop.run(work)


async def test_to_give_up_a_call_ends_its_work():
    begun, ended = threading.Event(), threading.Event()

    async def work():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with open_own_loop("beside") as loop:
        call = asyncio.create_task(loop.run(work))
        assert await asyncio.to_thread(begun.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(ended.wait, 30)


async def test_closing_ends_what_is_under_way_and_takes_no_more():
    async def work():
        await asyncio.Event().wait()

    async with open_own_loop("beside") as loop:
        call = asyncio.create_task(loop.run(work))
        await asyncio.sleep(0.05)
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(StoreUnavailable, match="closed"):
        await loop.run(work)
