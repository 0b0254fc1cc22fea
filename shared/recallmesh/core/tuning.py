"""Everything about recall that a bank or a request may set, with its default in one place (SPEC R1 to R19)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from recallmesh.core.arm import ArmName


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
