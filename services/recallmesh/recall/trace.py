"""The account of a recall: built after the fact from what the stages left, and only when asked for."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.disclosure import may_quote
from recallmesh.core.hop import Hop
from recallmesh.core.recall import Outcome, Phase, Prefilter, Scores, Trace, TraceCandidate, WindowReading
from recallmesh.core.tags import TagTest
from recallmesh.recall.plan import ResolvedTuning
from recallmesh.recall.ranking import Row

TEXT_CHARS = 240
"""As much of each text as a reader needs to know it again; thousands of whole ones would outgrow a message."""
HIDDEN = frozenset({Outcome.TAG, Outcome.INVALIDATED, Outcome.MISSING})
"""What the asker may not see keeps its text and the arms' phrases, which quote it, to itself."""


@dataclass(slots=True)
class Evidence:
    """What the stages left behind: the proposals in fused order, their fate, and what was in force."""

    tuning: ResolvedTuning
    asked_at: datetime
    budget_hits: int
    order: Sequence[str]
    rrf: Mapping[str, float]
    ranks: Mapping[ArmName, Mapping[str, int]]
    hits: Mapping[ArmName, tuple[Hit, ...]]
    tags: TagTest
    refused: Mapping[str, Outcome]
    reranked: Sequence[str]
    rerankable: int
    stopped: str = ""
    rows: Sequence[Row] = ()
    fates: Mapping[str, Outcome] = field(default_factory=dict)
    beyond_limit: frozenset[str] = frozenset()
    window: WindowReading | None = None


def trace(evidence: Evidence, phases: tuple[Phase, ...], hops: tuple[Hop, ...] = ()) -> Trace:
    """Tell where each candidate stood at each stage and what became of it."""
    return Trace(
        phases=phases,
        window=evidence.window,
        prefilter=_prefilter(evidence),
        candidates=_candidates(evidence),
        tuning=evidence.tuning.as_tuning(),
        query_time=evidence.asked_at,
        budget_hits=evidence.budget_hits,
        hops=hops,
    )


def ranks_of(memory_id: str, ranks: Mapping[ArmName, Mapping[str, int]]) -> dict[ArmName, int]:
    """Return a memory's rank in each arm that found it."""
    return {arm: places[memory_id] for arm, places in ranks.items() if memory_id in places}


def _prefilter(evidence: Evidence) -> Prefilter:
    kept = evidence.reranked
    found_by = Counter(arm for memory_id in kept for arm in ranks_of(memory_id, evidence.ranks))
    return Prefilter(
        kept=len(kept),
        dropped=evidence.rerankable - len(kept) if kept else 0,
        cap=evidence.tuning.rerank_limit,
        boosts=dict(evidence.tuning.boosts),
        composition={arm: found_by[arm] for arm in ArmName if arm in found_by},
        stopped=evidence.stopped,
    )


def _candidates(evidence: Evidence) -> tuple[TraceCandidate, ...]:
    rows = {row.memory.id: (place, row) for place, row in enumerate(evidence.rows, start=1)}
    hits = {arm: {hit.memory_id: hit for hit in reversed(found)} for arm, found in evidence.hits.items()}
    reranked = frozenset(evidence.reranked)
    table: list[TraceCandidate] = []
    for fused_rank, memory_id in enumerate(evidence.order, start=1):
        place, row = rows.get(memory_id, (0, None))
        outcome = evidence.refused.get(memory_id) or evidence.fates.get(memory_id, Outcome.CAP)
        ranks = ranks_of(memory_id, evidence.ranks)
        found = {arm: hits[arm][memory_id] for arm in ranks}
        rrf = evidence.rrf[memory_id]
        table.append(
            TraceCandidate(
                memory_id=memory_id,
                text=row.memory.text[:TEXT_CHARS] if row else "",
                outcome=outcome,
                fused_rank=fused_rank,
                final_rank=place,
                ranks=ranks,
                arm_scores={arm: hit.score for arm, hit in found.items()},
                because={} if outcome in HIDDEN else _phrases(found, row, evidence.tags),
                scores=row.scores(rrf) if row else Scores(rrf=rrf, relevance=0.0, final=0.0),
                tokens=row.memory.tokens if row else 0,
                reranked=memory_id in reranked,
                detail="limit" if memory_id in evidence.beyond_limit else "",
            )
        )
    return tuple(table)


def _phrases(found: Mapping[ArmName, Hit], row: Row | None, visible: TagTest) -> dict[ArmName, str]:
    """Return the arms' phrases about a memory, as far as the reader may be told them."""
    memory = row.memory if row else None
    return {arm: hit.because for arm, hit in found.items() if hit.because and may_quote(hit.because, memory, visible)}
