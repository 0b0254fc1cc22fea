"""The contract of an embedder; an implementation joins by a factory in OPENERS."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest
import pytest_asyncio
from encoder_server import EncoderServer, open_encoder_server, tei_url
from loopback import open_loopback, until_ready
from torch_models import HAS_TORCH, TOLERANCE, TORCH, open_torch_embedder

from recallmesh.core.arm import Vector
from recallmesh.core.deadline import within
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.errors import ArmTimeout, InvalidArgument, Overloaded, StoreUnavailable
from recallmesh.core.time import system_clock
from recallmesh.embedder.card import BGE_SMALL_EN
from recallmesh.embedder.onnx import open_onnx_embedder
from recallmesh.embedder.openai import open_openai_embedder
from recallmesh.embedder.tei import open_tei_embedder
from recallmesh.onnx.pool import UNWATCHED
from recallmesh.rpc.embedder import RemoteEmbedder, host_embedder

Opener = Callable[[], AbstractAsyncContextManager[Embedder]]

QUEUE = 64


def open_local() -> AbstractAsyncContextManager[Embedder]:
    return open_onnx_embedder(threads=2, queue=QUEUE)


@asynccontextmanager
async def open_remote() -> AsyncIterator[Embedder]:
    async with open_local() as behind, open_loopback(host_embedder(behind)) as channel:
        embedder = RemoteEmbedder(channel)
        await until_ready(embedder)
        yield embedder


SERVED = {
    "query_prefix": BGE_SMALL_EN.query_prefix,
    "batch_size": 8,
    "in_flight": 2,
    "queue": QUEUE,
    "watch": UNWATCHED,
    "now": system_clock,
    "random": lambda: 0.5,
}


@asynccontextmanager
async def open_tei() -> AsyncIterator[Embedder]:
    async with (
        open_onnx_embedder(threads=2) as behind,
        open_encoder_server(EncoderServer(behind)) as endpoint,
        open_tei_embedder(tei_url(endpoint), api_key="", **SERVED) as embedder,
    ):
        yield embedder


@asynccontextmanager
async def open_openai() -> AsyncIterator[Embedder]:
    async with (
        open_onnx_embedder(threads=2) as behind,
        open_encoder_server(EncoderServer(behind)) as endpoint,
        open_openai_embedder(endpoint.url, "bge-small-en", api_key="", **SERVED) as embedder,
    ):
        yield embedder


OPENERS: dict[str, Opener] = {"onnx": open_local, "remote": open_remote, "tei": open_tei, "openai": open_openai}
if HAS_TORCH:
    OPENERS[TORCH] = partial(open_torch_embedder, QUEUE)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=OPENERS.values(), ids=OPENERS.keys())
async def embedder(request) -> AsyncIterator[Embedder]:
    async with request.param() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reference() -> AsyncIterator[Embedder]:
    """The same weights as all but torch have."""
    async with open_local() as opened:
        yield opened


@pytest.fixture
def torched(request) -> bool:
    return TORCH in request.node.callspec.id


@pytest.fixture
def same(torched):
    """Vectors are the same to the last bit; on torch a batch is felt in the last digits (ADR 54)."""
    off = TOLERANCE["embedder"] if torched else 0.0

    def same(one, other) -> bool:
        return len(one) == len(other) and all(
            abs(a - b) <= off for pair in zip(one, other, strict=True) for a, b in zip(*pair, strict=True)
        )

    return same


TEXTS = (
    "Bea moved to Trondheim in May.",
    "The invoice 10.7/x.y was paid twice.",
    "a",
    "Hören wir das Konzert am Samstag? " * 9,
    "東京で寿司を食べた。",
    "CVE-2031-4411 affects every build before the last; patch it, then restart the workers one by one.",
    "",
)


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_the_same_text_gives_the_same_vector_in_every_batch_and_order(embedder, same):
    alone = [(await embedder.embed((text,), EmbedKind.PASSAGE))[0] for text in TEXTS]
    assert same(await embedder.embed(TEXTS, EmbedKind.PASSAGE), alone)
    assert same(await embedder.embed(TEXTS[::-1], EmbedKind.PASSAGE), alone[::-1])
    assert same(await embedder.embed(TEXTS[:2] * 2, EmbedKind.PASSAGE), alone[:2] * 2)


async def test_equal_calls_give_equal_answers(embedder):
    assert await embedder.embed(TEXTS, EmbedKind.PASSAGE) == await embedder.embed(TEXTS, EmbedKind.PASSAGE)


async def test_the_same_text_gives_the_same_vector_under_sixteen_concurrent_calls(embedder, same):
    alone = await embedder.embed(TEXTS, EmbedKind.PASSAGE)
    calls = [TEXTS[turn % 7 :] + TEXTS[: turn % 7] for turn in range(16)]
    for call in calls:
        assert len(call) == len(TEXTS)
    # Within the queue together: 16 calls of 4 texts.
    answers = await asyncio.gather(*(embedder.embed(call[:4], EmbedKind.PASSAGE) for call in calls))
    for call, answer in zip(calls, answers, strict=True):
        assert same(answer, [alone[TEXTS.index(text)] for text in call[:4]])


async def test_vectors_have_unit_length_and_the_size_that_was_told(embedder):
    info = await embedder.info()
    for vector in await embedder.embed(TEXTS, EmbedKind.PASSAGE):
        assert len(vector) == info.dimensions
        assert math.isclose(cosine(vector, vector), 1.0, abs_tol=1e-5)


async def test_no_texts_give_no_vectors(embedder):
    assert await embedder.embed((), EmbedKind.PASSAGE) == ()
    assert await embedder.embed((), EmbedKind.QUERY) == ()


async def test_a_text_beyond_the_window_is_cut_to_it(embedder, same):
    window = "word " * 600
    short, long, huge = await embedder.embed((window, window + "and an end", window * 500), EmbedKind.PASSAGE)
    assert same([short, short], [long, huge])


async def test_text_within_the_window_counts_to_its_last_word(embedder):
    start = "word " * (min((await embedder.info()).max_tokens, 512) - 12)
    one, other = await embedder.embed((start + "river", start + "engine"), EmbedKind.PASSAGE)
    assert one != other


async def test_a_query_is_embedded_otherwise_than_a_passage(embedder):
    (query,) = await embedder.embed(TEXTS[:1], EmbedKind.QUERY)
    (passage,) = await embedder.embed(TEXTS[:1], EmbedKind.PASSAGE)
    assert query != passage


async def test_a_repeated_query_has_the_same_vector(embedder):
    first = await embedder.embed(("where does Bea live",), EmbedKind.QUERY)
    assert await embedder.embed(("who paid", "where does Bea live"), EmbedKind.QUERY) != first
    assert await embedder.embed(("where does Bea live",), EmbedKind.QUERY) == first


async def test_what_answers_is_closer_than_what_does_not(embedder):
    (query,) = await embedder.embed(("Where does Bea live now?",), EmbedKind.QUERY)
    answer, other = await embedder.embed(TEXTS[:2], EmbedKind.PASSAGE)
    assert cosine(query, answer) > cosine(query, other) + 0.05


async def test_marks_are_ordinary_text(embedder):
    plain, marked = await embedder.embed(("a b", "a [SEP] [PAD] b"), EmbedKind.PASSAGE)
    assert plain != marked


async def test_broken_characters_are_ordinary_text_or_refused_on_the_wire(embedder):
    texts = ("a b", "a \ud800 b")
    if isinstance(embedder, RemoteEmbedder):  # a message holds valid Unicode alone
        with pytest.raises(InvalidArgument, match="texts"):
            await embedder.embed(texts, EmbedKind.PASSAGE)
    else:
        plain, broken = await embedder.embed(texts, EmbedKind.PASSAGE)
        assert len(broken) == len(plain)


async def test_the_background_lies_between_none_and_all(embedder):
    info = await embedder.info()
    assert -1 < info.cosine_mean < info.cosine_high < 1
    assert info.name
    assert info.fingerprint
    assert info.max_tokens > 0


async def test_a_loaded_model_is_ready(embedder):
    await embedder.check()


async def test_too_much_work_is_refused_with_a_delay(embedder):
    many = tuple(f"{number} bottles hang on the wall, and one of them falls down" for number in range(QUEUE))
    calls = [embedder.embed(many, EmbedKind.PASSAGE) for _ in range(2)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Overloaded)]
    assert len(refused) == 1
    assert refused[0].retry_after.total_seconds() >= 1


async def test_an_abandoned_call_does_not_hold_up_the_next(embedder):
    """Case 47: what was abandoned leaves the queue, so that as much again fits at once."""
    many = tuple(f"{number} boats lie on the shore of the lake in the evening" for number in range(QUEUE))
    for _ in range(20):
        with within(0.02), pytest.raises(ArmTimeout):
            await embedder.embed(many, EmbedKind.PASSAGE)
    assert len(await embedder.embed(many, EmbedKind.PASSAGE)) == QUEUE


async def test_a_query_goes_ahead_of_waiting_passages(embedder):
    many = tuple(f"{number} sheep jump over the fence of the neighbour" for number in range(QUEUE))
    retain = asyncio.create_task(embedder.embed(many, EmbedKind.PASSAGE))
    await asyncio.sleep(0)
    await embedder.embed(("how many sheep are there tonight",), EmbedKind.QUERY)
    assert not retain.done()
    await retain


async def test_a_call_without_time_left_does_not_begin(embedder):
    with within(0), pytest.raises(ArmTimeout):
        await embedder.embed(TEXTS, EmbedKind.PASSAGE)


@pytest.mark.parametrize("kind", EmbedKind)
async def test_the_same_weights_give_the_same_vectors_wherever_they_run(embedder, reference, torched, kind):
    if torched:
        return  # other weights; its parity is in tests/on_torch
    one, two = await reference.embed(TEXTS, kind), await embedder.embed(TEXTS, kind)
    assert min(map(cosine, one, two)) >= 0.999999
    told, measured = await reference.info(), await embedder.info()
    assert (told.dimensions, told.max_tokens) == (measured.dimensions, min(measured.max_tokens, 512))
    assert abs(told.cosine_mean - measured.cosine_mean) < 0.05


async def test_a_missing_file_is_named(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(StoreUnavailable, match=r"no tokenizer\.json"):
        async with open_onnx_embedder(tmp_path):
            pass
