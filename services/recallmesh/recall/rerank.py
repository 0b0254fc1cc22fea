"""Asking the reranker, and what is said when it does not answer well."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from time import perf_counter

from recallmesh.core.deadline import within
from recallmesh.core.encoder import Reranker
from recallmesh.core.errors import MeshError
from recallmesh.core.memory import Memory
from recallmesh.core.recall import PartReport, PartState
from recallmesh.recall.fault import silence
from recallmesh.recall.passage import passage

PART = "reranker"


@dataclass(frozen=True, slots=True)
class Reranking:
    """What the model said of each memory, in order (nothing when it gave no answer), and how it fared."""

    raw: tuple[float, ...]
    logits: bool
    report: PartReport

    @property
    def telling(self) -> bool:
        """Whether the scores tell memories apart; equal ones for all carry no order (of one there is none to carry)."""
        return len(self.raw) == 1 or len(set(self.raw)) > 1


def unasked(state: PartState, detail: str) -> Reranking:
    """Return what stands for an answer where nobody was asked."""
    return Reranking((), logits=False, report=PartReport(PART, state, detail=detail))


async def rerank(reranker: Reranker, query: str, memories: list[Memory], *, dated: bool, seconds: float) -> Reranking:
    """Score the memories; a failure is a report, not an error."""
    begun = perf_counter()
    texts = tuple(passage(memory) if dated else memory.text for memory in memories)

    def report(state: PartState, detail: str = "") -> PartReport:
        return PartReport(PART, state, len(texts), timedelta(seconds=perf_counter() - begun), detail)

    try:
        with within(seconds):
            async with asyncio.timeout(seconds):
                logits = (await reranker.info()).logits
                raw = await reranker.rerank(query, texts)
    except (MeshError, TimeoutError) as error:
        return Reranking((), logits=False, report=report(*silence(error)))
    if len(raw) != len(texts) or not all(isfinite(score) for score in raw):
        fault = f"gave {len(raw)} scores for {len(texts)} texts" if len(raw) != len(texts) else "gave no finite score"
        return Reranking((), logits=False, report=report(PartState.FAILED, fault))
    answer = Reranking(tuple(raw), logits, report(PartState.OK))
    if not answer.telling:
        return Reranking(answer.raw, logits, report(PartState.OK, "gave every memory the same score"))
    return answer
