"""An embedder that remembers the latest queries: agents ask the same thing several times in a row."""

from collections import OrderedDict

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind


class CachedEmbedder:
    """Answers like the embedder behind it, which it asks only for queries it has not seen lately.

    Passages are not remembered: each is embedded once in its life.
    """

    def __init__(self, embedder: Embedder, *, size: int) -> None:
        """Remember at most ``size`` queries."""
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        return await self._embedder.info()

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Return one vector a text, in order."""
        if kind is not EmbedKind.QUERY:
            return await self._embedder.embed(texts, kind)
        # What is known is kept aside first: another call may push it out while the new ones are computed.
        known = {text: self._vectors[text] for text in texts if text in self._vectors}
        new = tuple(dict.fromkeys(text for text in texts if text not in known))
        if new:
            known.update(zip(new, await self._embedder.embed(new, kind), strict=True))
        for text in texts:
            self._vectors[text] = known[text]
            self._vectors.move_to_end(text)
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
        return tuple(known[text] for text in texts)

    async def check(self) -> None:
        """Return if the model is loaded."""
        await self._embedder.check()
