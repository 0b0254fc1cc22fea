"""A short storm of each service by hypothesis, which makes what fails as small as it can; ``make fuzz`` is the long."""

import asyncio

import pytest
from fuzz.arena import SERVICES, open_arena
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

CALLS = 100
"""Calls a service; the long storm makes 20,000."""


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """One mesh for all, in a loop that each call is made in."""
    with asyncio.Runner() as runner:
        opening = open_arena(tmp_path_factory.mktemp("fuzz"))
        opened = runner.run(opening.__aenter__())
        yield opened, runner.run
        troubles = runner.run(opened.trouble())
        runner.run(opening.__aexit__(None, None, None))
    assert troubles == []


@pytest.mark.parametrize("service", SERVICES)
def test_no_request_is_answered_by_a_fault_of_ours(arena, service):
    opened, run = arena

    @settings(max_examples=CALLS, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def call(chance):
        asked = opened.ask(chance, service)
        note(asked.told())
        assert run(opened.fault_of(asked)) == ""

    call()
