"""Everything about recall that a bank or a request may set, with its default in one place (SPEC R1 to R19)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import FieldViolation

GRAPH_STRATEGIES = ("link_expansion", "bfs", "mpfp")
"""How the graph arm may follow links; the first is its default."""
RERANK_LIMIT_MAX = 2000


class Budget(StrEnum):
    """How deep to search."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class BudgetMode(StrEnum):
    """Where a budget's number of hits comes from."""

    FIXED = "fixed"
    ADAPTIVE = "adaptive"
    """A share of the token budget, clamped."""


class BoostLevel(StrEnum):
    """How strongly an arm is favoured: its ranks are divided by 2, 4 or 8 for ordering."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class RecencyCurve(StrEnum):
    """How a memory's recency falls with its age."""

    LINEAR = "linear"
    EXPONENTIAL = "exponential"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MinScores:
    """Floors, inclusive; absent: no floor. Arms apply the first two, the orchestrator the others after reranking."""

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


@dataclass(frozen=True, slots=True)
class RecallTuning:
    """How a bank ranks; ``None`` anywhere means: as the recall service is set up."""

    arms: frozenset[ArmName] | None = None
    reranking: bool | None = None
    boosts: Mapping[ArmName, BoostLevel] | None = None
    min_scores: MinScores | None = None
    budget_mode: BudgetMode | None = None
    cap_per_arm: int | None = None
    rerank_limit: int | None = None
    recency_curve: RecencyCurve | None = None
    recency_alpha: float | None = None
    temporal_alpha: float | None = None
    proof_alpha: float | None = None
    graph_strategy: str | None = None
    prefer_observations: bool | None = None


def tuning_violations(tuning: RecallTuning, where: str) -> list[FieldViolation]:
    """Return what is wrong with a tuning; ``where`` is its path in the request. Bank and request are checked alike."""
    alphas = {
        "recency_alpha": tuning.recency_alpha,
        "temporal_alpha": tuning.temporal_alpha,
        "proof_alpha": tuning.proof_alpha,
    }
    found = [
        FieldViolation(f"{where}.{name}", "must be in [0, 1]")
        for name, value in alphas.items()
        if value is not None and not 0 <= value <= 1
    ]
    if tuning.cap_per_arm is not None and tuning.cap_per_arm < 0:
        found.append(FieldViolation(f"{where}.cap_per_arm", "must not be negative; 0 means no cap"))
    if tuning.rerank_limit is not None and not 0 <= tuning.rerank_limit <= RERANK_LIMIT_MAX:
        found.append(FieldViolation(f"{where}.rerank_limit", f"must be in [0, {RERANK_LIMIT_MAX}]"))
    if tuning.graph_strategy and tuning.graph_strategy not in GRAPH_STRATEGIES:
        found.append(FieldViolation(f"{where}.graph_strategy", f"is none of {', '.join(GRAPH_STRATEGIES)}"))
    return found
