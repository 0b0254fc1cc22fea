import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest
from unit.retain_fakes import open_bench

from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.time import system_clock
from recallmesh.retain.jobs import JobWorker
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics

SHORT_LEASE_S = 1.5


def worker(bench, name="j1", handler=None, *, now=None, lease_s=30, **handlers):
    handlers = {OperationKind.RETAIN: handler or bench.retainer.work} | {
        OperationKind(kind): other for kind, other in handlers.items()
    }
    return JobWorker(bench.ledger, handlers, worker=name, now=now or bench.clock, lease_s=lease_s)


class Killed(BaseException):
    """The worker's process is gone: nothing of it runs any more."""


async def state(bench, operation_id):
    return await bench.ledger.get_operation(bench.bank.uid, operation_id)


async def submit(bench, kind=OperationKind.REPAIR):
    return (await bench.ledger.submit(bench.bank.uid, kind, b"", 1, bench.clock())).operation


async def test_a_call_that_does_not_wait_is_carried_out_by_a_worker(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Ida keeps bees.", wait=False)
        assert answer.items == ()
        assert (await state(bench, answer.operation_id)).state is OperationState.PENDING
        assert await bench.texts() == []

        bench.clock.forward(3600)
        assert await worker(bench).step()
        assert not await worker(bench).step()

        done = await state(bench, answer.operation_id)
        (memory,) = await bench.memories()
        assert (done.state, done.memory_ids) == (OperationState.SUCCEEDED, (memory.id,))
        # It was said when it came, not when a worker was free.
        assert (bench.clock() - memory.mentioned).total_seconds() == 3600


async def test_another_worker_takes_over_from_a_dead_one_and_nothing_is_kept_twice(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Ida keeps bees.", wait=False)

        async def die(job, progress):
            await bench.retainer.work(job, progress)
            raise Killed

        with pytest.raises(Killed):
            await worker(bench, handler=die).step()
        assert not await worker(bench, "j2").step()
        bench.clock.forward(31)
        assert await worker(bench, "j2").step()

        assert (await state(bench, answer.operation_id)).state is OperationState.SUCCEEDED
        assert await bench.texts() == ["Ida keeps bees."]


async def test_a_passing_failure_is_tried_five_times(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Ida keeps bees.", wait=False)
        tried = []

        async def fail(job, _progress):
            tried.append(job.operation.attempts)
            raise StoreUnavailable("the embedder does not answer")

        for _ in range(8):
            await worker(bench, handler=fail).step()
            bench.clock.forward(60)

        assert tried == [1, 2, 3, 4, 5]
        done = await state(bench, answer.operation_id)
        assert (done.state, done.error) == (OperationState.FAILED, "the embedder does not answer")


async def test_an_operation_that_nobody_here_does_waits_for_another_worker(tmp_path):
    async with open_bench(tmp_path) as bench:
        operation = await submit(bench, OperationKind.CONSOLIDATE)
        assert not await worker(bench).step()
        assert (await state(bench, operation.id)).state is OperationState.PENDING


async def test_a_request_that_was_carried_out_before_is_answered_at_once(tmp_path):
    async with open_bench(tmp_path) as bench:
        first = await bench.keep("Ida keeps bees.", request_id="r1")
        again = await bench.keep("Ida keeps bees.", request_id="r1", wait=False)
        assert again.items == first.items
        assert (await bench.ledger.list_operations(bench.bank.uid, PageRequest())).rows == ()


async def test_an_operation_that_meets_a_bug_fails_and_the_next_one_is_carried_out(tmp_path):
    async with open_bench(tmp_path) as bench:
        broken = await bench.keep("Ida keeps bees.", wait=False)
        bench.clock.forward(1)
        sound = await bench.keep("Ida keeps sheep.", wait=False)

        async def break_once(job, progress):
            if job.operation.id == broken.operation_id:
                raise RuntimeError
            return await bench.retainer.work(job, progress)

        guard = Guard("worker", timeout_s=None, metrics=Metrics())
        jobs = worker(bench, handler=lambda *job: guard.run("operation", break_once(*job)))
        assert await jobs.step()
        assert await jobs.step()

        failed = await state(bench, broken.operation_id)
        assert (failed.state, failed.error) == (OperationState.FAILED, "internal error")
        assert (await state(bench, sound.operation_id)).state is OperationState.SUCCEEDED


async def test_work_longer_than_its_lease_is_kept_and_nobody_else_takes_it(tmp_path):
    async with open_bench(tmp_path) as bench:
        operation, begun = await submit(bench), []

        async def work(job, _progress):
            begun.append(job.operation.id)
            await asyncio.sleep(2.5 * SHORT_LEASE_S)
            return ()

        one, other = (
            worker(bench, name, repair=work, now=system_clock, lease_s=SHORT_LEASE_S) for name in ("j1", "j2")
        )
        working = asyncio.create_task(one.step())
        while not working.done():
            await other.step()
            await asyncio.sleep(SHORT_LEASE_S / 10)
        assert begun == [operation.id]
        assert (await state(bench, operation.id)).state is OperationState.SUCCEEDED


async def test_an_operation_that_another_has_taken_is_left_to_it(tmp_path):
    async with open_bench(tmp_path) as bench:
        operation, ended = await submit(bench), []

        async def work(_job, progress):
            # As if this process had slept past its lease: the other took over before a renewal came.
            bench.clock.forward(3600)
            await bench.ledger.lease_job("j2", (OperationKind.REPAIR,), lease=timedelta(1), now=bench.clock())
            with suppress(asyncio.CancelledError):
                await progress(1, 1)
                ended.append("went on")
            return ()

        await worker(bench, repair=work).step()
        assert ended == []
        assert (await state(bench, operation.id)).state is OperationState.RUNNING


async def test_a_running_operation_that_is_cancelled_stops_at_its_next_step(tmp_path):
    async with open_bench(tmp_path) as bench:
        operation, steps = await submit(bench), []

        async def work(_job, progress):
            for number in range(3):
                await progress(number, 3)
                steps.append(number)
                if number == 1:
                    await bench.ledger.cancel_operation(bench.bank.uid, operation.id, bench.clock())
            return ()

        guard = Guard("worker", timeout_s=None, metrics=Metrics())
        assert await worker(bench, repair=lambda *job: guard.run("operation", work(*job))).step()
        seen = await state(bench, operation.id)
        assert (seen.state, seen.error, steps) == (OperationState.CANCELLED, "", [0, 1])
        assert (seen.done, seen.total) == (2, 3)


async def test_a_retain_that_is_cancelled_while_it_is_read_keeps_nothing(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Ida keeps bees.", "Ole keeps sheep.", wait=False)

        async def work(job, progress):
            await bench.ledger.cancel_operation(bench.bank.uid, job.operation.id, bench.clock())
            return await bench.retainer.work(job, progress)

        await worker(bench, handler=work).step()
        assert (await state(bench, answer.operation_id)).state is OperationState.CANCELLED
        assert await bench.texts() == []
        await bench.ledger.retry_operation(bench.bank.uid, answer.operation_id, bench.clock())
        await worker(bench).step()
        assert sorted(await bench.texts()) == ["Ida keeps bees.", "Ole keeps sheep."]


async def test_an_operation_whose_bank_is_deleted_is_stopped(tmp_path):
    async with open_bench(tmp_path) as bench:
        await submit(bench)
        ended = []

        async def work(_job, progress):
            await bench.ledger.delete_bank(bench.bank.ref, (), bench.clock())
            await progress(1, 2)
            ended.append("went on")
            return ()

        assert await worker(bench, repair=work).step()
        assert ended == []


async def test_a_worker_that_is_stopped_gives_its_operation_back_at_once(tmp_path):
    async with open_bench(tmp_path) as bench:
        operation = await submit(bench)

        begun = asyncio.Event()

        async def work(_job, _progress):
            begun.set()
            await asyncio.Event().wait()

        leaving = asyncio.create_task(worker(bench, repair=work).step())
        await begun.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        seen = await state(bench, operation.id)
        assert (seen.state, seen.attempts) == (OperationState.PENDING, 0)


async def test_long_work_of_one_kind_holds_up_no_other(tmp_path):
    async with open_bench(tmp_path) as bench:
        await submit(bench)
        await bench.keep("Ida keeps bees.", wait=False)
        mended, retained = asyncio.Event(), asyncio.Event()

        async def work(_job, _progress):
            await mended.wait()
            return ()

        async def retain(job, progress):
            kept = await bench.retainer.work(job, progress)
            retained.set()
            return kept

        running = asyncio.create_task(worker(bench, handler=retain, repair=work).run())
        await retained.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not mended.is_set()
        assert await bench.texts() == ["Ida keeps bees."]


async def test_an_operation_that_failed_five_times_can_be_asked_for_again(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Ida keeps bees.", wait=False)
        bench.embedder.down = True
        for _ in range(5):
            await worker(bench).step()
            bench.clock.forward(60)
        assert (await state(bench, answer.operation_id)).state is OperationState.FAILED
        bench.embedder.down = False
        await bench.ledger.retry_operation(bench.bank.uid, answer.operation_id, bench.clock())
        await worker(bench).step()
        assert (await state(bench, answer.operation_id)).state is OperationState.SUCCEEDED
