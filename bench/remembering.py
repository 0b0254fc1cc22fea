"""A mesh whose reranker remembers: settings that are compared read mostly the same pairs."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from recallmesh import encoders
from recallmesh.client import Client
from recallmesh.core.encoder import Reranker, RerankerInfo
from recallmesh.mesh import open_assembly
from recallmesh.settings import Settings
from recallmesh.telemetry.metrics import Metrics


class RememberingReranker:
    """Asks another reranker for what it was not asked yet: equal pairs have equal scores (ADR 9)."""

    def __init__(self, reranker: Reranker, scores: dict[str, float] | None = None) -> None:
        """Take the reranker that reads, and the scores that the same model gave before."""
        self._reranker = reranker
        self._scores: dict[str, float] = {} if scores is None else scores

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        return await self._reranker.info()

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text."""
        keys = [_key(query, text) for text in texts]
        fresh = tuple(dict.fromkeys(text for key, text in zip(keys, texts, strict=True) if key not in self._scores))
        if fresh:
            scores = await self._reranker.rerank(query, fresh)
            self._scores.update((_key(query, text), score) for text, score in zip(fresh, scores, strict=True))
        return tuple(self._scores[key] for key in keys)

    async def check(self) -> None:
        """Return if the model is loaded."""
        await self._reranker.check()


def _key(query: str, text: str) -> str:
    return hashlib.sha256(f"{query}\0{text}".encode()).hexdigest()[:24]


def _read(pairs: Path | None) -> dict[str, dict[str, float]]:
    return json.loads(pairs.read_text(encoding="utf-8")) if pairs and pairs.exists() else {}


def _write(pairs: Path | None, held: dict[str, dict[str, float]]) -> None:
    if pairs:
        pairs.write_text(json.dumps(held), encoding="utf-8")


@asynccontextmanager
async def open_remembering(settings: Settings, pairs: Path | None = None) -> AsyncIterator[Client]:
    """Open the mesh in this process, with the settings' reranker remembering; ``pairs`` keeps it from run to run."""
    async with encoders.open_reranker_here(settings, Metrics()) as model:
        name = (await model.info()).fingerprint
        held = _read(pairs)
        scores: dict[str, float] = held.setdefault(name, {})
        reranker = RememberingReranker(model, scores)
        try:
            async with open_assembly(settings, frozenset(), reranker=reranker) as assembly:
                yield Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        finally:
            _write(pairs, held)
