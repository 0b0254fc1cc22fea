"""The recall service's settings."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, ValidationInfo, field_validator

from recallmesh.core.arm import ArmName
from recallmesh.core.tunable import TUNABLES, tuning_violations
from recallmesh.core.tuning import BoostLevel, Budget, BudgetMode, MinScores, RecallTuning, RecencyCurve
from recallmesh.recall.plan import RecallDefaults

# The defaults are written once, in RecallDefaults, and the ranges of what banks and requests may set too, in TUNABLES;
# this page gives them names in the environment.
_OURS = RecallDefaults()
_RANGES: dict[str, dict[str, Any]] = {
    one.path: {"gt" if one.open_least else "ge": one.least, "le": one.most} for one in TUNABLES if one.least is not None
}


def _tunable(name: str) -> Any:  # noqa: ANN401 - a field of any type
    return Field(default=getattr(_OURS, name), **_RANGES[name])


Hits = Annotated[int, Field(**_RANGES["budget_hits.mid"])]
Share = Annotated[float, Field(**_RANGES["budget_shares.mid"])]
Divisor = Annotated[float, Field(**_RANGES["boost_divisors.medium"])]


class RecallSettings(BaseModel, extra="forbid", frozen=True):
    """How recall ranks where neither the request nor the bank says otherwise, and how long it may take."""

    address: str | None = None
    """Where the recall service is; absent: in this process."""
    timeout_s: PositiveFloat = _OURS.timeout_s
    """Seconds a recall may take, at most; less where the caller's deadline is shorter."""
    embed_share: float = Field(default=_OURS.embed_share, gt=0, le=1)
    """The part of a recall's time within which the query is embedded and read for a time expression, in (0, 1]."""
    arms_share: float = Field(default=_OURS.arms_share, gt=0, le=1)
    """The part of a recall's time within which the arms answer, in (0, 1]."""
    rerank_share: float = Field(default=_OURS.rerank_share, gt=0, le=1)
    """The part of a recall's time within which the reranker answers, in (0, 1]; the rest is for packing."""
    head_start_s: float = Field(default=_OURS.head_start_s, ge=0, le=0.1)
    """Seconds that the semantic arm's question to the vectors waits for that of a graph arm which is a service of its
    own: that one comes by way of another process, and takes longest of all. 0: it does not wait."""
    slow_s: float = Field(default=5.0, ge=0)
    """Seconds over which a recall is logged as slow, with its trace, by a process that serves it; at most one in five
    seconds. 0: none is."""
    slow_texts: bool = False
    """Whether what is logged of a slow recall holds the question and the memories' texts."""
    query_tokens: PositiveInt = _OURS.query_tokens
    """The longest query, in tokens."""
    arms: frozenset[ArmName] = _OURS.arms
    """The arms that are asked."""
    reranking: bool = _OURS.reranking
    """Whether a cross-encoder reads the best candidates."""
    rrf_k: int = _tunable("rrf_k")
    """The constant k of RRF's 1/(k + rank)."""
    cap_per_arm: int = _tunable("cap_per_arm")
    """The most hits of one arm that enter the fusion; 0: no cap."""
    boosts: dict[ArmName, BoostLevel] = Field(default_factory=lambda: dict(_OURS.boosts))
    """Arms to favour, and how strongly: low, medium or high."""
    boost_divisors: dict[BoostLevel, Divisor] = Field(default_factory=lambda: dict(_OURS.boost_divisors))
    """What a favoured arm's ranks are divided by, for each level; at least 1; levels not named keep theirs."""
    rerank_limit: int = _tunable("rerank_limit")
    """The most candidates that the cross-encoder reads, in [0, 2000]; the rest follow, what is expected most of them
    first. More than 50 were not measurably better (docs/reranking.md)."""
    rerank_wave: int = _tunable("rerank_wave")
    """How many candidates the cross-encoder reads at a time, until the answer is sure, in [0, 2000]; 0: two halves.
    Multiples of the reranker's batch cost no more for each (docs/adr/0013-reading-in-waves.md)."""
    rerank_stop_places: int = _tunable("rerank_stop_places")
    """With waves: the first places of the answer that must be sure before reading stops, in [0, 2000]; 0: all that are
    packed."""
    rerank_stop_margin: float = _tunable("rerank_stop_margin")
    """With waves: by how much the raw score of a later candidate may plausibly exceed the best of the last wave, in
    [0, 20]; the less, the sooner reading stops."""
    date_in_passage: bool = _OURS.date_in_passage
    """Whether the cross-encoder reads a memory's date before its text."""
    fusion_weight: float = _tunable("fusion_weight")
    """How much the fused rank counts beside the cross-encoder, in [0, 4]; 0: not at all."""
    context_weight: float = _tunable("context_weight")
    """How much nearness by context counts beside the cross-encoder, in [0, 20]; 0: not at all."""
    unnamed_odds: float = _tunable("unnamed_odds")
    """What the odds of a memory are multiplied by that mentions nothing of what the query names, in (0, 1]."""
    keyword_weight: float = _tunable("keyword_weight")
    """How much the keyword score, as a share of the best, counts beside the cross-encoder, in [0, 20]; 0: nothing."""
    length_weight: float = _tunable("length_weight")
    """How much a memory's length, compared with the usual, counts beside the cross-encoder, in [0, 4]; 0: nothing."""
    surroundings_weight: float = _tunable("surroundings_weight")
    """How much it counts that what lies around a memory in its document answers too, in [0, 4]; 0: not at all."""
    recency_curve: RecencyCurve = _OURS.recency_curve
    """How recency falls with age: linear over a year, exponential, or none."""
    recency_alpha: float = _tunable("recency_alpha")
    """The weight of recency, in [0, 1]: 0.2 is ±10 % of a relevance of one half."""
    recency_half_life_days: float = _tunable("recency_half_life_days")
    """The age in days at which the exponential curve is at one half."""
    temporal_alpha: float = _tunable("temporal_alpha")
    """The weight of nearness to the asked period, in [0, 1]."""
    proof_alpha: float = _tunable("proof_alpha")
    """The weight of an observation's evidence, in [0, 1]."""
    min_scores: MinScores = _OURS.min_scores
    """Floors on scores, inclusive; absent: none."""
    prefer_observations: bool = _OURS.prefer_observations
    """Whether a returned observation replaces the facts it was built from."""
    graph_strategy: str = _OURS.graph_strategy
    """How the graph arm expands; empty: the arm's own default."""
    budget_mode: BudgetMode = _OURS.budget_mode
    """Whether the budget's number of hits is fixed or a share of max_tokens."""
    budget_hits: dict[Budget, Hits] = Field(default_factory=lambda: dict(_OURS.budget_hits))
    """The fixed number of hits an arm gives of each fact type, in [1, 2000]; budgets not named keep theirs."""
    budget_shares: dict[Budget, Share] = Field(default_factory=lambda: dict(_OURS.budget_shares))
    """The adaptive number of hits as a share of max_tokens, for each budget."""
    budget_min: int = _tunable("budget_min")
    """The least number of hits of an adaptive budget."""
    budget_max: int = _tunable("budget_max")
    """The greatest number of hits of an adaptive budget, at most 2000."""

    @field_validator("boost_divisors", "budget_hits", "budget_shares", mode="before")
    @classmethod
    def _complete(cls, value: object, info: ValidationInfo) -> object:
        """Let a part of a table be set: what is not named keeps its default."""
        ours: Mapping[str, float] = getattr(_OURS, str(info.field_name))
        return {**ours, **value} if isinstance(value, Mapping) else value

    @field_validator("min_scores", "graph_strategy")
    @classmethod
    def _allowed(cls, value: object, info: ValidationInfo) -> object:
        """Refuse what a bank or a request could not say either."""
        said: dict[str, Any] = {str(info.field_name): value}
        found = tuning_violations(RecallTuning(**said), "")
        if found:
            raise ValueError("; ".join(f"{one.field.lstrip('.')} {one.description}" for one in found))
        return value

    def defaults(self) -> RecallDefaults:
        """Return them as the orchestrator takes them."""
        other = {"address", "slow_s", "slow_texts"}
        values = {name: getattr(self, name) for name in type(self).model_fields if name not in other}
        return RecallDefaults(**values)
