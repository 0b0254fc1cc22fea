"""What a recall works with: the request's tuning over the bank's over the service's, resolved in this one place."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

from recallmesh.core.arm import ArmName
from recallmesh.core.limits import QUERY_TOKENS
from recallmesh.core.tuning import BoostLevel, Budget, BudgetMode, MinScores, RecallTuning, RecencyCurve

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class RecallDefaults:
    """How the recall service ranks where neither request nor bank says otherwise; the fields are those of its settings.

    ``timeout_s`` bounds a call that came without a deadline. The three shares say by which part of the call's time the
    query is embedded and read for a time, the arms have answered, and the reranker has. ``head_start_s`` is how long
    the semantic arm's question to the vectors waits for that of a graph arm which is a service of its own: it comes by
    way of another process, and takes longest of all.
    """

    timeout_s: float = 30.0
    embed_share: float = 0.3
    arms_share: float = 0.5
    rerank_share: float = 0.9
    head_start_s: float = 0.003
    query_tokens: int = QUERY_TOKENS
    arms: frozenset[ArmName] = frozenset(ArmName)
    reranking: bool = True
    rrf_k: int = 60  # Cormack et al. 2009
    cap_per_arm: int = 0
    boosts: Mapping[ArmName, BoostLevel] = field(default_factory=dict)
    boost_divisors: Mapping[BoostLevel, float] = field(
        default_factory=lambda: {BoostLevel.LOW: 2.0, BoostLevel.MEDIUM: 4.0, BoostLevel.HIGH: 8.0}
    )
    rerank_limit: int = 50
    rerank_wave: int = 0
    rerank_stop_places: int = 10
    rerank_stop_margin: float = 1.0
    date_in_passage: bool = True
    fusion_weight: float = 1.0
    context_weight: float = 1.5
    unnamed_odds: float = 0.25
    keyword_weight: float = 0.7
    length_weight: float = 0.5
    surroundings_weight: float = 0.5
    recency_curve: RecencyCurve = RecencyCurve.LINEAR
    recency_alpha: float = 0.2
    recency_half_life_days: float = 90.0
    temporal_alpha: float = 0.2
    proof_alpha: float = 0.1
    min_scores: MinScores = field(default_factory=MinScores)
    prefer_observations: bool = False
    graph_strategy: str = ""
    budget_mode: BudgetMode = BudgetMode.FIXED
    budget_hits: Mapping[Budget, int] = field(
        default_factory=lambda: {Budget.LOW: 100, Budget.MID: 300, Budget.HIGH: 1000}
    )
    budget_shares: Mapping[Budget, float] = field(
        default_factory=lambda: {Budget.LOW: 0.025, Budget.MID: 0.075, Budget.HIGH: 0.25}
    )
    budget_min: int = 20
    budget_max: int = 2000


@dataclass(frozen=True, slots=True)
class ResolvedTuning:
    """A tuning with nothing left open.

    ``cap_per_arm`` 0: no cap. The ``…_asked`` flags tell whether request or bank named that boost: where nothing was
    reranked, only such boosts may touch RRF's order.
    """

    arms: frozenset[ArmName]
    reranking: bool
    boosts: Mapping[ArmName, BoostLevel]
    min_scores: MinScores
    budget_mode: BudgetMode
    cap_per_arm: int
    rerank_limit: int
    rerank_wave: int
    rerank_stop_places: int
    rerank_stop_margin: float
    recency_curve: RecencyCurve
    recency_alpha: float
    temporal_alpha: float
    proof_alpha: float
    graph_strategy: str
    prefer_observations: bool
    rrf_k: int
    date_in_passage: bool
    fusion_weight: float
    context_weight: float
    unnamed_odds: float
    keyword_weight: float
    length_weight: float
    surroundings_weight: float
    recency_half_life_days: float
    boost_divisors: Mapping[BoostLevel, float]
    budget_hits: Mapping[Budget, int]
    budget_shares: Mapping[Budget, float]
    budget_min: int
    budget_max: int
    recency_asked: bool = False
    temporal_asked: bool = False
    proof_asked: bool = False

    @property
    def boosts_asked(self) -> bool:
        """Whether request or bank named a boost of the final score."""
        return self.recency_asked or self.temporal_asked or self.proof_asked

    def as_tuning(self) -> RecallTuning:
        """Return it in the words of a request."""
        return RecallTuning(**{one.name: getattr(self, one.name) for one in fields(RecallTuning)})


def resolve(request: RecallTuning, bank: RecallTuning, service: RecallDefaults) -> ResolvedTuning:
    """Take each field from the request, else the bank, else the service; of floors and tables each entry by itself."""
    return ResolvedTuning(
        arms=_first(request.arms, bank.arms, service.arms),
        reranking=_first(request.reranking, bank.reranking, service.reranking),
        boosts=_first(request.boosts, bank.boosts, service.boosts),
        min_scores=_floors(request.min_scores, bank.min_scores, service.min_scores),
        budget_mode=_first(request.budget_mode, bank.budget_mode, service.budget_mode),
        cap_per_arm=_first(request.cap_per_arm, bank.cap_per_arm, service.cap_per_arm),
        rerank_limit=_first(request.rerank_limit, bank.rerank_limit, service.rerank_limit),
        rerank_wave=_first(request.rerank_wave, bank.rerank_wave, service.rerank_wave),
        rerank_stop_places=_first(request.rerank_stop_places, bank.rerank_stop_places, service.rerank_stop_places),
        rerank_stop_margin=_first(request.rerank_stop_margin, bank.rerank_stop_margin, service.rerank_stop_margin),
        recency_curve=_first(request.recency_curve, bank.recency_curve, service.recency_curve),
        recency_alpha=_first(request.recency_alpha, bank.recency_alpha, service.recency_alpha),
        temporal_alpha=_first(request.temporal_alpha, bank.temporal_alpha, service.temporal_alpha),
        proof_alpha=_first(request.proof_alpha, bank.proof_alpha, service.proof_alpha),
        graph_strategy=_first(request.graph_strategy, bank.graph_strategy, service.graph_strategy),
        prefer_observations=_first(request.prefer_observations, bank.prefer_observations, service.prefer_observations),
        rrf_k=_first(request.rrf_k, bank.rrf_k, service.rrf_k),
        date_in_passage=_first(request.date_in_passage, bank.date_in_passage, service.date_in_passage),
        fusion_weight=_first(request.fusion_weight, bank.fusion_weight, service.fusion_weight),
        context_weight=_first(request.context_weight, bank.context_weight, service.context_weight),
        unnamed_odds=_first(request.unnamed_odds, bank.unnamed_odds, service.unnamed_odds),
        keyword_weight=_first(request.keyword_weight, bank.keyword_weight, service.keyword_weight),
        length_weight=_first(request.length_weight, bank.length_weight, service.length_weight),
        surroundings_weight=_first(request.surroundings_weight, bank.surroundings_weight, service.surroundings_weight),
        recency_half_life_days=_first(
            request.recency_half_life_days, bank.recency_half_life_days, service.recency_half_life_days
        ),
        boost_divisors=_entries(request.boost_divisors, bank.boost_divisors, service.boost_divisors),
        budget_hits=_entries(request.budget_hits, bank.budget_hits, service.budget_hits),
        budget_shares=_entries(request.budget_shares, bank.budget_shares, service.budget_shares),
        budget_min=_first(request.budget_min, bank.budget_min, service.budget_min),
        budget_max=_first(request.budget_max, bank.budget_max, service.budget_max),
        recency_asked=any(t.recency_alpha is not None or t.recency_curve is not None for t in (request, bank)),
        temporal_asked=any(t.temporal_alpha is not None for t in (request, bank)),
        proof_asked=any(t.proof_alpha is not None for t in (request, bank)),
    )


def budget_hits(budget: Budget, max_tokens: int, tuning: ResolvedTuning) -> int:
    """Return how many hits of each fact type an arm may give."""
    if tuning.budget_mode is BudgetMode.FIXED:
        return tuning.budget_hits[budget]
    share = int(max_tokens * tuning.budget_shares[budget])
    return max(tuning.budget_min, min(tuning.budget_max, share))


def _first(asked: T | None, bank: T | None, service: T) -> T:
    if asked is not None:
        return asked
    return service if bank is None else bank


def _entries(asked: Mapping[K, T] | None, bank: Mapping[K, T] | None, service: Mapping[K, T]) -> Mapping[K, T]:
    return {**service, **(bank or {}), **(asked or {})} if asked or bank else service


def _floors(request: MinScores | None, bank: MinScores | None, service: MinScores) -> MinScores:
    levels = [level for level in (request, bank, service) if level is not None]

    def floor(name: str) -> float | None:
        values = (getattr(level, name) for level in levels)
        return next((value for value in values if value is not None), None)

    return MinScores(
        semantic=floor("semantic"), keyword=floor("keyword"), reranker=floor("reranker"), final=floor("final")
    )
