"""The pool of workers: fair, bounded, and quick to drop what nobody waits for."""

import asyncio
import itertools
import threading

import pytest

from recallmesh.core.deadline import within
from recallmesh.core.errors import ArmTimeout, Overloaded, StoreUnavailable
from recallmesh.onnx.lane import OLDEST_TURN
from recallmesh.onnx.pool import URGENT_RUN, Batching, WorkerPool, open_pool


class Gate:
    """Work that waits until it is let through, and remembers what came."""

    def __init__(self):
        self.seen = []
        self._open = threading.Event()

    def __call__(self, item):
        assert self._open.wait(10)
        self.seen.append(item)
        return item

    def open(self):
        self._open.set()


async def soon(condition):
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.005)
    pytest.fail("did not come about")


async def test_results_come_in_the_order_of_the_items():
    async with open_pool("test", threads=4, queue=8) as pool:
        assert await pool.run(lambda number: number * 2, range(50)) == tuple(range(0, 100, 2))
        assert await pool.run(str, ()) == ()


async def test_a_small_request_overtakes_a_large_one():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        large = asyncio.create_task(pool.run(gate, [f"large {number}" for number in range(50)]))
        await asyncio.sleep(0)
        small = asyncio.create_task(pool.run(gate, ["small 0", "small 1"]))
        await asyncio.sleep(0)
        gate.open()
        await small
        assert not large.done()
        await large
    assert gate.seen.index("small 1") < 6


async def test_equal_requests_are_served_as_they_came_so_that_not_all_are_late():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        requests = [asyncio.create_task(pool.run(gate, [name] * 20)) for name in "abcd"]
        await asyncio.sleep(0)
        gate.open()
        await asyncio.gather(*requests)
    assert gate.seen == [name for name in "abcd" for _ in range(20)]


async def test_of_equal_requests_the_one_that_is_due_first_goes_first():
    gate = Gate()

    async def ask(name, seconds):
        with within(seconds):
            await pool.run(gate, [name] * 20)
            await pool.run(gate, [f"{name} again"] * 20)

    async with open_pool("test", threads=1, queue=200) as pool:
        requests = [asyncio.create_task(ask(name, seconds)) for name, seconds in (("a", 100), ("b", 200), ("c", 150))]
        await asyncio.sleep(0)
        gate.open()
        await asyncio.gather(*requests)
    # Two are in the threads before it is seen that the first has come again; now and then it is the oldest's turn.
    assert gate.seen.index("a again") < 30
    assert gate.seen[-20:] == ["b again"] * 20
    assert gate.seen.index("c again") < gate.seen.index("b again")


async def test_a_large_request_does_not_starve_behind_small_ones():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        large = asyncio.create_task(pool.run(gate, ["large"] * 20))
        await asyncio.sleep(0)
        small = [asyncio.create_task(pool.run(gate, ["small"] * 2)) for _ in range(20)]
        await asyncio.sleep(0)
        gate.open()
        await asyncio.gather(large, *small)
    assert gate.seen[2:42].count("large") == pytest.approx(40 / OLDEST_TURN, abs=1)


async def test_urgent_items_go_first_but_the_patient_do_not_starve():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        patient = asyncio.create_task(pool.run(gate, ["patient"] * 20))
        await asyncio.sleep(0)
        urgent = asyncio.create_task(pool.run(gate, ["urgent"] * 40, urgent=True))
        await asyncio.sleep(0)
        gate.open()
        await asyncio.gather(patient, urgent)
    order = gate.seen[2:]  # two were in the threads before the urgent ones came
    assert order[:URGENT_RUN] == ["urgent"] * URGENT_RUN
    assert order[URGENT_RUN] == "patient"
    assert order.index("patient", URGENT_RUN + 1) == 2 * URGENT_RUN + 1


async def test_a_cancelled_request_leaves_the_queue_at_once():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        request = asyncio.create_task(pool.run(gate, range(60)))
        await asyncio.sleep(0)
        assert pool.waiting
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        assert not pool.waiting
        gate.open()
        assert await pool.run(gate, ["next"]) == ("next",)
    assert gate.seen == [0, "next"]  # only the one that was being worked on


async def test_a_passed_deadline_drops_the_request():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        with within(0.02), pytest.raises(ArmTimeout):
            await pool.run(gate, range(60))
        assert not pool.waiting
        gate.open()


async def test_beyond_the_queue_a_request_is_refused_unless_nothing_waits():
    gate = Gate()
    async with open_pool("test", threads=1, queue=10) as pool:
        large = asyncio.create_task(pool.run(gate, range(40)))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await pool.run(gate, [0])
        urgent = asyncio.create_task(pool.run(gate, ["urgent"], urgent=True))
        await asyncio.sleep(0)
        gate.open()
        assert await urgent == ("urgent",)
        assert len(await large) == 40


async def test_a_request_that_would_come_too_late_is_refused_at_once():
    gate, ticks = Gate(), itertools.count()
    pool = WorkerPool("test", threads=1, queue=1000, now=lambda: float(next(ticks)))  # each item seems to take a second
    gate.open()
    await pool.run(gate, range(40))
    shut = Gate()
    waiting = asyncio.create_task(pool.run(shut, range(10)))
    await asyncio.sleep(0)
    with within(30.0), pytest.raises(Overloaded) as refused:
        await pool.run(gate, range(25))  # with the eight that wait before it
    assert refused.value.retry_after.total_seconds() == 8  # two of the ten are in the threads
    shut.open()
    with within(30.0):
        assert len(await pool.run(gate, range(15))) == 15
    await waiting
    await pool.close()


async def test_a_failing_item_fails_its_request_and_no_other():
    def work(item):
        if item == "bad":
            raise StoreUnavailable(item)
        return item

    async with open_pool("test", threads=2, queue=100) as pool:
        bad = asyncio.create_task(pool.run(work, ["fine", "bad", *["fine"] * 50]))
        good = asyncio.create_task(pool.run(work, ["good"] * 50))
        with pytest.raises(StoreUnavailable, match="bad"):
            await bad
        assert await good == ("good",) * 50
        await soon(lambda: not pool.waiting)
        assert await pool.run(work, ["again"]) == ("again",)


async def test_closing_leaves_nobody_waiting_for_an_item_that_had_not_begun():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        request = asyncio.create_task(pool.run(gate, [1, 2]))  # one in the thread, the other handed over as spare
        await asyncio.sleep(0)
        closing = asyncio.create_task(pool.close())
        await asyncio.sleep(0.05)
        gate.open()
        await closing
    with pytest.raises(StoreUnavailable):
        await request


async def test_closing_fails_what_waits_and_refuses_what_comes():
    gate = Gate()
    async with open_pool("test", threads=1, queue=100) as pool:
        request = asyncio.create_task(pool.run(gate, range(60)))
        await asyncio.sleep(0)
        pool.check()
        gate.open()
    with pytest.raises(StoreUnavailable):
        await request
    with pytest.raises(StoreUnavailable):
        await pool.run(gate, [1])
    with pytest.raises(StoreUnavailable):
        pool.check()


async def test_a_watch_is_told_who_waits_how_long_and_how_long_the_work_took():
    class Watch:
        def __init__(self):
            self.waiting, self.items, self.runs = [], [], []

        def queued(self, waiting):
            self.waiting.append(waiting)

        def ran(self, together):
            self.runs.append(together)

        def done(self, waited_s, ran_s):
            self.items.append((waited_s, ran_s))

    gate, watch, clock = Gate(), Watch(), itertools.count()
    pool = WorkerPool("test", threads=1, queue=100, now=lambda: next(clock), watch=watch)
    running = asyncio.create_task(pool.run(gate, range(5)))
    await asyncio.sleep(0)
    assert watch.waiting == [3]
    gate.open()
    await running
    assert watch.waiting[-1] == 0
    assert len(watch.items) == 5
    assert watch.runs == [1] * 5
    assert all(waited > 0 and ran > 0 for waited, ran in watch.items)
    assert watch.items[-1][0] > watch.items[0][0]
    await pool.close()


class Together:
    """Work on several items that waits until it is let through, and remembers what came together."""

    def __init__(self):
        self.seen = []
        self._open = threading.Event()

    def work(self, items):
        assert self._open.wait(10)
        self.seen.append(list(items))
        if "broken" in items:
            raise StoreUnavailable("broken")
        return [len(item) for item in items]

    def open(self):
        self._open.set()


async def test_the_items_of_concurrent_requests_are_worked_on_together_the_longest_first():
    together = Together()
    async with open_pool("test", threads=1, queue=100, batching=Batching(4)) as pool:
        first = asyncio.create_task(pool.run_together(together.work, ["first"], size=len))
        await asyncio.sleep(0)
        calls = [
            asyncio.create_task(pool.run_together(together.work, texts, size=len))
            for texts in (["a", "aaa"], ["bb"], ["cccc", "c", "cc"])
        ]
        await asyncio.sleep(0)
        together.open()
        assert await first == (5,)
        assert await asyncio.gather(*calls) == [(1, 3), (2,), (4, 1, 2)]
    assert together.seen == [["first"], ["bb", "aaa", "a", "cccc"], ["cc", "c"]]


async def test_without_batches_each_item_is_worked_on_by_itself():
    together = Together()
    together.open()
    async with open_pool("test", threads=1, queue=100) as pool:
        assert await pool.run_together(together.work, ["a", "bb"], size=len) == (1, 2)
    assert together.seen == [["a"], ["bb"]]


async def test_different_work_is_not_done_together():
    one, other = Together(), Together()
    one.open()
    async with open_pool("test", threads=1, queue=100, batching=Batching(8)) as pool:
        calls = [
            asyncio.create_task(pool.run_together(work, ["a"], size=len)) for work in (one.work, other.work, one.work)
        ]
        await asyncio.sleep(0)
        other.open()
        await asyncio.gather(*calls)
    assert [len(batch) for batch in one.seen + other.seen] == [1, 1, 1]


async def test_what_one_request_breaks_the_others_have_done_again():
    together = Together()
    async with open_pool("test", threads=1, queue=100, batching=Batching(8)) as pool:
        first = asyncio.create_task(pool.run_together(together.work, ["first"], size=len))
        await asyncio.sleep(0)
        calls = [
            asyncio.create_task(pool.run_together(together.work, texts, size=len))
            for texts in (["a", "aa"], ["broken"], ["bbb"])
        ]
        await asyncio.sleep(0)
        together.open()
        await first
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[::2] == [(1, 2), (3,)]
    assert isinstance(answers[1], StoreUnavailable)


async def test_an_item_waits_for_others_as_long_as_it_was_said_and_no_longer_than_until_the_batch_is_full():
    together = Together()
    together.open()
    async with open_pool("test", threads=1, queue=100, batching=Batching(2, wait_s=3600.0)) as pool:
        waiting = asyncio.create_task(pool.run_together(together.work, ["a"], size=len))
        await asyncio.sleep(0)
        assert pool.waiting == 1
        assert await pool.run_together(together.work, ["bb"], size=len) == (2,)
        assert await waiting == (1,)
    async with open_pool("test", threads=1, queue=100, batching=Batching(2, wait_s=0.01)) as pool:
        assert await pool.run_together(together.work, ["ccc"], size=len) == (3,)
    assert [sorted(batch) for batch in together.seen] == [["a", "bb"], ["ccc"]]


async def test_a_cancelled_request_does_not_end_those_it_shares_a_batch_with():
    together = Together()
    async with open_pool("test", threads=1, queue=100, batching=Batching(8)) as pool:
        first = asyncio.create_task(pool.run_together(together.work, ["first"], size=len))
        await asyncio.sleep(0)
        leaving, staying = (
            asyncio.create_task(pool.run_together(together.work, texts, size=len)) for texts in (["a"], ["bb"])
        )
        await asyncio.sleep(0)
        together.open()
        await first
        leaving.cancel()
        assert await staying == (2,)
        assert leaving.cancelled() or leaving.done()
