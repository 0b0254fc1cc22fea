"""A silent server is asked by one call at a time."""

from contextlib import suppress

import pytest

from recallmesh.keyword.opensearch_silence import LONG_S, PAUSE_S, Silence


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def wait_in_vain(silence: Silence, clock: Clock, seconds: float = LONG_S) -> None:
    with suppress(TimeoutError), silence.listening():
        clock.now += seconds
        raise TimeoutError


def test_after_one_has_waited_in_vain_nobody_asks_for_a_moment_and_then_one_at_a_time(clock) -> None:
    silence = Silence(clock)
    assert not silence.reigns
    wait_in_vain(silence, clock)
    assert silence.reigns
    clock.now += PAUSE_S
    assert not silence.reigns
    with suppress(TimeoutError), silence.listening():
        assert silence.reigns  # for all others
        clock.now += LONG_S
        raise TimeoutError
    assert silence.reigns


def test_an_answer_ends_it(clock) -> None:
    silence = Silence(clock)
    wait_in_vain(silence, clock)
    with silence.listening():
        pass
    assert not silence.reigns


def test_a_server_that_refuses_at_once_may_be_asked_by_everybody(clock) -> None:
    silence = Silence(clock)
    wait_in_vain(silence, clock, LONG_S / 2)
    assert not silence.reigns


def test_many_may_ask_at_once_while_it_answers(clock) -> None:
    silence = Silence(clock)
    with silence.listening(), silence.listening():
        assert not silence.reigns
