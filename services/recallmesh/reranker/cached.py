"""A reranker that remembers what it said of the latest pairs: agents ask the same again, and banks change little."""

from functools import partial
from hashlib import blake2b

from recallmesh.core.encoder import Reranker, RerankerInfo
from recallmesh.core.remembered import UNWATCHED, MemoryWatch, Remembered

KEY_BYTES = 16
"""Of a hash: two pairs of a thousand million million that were ever read share one with a chance of 1e-9."""


class CachedReranker:
    """Answers like the reranker behind it, which it asks only for pairs that it has not read lately.

    A pair is the model's fingerprint, the query and the text as the model reads it, date and all: a memory that was
    edited is another text, and one that was deleted is asked for by nobody. Hashes and scores are kept, no text.
    """

    def __init__(self, reranker: Reranker, *, size: int, watch: MemoryWatch = UNWATCHED) -> None:
        """Remember at most ``size`` pairs."""
        self._reranker = reranker
        self._scores: Remembered[bytes, float] = Remembered(size, watch=watch)

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        return await self._reranker.info()

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text, in order."""
        model = (await self._reranker.info()).fingerprint
        keys = _keys(f"{model} {len(query)} {query}", texts)
        scores = await self._scores.answers(dict(zip(keys, texts, strict=True)), partial(self._reranker.rerank, query))
        return tuple(scores[key] for key in keys)

    async def check(self) -> None:
        """Return if the model is loaded."""
        await self._reranker.check()


def _keys(beginning: str, texts: tuple[str, ...]) -> list[bytes]:
    begun = blake2b(beginning.encode(errors="surrogatepass"), digest_size=KEY_BYTES)
    keys = []
    for text in texts:
        pair = begun.copy()
        pair.update(text.encode(errors="surrogatepass"))
        keys.append(pair.digest())
    return keys
