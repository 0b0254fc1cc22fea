"""The guard bounds a call, counts it, and lets nothing out but mesh errors."""

import asyncio
import io
import sys
from datetime import timedelta

import pytest
import structlog

from recallmesh.core.admin import Admin
from recallmesh.core.arm import ArmName, ArmQuery, Hit
from recallmesh.core.bank import BankRef
from recallmesh.core.deadline import remaining, within
from recallmesh.core.errors import ArmTimeout, BankNotFound, InternalFault, OperationNotFound
from recallmesh.core.recall import ArmReport, PartReport, PartState, RecallAnswer, RecallProgress, RecallStage
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedArm, ObservedRecaller
from recallmesh.telemetry.observed_admin import ObservedAdmin


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(name, labels)


async def soon():
    return 42


async def never():
    await asyncio.Event().wait()


async def broken():
    raise RuntimeError("password=hunter2 at /srv/secret.py")


async def missing():
    raise BankNotFound("b1")


async def slow_inside():
    async with asyncio.timeout(0.01):
        await asyncio.Event().wait()


async def test_a_call_within_its_time_returns_and_is_counted():
    metrics = Metrics()
    assert await Guard("keyword", timeout_s=5, metrics=metrics).run("search", soon()) == 42
    assert value(metrics, "recallmesh_port_call_seconds_count", part="keyword", method="search", place="here") == 1
    assert (
        value(
            metrics, "recallmesh_port_failures_total", part="keyword", method="search", place="here", reason="INTERNAL"
        )
        is None
    )


async def test_a_call_beyond_its_time_is_a_timeout_and_is_counted_by_reason():
    metrics = Metrics()
    with pytest.raises(ArmTimeout, match="keyword did not answer within its deadline"):
        await Guard("keyword", timeout_s=0.01, metrics=metrics).run("search", never())
    labels = {"part": "keyword", "method": "search", "place": "here"}
    assert value(metrics, "recallmesh_port_failures_total", reason="DEADLINE_EXCEEDED", **labels) == 1
    assert value(metrics, "recallmesh_port_call_seconds_count", **labels) == 1


async def test_the_deadline_in_hand_bounds_a_call_too():
    guard = Guard("keyword", timeout_s=None, metrics=Metrics())
    with within(0.01), pytest.raises(ArmTimeout):
        await guard.run("search", never())


async def test_what_the_work_sees_is_the_shorter_of_the_two_deadlines():
    async def left():
        return remaining()

    with within(100):
        assert 0 < await Guard("keyword", timeout_s=5, metrics=Metrics()).run("search", left()) <= 5
        assert 5 < await Guard("keyword", timeout_s=500, metrics=Metrics()).run("search", left()) <= 100
    assert await Guard("keyword", timeout_s=None, metrics=Metrics()).run("search", left()) is None
    assert remaining() is None


async def test_a_bug_leaves_as_an_internal_fault_and_the_log_has_the_rest():
    metrics = Metrics()
    with structlog.testing.capture_logs() as logs, pytest.raises(InternalFault) as caught:
        await Guard("keyword", timeout_s=5, metrics=metrics).run("search", broken())
    assert caught.value.message == "internal error"
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert [(line["event"], line["part"], line["exc_info"]) for line in logs] == [
        ("port call failed", "keyword", caught.value.__cause__)
    ]
    assert (
        value(
            metrics, "recallmesh_port_failures_total", part="keyword", method="search", place="here", reason="INTERNAL"
        )
        == 1
    )


async def test_a_mesh_error_passes_as_it_is():
    with pytest.raises(BankNotFound):
        await Guard("recall", timeout_s=5, metrics=Metrics()).run("recall", missing())


async def test_a_timeout_of_the_works_own_is_a_timeout_of_the_part():
    with pytest.raises(ArmTimeout):
        await Guard("graph", timeout_s=5, metrics=Metrics()).run("search", slow_inside())


async def test_a_cancelled_call_stays_cancelled():
    task = asyncio.create_task(Guard("graph", timeout_s=5, metrics=Metrics()).run("search", never()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Rows:
    """A stream of what is given, that notes when it is left; what is callable is awaited for its row."""

    def __init__(self, *rows):
        self.rows, self.closed, self.saw = rows, 0, []

    async def __call__(self):
        try:
            for row in self.rows:
                self.saw.append(remaining())
                yield await row() if callable(row) else row
        finally:
            self.closed += 1


async def test_a_stream_within_its_time_is_passed_on_and_counted_as_one_call():
    metrics, rows = Metrics(), Rows(1, soon)
    guard = Guard("recall", timeout_s=5, metrics=metrics)
    assert [row async for row in guard.stream("stream", rows())] == [1, 42]
    assert rows.closed == 1
    assert value(metrics, "recallmesh_port_call_seconds_count", part="recall", method="stream", place="here") == 1


async def test_the_deadline_of_a_stream_holds_for_the_whole_and_is_not_the_listeners():
    rows = Rows(1, 2, 3)
    seen = []
    async for _ in Guard("recall", timeout_s=5, metrics=Metrics()).stream("stream", rows()):
        seen.append(remaining())
        await asyncio.sleep(0.001)
    assert seen == [None] * 3
    assert 5 >= rows.saw[0] > rows.saw[1] > rows.saw[2] > 4


@pytest.mark.parametrize(
    ("work", "error", "reason"),
    [
        (never, ArmTimeout, "DEADLINE_EXCEEDED"),
        (broken, InternalFault, "INTERNAL"),
        (missing, BankNotFound, "BANK_NOT_FOUND"),
    ],
)
async def test_a_stream_that_goes_wrong_ends_as_a_call_would_and_is_left(work, error, reason):
    metrics, rows = Metrics(), Rows(1, work)
    told = []
    guard = Guard("recall", timeout_s=0.05, metrics=metrics)
    stream = guard.stream("stream", rows())
    told.append(await anext(stream))
    with pytest.raises(error):
        await anext(stream)
    assert told == [1]
    assert rows.closed == 1
    labels = {"part": "recall", "method": "stream", "place": "here"}
    assert value(metrics, "recallmesh_port_call_seconds_count", **labels) == 1
    assert value(metrics, "recallmesh_port_failures_total", reason=reason, **labels) == 1


async def test_to_close_a_stream_leaves_what_it_passes_on():
    rows = Rows(1, never)
    stream = Guard("recall", timeout_s=5, metrics=Metrics()).stream("stream", rows())
    assert await anext(stream) == 1
    await stream.aclose()
    assert rows.closed == 1


async def test_an_observed_recaller_streams_as_the_recaller_does_and_counts_the_answer_that_counts():
    silent = ArmReport(ArmName.GRAPH, PartState.TIMED_OUT, latency=timedelta(seconds=2))
    answer = RecallAnswer((), (silent,), (PartReport("reranker", PartState.OK),), tokens=7)
    told = [RecallProgress(RecallStage.FUSED, answer), RecallProgress(RecallStage.FINAL, answer)]

    class Two:
        async def stream(self, _request):
            for progress in told:
                yield progress

    metrics = Metrics()
    recaller = ObservedRecaller(Two(), timeout_s=5, metrics=metrics)
    assert [progress async for progress in recaller.stream("question")] == told
    labels = {"part": "recall", "method": "stream", "place": "here"}
    assert value(metrics, "recallmesh_port_call_seconds_count", **labels) == 1
    assert value(metrics, "recallmesh_recall_arms_total", arm="graph", state="timed_out") == 1
    assert value(metrics, "recallmesh_recall_arm_seconds_sum", arm="graph") == 2
    assert value(metrics, "recallmesh_recall_models_total", part="reranker", state="ok") == 1
    assert value(metrics, "recallmesh_recall_tokens_sum") == 7
    there = Metrics()
    remote = ObservedRecaller(Two(), timeout_s=5, metrics=there, at="recall:7070")
    assert [progress async for progress in remote.stream("question")] == told
    assert value(there, "recallmesh_port_call_seconds_count", **labels | {"place": "there"}) == 1
    assert value(there, "recallmesh_recall_tokens_count") == 0


class OneHit:
    async def search(self, _query):
        return (Hit("m1", 1.0),)

    async def index(self, _bank_uid, _entries):
        await asyncio.sleep(0.05)


async def test_an_observed_arm_counts_its_hits_and_bounds_its_searches_alone():
    metrics = Metrics()
    arm = ObservedArm(OneHit(), name=ArmName.KEYWORD, timeout_s=0.01, metrics=metrics)
    assert await arm.search(ArmQuery("u1", "q")) == (Hit("m1", 1.0),)
    assert value(metrics, "recallmesh_arm_hits_sum", arm="keyword", place="here") == 1
    assert value(metrics, "recallmesh_arm_search_seconds_count", arm="keyword", place="here") == 1
    await arm.index("u1", ())


@pytest.mark.parametrize("as_json", [True, False])
async def test_the_log_of_a_bug_holds_no_value_of_a_variable(as_json):
    async def told(memory):
        return memory.no_such_thing

    out = io.StringIO()
    set_up_logging(as_json=as_json, stream=out)
    with pytest.raises(InternalFault):
        await Guard("retain", timeout_s=5, metrics=Metrics()).run("retain", told("the code of the safe is 4711"))
    assert "no_such_thing" in out.getvalue()
    assert "4711" not in out.getvalue()


class OddAdmin:
    """Administration with one bug, one hang and one watch."""

    async def get_bank(self, _ref):
        await broken()

    async def bank_stats(self, _ref):
        await never()

    async def watch_operation(self, _ref, operation_id):
        yield 1
        yield 2
        if operation_id == "bug":
            await broken()
        raise OperationNotFound(operation_id)


async def test_observed_administration_bounds_each_call_and_hides_its_bugs():
    metrics = Metrics()
    admin = ObservedAdmin(OddAdmin(), timeout_s=0.01, metrics=metrics)
    with pytest.raises(InternalFault):
        await admin.get_bank(BankRef("b1"))
    with pytest.raises(ArmTimeout, match="bank did not answer"):
        await admin.bank_stats(BankRef("b1"))
    assert value(metrics, "recallmesh_port_call_seconds_count", part="bank", method="get_bank", place="here") == 1


@pytest.mark.parametrize(("operation_id", "error"), [("bug", InternalFault), ("o1", OperationNotFound)])
async def test_an_observed_watch_passes_on_what_comes_and_hides_its_bugs(operation_id, error):
    admin = ObservedAdmin(OddAdmin(), timeout_s=0.01, metrics=Metrics())
    seen = []

    async def listen():
        async for row in admin.watch_operation(BankRef("b1"), operation_id):
            await asyncio.sleep(0.02)
            seen.append(row)

    with pytest.raises(error) as caught:
        await listen()
    assert seen == [1, 2]
    assert "hunter2" not in caught.value.message


def test_observed_administration_has_all_of_the_port():
    wanted = {name for name in dir(Admin) if not name.startswith("_")}
    assert len(wanted) > 20
    assert {name for name in dir(ObservedAdmin) if not name.startswith("_")} == wanted


def test_a_line_goes_to_the_standard_error_of_its_own_moment(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    set_up_logging(as_json=True)
    later = io.StringIO()
    monkeypatch.setattr(sys, "stderr", later)
    structlog.get_logger().warning("here")
    assert '"event": "here"' in later.getvalue()
