"""Everything about recall that a bank or a request may set, with its default in one place (SPEC R1 to R19)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from recallmesh.core.arm import ArmName

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
    """How a bank ranks; ``None`` anywhere means: as the recall service is set up.

    What each field means and may be, ``core.tunable`` tells. Of ``min_scores`` and the tables (``boost_divisors``,
    ``budget_hits``, ``budget_shares``) each entry is said by itself; ``arms`` and ``boosts`` are said whole.
    """

    arms: frozenset[ArmName] | None = None
    reranking: bool | None = None
    boosts: Mapping[ArmName, BoostLevel] | None = None
    min_scores: MinScores | None = None
    budget_mode: BudgetMode | None = None
    cap_per_arm: int | None = None
    rerank_limit: int | None = None
    rerank_wave: int | None = None
    rerank_stop_places: int | None = None
    rerank_stop_margin: float | None = None
    recency_curve: RecencyCurve | None = None
    recency_alpha: float | None = None
    temporal_alpha: float | None = None
    proof_alpha: float | None = None
    graph_strategy: str | None = None
    prefer_observations: bool | None = None
    rrf_k: int | None = None
    date_in_passage: bool | None = None
    fusion_weight: float | None = None
    context_weight: float | None = None
    unnamed_odds: float | None = None
    keyword_weight: float | None = None
    length_weight: float | None = None
    surroundings_weight: float | None = None
    recency_half_life_days: float | None = None
    boost_divisors: Mapping[BoostLevel, float] | None = None
    budget_hits: Mapping[Budget, int] | None = None
    budget_shares: Mapping[Budget, float] | None = None
    budget_min: int | None = None
    budget_max: int | None = None


class TuningOrigin(StrEnum):
    """Where a value in force comes from."""

    SERVICE = "service"
    BANK = "bank"
    REQUEST = "request"


@dataclass(frozen=True, slots=True)
class EffectiveTuning:
    """A tuning as a recall would work with it: every field set (a floor that is absent is none).

    ``origins`` tells of each path of ``core.tunable`` where its value comes from.
    """

    tuning: RecallTuning
    origins: Mapping[str, TuningOrigin]
