# ruff: noqa: ARG002 - fakes keep their port's names
"""A recall's own calls are noted, each once, with what went over the wire and what did not."""

import asyncio

import pytest

from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.hop import Ended, HopLog, Load, Turn, load_in_hand
from recallmesh.recall.stopwatch import Stopwatch
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedArm, ObservedVectors
from recallmesh.telemetry.store import observed_store

QUERY = ArmQuery("u", "q")


class Carrier:
    """Stands for the client of an arm elsewhere: it carries so many bytes."""

    def __init__(self, sent=100, received=2000, inside_s=0.0, error=None):
        self.carried = (sent, received, inside_s)
        self.error = error

    async def search(self, query):
        load, (sent, received, inside_s) = load_in_hand(), self.carried
        if load is not None and sent:
            load.carry(sent)
        if self.error is not None:
            raise self.error
        if load is not None and received:
            load.carried(received, inside_s)
        return ()


class Asking:
    """An arm that asks the vectors."""

    def __init__(self, vectors):
        self.vectors = vectors

    async def search(self, query):
        await self.vectors.search(())
        return ()


class Rows:
    async def read(self, bank_uid):
        return bank_uid

    async def gone(self):
        raise StoreUnavailable("the ledger is away")


def arm(inner, at=None, metrics=None):
    return ObservedArm(inner, name=ArmName.KEYWORD, timeout_s=5, metrics=metrics or Metrics(), at=at)


async def test_a_call_of_an_arm_in_this_process_is_a_hop_of_no_bytes():
    watch = Stopwatch()
    with watch.noting():
        await arm(Carrier()).search(QUERY)
    [hop] = watch.hops()
    assert (hop.part, hop.method, hop.there, hop.sent, hop.received) == ("keyword", "search", False, 0, 0)
    assert hop.inside == hop.duration
    assert not hop.wire


async def test_a_call_of_an_arm_elsewhere_says_its_bytes_and_what_the_wire_had_of_its_time():
    watch = Stopwatch()
    with watch.noting():
        await arm(Carrier(inside_s=0.0), at="graph:7070").search(QUERY)
    [hop] = watch.hops()
    assert (hop.there, hop.sent, hop.received) == (True, 100, 2000)
    assert hop.inside is not None
    assert hop.wire == hop.duration - hop.inside


async def test_a_part_that_does_not_say_how_long_it_worked_leaves_that_open():
    watch = Stopwatch()
    with watch.noting():
        await arm(Carrier(inside_s=None), at="graph:7070").search(QUERY)
    [hop] = watch.hops()
    assert hop.inside is hop.wire is None


async def test_what_a_part_calls_in_turn_is_noted_nowhere_and_weighs_on_nobody_else():
    watch = Stopwatch()
    vectors = ObservedVectors(Carrier(sent=7, received=9), timeout_s=5, metrics=Metrics(), at="semantic:7070")
    with watch.noting():
        await arm(Asking(vectors)).search(QUERY)
        await arm(Carrier(), at="graph:7070").search(QUERY)
    assert [(hop.there, hop.sent) for hop in watch.hops()] == [(False, 0), (True, 100)]


async def test_calls_at_once_do_not_weigh_on_each_other():
    watch = Stopwatch()
    with watch.noting():
        await asyncio.gather(*(arm(Carrier(sent=size), at="there").search(QUERY) for size in (1, 20, 300)))
    assert sorted(hop.sent for hop in watch.hops()) == [1, 20, 300]


async def test_a_call_that_fails_is_a_hop_with_its_reason():
    watch = Stopwatch()
    with watch.noting(), pytest.raises(StoreUnavailable):
        await arm(Carrier(error=StoreUnavailable("away")), at="there").search(QUERY)
    [hop] = watch.hops()
    assert (hop.reason, hop.sent, hop.received, hop.inside) == ("STORE_UNAVAILABLE", 100, 0, None)


async def test_what_a_client_has_at_hand_and_sends_no_message_for_is_no_hop():
    watch = Stopwatch()
    with watch.noting():
        await arm(Carrier(sent=0, received=0), at="there").search(QUERY)
    assert watch.hops() == ()


async def test_a_ledger_in_a_file_is_here_and_one_on_a_server_has_bytes_that_nobody_counts():
    watch, metrics = Stopwatch(), Metrics()
    with watch.noting():
        await observed_store(Rows(), name="ledger", system="sqlite", metrics=metrics).read("u")
        await observed_store(Rows(), name="ledger", system="postgresql", metrics=metrics).read("u")
        with pytest.raises(StoreUnavailable):
            await observed_store(Rows(), name="ledger", system="postgresql", metrics=metrics).gone()
    here, there, failed = watch.hops()
    assert (here.part, here.method, here.there, here.sent, here.received) == ("ledger", "read", False, 0, 0)
    assert (there.there, there.sent, there.received, there.inside) == (True, None, None, None)
    assert failed.reason == "STORE_UNAVAILABLE"


async def test_nothing_is_noted_and_weighed_outside_of_a_recall_but_the_metric_counts_it():
    metrics = Metrics()
    await arm(Carrier(), at="there", metrics=metrics).search(QUERY)
    assert load_in_hand() is None
    for direction, count in (("sent", 100), ("received", 2000)):
        labels = {"part": "keyword", "method": "search", "direction": direction}
        assert metrics.registry.get_sample_value("recallmesh_port_bytes_total", labels) == count


async def test_a_part_in_this_process_counts_no_bytes():
    metrics = Metrics()
    await arm(Carrier(), metrics=metrics).search(QUERY)
    assert not any(one.samples for one in metrics.registry.collect() if one.name == "recallmesh_port_bytes")


def test_a_turn_leaves_what_was_in_hand_as_it_was():
    watch = Stopwatch()
    with watch.noting():
        turn = Turn(weighed=True)
        assert isinstance(load_in_hand(), Load)
        turn.end("a", "b", there=True, reason="GONE")
        Turn().end("c", "d", there=False)
    assert load_in_hand() is None
    assert [(hop.part, hop.there, hop.reason) for hop in watch.hops()] == [("a", True, "GONE"), ("c", False, "")]


def test_hops_come_by_when_they_began():
    log = HopLog(1.0)
    log.add(Ended("second", "read", 3.0, 4.0, there=False, load=None, reason=""))
    log.add(Ended("first", "read", 2.0, 5.0, there=False, load=None, reason=""))
    assert [(hop.part, hop.start.total_seconds()) for hop in log.hops()] == [("first", 1.0), ("second", 2.0)]
