"""The reranker on ONNX Runtime: the light default, on the CPU and without torch."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from recallmesh.core.encoder import Reranker, RerankerInfo
from recallmesh.onnx.files import fingerprint, model_files
from recallmesh.onnx.model import OnnxModel, load_model
from recallmesh.onnx.pool import ALONE, UNWATCHED, Batching, PoolWatch, WorkerPool, open_pool
from recallmesh.onnx.row import Row
from recallmesh.reranker.card import MS_MARCO_MINILM, RerankerCard
from recallmesh.reranker.passage import Pairing

PACKAGED = "reranker_en"
TEXTS_PER_READING = 32
"""Texts tokenised in one go: some milliseconds of work."""


class OnnxReranker:
    """Scores each pair in a run of its own: equal pairs have equal scores, bit for bit (ADR 0009).

    The smaller of concurrent calls goes first, pair by pair. With a pool of larger batches the pairs of concurrent
    calls share runs, and equal pairs have equal scores only as far as the graph and the device see to it.
    """

    def __init__(self, model: OnnxModel, card: RerankerCard, info: RerankerInfo, pool: WorkerPool) -> None:
        """Serve a loaded model."""
        self._model = model
        self._card = card
        self._info = info
        self._pool = pool

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        return self._info

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text, in order, higher is better; a text too long is scored by its best passage."""
        distinct = tuple(dict.fromkeys(texts))
        groups = [distinct[at : at + TEXTS_PER_READING] for at in range(0, len(distinct), TEXTS_PER_READING)]
        # Reading is urgent: it is a hundredth of the work, and a call that waited in line twice would take twice.
        read = await self._pool.run(partial(self._read, query), groups, urgent=True)
        passages = [pairs for group in read for pairs in group]
        pairs = [pair for each in passages for pair in each]
        scores = iter(await self._pool.run_together(self._scores, pairs, size=_length))
        best = {text: max(next(scores) for _ in each) for text, each in zip(distinct, passages, strict=True)}
        return tuple(best[text] for text in texts)

    async def check(self) -> None:
        """Return if the model is loaded."""
        self._pool.check()

    def _read(self, query: str, texts: tuple[str, ...]) -> list[tuple[Row, ...]]:
        pairing = Pairing(self._model.tokenizer, query, window=self._card.max_tokens, passage=self._card.passage_tokens)
        return [pairing.pairs(text) for text in texts]

    def _scores(self, pairs: Sequence[Row]) -> list[float]:
        return [float(output.flat[-1]) for output in self._model.session.run(pairs, pad=self._model.pad)]


def _length(pair: Row) -> int:
    return len(pair.ids)


@asynccontextmanager
async def open_onnx_reranker(
    model_dir: Path | None = None,
    *,
    device: str = "cpu",
    threads: int = 0,
    queue: int = 4096,
    batching: Batching = ALONE,
    watch: PoolWatch = UNWATCHED,
) -> AsyncIterator[Reranker]:
    """Open the model of a directory, or the packaged one.

    Raises:
        StoreUnavailable: a file is missing or broken, or the runtime is not installed.
        InvalidArgument: the device is not there.

    """
    files = model_files(model_dir, packaged=PACKAGED)
    card = files.card(RerankerCard) or (RerankerCard() if model_dir else MS_MARCO_MINILM)
    name = card.name or files.directory.name
    async with open_pool("reranker", threads=threads, queue=queue, watch=watch, batching=batching) as pool:
        model = await load_model(files, device)
        info = RerankerInfo(
            name=name,
            fingerprint=fingerprint(name, model.digest, str(card.max_tokens), str(card.passage_tokens)),
            max_tokens=card.max_tokens,
            logits=card.logits,
        )
        yield OnnxReranker(model, card, info, pool)
