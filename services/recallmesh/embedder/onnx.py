"""The embedder on ONNX Runtime: the light default, on the CPU and without torch."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind
from recallmesh.embedder.calibration import SAMPLE, background
from recallmesh.embedder.card import BGE_SMALL_EN, EmbedderCard
from recallmesh.onnx.files import fingerprint, model_files
from recallmesh.onnx.model import OnnxModel, load_model
from recallmesh.onnx.pool import ALONE, UNWATCHED, Batching, PoolWatch, WorkerPool, open_pool
from recallmesh.onnx.row import Row
from recallmesh.onnx.text import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGED = "bge_small_en"
CHARACTERS_PER_TOKEN = 64
"""A text is cut at so many characters for each token of the window before it is tokenised, so that a megabyte of which
the model reads a page costs a page; far above what any language needs."""


class OnnxEmbedder:
    """Embeds each text in a run of its own: equal texts have equal vectors, bit for bit (ADR 0009).

    Queries go ahead of passages, small calls ahead of large ones. With a pool of larger batches the texts of concurrent
    calls share runs, and equal texts have equal vectors only as far as the graph and the device see to it.
    """

    def __init__(self, model: OnnxModel, card: EmbedderCard, info: EmbedderInfo, pool: WorkerPool) -> None:
        """Serve a loaded model."""
        self._encoding = Encoding(model, card)
        self._info = info
        self._pool = pool

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        return self._info

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Return one vector a text, in order; longer texts are truncated to the model's window."""
        query = kind is EmbedKind.QUERY
        distinct = tuple(dict.fromkeys(texts))
        work = self._encoding.queries if query else self._encoding.passages
        found = await self._pool.run_together(work, distinct, size=len, urgent=query)
        vectors = dict(zip(distinct, found, strict=True))
        return tuple(vectors[text] for text in texts)

    async def check(self) -> None:
        """Return if the model is loaded."""
        self._pool.check()


class Encoding:
    """From a text to its vector: pure computing, run in the workers."""

    def __init__(self, model: OnnxModel, card: EmbedderCard) -> None:
        """Read every text as the card says; the tokenizer is this encoding's own."""
        self._model = model
        self._card = card
        self._characters = card.max_tokens * CHARACTERS_PER_TOKEN
        model.tokenizer.enable_truncation(card.max_tokens)

    def queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of queries, computed together."""
        return self._vectors([self._card.query_prefix + text for text in texts])

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of passages, computed together."""
        return self._vectors([self._card.passage_prefix + text for text in texts])

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        encode = self._model.tokenizer.encode
        read = [encode(well_formed(text[: self._characters])) for text in texts]
        rows = [Row(tokens.ids, tokens.type_ids) for tokens in read]
        return [self._vector(hidden) for hidden in self._model.session.run(rows, pad=self._model.pad)]

    def _vector(self, hidden: "NDArray[np.float32]") -> Vector:
        if hidden.ndim > 1:  # a graph with one dimension has pooled by itself
            hidden = hidden[0] if self._card.pooling == "cls" else hidden.mean(axis=0)
        # In 32 bits, as the wire and the indexes hold it: the numbers are the same on every side.
        length = float((hidden * hidden).sum()) ** 0.5
        return tuple((hidden / (length or 1.0)).tolist())


@asynccontextmanager
async def open_onnx_embedder(
    model_dir: Path | None = None,
    *,
    device: str = "cpu",
    threads: int = 0,
    queue: int = 4096,
    batching: Batching = ALONE,
    watch: PoolWatch = UNWATCHED,
) -> AsyncIterator[Embedder]:
    """Open the model of a directory, or the packaged one.

    Raises:
        StoreUnavailable: a file is missing or broken, or the runtime is not installed.
        InvalidArgument: the device is not there.

    """
    files = model_files(model_dir, packaged=PACKAGED)
    card = files.card(EmbedderCard) or (EmbedderCard() if model_dir else BGE_SMALL_EN)
    async with open_pool("embedder", threads=threads, queue=queue, watch=watch, batching=batching) as pool:
        model = await load_model(files, device)
        info = await asyncio.to_thread(_describe, model, card, card.name or files.directory.name)
        yield OnnxEmbedder(model, card, info, pool)


def _describe(model: OnnxModel, card: EmbedderCard, name: str) -> EmbedderInfo:
    encoding = Encoding(model, card)
    mean, high = card.cosine_mean, card.cosine_high
    if mean is None or high is None:
        mean, high = background(tuple(encoding.passages((text,))[0] for text in SAMPLE))
    meaning = (card.pooling, card.query_prefix, card.passage_prefix, str(card.max_tokens))
    return EmbedderInfo(
        name=name,
        fingerprint=fingerprint(name, model.digest, *meaning),
        dimensions=len(encoding.passages(SAMPLE[:1])[0]),
        max_tokens=card.max_tokens,
        cosine_mean=mean,
        cosine_high=high,
    )
