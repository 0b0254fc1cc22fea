"""A loop in a thread, for who does not await: what is waited for, what ends it, and that nothing stays behind."""

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from recallmesh.client import open_blocking
from recallmesh.core.deadline import remaining, within

SAID = ContextVar("said", default="nothing")


@asynccontextmanager
async def opened(log=None):
    log = [] if log is None else log
    log.append("opened")
    async with asyncio.TaskGroup():  # bound to its task: opened and closed in the same one
        yield log
    log.append("closed")


async def twice(number):
    await asyncio.sleep(0)
    return 2 * number


def test_work_is_waited_for_in_a_thread_of_its_own_which_ends():
    before = threading.active_count()
    with open_blocking(opened()) as (log, wait):
        assert wait(twice(21)) == 42
        assert threading.active_count() == before + 1
    assert log == ["opened", "closed"]
    assert threading.active_count() == before


def test_what_the_work_raises_is_raised_here_and_closes_what_was_opened():
    async def fail():
        raise LookupError("not there")

    log = []
    with pytest.raises(LookupError, match="not there"), open_blocking(opened(log)) as (_, wait):
        wait(fail())
    assert log == ["opened", "closed"]


def test_what_opening_or_closing_raises_is_raised():
    @asynccontextmanager
    async def wrong(*, opening):
        if opening:
            raise LookupError("at opening")
        yield
        raise LookupError("at closing")

    for opening, said in ((True, "at opening"), (False, "at closing")):
        with pytest.raises(LookupError, match=said), open_blocking(wrong(opening=opening)) as (_, wait):
            assert wait(twice(1)) == 2


def test_a_deadline_is_that_of_the_work():
    async def left():
        return remaining()

    with open_blocking(opened()) as (_, wait):
        assert wait(left()) is None
        assert 4 < wait(left(), within_s=5) <= 5


def test_what_a_generator_sets_for_a_step_is_there_in_the_next_and_taken_back():
    async def count():
        with within(60):
            for number in range(3):
                yield number, remaining() is not None, SAID.get()

    SAID.set("something")
    with open_blocking(opened()) as (_, wait):
        assert list(wait.each(count())) == [(number, True, "something") for number in range(3)]


def test_a_generator_that_is_left_early_is_closed():
    closed = []

    async def count():
        try:
            for number in range(100):
                yield number
        finally:
            closed.append(number)

    with open_blocking(opened()) as (_, wait):
        numbers = wait.each(count())
        assert [next(numbers), next(numbers)] == [0, 1]
        numbers.close()
        assert closed == [1]


def test_several_threads_wait_at_once():
    barrier = asyncio.Barrier(3)

    async def meet():
        await barrier.wait()  # nobody gets on before all are here
        return "met"

    with open_blocking(opened()) as (_, wait), ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda _: wait(meet()), range(3))) == ["met"] * 3


def test_who_is_interrupted_while_waiting_ends_the_work():
    class Interrupted(BaseException):
        """What Ctrl-C is, for a test."""

    cancelled = []

    async def long():
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.append(True)

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with open_blocking(opened()) as (_, wait):
            alarm = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
            alarm.start()
            with pytest.raises(Interrupted):
                wait(long())
            alarm.join()
            assert wait(twice(1)) == 2
            assert cancelled == [True]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_closed_client_says_so_and_leaves_no_work_behind():
    with open_blocking(opened()) as (_, wait):
        answers = wait.each(counting())
        assert next(answers) == 1
    with pytest.raises(RuntimeError, match="the client is closed"):
        wait(twice(1))
    with pytest.raises(RuntimeError, match="the client is closed"):
        next(answers)


def test_work_that_waits_for_its_own_loop_is_told_so_instead_of_waiting_for_ever():
    with open_blocking(opened()) as (_, wait):

        async def told():
            return wait(twice(1))

        with pytest.raises(RuntimeError, match="await there"):
            wait(told())
        assert wait(twice(1)) == 2


async def counting():
    for number in (1, 2, 3):
        yield number
