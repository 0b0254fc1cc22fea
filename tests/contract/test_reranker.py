"""The contract of a reranker; an implementation joins by a factory in OPENERS."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest
import pytest_asyncio
from encoder_server import EncoderServer, open_encoder_server, tei_url
from loopback import open_loopback, until_ready
from torch_models import HAS_TORCH, TOLERANCE, TORCH, open_torch_reranker

from recallmesh.core.deadline import within
from recallmesh.core.encoder import Reranker
from recallmesh.core.errors import ArmTimeout, InvalidArgument, Overloaded, StoreUnavailable
from recallmesh.core.time import system_clock
from recallmesh.onnx.pool import UNWATCHED
from recallmesh.reranker.onnx import open_onnx_reranker
from recallmesh.reranker.tei import open_tei_reranker
from recallmesh.rpc.reranker import RemoteReranker, host_reranker

Opener = Callable[[], AbstractAsyncContextManager[Reranker]]

QUEUE = 64


def open_local() -> AbstractAsyncContextManager[Reranker]:
    return open_onnx_reranker(threads=2, queue=QUEUE)


@asynccontextmanager
async def open_remote() -> AsyncIterator[Reranker]:
    async with open_local() as behind, open_loopback(host_reranker(behind)) as channel:
        reranker = RemoteReranker(channel)
        await until_ready(reranker)
        yield reranker


@asynccontextmanager
async def open_tei() -> AsyncIterator[Reranker]:
    async with (
        open_onnx_reranker(threads=2) as behind,
        open_encoder_server(EncoderServer(reranker=behind)) as endpoint,
        open_tei_reranker(
            tei_url(endpoint),
            api_key="",
            batch_size=8,
            in_flight=2,
            queue=QUEUE,
            watch=UNWATCHED,
            now=system_clock,
            random=lambda: 0.5,
        ) as reranker,
    ):
        yield reranker


OPENERS: dict[str, Opener] = {"onnx": open_local, "remote": open_remote, "tei": open_tei}
if HAS_TORCH:
    OPENERS[TORCH] = partial(open_torch_reranker, QUEUE)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=OPENERS.values(), ids=OPENERS.keys())
async def reranker(request) -> AsyncIterator[Reranker]:
    async with request.param() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reference() -> AsyncIterator[Reranker]:
    """The same weights."""
    async with open_local() as opened:
        yield opened


@pytest.fixture
def torched(request) -> bool:
    return TORCH in request.node.callspec.id


@pytest.fixture
def same(torched):
    """Scores are the same to the last bit; on torch a batch is felt in the last digits (ADR 54)."""
    off = TOLERANCE["reranker"] if torched else 0.0

    def same(one, other) -> bool:
        return all(abs(a - b) <= off for a, b in zip(one, other, strict=True))

    return same


QUERY = "Where is the spare key hidden?"
ANSWER = "The spare key is hidden under the blue flowerpot by the shed."
TEXTS = (
    "I lost my keys again yesterday, so annoying.",
    ANSWER,
    "The orchestra plays on Thursday.",
    "He keeps all of his things hidden.",
    "",
    "Der Schlüssel liegt nicht mehr unter dem Stein.",
)
FILLER = " ".join(
    f"On day {day} we walked along the coast, {talk}, and in the evening we cooked {dish} for everyone at the hut."
    for day, talk, dish in zip(
        range(1, 49),
        ("talked about the weather", "counted the boats", "met two painters", "looked for shells") * 12,
        ("beans", "noodles", "potato soup") * 16,
        strict=True,
    )
)
"""Some 1,400 tokens that answer nothing."""


async def test_the_same_pair_gives_the_same_score_in_every_batch_and_order(reranker, same):
    alone = [(await reranker.rerank(QUERY, (text,)))[0] for text in TEXTS]
    assert same(await reranker.rerank(QUERY, TEXTS), alone)
    assert same(await reranker.rerank(QUERY, TEXTS[::-1]), alone[::-1])
    assert same(await reranker.rerank(QUERY, TEXTS[:2] * 2), alone[:2] * 2)


async def test_equal_calls_give_equal_answers(reranker):
    assert await reranker.rerank(QUERY, TEXTS) == await reranker.rerank(QUERY, TEXTS)


async def test_the_same_pair_gives_the_same_score_under_sixteen_concurrent_calls(reranker, same):
    alone = dict(zip(TEXTS, await reranker.rerank(QUERY, TEXTS), strict=True))
    calls = [(TEXTS[turn % 6 :] + TEXTS[: turn % 6])[:4] for turn in range(16)]
    answers = await asyncio.gather(*(reranker.rerank(QUERY, call) for call in calls))
    for call, answer in zip(calls, answers, strict=True):
        assert same(answer, [alone[text] for text in call])


async def test_no_texts_give_no_scores(reranker):
    assert await reranker.rerank(QUERY, ()) == ()


async def test_an_answer_scores_above_what_only_shares_words(reranker):
    scores = await reranker.rerank(QUERY, TEXTS)
    assert max(scores) == scores[TEXTS.index(ANSWER)]


async def test_the_answer_in_the_last_sentence_of_a_long_memory_counts(reranker):
    """Case 31."""
    long = f"{FILLER} {ANSWER}"
    distractors = (*(text for text in TEXTS if text != ANSWER), FILLER)
    scores = await reranker.rerank(QUERY, (*distractors, long))
    assert sorted(scores, reverse=True).index(scores[-1]) < 3


async def test_the_answer_in_the_middle_of_a_long_memory_counts(reranker):
    half = len(FILLER) // 2
    with_answer, without = await reranker.rerank(QUERY, (f"{FILLER[:half]} {ANSWER} {FILLER[half:]}", FILLER))
    assert with_answer > without + 1


async def test_a_query_beyond_the_window_is_read_at_both_ends(reranker):
    padding = "by the way, the weather has been rather changeable lately " * 60
    for query in (QUERY + " " + padding, padding + QUERY):
        answer, other = await reranker.rerank(query, (ANSWER, "The orchestra plays on Thursday."))
        assert answer > other


async def test_marks_are_ordinary_text(reranker):
    plain, marked = await reranker.rerank(QUERY, ("a b", "a [SEP] [PAD] b"))
    assert plain != marked


async def test_broken_characters_are_ordinary_text_or_refused_on_the_wire(reranker):
    if isinstance(reranker, RemoteReranker):  # a message holds valid Unicode alone
        with pytest.raises(InvalidArgument, match="texts"):
            await reranker.rerank(QUERY, ("a \ud800 b",))
    else:
        (broken,) = await reranker.rerank(QUERY, ("a \ud800 b",))
        assert isinstance(broken, float)


async def test_it_tells_what_its_scores_are(reranker):
    info = await reranker.info()
    assert info.logits
    assert info.name
    assert info.fingerprint
    assert info.max_tokens > 0
    answer, other = await reranker.rerank(QUERY, (ANSWER, TEXTS[2]))
    assert answer > 1
    assert other < 0


async def test_a_loaded_model_is_ready(reranker):
    await reranker.check()


async def test_too_much_work_is_refused_with_a_delay(reranker):
    many = tuple(f"{number} keys hang on the wall of the shed" for number in range(QUEUE))
    calls = [reranker.rerank(QUERY, many) for _ in range(2)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Overloaded)]
    assert len(refused) == 1
    assert refused[0].retry_after.total_seconds() >= 1


async def test_a_call_without_time_left_does_not_begin(reranker):
    with within(0), pytest.raises(ArmTimeout):
        await reranker.rerank(QUERY, TEXTS)


async def test_an_abandoned_call_does_not_hold_up_the_next(reranker):
    """Case 47: what was abandoned leaves the queue, so that as much again fits at once."""
    many = tuple(f"{number} keys lie on the ground by the river" for number in range(QUEUE))
    for _ in range(20):
        with within(0.02), pytest.raises(ArmTimeout):
            await reranker.rerank(QUERY, many)
    assert len(await reranker.rerank(QUERY, many)) == QUEUE


async def test_the_same_weights_give_the_same_scores_wherever_they_run(reranker, reference, torched):
    one, two = await reference.rerank(QUERY, TEXTS), await reranker.rerank(QUERY, TEXTS)
    assert one == pytest.approx(two, abs=1.5 if torched else 1e-5)  # those on torch are not computed in int8
    assert (await reference.info()).logits is (await reranker.info()).logits is True


async def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StoreUnavailable, match=r"no model\.onnx and no tokenizer\.json"):
        async with open_onnx_reranker(tmp_path):
            pass
