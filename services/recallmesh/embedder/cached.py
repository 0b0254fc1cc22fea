"""An embedder that remembers the latest queries: agents ask the same thing several times in a row."""

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind
from recallmesh.core.remembered import UNWATCHED, MemoryWatch, Remembered


class CachedEmbedder:
    """Answers like the embedder behind it, which it asks only for queries it has not seen lately.

    Equal queries that come at once are embedded once. Passages are not remembered: each is embedded once in its life.
    """

    def __init__(self, embedder: Embedder, *, size: int, watch: MemoryWatch = UNWATCHED) -> None:
        """Remember at most ``size`` queries."""
        self._embedder = embedder
        self._vectors: Remembered[str, Vector] = Remembered(size, watch=watch)

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        return await self._embedder.info()

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Return one vector a text, in order."""
        if kind is not EmbedKind.QUERY:
            return await self._embedder.embed(texts, kind)
        vectors = await self._vectors.answers({text: text for text in texts}, self._embed)
        return tuple(vectors[text] for text in texts)

    async def check(self) -> None:
        """Return if the model is loaded."""
        await self._embedder.check()

    async def _embed(self, queries: tuple[str, ...]) -> tuple[Vector, ...]:
        return await self._embedder.embed(queries, EmbedKind.QUERY)
