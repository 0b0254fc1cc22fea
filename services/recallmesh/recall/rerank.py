"""Asking the reranker, and what is said when it does not answer well."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from time import perf_counter
from typing import Protocol

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
    """What the model said of each memory, in order (nothing when it gave no answer), and how it fared.

    Fewer than were to be read have a score where reading ended early; ``stopped`` says why, if that was by choice.
    """

    raw: tuple[float, ...]
    logits: bool
    report: PartReport
    stopped: str = ""

    @property
    def telling(self) -> bool:
        """Whether the scores tell memories apart; equal ones for all carry no order (of one there is none to carry)."""
        return len(self.raw) == 1 or len(set(self.raw)) > 1


class Stop(Protocol):
    """Says after a wave, of the raw scores so far, why no further one is needed; nothing while it is."""

    def __call__(self, raw: Sequence[float], *, logits: bool) -> str:
        """Decide by nothing but these: equal scores, equal answers."""
        ...


def unasked(state: PartState, detail: str) -> Reranking:
    """Return what stands for an answer where nobody was asked."""
    return Reranking((), logits=False, report=PartReport(PART, state, detail=detail))


async def rerank(
    reranker: Reranker,
    query: str,
    memories: list[Memory],
    *,
    dated: bool,
    seconds: float,
    wave: int = 0,
    stop: Stop | None = None,
) -> Reranking:
    """Score the memories, ``wave`` at a time (0: all at once), until ``stop`` has a reason.

    A failure is a report, not an error; the waves before it count.
    """
    begun = perf_counter()
    texts = tuple(passage(memory) if dated else memory.text for memory in memories)
    raw: list[float] = []
    logits, given, stopped = False, 0, ""
    state, detail = PartState.OK, ""
    try:
        with within(seconds):
            async with asyncio.timeout(seconds):
                logits = (await reranker.info()).logits
                for begin in range(0, len(texts), wave or len(texts) or 1):
                    part = texts[begin : begin + wave] if wave else texts
                    given += len(part)
                    scores = await reranker.rerank(query, part)
                    detail = _fault(scores, len(part))
                    if detail:
                        state = PartState.FAILED
                        break
                    raw += scores
                    stopped = stop(raw, logits=logits) if stop and given < len(texts) else ""
                    if stopped:
                        break
    except (MeshError, TimeoutError) as error:
        given = given or len(texts)
        state, detail = silence(error)
    if state is not PartState.OK and raw:
        detail = f"{detail}; the first {len(raw)} were read before and count"
    report = PartReport(PART, state, given, timedelta(seconds=perf_counter() - begun), detail or stopped)
    answer = Reranking(tuple(raw), logits, report, stopped)
    if state is PartState.OK and not answer.telling:
        same = PartReport(PART, state, given, report.latency, "gave every memory the same score")
        return Reranking(answer.raw, logits, same)
    return answer


def _fault(scores: Sequence[float], count: int) -> str:
    if len(scores) != count:
        return f"gave {len(scores)} scores for {count} texts"
    return "" if all(map(isfinite, scores)) else "gave no finite score"
