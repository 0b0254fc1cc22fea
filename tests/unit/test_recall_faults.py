"""Each part in turn is down, slow or talks nonsense: it costs its own contribution and is named (SPEC R22)."""

import math

import pytest
from unit.recall_fakes import (
    LAST_WEEK,
    REF,
    FakeArm,
    FakeEmbedder,
    FakeLedger,
    FakeReranker,
    G,
    K,
    S,
    T,
    four_arms,
    hits,
    memory,
    mesh,
    name,
    numbers,
    part,
    states,
)

from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.deadline import within
from recallmesh.core.errors import RecallUnavailable, StoreUnavailable
from recallmesh.core.recall import Outcome, PartState, RecallRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.recall.overtaken import Vanished


def without(arm: ArmName) -> dict[ArmName, FakeArm]:
    """The arms, of which one finds nothing."""
    return four_arms(**{arm: FakeArm()})


@pytest.mark.parametrize("arm", [S, K, G, T])
async def test_each_arm_in_turn_may_hang(arm):
    slow = FakeArm(hang=True)
    quiet = await mesh(arms=without(arm)).recall(window=LAST_WEEK)
    with within(1):
        answer = await mesh(arms=four_arms(**{arm: slow})).recall(window=LAST_WEEK)
    assert states(answer).pop(arm) is PartState.TIMED_OUT
    assert [state for one, state in states(answer).items() if one is not arm] == [PartState.OK] * 3
    assert slow.cancelled == 1
    assert answer.memories == quiet.memories


NONSENSE = {
    "unknown ids": (Hit("", 1.0), Hit("nobody", 0.9), Hit(name(900), 0.8)),
    "one id many times": hits(2, 2, 2, 2),
    "scores that are no numbers": (Hit(name(1), math.nan), Hit(name(5), math.inf), Hit(name(4), -math.inf)),
    "cosines that are no numbers": (Hit(name(1), 1.0, "", math.nan), Hit(name(5), 0.5, "", math.inf)),
    "scores in the wrong order": (Hit(name(3), 0.1), Hit(name(1), 0.9)),
    "phrases without end": (Hit(name(1), 1.0, "x" * 100_000),),
    "far too many": hits(*range(1, 7), *range(1000, 6000)),
}


@pytest.mark.parametrize("reranking", [True, False])
@pytest.mark.parametrize("found", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("arm", [S, K, G, T])
async def test_each_arm_in_turn_may_talk_nonsense(arm, found, reranking):
    talker = FakeArm()
    talker.hits = found
    here = mesh(arms=four_arms(**{arm: talker}), reranker=FakeReranker())
    answer = await here.recall(window=LAST_WEEK, tuning=RecallTuning(reranking=reranking), trace=True)
    quiet = await mesh(arms=without(arm)).recall(window=LAST_WEEK)
    shown = numbers(answer)
    assert len(shown) == len(set(shown))
    known = {number for number in range(1, 7) if any(hit.memory_id == name(number) for hit in found)}
    assert set(shown) == set(numbers(quiet)) | known
    assert all(0 <= one.scores.final <= 1 for one in answer.memories)
    strangers = {row.outcome for row in answer.trace.candidates if row.memory_id not in here.ledger.memories}
    assert strangers <= {Outcome.MISSING}
    places = {one.memory.id: one.ranks for one in answer.memories}
    first = next(hit.memory_id for hit in found)
    assert first not in places or places[first][arm] == 1


@pytest.mark.parametrize(
    "embedder",
    [FakeEmbedder(error=StoreUnavailable("down")), FakeEmbedder(hang=True)],
    ids=["down", "slow"],
)
async def test_without_the_embedder_the_words_and_the_names_answer(embedder):
    with within(1):
        answer = await mesh(embedder=embedder).recall(window=LAST_WEEK)
    assert part(answer, "embedder").state in {PartState.UNAVAILABLE, PartState.TIMED_OUT}
    assert states(answer) == {
        S: PartState.UNAVAILABLE,
        T: PartState.UNAVAILABLE,
        K: PartState.OK,
        G: PartState.OK,
    }
    assert sorted(numbers(answer)) == [2, 3, 4, 5]


@pytest.mark.parametrize("count", [0, 2])
async def test_an_embedder_that_miscounts_is_as_good_as_none(count):
    class Miscounting(FakeEmbedder):
        async def embed(self, texts, kind):
            return (await super().embed(texts, kind)) * count

    answer = await mesh(embedder=Miscounting()).recall()
    assert part(answer, "embedder").state is PartState.FAILED
    assert sorted(numbers(answer)) == [2, 3, 4, 5]


@pytest.mark.parametrize("size", [0, 1, 9])
async def test_a_reranker_that_miscounts_is_as_good_as_none(size):
    class Miscounting(FakeReranker):
        async def rerank(self, query, texts):  # noqa: ARG002 - the port's names
            return (1.0,) * size

    answer = await mesh(reranker=Miscounting()).recall()
    assert part(answer, "reranker").state is PartState.FAILED
    assert answer.memories == (await mesh().recall()).memories


async def test_the_models_and_all_but_one_arm_may_be_gone_at_once():
    gone = StoreUnavailable("down")
    models = {"embedder": FakeEmbedder(error=gone), "reranker": FakeReranker(error=gone)}
    arms = {arm: FakeArm(error=gone) for arm in ArmName}
    answer = await mesh(arms=arms | {K: FakeArm(4, 2)}, **models).recall(window=LAST_WEEK)
    assert numbers(answer) == [4, 2]
    assert {one.state for one in answer.models} == {PartState.UNAVAILABLE}
    with pytest.raises(RecallUnavailable) as caught:
        await mesh(arms=arms, **models).recall(window=LAST_WEEK)
    assert all(arm.value in str(caught.value) for arm in ArmName)


async def test_an_arm_that_shows_what_is_gone_from_the_ledger_shows_nothing():
    answer = await mesh(ledger=FakeLedger(memory(2)), arms=four_arms()).recall(window=LAST_WEEK, trace=True)
    assert numbers(answer) == [2]
    assert all(row.text == "" for row in answer.trace.candidates if row.outcome is Outcome.MISSING)


class Replaced(FakeArm):
    """An arm that is asked before a new version is indexed, and after it."""

    async def search(self, query):
        found = await super().search(query)
        self.hits = hits(2)
        return found


@pytest.mark.parametrize("reranking", [True, False])
async def test_what_was_replaced_between_the_arms_and_the_ledger_is_searched_for_again(reranking):
    arm = Replaced(1)
    parts = {"ledger": FakeLedger(memory(2)), "arms": {K: arm}, "reranker": FakeReranker()}
    answer = await mesh(**parts).recall(tuning=RecallTuning(reranking=reranking))
    assert numbers(answer) == [2]
    assert len(arm.queries) == 2


async def test_a_stream_too_searches_again_for_what_was_replaced():
    arm = Replaced(1)
    recaller = mesh(ledger=FakeLedger(memory(2)), arms={K: arm}, reranker=FakeReranker()).recaller()
    steps = [step async for step in recaller.stream(RecallRequest(REF, "what happened"))]
    assert [numbers(step.answer) for step in steps] == [[2], [2]]
    assert len(arm.queries) == 2


async def test_an_index_that_shows_the_same_gone_memory_with_every_call_is_asked_once_more_in_all():
    arm = FakeArm(1, 2)
    recaller = mesh(ledger=FakeLedger(memory(2)), arms={K: arm}).recaller()
    for _ in range(3):
        assert numbers(await recaller.recall(RecallRequest(REF, "what happened"))) == [2]
    assert len(arm.queries) == 4


def test_the_oldest_of_what_is_gone_is_forgotten():
    vanished = Vanished(known=2)
    missing = dict.fromkeys("abc", Outcome.MISSING)
    assert vanished.is_news(missing)
    assert not vanished.is_news({"c": Outcome.MISSING})
    assert vanished.is_news({"a": Outcome.MISSING})
    assert not vanished.is_news({"d": Outcome.TAG})
