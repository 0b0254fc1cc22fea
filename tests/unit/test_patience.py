"""An arm that hangs is waited for by one recall at a time; the others answer without it, and say so."""

import asyncio

import pytest
from unit.recall_fakes import LAST_WEEK, REF, FakeArm, G, K, S, T, four_arms, mesh, states

from recallmesh.core.deadline import within
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.recall.patience import LONG_S, TOLD, VAIN, Patience

ALL = frozenset({S, K, G, T})


def tried(*names):
    """Return the patience after as many recalls as it takes waited for these arms in vain."""
    patience = Patience()
    for name in names:
        for _ in range(VAIN):
            patience.silent(name, LONG_S)
    return patience


def test_one_recall_at_a_time_waits_for_an_arm_that_hangs():
    patience = tried(G)
    assert patience.spared(ALL) == frozenset()
    with patience.waiting(G):
        assert patience.spared(ALL) == {G}
    assert patience.spared(ALL) == frozenset()


def test_an_arm_is_forgiven_as_soon_as_it_says_anything():
    patience = tried(G)
    patience.spoke(G)
    with patience.waiting(G):
        assert patience.spared(ALL) == frozenset()


@pytest.mark.parametrize("waited_s", [0.0, LONG_S * 0.9])
def test_callers_in_a_hurry_say_nothing_of_an_arm(waited_s):
    patience = Patience()
    for _ in range(VAIN * 3):
        patience.silent(G, waited_s)
    with patience.waiting(G):
        assert patience.spared(ALL) == frozenset()


def test_when_everybody_hangs_everybody_is_waited_for():
    patience = tried(*ALL)
    with patience.waiting(G), patience.waiting(K):
        assert patience.spared(ALL) == frozenset()
        assert patience.spared(frozenset({G})) == frozenset()


async def test_recalls_go_on_without_an_arm_that_let_some_wait_and_take_it_back_when_it_answers():
    graph = FakeArm(2, 4, hang=True)
    recaller = mesh(arms=four_arms(graph=graph)).recaller()

    async def ask():
        with within(LONG_S * 2.4):
            return await recaller.recall(RecallRequest(REF, "what happened", window=LAST_WEEK))

    answers = await asyncio.gather(*(ask() for _ in range(VAIN)))
    assert [states(answer)[G] for answer in answers] == [PartState.TIMED_OUT] * VAIN

    first = asyncio.create_task(ask())
    graph.begun.clear()
    await graph.begun.wait()
    second = await ask()
    assert not first.done()
    (report,) = (one for one in second.arms if one.arm is G)
    assert (report.state, report.detail) == (PartState.UNAVAILABLE, TOLD)
    assert [state for name, state in states(second).items() if name is not G] == [PartState.OK] * 3
    assert states(await first)[G] is PartState.TIMED_OUT

    graph.hang = False
    assert [states(answer)[G] for answer in (await ask(), await ask())] == [PartState.OK] * 2
