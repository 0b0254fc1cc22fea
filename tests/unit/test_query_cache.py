"""The embedder that remembers the latest queries."""

from recallmesh.core.encoder import EmbedderInfo, EmbedKind
from recallmesh.embedder.cached import CachedEmbedder


class CountingEmbedder:
    """Embeds a text as its length, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    async def info(self):
        return EmbedderInfo("counting", "counting-1", 1, 512, 0.0, 0.5)

    async def embed(self, texts, kind):
        self.asked.append((texts, kind))
        return tuple((float(len(text)),) for text in texts)

    async def check(self):
        pass


async def test_a_query_is_computed_once():
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, size=10)
    assert await cached.embed(("a", "bb"), EmbedKind.QUERY) == ((1.0,), (2.0,))
    assert await cached.embed(("bb", "ccc", "a", "ccc"), EmbedKind.QUERY) == ((2.0,), (3.0,), (1.0,), (3.0,))
    assert [texts for texts, _ in inner.asked] == [("a", "bb"), ("ccc",)]


async def test_passages_are_not_remembered():
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, size=10)
    await cached.embed(("a",), EmbedKind.PASSAGE)
    await cached.embed(("a",), EmbedKind.PASSAGE)
    await cached.embed(("a",), EmbedKind.QUERY)
    assert [kind for _, kind in inner.asked] == [EmbedKind.PASSAGE, EmbedKind.PASSAGE, EmbedKind.QUERY]


async def test_the_query_used_longest_ago_is_forgotten_first():
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed((text,), EmbedKind.QUERY)
    assert [texts for texts, _ in inner.asked] == [("a",), ("b",), ("c",), ("b",)]


async def test_a_call_larger_than_the_memory_is_answered():
    cached = CachedEmbedder(CountingEmbedder(), size=2)
    assert await cached.embed(("a", "bb", "ccc", "a"), EmbedKind.QUERY) == ((1.0,), (2.0,), (3.0,), (1.0,))
