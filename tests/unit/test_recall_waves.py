import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.recall_fakes import (
    NOW,
    FakeArm,
    FakeLedger,
    FakeReranker,
    K,
    days_ago,
    memory,
    mesh,
    numbers,
    part,
    timeless,
)

from recallmesh.core.bank import BankConfig
from recallmesh.core.deadline import within
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.recall import PartState
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning
from recallmesh.recall.plan import RecallDefaults

SURE = RecallTuning(rerank_wave=3, rerank_stop_places=2, rerank_stop_margin=0.0)
"""Stops as soon as the third best of a wave is worse than the second best of all."""


def long_mesh(score=lambda number: -float(number), *, count=12, **fields):
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(number)) for number in range(count)))
    return mesh(ledger=ledger, arms={K: FakeArm(*range(count))}, reranker=FakeReranker(score), **fields)


def sizes(here):
    return [len(texts) for texts in here.reranker.texts]


def read(here):
    return [[int(text.split()[-1]) for text in texts] for texts in here.reranker.texts]


async def test_of_more_than_may_be_read_half_is_read_first():
    here = long_mesh()
    answer = await here.recall(tuning=RecallTuning(rerank_limit=5), trace=True)
    assert read(here) == [[0, 1, 2], [3, 4]]
    assert part(answer, "reranker").items == 5
    assert (answer.trace.prefilter.kept, answer.trace.prefilter.stopped) == (5, "")


async def test_what_is_expected_more_is_read_first_wherever_it_was_fused():
    here = long_mesh()
    here.ledger = FakeLedger(*(memory(number, tokens=40 if number > 9 else 10) for number in range(12)))
    await here.recall(tuning=RecallTuning(rerank_limit=4))
    assert read(here) == [[10, 11], [0, 1]]


async def test_the_second_half_is_read_around_what_the_first_half_found():
    here = long_mesh(lambda number: 6.0 if number == 1 else -6.0)
    places = {1: 7, 11: 8, 9: 5}
    here.ledger = FakeLedger(
        *(
            memory(number, document_id="d1" if number in places else "", position=places.get(number, 0))
            for number in range(12)
        )
    )
    answer = await here.recall(tuning=RecallTuning(rerank_limit=4))
    assert read(here) == [[0, 1], [11, 9]]
    assert numbers(answer)[:3] == [1, 11, 9]
    here.reranker.texts.clear()
    await here.recall(tuning=RecallTuning(rerank_limit=4, surroundings_weight=0.0))
    assert read(here) == [[0, 1], [2, 3]]


async def test_who_favours_an_arm_has_its_order_read():
    here = long_mesh()
    here.ledger = FakeLedger(*(memory(number, tokens=40 if number > 9 else 10) for number in range(12)))
    answer = await here.recall(tuning=RecallTuning(rerank_limit=4, boosts={K: BoostLevel.LOW}))
    assert sorted(map(sorted, read(here))) == [[0, 1, 2, 3]]
    assert numbers(answer)[4:] == list(range(4, 12))


async def test_all_is_read_at_once_where_all_may_be():
    here = long_mesh()
    answer = await here.recall(tuning=RecallTuning(rerank_stop_places=1, rerank_stop_margin=0.0), trace=True)
    assert sizes(here) == [12]
    assert (answer.trace.prefilter.kept, answer.trace.prefilter.stopped) == (12, "")


async def test_reading_stops_when_the_head_is_sure_and_says_why():
    here = long_mesh()
    answer = await here.recall(tuning=SURE, trace=True)
    assert sizes(here) == [3, 3]
    assert numbers(answer) == list(range(12))
    report = part(answer, "reranker")
    assert (report.state, report.items) == (PartState.OK, 6)
    prefilter = answer.trace.prefilter
    assert (prefilter.kept, prefilter.dropped) == (6, 6)
    assert prefilter.stopped == report.detail
    assert report.detail.startswith("sure after 6: to come up, the next 6 need ")
    assert [row.reranked for row in answer.trace.candidates] == [True] * 6 + [False] * 6


async def test_what_was_not_read_follows_below_what_was():
    here = long_mesh(lambda number: 9.0 if number == 11 else -float(number))
    answer = await here.recall(tuning=SURE)
    assert numbers(answer)[-6:] == list(range(6, 12))
    finals = [each.scores.final for each in answer.memories]
    assert finals == sorted(finals, reverse=True)


async def test_reading_goes_on_while_the_waves_get_no_worse():
    here = long_mesh(float)
    answer = await here.recall(tuning=SURE)
    assert sizes(here) == [3, 3, 3, 3]
    assert numbers(answer) == list(range(11, -1, -1))
    assert part(answer, "reranker").detail == ""


async def test_a_bank_may_have_waves_and_a_request_none():
    bank = BankConfig(recall=SURE)
    here = long_mesh()
    here.ledger = FakeLedger(*(memory(number) for number in range(12)), config=bank)
    await here.recall()
    await here.recall(tuning=RecallTuning(rerank_wave=0))
    assert sizes(here) == [3, 3, 12]


async def test_the_service_may_have_waves():
    here = long_mesh(defaults=RecallDefaults(rerank_wave=3, rerank_stop_places=2, rerank_stop_margin=0.0))
    await here.recall()
    assert sizes(here) == [3, 3]


async def test_scores_in_zero_to_one_are_compared_as_odds():
    here = long_mesh(lambda number: 1 / (2 + number))
    here.reranker.logits = False
    answer = await here.recall(tuning=SURE)
    assert sizes(here) == [3, 3]
    assert numbers(answer) == list(range(12))


async def test_equal_calls_read_the_same():
    here = long_mesh(lambda number: -float(number * 7 % 5))
    answers = [timeless(await here.recall(tuning=SURE, query_time=NOW)) for _ in range(5)]
    assert all(answer == answers[0] for answer in answers)
    assert len(sizes(here)) % 5 == 0


@given(
    st.lists(st.floats(-9, 9), min_size=12, max_size=12),
    st.integers(1, 15),
    st.sampled_from([{}, {"limit": 3}, {"max_tokens": 35}, {"tuning": RecallTuning(min_scores=MinScores(final=0.3))}]),
)
async def test_waves_that_are_never_sure_change_no_answer(scores, wave, fields):
    here = long_mesh(scores.__getitem__)
    tuning = fields.get("tuning", RecallTuning())
    waves = RecallTuning(min_scores=tuning.min_scores, rerank_wave=wave, rerank_stop_places=12, rerank_stop_margin=20.0)
    fields = {**fields, "query_time": NOW}
    whole = await here.recall(**{**fields, "tuning": tuning})
    parts = await here.recall(**{**fields, "tuning": waves})
    assert timeless(parts) == timeless(whole)


class Failing(FakeReranker):
    """Answers its first call, and no more."""

    def __init__(self, fault) -> None:
        super().__init__(lambda number: float(number % 3))
        self.fault = fault

    async def rerank(self, query, texts):
        if self.texts:
            return await self.fault(texts)
        return await super().rerank(query, texts)


async def down(_texts):
    raise StoreUnavailable("the model does not answer")


async def hang(_texts):
    await asyncio.Event().wait()


async def few(_texts):
    return (1.0,)


@pytest.mark.parametrize(
    ("fault", "state", "detail"),
    [
        (down, PartState.UNAVAILABLE, "the model does not answer"),
        (hang, PartState.TIMED_OUT, "did not answer within its share of the deadline"),
        (few, PartState.FAILED, "gave 1 scores for 3 texts"),
    ],
)
async def test_a_wave_that_fails_costs_what_was_not_read_alone_and_is_reported(fault, state, detail):
    here = long_mesh()
    here.reranker = Failing(fault)
    with within(1):
        answer = await here.recall(tuning=SURE, trace=True)
    assert numbers(answer) == [2, 1, 0, *range(3, 12)]
    report = part(answer, "reranker")
    assert (report.state, report.detail) == (state, f"{detail}; the first 3 were read before and count")
    assert report.items == 6
    assert answer.trace.prefilter.kept == 3


async def test_a_pack_that_is_full_of_better_ones_is_sure_whatever_the_head():
    here = long_mesh()
    tuning = RecallTuning(rerank_wave=3, rerank_stop_places=0, rerank_stop_margin=0.0)
    assert numbers(await here.recall(tuning=tuning, max_tokens=25)) == [0, 1]
    assert sizes(here) == [3, 3]
    await here.recall(tuning=tuning)
    assert sizes(here)[2:] == [3, 3, 3, 3]
