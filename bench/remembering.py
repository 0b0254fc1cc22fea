"""A mesh whose reranker remembers: settings that are compared read mostly the same pairs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recallmesh import parts
from recallmesh.core.encoder import Reranker, RerankerInfo
from recallmesh.mesh import Faces, open_assembly
from recallmesh.settings import Settings


class RememberingReranker:
    """Asks another reranker for what it was not asked yet: equal pairs have equal scores."""

    def __init__(self, reranker: Reranker) -> None:
        """Take the reranker that reads."""
        self._reranker = reranker
        self._scores: dict[tuple[str, str], float] = {}

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        return await self._reranker.info()

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text."""
        fresh = tuple(dict.fromkeys(text for text in texts if (query, text) not in self._scores))
        if fresh:
            scores = await self._reranker.rerank(query, fresh)
            self._scores.update(((query, text), score) for text, score in zip(fresh, scores, strict=True))
        return tuple(self._scores[query, text] for text in texts)

    async def check(self) -> None:
        """Return if the model is loaded."""
        await self._reranker.check()


@asynccontextmanager
async def open_remembering(settings: Settings) -> AsyncIterator[Faces]:
    """Open the mesh in this process, with the settings' reranker remembering."""
    async with (
        parts.open_reranker_here(settings) as model,
        open_assembly(settings, frozenset(), reranker=RememberingReranker(model)) as assembly,
    ):
        yield Faces(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
