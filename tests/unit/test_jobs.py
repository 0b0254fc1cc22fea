import pytest
from unit.retain_fakes import open_bench

from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.retain.jobs import JobWorker
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics


def worker(bench, name="j1", handler=None):
    handlers = {OperationKind.RETAIN: handler or bench.retainer.work}
    return JobWorker(bench.ledger, handlers, worker=name, now=bench.clock, lease_s=30)


class Killed(BaseException):
    """The worker's process is gone: nothing of it runs any more."""


async def state(bench, operation_id):
    return await bench.ledger.get_operation(bench.bank.uid, operation_id)


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

        async def die(job):
            await bench.retainer.work(job)
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

        async def fail(job):
            tried.append(job.operation.attempts)
            raise StoreUnavailable("the embedder does not answer")

        for _ in range(8):
            await worker(bench, handler=fail).step()
            bench.clock.forward(60)

        assert tried == [1, 2, 3, 4, 5]
        done = await state(bench, answer.operation_id)
        assert (done.state, done.error) == (OperationState.FAILED, "the embedder does not answer")


async def test_an_operation_that_nobody_here_does_fails_and_says_so(tmp_path):
    async with open_bench(tmp_path) as bench:
        operation = (
            await bench.ledger.submit(bench.bank.uid, OperationKind.CONSOLIDATE, b"", 1, bench.clock())
        ).operation
        await worker(bench).step()
        done = await state(bench, operation.id)
        assert done.state is OperationState.FAILED
        assert "consolidate" in done.error


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

        async def break_once(job):
            if job.operation.id == broken.operation_id:
                raise RuntimeError
            return await bench.retainer.work(job)

        guard = Guard("worker", timeout_s=None, metrics=Metrics())
        jobs = worker(bench, handler=lambda job: guard.run("operation", break_once(job)))
        assert await jobs.step()
        assert await jobs.step()

        failed = await state(bench, broken.operation_id)
        assert (failed.state, failed.error) == (OperationState.FAILED, "internal error")
        assert (await state(bench, sound.operation_id)).state is OperationState.SUCCEEDED
