"""What is remembered of costly answers, and who computes when several ask the same at once."""

import asyncio

import pytest

from recallmesh.core.deadline import within
from recallmesh.core.encoder import EmbedKind, RerankerInfo
from recallmesh.core.errors import ArmTimeout, StoreUnavailable
from recallmesh.core.remembered import Remembered
from recallmesh.embedder.cached import CachedEmbedder
from recallmesh.reranker.cached import CachedReranker


class Slow:
    """Doubles numbers once it is let, and remembers what it was asked."""

    def __init__(self, fault=None):
        self.asked = []
        self.open = asyncio.Event()
        self._fault = fault

    async def __call__(self, numbers):
        self.asked.append(numbers)
        await self.open.wait()
        if self._fault is not None:
            raise self._fault
        return [2 * number for number in numbers]


class Tally:
    """Adds up what it is told."""

    def __init__(self):
        self.known = self.computed = 0

    def asked(self, known, computed):
        self.known += known
        self.computed += computed


def told(*numbers):
    return {str(number): number for number in numbers}


async def begun(*calls):
    tasks = [asyncio.create_task(call) for call in calls]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_of_equal_questions_at_once_one_is_computed():
    tally = Tally()
    remembered, slow = Remembered(10, watch=tally), Slow()
    calls = await begun(remembered.answers(told(1, 2), slow), remembered.answers(told(2, 3), slow))
    slow.open.set()
    assert await asyncio.gather(*calls) == [{"1": 2, "2": 4}, {"2": 4, "3": 6}]
    assert slow.asked == [(1, 2), (3,)]
    assert await remembered.answers(told(3, 1), slow) == {"3": 6, "1": 2}
    assert slow.asked == [(1, 2), (3,)]
    assert (tally.known, tally.computed) == (3, 3)


async def test_whose_call_was_cancelled_takes_no_other_with_it():
    remembered, slow = Remembered(10), Slow()
    first, second, third = await begun(*(remembered.answers(told(1), slow) for _ in range(3)))
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    slow.open.set()
    assert await second == await third == {"1": 2}
    assert slow.asked == [(1,), (1,)]


async def test_a_failure_is_its_callers_own():
    remembered, failing, working = Remembered(10), Slow(StoreUnavailable("away")), Slow()
    first, second = await begun(remembered.answers(told(1), failing), remembered.answers(told(1), working))
    working.open.set()
    failing.open.set()
    with pytest.raises(StoreUnavailable):
        await first
    assert await second == {"1": 2}
    assert await remembered.answers(told(1), failing) == {"1": 2}
    assert failing.asked == [(1,)]


async def test_who_has_no_time_left_does_not_wait_for_another_call():
    remembered, slow = Remembered(10), Slow()
    (first,) = await begun(remembered.answers(told(1), slow))
    with within(0.01), pytest.raises(ArmTimeout):
        await remembered.answers(told(1), slow)
    slow.open.set()
    assert await first == {"1": 2}


async def test_what_is_used_longest_ago_is_forgotten_first_and_a_question_beyond_the_size_is_answered():
    remembered, slow = Remembered(2), Slow()
    slow.open.set()
    for number in (1, 2, 1, 3, 1, 2):
        await remembered.answers(told(number), slow)
    assert slow.asked == [(1,), (2,), (3,), (2,)]
    assert await remembered.answers(told(1, 2, 3, 4), slow) == {"1": 2, "2": 4, "3": 6, "4": 8}


class CountingReranker:
    """Scores a text by its length, as the model of that name, and remembers what it was asked."""

    def __init__(self, name="first"):
        self.name = name
        self.asked = []

    async def info(self):
        return RerankerInfo(self.name, self.name, 512, logits=True)

    async def rerank(self, query, texts):
        self.asked.append((query, texts))
        return tuple(float(len(text)) for text in texts)

    async def check(self):
        pass


async def test_a_pair_is_read_once():
    inner = CountingReranker()
    cached = CachedReranker(inner, size=10)
    assert await cached.rerank("q", ("a", "bb", "a")) == (1.0, 2.0, 1.0)
    assert await cached.rerank("q", ("ccc", "bb")) == (3.0, 2.0)
    assert await cached.rerank("q", ()) == ()
    assert inner.asked == [("q", ("a", "bb")), ("q", ("ccc",))]


async def test_another_query_text_or_model_is_another_pair():
    inner = CountingReranker()
    cached = CachedReranker(inner, size=100)
    for query, text in (
        ("q", "a"),
        ("q", "8 May 2023: a"),
        ("q\0a", "b"),
        ("q", "a\0b"),
        ("Q", "a"),
        ("q \ud800", "a"),
    ):
        await cached.rerank(query, (text,))
    inner.name = "second"
    await cached.rerank("q", ("a",))
    assert len(inner.asked) == 7


class SlowEmbedder:
    """Embeds a text as its length once it is let."""

    def __init__(self):
        self.asked = []
        self.open = asyncio.Event()

    async def embed(self, texts, kind):
        self.asked.append((texts, kind))
        await self.open.wait()
        return tuple((float(len(text)),) for text in texts)


async def test_two_agents_that_ask_the_same_at_once_have_it_embedded_once():
    inner = SlowEmbedder()
    cached = CachedEmbedder(inner, size=10)
    calls = await begun(*(cached.embed(("where?",), EmbedKind.QUERY) for _ in range(8)))
    inner.open.set()
    assert await asyncio.gather(*calls) == [((6.0,),)] * 8
    assert inner.asked == [(("where?",), EmbedKind.QUERY)]
