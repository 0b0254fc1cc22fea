"""Over the wire a request says which model's vectors it means; whoever has others refuses."""

from dataclasses import replace

import pytest
from loopback import open_loopback

from bench.hashed import HashedEmbedder
from recallmesh.core.arm import ArmQuery, IndexEntry, Removal
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import EmbeddingMismatch
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorQuery
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.embedder import RemoteEmbedder, host_embedder
from recallmesh.rpc.vectors import RemoteVectors, host_vectors


class Noting:
    """An arm, or an index, that notes what it is asked."""

    def __init__(self):
        self.asked = []

    async def search(self, _asked):
        self.asked.append("search")
        return ()

    async def index(self, _bank_uid, _entries):
        self.asked.append("index")

    async def remove(self, _bank_uid, _removals):
        self.asked.append("remove")

    async def drop(self, _bank_uid):
        self.asked.append("drop")

    async def scan(self, _bank_uid, _page):
        self.asked.append("scan")
        return Page(())

    async def check(self):
        pass


@pytest.fixture
def models():
    """An arm, or an index, for each of two models, and how they are found."""

    class Found:
        first, second, plain = Noting(), Noting(), Noting()

        async def arm(self, _name, model):
            return await self.index(model)

        async def index(self, model):
            if model not in {"first-1", "second-1"}:
                raise EmbeddingMismatch(f"not {model}")
            return self.first if model == "first-1" else self.second

    return Found()


def meaning(model):
    async def tell():
        return model

    return tell


QUERY = ArmQuery("b", "who?", vector=(1.0, 0.0))


async def test_an_arm_is_asked_for_the_vectors_of_the_model_that_is_meant(models):
    async with open_loopback(host_arms({"semantic": models.plain}, of_model=models.arm)) as channel:
        arm = RemoteArm("semantic", channel, model=meaning("second-1"))
        await arm.search(QUERY)
        await arm.index("b", (IndexEntry("m", 1, "t", FactType.WORLD),))
        await arm.remove("b", (Removal("m", 1),))
        await arm.drop("b")
        await arm.scan("b", PageRequest(5))
        assert models.second.asked == ["search", "index", "remove", "drop", "scan"]
        await RemoteArm("semantic", channel, model=meaning("first-1")).search(QUERY)
        assert models.first.asked == ["search"]
        await RemoteArm("semantic", channel).search(QUERY)
        await arm.search(replace(QUERY, vector=None))  # without a vector no model is meant
        assert models.plain.asked == ["search", "search"]
        with pytest.raises(EmbeddingMismatch, match="not third-1"):
            await RemoteArm("semantic", channel, model=meaning("third-1")).search(QUERY)


async def test_vectors_are_asked_of_the_model_that_is_meant(models):
    async with open_loopback(host_vectors(models.plain, of_model=models.index)) as channel:
        vectors = RemoteVectors(channel, model=meaning("second-1"))
        await vectors.search((VectorQuery("b", (1.0, 0.0)),))
        await vectors.scan("b", PageRequest(5))
        assert models.second.asked == ["search", "scan"]
        await RemoteVectors(channel).scan("b", PageRequest(5))
        assert models.plain.asked == ["scan"]
        with pytest.raises(EmbeddingMismatch, match="not third-1"):
            await RemoteVectors(channel, model=meaning("third-1")).search((VectorQuery("b", (1.0, 0.0)),))


class Replaced(HashedEmbedder):
    """An embedder in whose place another one is put."""

    name = "hashed-1"

    async def info(self):
        return replace(await super().info(), fingerprint=self.name)


async def test_a_model_that_was_replaced_behind_its_address_refuses_once_and_is_known_then():
    behind = Replaced()
    async with open_loopback(host_embedder(behind)) as channel:
        embedder = RemoteEmbedder(channel)
        await embedder.embed(("a",), EmbedKind.QUERY)
        behind.name = "other-1"
        with pytest.raises(EmbeddingMismatch, match="this embedder is other-1, not hashed-1"):
            await embedder.embed(("a",), EmbedKind.QUERY)
        assert (await embedder.info()).fingerprint == "other-1"
        await embedder.embed(("a",), EmbedKind.QUERY)
