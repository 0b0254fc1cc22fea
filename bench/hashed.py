"""Embedders for measuring: one whose vectors are made of hashed words, and a wrapper that takes the time."""

import asyncio
import re
import zlib
from time import perf_counter, process_time

import numpy as np
import numpy.typing as npt

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind

DIMENSIONS = 384
COMMON = 1.4
"""How much all vectors share, so that unrelated texts have a cosine of about two thirds, as with real models."""
_WORD = re.compile(r"\w+")


class HashedEmbedder:
    """Texts with the same words have near vectors; deterministic, and a hundred times as fast as a model."""

    def __init__(self) -> None:
        """Start with no words."""
        self._rows: dict[str, npt.NDArray[np.float32]] = {}
        self._common = _row("") * COMMON

    async def info(self) -> EmbedderInfo:
        """Tell what it is."""
        return EmbedderInfo("hashed", "hashed-1", DIMENSIONS, 512, 0.67, 0.81)

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:  # noqa: ARG002 -- as the port
        """Return one vector a text."""
        return await asyncio.to_thread(lambda: tuple(self._vector(text) for text in texts))

    async def check(self) -> None:
        """Nothing can be wrong."""

    def _vector(self, text: str) -> Vector:
        words = [word for word in _WORD.findall(text.lower()) if len(word) > 3] or [text]
        rows = []
        for word in words:
            if word not in self._rows:
                self._rows[word] = _row(word)
            rows.append(self._rows[word])
        own = np.sum(rows, axis=0)
        whole = own / np.linalg.norm(own) + self._common
        return tuple((whole / np.linalg.norm(whole)).tolist())


class MeteredEmbedder:
    """The embedder behind it, and how much wall and CPU time of this process its calls took."""

    def __init__(self, embedder: Embedder) -> None:
        """Start at zero."""
        self._embedder = embedder
        self.wall_s = 0.0
        self.cpu_s = 0.0
        self.texts = 0
        self.query_calls = 0
        self.calls: list[tuple[str, ...]] = []
        """The texts of each call, until somebody clears them."""

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        return await self._embedder.info()

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Embed, and take the time: right while nothing else of the process works, as before a commit."""
        self.texts += len(texts)
        self.calls.append(texts)
        self.query_calls += kind is EmbedKind.QUERY
        wall, cpu = perf_counter(), process_time()
        try:
            return await self._embedder.embed(texts, kind)
        finally:
            self.wall_s += perf_counter() - wall
            self.cpu_s += process_time() - cpu

    async def check(self) -> None:
        """Return if the model is loaded."""
        await self._embedder.check()


def _row(word: str) -> npt.NDArray[np.float32]:
    row = np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSIONS).astype(np.float32)
    return row / np.float32(np.linalg.norm(row))
