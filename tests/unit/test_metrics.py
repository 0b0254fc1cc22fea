"""Metrics have names with units, labels of few values, and are told as they are."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import structlog
from deployment import until

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.operation import OperationKind
from recallmesh.core.retain import Delivery, DeliveryState, RetainAnswer, RetainedItem
from recallmesh.retain.lag import LagClock
from recallmesh.telemetry.loop_lag import loop_watched
from recallmesh.telemetry.metrics import Metrics

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
LABELS = {
    "arm", "place", "part", "method", "reason", "store", "system", "operation", "phase", "state", "outcome", "kind",
    "model", "setting", "why", "code", "status", "version", "python",
    "direction",
}  # fmt: skip
"""All have as many values as the code has names; none is of a caller's, a bank or a tenant."""
COUNTED = ("_hits", "_memories", "_tokens", "_items", "_rows", "_texts", "_backlog", "_pending", "_flight", "_limit",
           "_services", "_info", "_seconds", "_bytes")  # fmt: skip


def said(question):
    async def asked():
        return question()

    return asked


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(f"recallmesh_{name}", labels)


def test_every_metric_is_described_and_named_by_what_it_measures():
    metrics = Metrics()
    kept = {family.name for family in metrics.registry.collect() if family.name.startswith("recallmesh_")}
    assert {one.name.removesuffix("_total") for one in metrics.described} == kept
    for one in metrics.described:
        assert re.fullmatch(r"recallmesh_[a-z_]+", one.name)
        assert one.name.endswith("_total") is (one.kind == "counter"), one.name
        assert one.kind == "counter" or one.name.endswith(COUNTED), one.name
        assert one.meaning.endswith("."), one.name


def test_no_label_has_values_that_callers_make():
    assert {label for one in Metrics().described for label in one.labels} <= LABELS


def test_a_retain_is_counted_by_its_documents_memories_and_arms():
    metrics = Metrics()
    pending = Delivery(ArmName.GRAPH, DeliveryState.PENDING, "away")
    items = (RetainedItem("d1", ("m1", "m2")), RetainedItem("d2"))
    metrics.observe_retained(RetainAnswer(items, (Delivery(ArmName.KEYWORD, DeliveryState.STORED), pending)))
    assert value(metrics, "retain_documents_total", outcome="changed") == 1
    assert value(metrics, "retain_documents_total", outcome="empty") == 1
    assert value(metrics, "retain_memories_total") == 2
    assert value(metrics, "retain_items_sum") == 2
    assert value(metrics, "retain_arms_total", arm="graph", state="pending") == 1


class Ledger:
    def __init__(self, *outbox):
        self.rows = outbox

    async def outbox_lag(self, _now):
        if self.rows is None:
            raise StoreUnavailable("away")
        return self.rows

    async def operation_lag(self, _now):
        return ((OperationKind.REPAIR, 2, timedelta(minutes=1)),)


def lag(ledger, metrics, **more):
    return LagClock(
        ledger,
        now=lambda: NOW,
        outbox=metrics.observe_outbox,
        operations=metrics.observe_operations,
        **more,
    )


async def test_what_waits_is_told_and_what_was_delivered_is_told_to_wait_no_more():
    metrics = Metrics()
    await lag(Ledger((ArmName.KEYWORD, 7, timedelta(seconds=90))), metrics).count()
    assert value(metrics, "outbox_rows", arm="keyword") == 7
    assert value(metrics, "outbox_lag_seconds", arm="keyword") == 90
    assert value(metrics, "operations_pending", kind="repair") == 2
    assert value(metrics, "operations_lag_seconds", kind="repair") == 60
    assert value(metrics, "operations_pending", kind="retain") == 0
    await lag(Ledger(), metrics).count()
    assert value(metrics, "outbox_rows", arm="keyword") == value(metrics, "outbox_lag_seconds", arm="keyword") == 0


async def test_a_ledger_that_is_away_does_not_end_the_counting():
    metrics, ledger = Metrics(), Ledger()
    ledger.rows = None
    with structlog.testing.capture_logs() as logs:
        counting = asyncio.create_task(lag(ledger, metrics, every_s=0.001).run())
        await until(said(lambda: logs))
        ledger.rows = ((ArmName.GRAPH, 1, timedelta(seconds=1)),)
        await until(said(lambda: value(metrics, "outbox_rows", arm="graph") == 1))
        counting.cancel()
    assert logs[0]["event"] == "lag.not_counted"


async def test_a_loop_that_was_held_up_is_late(monkeypatch):
    monkeypatch.setattr("recallmesh.telemetry.loop_lag.EVERY_S", 0.001)
    metrics = Metrics()
    async with loop_watched(metrics):
        await until(said(lambda: value(metrics, "event_loop_lag_seconds_count")))
    assert value(metrics, "event_loop_lag_seconds_sum") >= 0
