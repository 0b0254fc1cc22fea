"""Asking the reranker, and what is said when it does not answer well."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    """What the model said of the memories at these ``places``, in the order it read them, and how it fared.

    Fewer than were to be read have a score where reading ended early; ``stopped`` says why, if that was by choice.
    """

    places: tuple[int, ...]
    raw: tuple[float, ...]
    logits: bool
    report: PartReport
    stopped: str = ""

    @property
    def telling(self) -> bool:
        """Whether the scores tell memories apart; equal ones for all carry no order (of one there is none to carry)."""
        return len(self.raw) == 1 or len(set(self.raw)) > 1


@dataclass(frozen=True, slots=True)
class Wave:
    """What is to be read next; where that is nothing, ``stopped`` may say why so early."""

    places: tuple[int, ...] = ()
    stopped: str = ""


class Choose(Protocol):
    """Says what is to be read next, by the raw scores of what was read so far, in the order it was."""

    def __call__(self, read: Mapping[int, float], *, logits: bool) -> Wave:
        """Decide by nothing but these: equal scores, equal answers."""
        ...


def unasked(state: PartState, detail: str) -> Reranking:
    """Return what stands for an answer where nobody was asked."""
    return Reranking((), (), logits=False, report=PartReport(PART, state, detail=detail))


async def rerank(
    reranker: Reranker, query: str, memories: Sequence[Memory], *, dated: bool, seconds: float, choose: Choose
) -> Reranking:
    """Score memories, one wave after the other, until nothing more is chosen.

    A failure is a report, not an error; the waves before it count.
    """
    begun = perf_counter()
    read: dict[int, float] = {}
    wave = Wave()
    logits, given = False, 0
    state, detail = PartState.OK, ""
    try:
        with within(seconds):
            async with asyncio.timeout(seconds):
                logits = (await reranker.info()).logits
                while (wave := choose(read, logits=logits)).places:
                    given += len(wave.places)
                    texts = [passage(memories[place]) if dated else memories[place].text for place in wave.places]
                    scores = await reranker.rerank(query, tuple(texts))
                    detail = _fault(scores, len(texts))
                    if detail:
                        state = PartState.FAILED
                        break
                    read.update(zip(wave.places, scores, strict=True))
    except (MeshError, TimeoutError) as error:
        given = given or len(choose({}, logits=logits).places)
        state, detail = silence(error)
    if state is not PartState.OK and read:
        detail = f"{detail}; the first {len(read)} were read before and count"
    report = PartReport(PART, state, given, timedelta(seconds=perf_counter() - begun), detail or wave.stopped)
    answer = Reranking(tuple(read), tuple(read.values()), logits, report, wave.stopped)
    if state is PartState.OK and not answer.telling:
        return replace(answer, report=replace(report, detail="gave every memory the same score"), stopped="")
    return answer


def _fault(scores: Sequence[float], count: int) -> str:
    if len(scores) != count:
        return f"gave {len(scores)} scores for {count} texts"
    return "" if all(map(isfinite, scores)) else "gave no finite score"
