# ruff: noqa: ARG002 - fakes keep their port's names
"""Models and vectors reached over the wire are the models and vectors themselves."""

from datetime import UTC, datetime, timedelta

import grpc.aio
import pytest
from loopback import open_loopback

from recallmesh.core.arm import Indexed
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind, Reranker, RerankerInfo
from recallmesh.core.errors import Overloaded, Unimplemented
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorField, VectorHit, VectorIndex, VectorQuery
from recallmesh.rpc.embedder import RemoteEmbedder, host_embedder
from recallmesh.rpc.reranker import RemoteReranker, host_reranker
from recallmesh.rpc.vectors import HITS, RemoteVectors, host_vectors
from recallmesh.v1 import (
    embedder_service_pb2,
    embedder_service_pb2_grpc,
    reranker_service_pb2,
    reranker_service_pb2_grpc,
)

DAY = datetime(2026, 8, 19, tzinfo=UTC)


class LengthModel:
    """Embeds and scores by length."""

    def __init__(self, info):
        self._info = info
        self.calls = []

    async def info(self):
        return self._info

    async def embed(self, texts, kind):
        self.calls.append((len(texts), kind))
        return tuple((float(len(text)), 0.5) for text in texts)

    async def rerank(self, query, texts):
        if query == "too much":
            raise Overloaded("the queue is full", retry_after=timedelta(seconds=3))
        self.calls.append((len(texts), query))
        return tuple(len(text) + 0.1 for text in texts)

    async def check(self):
        pass


class OneVector:
    """An index of one memory."""

    def __init__(self):
        self.calls = []

    async def search(self, queries):
        self.calls.append(queries)
        return tuple(
            (VectorHit("m1", 0.5, FactType.WORLD, Window(DAY, DAY)), VectorHit("m2", 0.25, FactType.OBSERVATION))
            if query.bank_uid == "u1"
            else ()
            for query in queries
        )

    async def scan(self, bank_uid, page):
        return Page((Indexed("m1", 7),))

    async def check(self):
        pass


async def test_an_embedder_over_the_wire_gives_the_same_vectors_in_order():
    info = EmbedderInfo("length", "f1", 2, 512, 0.25, 0.5)
    model = LengthModel(info)
    async with open_loopback(host_embedder(model)) as channel:
        embedder: Embedder = RemoteEmbedder(channel)
        assert await embedder.info() == info
        texts = tuple("x" * (n % 70) for n in range(600))
        assert await embedder.embed(texts, EmbedKind.PASSAGE) == tuple((float(len(text)), 0.5) for text in texts)
        assert await embedder.embed((), EmbedKind.QUERY) == ()
    assert [kind for _, kind in model.calls] == [EmbedKind.PASSAGE] * 3
    assert sum(count for count, _ in model.calls) == 600


async def test_texts_beyond_one_message_are_sent_in_several():
    model = LengthModel(EmbedderInfo("length", "f1", 2, 512, 0.25, 0.5))
    async with open_loopback(host_embedder(model), host_reranker(model)) as channel:
        texts = ("x" * 1_000_000,) * 9
        assert len(await RemoteEmbedder(channel).embed(texts, EmbedKind.PASSAGE)) == 9
        assert await RemoteReranker(channel).rerank("q", texts) == (1_000_000.1,) * 9
    assert len(model.calls) > 2


async def test_a_reranker_over_the_wire_gives_the_same_scores_in_one_call():
    info = RerankerInfo("length", "f2", 512, logits=True)
    model = LengthModel(info)
    async with open_loopback(host_reranker(model)) as channel:
        reranker: Reranker = RemoteReranker(channel)
        assert await reranker.info() == info
        texts = tuple("x" * n for n in range(300))
        assert await reranker.rerank("q", texts) == tuple(n + 0.1 for n in range(300))
    assert model.calls == [(300, "q")]


async def test_an_overloaded_model_says_when_to_come_again():
    async with open_loopback(host_reranker(LengthModel(None))) as channel:
        with pytest.raises(Overloaded, match="the queue is full") as caught:
            await RemoteReranker(channel).rerank("too much", ("x",))
    assert caught.value.retry_after == timedelta(seconds=3)


async def test_vectors_over_the_wire_are_searched_and_listed_and_never_written():
    index = OneVector()
    async with open_loopback(host_vectors(index)) as channel:
        vectors: VectorIndex = RemoteVectors(channel)
        window = Window(DAY, DAY + timedelta(days=1))
        queries = (
            VectorQuery("u1", (1.0, 0.0), VectorField.CONTEXT, (FactType.WORLD,), window=window, exclude=("m9",)),
            VectorQuery("u2", (0.0, 1.0), min_score=0.5, begins=True),
        )
        assert await vectors.search(queries) == await OneVector().search(queries)
        assert index.calls == [queries]
        assert await vectors.search(()) == ()
        assert await vectors.scan("u1", PageRequest()) == Page((Indexed("m1", 7),))
        for write in (vectors.upsert("u1", ()), vectors.delete("u1", ()), vectors.drop("u1")):
            with pytest.raises(Unimplemented):
                await write


async def test_questions_for_more_hits_than_fit_a_message_are_sent_in_several():
    index = OneVector()
    async with open_loopback(host_vectors(index)) as channel:
        queries = tuple(VectorQuery("u1", (1.0,), limit=2000) for _ in range(25))
        assert len(await RemoteVectors(channel).search(queries)) == 25
    assert [sum(query.limit for query in queries) for queries in index.calls] == [HITS, HITS, 10_000]


async def test_more_texts_than_one_call_may_bring_are_refused_before_the_model_sees_them():
    model = LengthModel(None)
    async with open_loopback(host_embedder(model), host_reranker(model)) as channel:
        embedder = embedder_service_pb2_grpc.EmbedderServiceStub(channel)
        reranker = reranker_service_pb2_grpc.RerankerServiceStub(channel)
        for call in (
            embedder.Embed(embedder_service_pb2.EmbedRequest(texts=["x"] * 513, kind=1)),
            reranker.Rerank(reranker_service_pb2.RerankRequest(query="q", texts=["x"] * 2001)),
        ):
            with pytest.raises(grpc.aio.AioRpcError, match="texts: are more than"):
                await call
    assert model.calls == []
