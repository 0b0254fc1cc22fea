"""What a comparison adds up."""

import os

import pytest

from bench.measure import judge
from bench.peer.family import cpu_s, family, memory_mib
from bench.peer.system import MODELS
from bench.peer.tally import Goal, Tally, ratios


def test_what_a_system_uses_when_nothing_is_asked_is_no_part_of_what_it_uses_when_asked():
    idle, asked = Tally(), Tally(walls=[10.0, 30.0, 20.0])
    idle.spent({"server": 1.0}, {"server": 1.2}, lasted_s=10.0)
    asked.spent({"server": 2.0}, {"server": 2.4}, lasted_s=5.0)
    asked.quality.append(judge(["a", "b"], frozenset({"b"}), {"a": 3, "b": 4}))
    figures = asked.without(idle).recalled()
    assert figures["CPU ms a query"] == pytest.approx(100.0)
    assert (figures["p50 ms"], figures["evidence @10"], figures["MRR"]) == (20.0, 1.0, 0.5)


def test_models_are_no_part_of_what_a_memory_costs_without_them():
    tally = Tally(walls=[100.0], items=10)
    tally.spent({MODELS: 0.0, "mesh": 0.0}, {MODELS: 0.2, "mesh": 0.03}, lasted_s=1.0)
    figures = tally.retained()
    assert figures["CPU ms a memory, models aside"] == 3.0
    assert figures[f"CPU ms a memory: {MODELS}"] == 20.0


def test_a_goal_that_was_not_measured_is_not_held_to_be_met():
    goals = (Goal("p50", ("plain", "p50"), ("plain", "p50"), 0.2), Goal("x", ("none", "p50"), ("none", "p50"), 0.2))
    rows = ratios({"plain": {"ours": {"p50": 10.0}, "peer": {"p50": 40.0}}}, goals, "ours", "peer")
    assert [(row["what"], row["ratio"], row["met"]) for row in rows] == [("p50", 0.25, False)]


def test_a_process_is_of_its_own_family_and_holds_something():
    assert os.getpid() in family(os.getpid())
    assert cpu_s(os.getpid()) > 0
    held = memory_mib([os.getpid()])
    assert held["resident"] >= held["proportional"] > held["anonymous"] > 0
