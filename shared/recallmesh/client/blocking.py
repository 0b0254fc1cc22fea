"""For programmes that do not await: the client's own coroutines, run by a loop in a thread."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import Context, copy_context
from typing import Any, TypeVar

from recallmesh.core.deadline import within

T = TypeVar("T")
R = TypeVar("R")


class Waiter:
    """Waits for what the loop in the thread does; any number of threads may wait at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for what this loop does."""
        self._loop = loop

    def __call__(self, work: Coroutine[Any, Any, R], *, within_s: float | None = None) -> R:
        """Return what the work returns, or raise what it raises; ``within_s`` is its deadline, in seconds.

        Raises:
            RuntimeError: the client is closed, or this is called by work that the client itself does, such as
                ``progress`` of a load: it would wait for itself.

        """
        try:
            self._check()
        except RuntimeError:
            work.close()  # nobody else can
            raise
        return self._run(_bounded(work, within_s), copy_context())

    def each(self, answers: AsyncGenerator[R, None]) -> Iterator[R]:
        """Yield what is yielded; to close the iterator ends the work."""
        context = copy_context()  # one for all steps: what a generator sets in one, it takes back in another
        try:
            while (answer := self._step(answers, context)) is not None:
                yield answer[0]
        finally:
            if not self._loop.is_closed():
                self._run(_close(answers), context)

    def _step(self, answers: AsyncGenerator[R, None], context: Context) -> tuple[R] | None:
        self._check()
        return self._run(_next(answers), context)

    def _run(self, work: Coroutine[Any, Any, R], context: Context) -> R:
        future = asyncio.run_coroutine_threadsafe(_inside(context, work), self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # where the wait was interrupted; what is done cannot be cancelled

    def _check(self) -> None:
        """Refuse to wait for what would never come."""
        if self._loop.is_closed():
            raise RuntimeError("the client is closed")
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # in a thread that has no loop
            return
        if inside:
            raise RuntimeError("this is work of the client's own loop: await there, wait elsewhere")


@contextmanager
def open_blocking(opening: AbstractAsyncContextManager[T]) -> Iterator[tuple[T, Waiter]]:
    """Open a client, or whatever is opened asynchronously, in a thread of its own; also gives who waits for its work.

    with open_blocking(open_client("127.0.0.1:7070")) as (mesh, wait):
        answer = wait(mesh.bank("diary").recall("Who is Pixel?"))
    """
    opened: Future[tuple[T, Waiter, asyncio.Event]] = Future()

    async def hold() -> None:
        async with opening as value:
            leave = asyncio.Event()
            opened.set_result((value, Waiter(asyncio.get_running_loop()), leave))
            await leave.wait()

    with ThreadPoolExecutor(1, "recallmesh-client") as thread:
        held = thread.submit(asyncio.run, hold())
        either: tuple[Future[Any], ...] = (opened, held)
        wait_for(either, return_when=FIRST_COMPLETED)
        if not opened.done():
            held.result()  # raises why it was not opened
        value, waiter, leave = opened.result()
        try:
            yield value, waiter
        finally:
            waiter(_set(leave))
            held.result()


async def _bounded(work: Coroutine[Any, Any, R], within_s: float | None) -> R:
    with within(within_s):
        return await work


async def _inside(context: Context, work: Coroutine[Any, Any, R]) -> R:
    return await asyncio.get_running_loop().create_task(work, context=context)


async def _next(answers: AsyncGenerator[R, None]) -> tuple[R] | None:
    async for answer in answers:
        return (answer,)
    return None


async def _close(answers: AsyncGenerator[R, None]) -> None:
    await answers.aclose()


async def _set(event: asyncio.Event) -> None:
    event.set()
