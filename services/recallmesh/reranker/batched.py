"""The reranker over whatever takes pairs in batches: a server, or a runtime that computes several at once."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Protocol

from recallmesh.core.encoder import RerankerInfo
from recallmesh.core.errors import NotReady, StoreUnavailable
from recallmesh.encoding.batch import Batches, in_batches
from recallmesh.onnx.files import fingerprint
from recallmesh.onnx.text import well_formed
from recallmesh.reranker.cutting import passages, shortened

NOTHING = " "
"""What stands for an empty text, which servers refuse; to a tokenizer it is the same."""
WARM_UP = ("Who moved?", "Bea moved to Trondheim in May.")
"""A pair read when a model is opened: what is loaded late is loaded then, and what is no reranker says so."""


class ScoreSource(Protocol):
    """Scores batches of texts for a query."""

    async def scores(self, batches: Batches, query: str) -> Sequence[Sequence[float]]:
        """Return the raw scores of each batch, in order.

        Raises:
            StoreUnavailable: the model does not answer, or not as it should.
            NotReady: the model refuses us.
            Overloaded: too much waits for it.
            ArmTimeout: the deadline of the call in hand passed.

        """
        ...

    async def check(self) -> None:
        """Return if the model can be asked."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How pairs are given to a model: its window and the size of a passage in tokens, the size of a batch."""

    max_tokens: int
    passage_tokens: int
    batch_size: int

    def query(self, text: str) -> str:
        """Return a query as the model is given it: no longer than a passage, so that neither drowns the other."""
        return well_formed(shortened(text, min(self.max_tokens // 2, self.passage_tokens))) or NOTHING

    def passages(self, text: str) -> tuple[str, ...]:
        """Return a text's passages as the model is given them."""
        return tuple(well_formed(part) or NOTHING for part in passages(text, self.passage_tokens))


class BatchedReranker:
    """Scores pairs in batches of a set size, equal texts of a call once; a long text by the best of its passages."""

    def __init__(self, source: ScoreSource, reading: Reading, info: RerankerInfo) -> None:
        """Ask this source; ``info`` is what it is."""
        self._source = source
        self._reading = reading
        self._info = info

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        return self._info

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text, in order, higher is better; a text too long is scored by its best passage."""
        # Tens of thousands of words: not on the event loop.
        given, cut = await asyncio.to_thread(self._read, query, texts)
        distinct = tuple(dict.fromkeys(part for parts in cut.values() for part in parts))
        compute = partial(self._source.scores, query=given)
        found = dict(zip(distinct, await in_batches(compute, distinct, self._reading.batch_size), strict=True))
        _check(found.values(), logits=self._info.logits)
        return tuple(max(found[part] for part in cut[text]) for text in texts)

    async def check(self) -> None:
        """Return if the model can be asked."""
        await self._source.check()

    def _read(self, query: str, texts: tuple[str, ...]) -> tuple[str, dict[str, tuple[str, ...]]]:
        return self._reading.query(query), {text: self._reading.passages(text) for text in dict.fromkeys(texts)}


async def open_batched(
    source: ScoreSource, reading: Reading, *, name: str, identity: Sequence[str], logits: bool
) -> BatchedReranker:
    """Make a reranker over a source: asks it once, which warms it up.

    ``identity`` is what decides its numbers besides how it is given texts, ``logits`` what its scores are.

    Raises:
        StoreUnavailable: the source does not answer as it should.
        NotReady: its scores are not what they are said to be.

    """
    meaning = (*identity, str(reading.max_tokens), str(reading.passage_tokens))
    info = RerankerInfo(name, fingerprint(name, *meaning), reading.max_tokens, logits)
    reranker = BatchedReranker(source, reading, info)
    query, text = WARM_UP
    await reranker.rerank(query, (text,))
    return reranker


def _check(scores: Iterable[float], *, logits: bool) -> None:
    """Refuse scores that are none, and those that are said to be in [0, 1] and are not."""
    for score in scores:
        if not isfinite(score):
            raise StoreUnavailable("the model gave a score that is no number")
        if not logits and not 0 <= score <= 1:
            raise NotReady(
                "the model's scores are no probabilities: RECALLMESH_RERANKER__SCORES=logits says what they are"
            )
