"""Asking every arm at once, each as soon as what it needs is there, each within its share of the deadline."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from time import perf_counter

from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit
from recallmesh.core.deadline import within
from recallmesh.core.encoder import Embedder
from recallmesh.core.errors import MeshError, RecallUnavailable
from recallmesh.core.recall import ArmReport, PartReport, PartState, WindowReading
from recallmesh.core.tags import TagTest
from recallmesh.recall.fault import silence
from recallmesh.recall.patience import TOLD, Patience
from recallmesh.recall.prelude import UNASKED, Embedding, Prelude
from recallmesh.recall.question import Question

LONGEST_FIRST = (ArmName.GRAPH, ArmName.TEMPORAL, ArmName.SEMANTIC, ArmName.KEYWORD)
"""The order in which the arms are asked: what an arm does with the vectors' answer goes on beside the others' turns."""
NEED_VECTOR = frozenset({ArmName.SEMANTIC, ArmName.TEMPORAL})
USE_VECTOR = NEED_VECTOR | {ArmName.GRAPH}
SILENT = frozenset({PartState.SKIPPED, PartState.DISABLED})


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for: the question, where, how deep, and until when (in the event loop's time).

    ``explained``: the hits are to say why they are there.
    """

    question: Question
    bank_uid: str
    enabled: frozenset[ArmName]
    tags: TagTest
    limit: int
    floors: Mapping[ArmName, float | None]
    strategies: Mapping[ArmName, str]
    arms_by: float
    explained: bool


@dataclass(slots=True)
class Found:
    """What came of it: the arms' hits, how each arm and the embedder fared, the period in force.

    ``spread`` is how far the cosines of unrelated texts scatter, 0 where the embedder did not tell.
    """

    hits: dict[ArmName, tuple[Hit, ...]] = field(default_factory=dict)
    arms: tuple[ArmReport, ...] = ()
    embedder: PartReport = UNASKED
    window: WindowReading | None = None
    spread: float = 0.0


class FanOut:
    """Searches by every arm; an arm that fails costs its hits alone."""

    def __init__(self, arms: Mapping[ArmName, Arm], embedder: Embedder | None, *, head_start_s: float = 0.0) -> None:
        """Take the arms that there are, and what knows how the cosines of its vectors scatter.

        ``head_start_s`` is how long the semantic arm is asked after the graph arm, seconds.
        """
        self._arms = arms
        self._head_start_s = head_start_s
        self._embedder = embedder
        self._spread: float | None = None
        self._patience = Patience()

    def uses_vectors(self, enabled: frozenset[ArmName]) -> bool:
        """Tell whether any of these arms has a use for the query's vector."""
        return not enabled.isdisjoint(USE_VECTOR & self._arms.keys())

    async def search(self, search: Search, prelude: Prelude) -> Found:
        """Ask.

        Raises:
            RecallUnavailable: every arm that was asked failed.

        """
        found = Found()
        embedding = prelude.embedding if self.uses_vectors(search.enabled) else None
        spared = self._patience.spared(search.enabled & self._arms.keys())
        async with asyncio.TaskGroup() as group:
            spread = group.create_task(self._read_spread(search, embedding))
            tasks = {name: group.create_task(self._ask(name, search, found, prelude, spared)) for name in LONGEST_FIRST}
            asked = [tasks[name] for name in ArmName]
            found.window, _ = await prelude.window
        found.arms = tuple(task.result() for task in asked)
        found.embedder = (await embedding).report if embedding else UNASKED
        found.spread = spread.result()
        tried = [report for report in found.arms if report.state not in SILENT]
        if tried and all(report.state is not PartState.OK for report in tried):
            words = "; ".join(f"{report.arm}: {report.detail or report.state}" for report in tried)
            raise RecallUnavailable(f"no arm answered ({words})")
        return found

    async def _read_spread(self, search: Search, embedding: asyncio.Task[Embedding] | None) -> float:
        """Ask once how the model's cosines scatter, while the arms search: vectors of another would not be searched."""
        if self._embedder is None or embedding is None or (await embedding).vector is None:
            return 0.0
        if self._spread is None:
            try:
                with within(_left(search.arms_by)):
                    async with asyncio.timeout_at(search.arms_by):
                        info = await self._embedder.info()
            except (MeshError, TimeoutError):
                return 0.0
            self._spread = max(0.0, info.cosine_high - info.cosine_mean)
        return self._spread

    async def _ask(
        self, name: ArmName, search: Search, found: Found, prelude: Prelude, spared: frozenset[ArmName]
    ) -> ArmReport:
        if name not in search.enabled:
            return ArmReport(name, PartState.DISABLED, detail="switched off")
        arm = self._arms.get(name)
        if arm is None:
            return ArmReport(name, PartState.DISABLED, detail="not part of this mesh")
        period: WindowReading | None = None
        if name is ArmName.TEMPORAL:
            period, why_none = await prelude.window
            if period is None:
                return ArmReport(name, PartState.SKIPPED, detail=why_none)
        vector = (await prelude.embedding).vector if name in USE_VECTOR else None
        if name in spared or (vector is None and name in NEED_VECTOR):
            return ArmReport(name, PartState.UNAVAILABLE, detail=TOLD if name in spared else "no query embedding")
        query = ArmQuery(
            bank_uid=search.bank_uid,
            text=search.question.text,
            vector=vector,
            window=period.window if period else None,
            fact_types=search.question.fact_types,
            tags=search.tags,
            limit=search.limit,
            min_score=search.floors.get(name),
            strategy=search.strategies.get(name, ""),
            explained=search.explained,
        )
        if name is ArmName.SEMANTIC and self._head_start_s and ArmName.GRAPH in search.enabled & self._arms.keys():
            # Else its question is at the vectors first, and the graph, for which all wait, waits for it.
            await asyncio.sleep(self._head_start_s)
        begun = perf_counter()
        try:
            with within(_left(search.arms_by)), self._patience.waiting(name):
                async with asyncio.timeout_at(search.arms_by):
                    hits = await arm.search(query)
        except (MeshError, TimeoutError) as error:
            state, detail = silence(error)
            took = perf_counter() - begun
            if state is PartState.TIMED_OUT:
                self._patience.silent(name, took)
            else:
                self._patience.spoke(name)
            return ArmReport(name, state, 0, timedelta(seconds=took), detail)
        self._patience.spoke(name)
        found.hits[name] = hits
        return ArmReport(name, PartState.OK, len(hits), timedelta(seconds=perf_counter() - begun))


def _left(moment: float) -> float:
    return max(0.0, moment - asyncio.get_running_loop().time())
