"""Ranking settings on the wire."""

from collections.abc import Mapping

from recallmesh.core.arm import ArmName
from recallmesh.core.tunable import TUNABLES
from recallmesh.core.tuning import BoostLevel, Budget, EffectiveTuning, MinScores, RecallTuning
from recallmesh.rpc.codec.enums import (
    BOOST_LEVEL,
    BUDGET_MODE,
    RECENCY_CURVE,
    TUNING_ORIGIN,
    arm_at_door,
    arm_from_server,
)
from recallmesh.v1 import recall_service_pb2, tuning_pb2

PATHS = frozenset(tunable.path for tunable in TUNABLES)


def tuning_to_pb(tuning: RecallTuning) -> tuning_pb2.RecallTuning:
    """Write the settings; what is ``None`` is left unset."""
    message = tuning_pb2.RecallTuning(
        arms=None if tuning.arms is None else tuning_pb2.ArmSet(arms=sorted(tuning.arms)),
        boosts=None if tuning.boosts is None else tuning_pb2.ArmBoosts(levels=boosts_to_pb(tuning.boosts)),
        min_scores=None if tuning.min_scores is None else min_scores_to_pb(tuning.min_scores),
        reranking=tuning.reranking,
        cap_per_arm=tuning.cap_per_arm,
        rerank_limit=tuning.rerank_limit,
        rerank_wave=tuning.rerank_wave,
        rerank_stop_places=tuning.rerank_stop_places,
        rerank_stop_margin=tuning.rerank_stop_margin,
        recency_alpha=tuning.recency_alpha,
        temporal_alpha=tuning.temporal_alpha,
        proof_alpha=tuning.proof_alpha,
        graph_strategy=tuning.graph_strategy,
        prefer_observations=tuning.prefer_observations,
        rrf_k=tuning.rrf_k,
        date_in_passage=tuning.date_in_passage,
        fusion_weight=tuning.fusion_weight,
        context_weight=tuning.context_weight,
        unnamed_odds=tuning.unnamed_odds,
        keyword_weight=tuning.keyword_weight,
        length_weight=tuning.length_weight,
        surroundings_weight=tuning.surroundings_weight,
        recency_half_life_days=tuning.recency_half_life_days,
        boost_divisors=None if tuning.boost_divisors is None else _divisors_to_pb(tuning.boost_divisors),
        budget_hits=None if tuning.budget_hits is None else _hits_to_pb(tuning.budget_hits),
        budget_shares=None if tuning.budget_shares is None else _shares_to_pb(tuning.budget_shares),
        budget_min=tuning.budget_min,
        budget_max=tuning.budget_max,
    )
    if tuning.budget_mode is not None:
        message.budget_mode = BUDGET_MODE.to_pb(tuning.budget_mode)
    if tuning.recency_curve is not None:
        message.recency_curve = RECENCY_CURVE.to_pb(tuning.recency_curve)
    return message


def tuning_from_pb(message: tuning_pb2.RecallTuning, field: str, *, door: bool) -> RecallTuning:
    """Read the settings."""
    has = message.HasField
    mode, curve = message.budget_mode, message.recency_curve
    return RecallTuning(
        arms=_arms(message.arms, f"{field}.arms", door=door) if has("arms") else None,
        reranking=message.reranking if has("reranking") else None,
        boosts=boosts_from_pb(message.boosts.levels, f"{field}.boosts", door=door) if has("boosts") else None,
        min_scores=min_scores_from_pb(message.min_scores) if has("min_scores") else None,
        budget_mode=BUDGET_MODE.read(mode, f"{field}.budget_mode", door=door) if mode else None,
        cap_per_arm=message.cap_per_arm if has("cap_per_arm") else None,
        rerank_limit=message.rerank_limit if has("rerank_limit") else None,
        rerank_wave=message.rerank_wave if has("rerank_wave") else None,
        rerank_stop_places=message.rerank_stop_places if has("rerank_stop_places") else None,
        rerank_stop_margin=message.rerank_stop_margin if has("rerank_stop_margin") else None,
        recency_curve=RECENCY_CURVE.read(curve, f"{field}.recency_curve", door=door) if curve else None,
        recency_alpha=message.recency_alpha if has("recency_alpha") else None,
        temporal_alpha=message.temporal_alpha if has("temporal_alpha") else None,
        proof_alpha=message.proof_alpha if has("proof_alpha") else None,
        graph_strategy=message.graph_strategy if has("graph_strategy") else None,
        prefer_observations=message.prefer_observations if has("prefer_observations") else None,
        rrf_k=message.rrf_k if has("rrf_k") else None,
        date_in_passage=message.date_in_passage if has("date_in_passage") else None,
        fusion_weight=message.fusion_weight if has("fusion_weight") else None,
        context_weight=message.context_weight if has("context_weight") else None,
        unnamed_odds=message.unnamed_odds if has("unnamed_odds") else None,
        keyword_weight=message.keyword_weight if has("keyword_weight") else None,
        length_weight=message.length_weight if has("length_weight") else None,
        surroundings_weight=message.surroundings_weight if has("surroundings_weight") else None,
        recency_half_life_days=message.recency_half_life_days if has("recency_half_life_days") else None,
        boost_divisors=_divisors_from_pb(message.boost_divisors) if has("boost_divisors") else None,
        budget_hits=_hits_from_pb(message.budget_hits) if has("budget_hits") else None,
        budget_shares=_shares_from_pb(message.budget_shares) if has("budget_shares") else None,
        budget_min=message.budget_min if has("budget_min") else None,
        budget_max=message.budget_max if has("budget_max") else None,
    )


def effective_to_pb(effective: EffectiveTuning) -> recall_service_pb2.ResolveTuningResponse:
    """Write a tuning in force, and where each value comes from."""
    return recall_service_pb2.ResolveTuningResponse(
        tuning=tuning_to_pb(effective.tuning),
        origins={path: TUNING_ORIGIN.to_pb(origin) for path, origin in effective.origins.items()},
    )


def effective_from_pb(message: recall_service_pb2.ResolveTuningResponse) -> EffectiveTuning:
    """Read a tuning in force; what this version does not know of is left out."""
    return EffectiveTuning(
        tuning_from_pb(message.tuning, "tuning", door=False),
        {path: TUNING_ORIGIN.from_server(origin) for path, origin in message.origins.items() if path in PATHS},
    )


def _arms(message: tuning_pb2.ArmSet, field: str, *, door: bool) -> frozenset[ArmName]:
    if door:
        return frozenset(arm_at_door(name, field) for name in message.arms)
    return frozenset(arm for arm in map(arm_from_server, message.arms) if arm is not None)


def boosts_to_pb(boosts: Mapping[ArmName, BoostLevel]) -> dict[str, tuning_pb2.BoostLevel.ValueType]:
    """Write the favoured arms."""
    return {arm.value: BOOST_LEVEL.to_pb(level) for arm, level in boosts.items()}


def boosts_from_pb(
    levels: Mapping[str, tuning_pb2.BoostLevel.ValueType], field: str, *, door: bool
) -> dict[ArmName, BoostLevel]:
    """Read the favoured arms; in an answer, those this version does not know are left out."""
    found = {}
    for name, level in levels.items():
        arm = arm_at_door(name, field) if door else arm_from_server(name)
        if arm is not None:
            found[arm] = BOOST_LEVEL.read(level, f"{field}[{name}]", door=door)
    return found


def min_scores_to_pb(scores: MinScores) -> tuning_pb2.MinScores:
    """Write the floors."""
    return tuning_pb2.MinScores(
        semantic=scores.semantic, keyword=scores.keyword, reranker=scores.reranker, final=scores.final
    )


def min_scores_from_pb(message: tuning_pb2.MinScores) -> MinScores:
    """Read the floors."""
    has = message.HasField
    return MinScores(
        semantic=message.semantic if has("semantic") else None,
        keyword=message.keyword if has("keyword") else None,
        reranker=message.reranker if has("reranker") else None,
        final=message.final if has("final") else None,
    )


def _divisors_to_pb(divisors: Mapping[BoostLevel, float]) -> tuning_pb2.BoostDivisors:
    return tuning_pb2.BoostDivisors(
        low=divisors.get(BoostLevel.LOW), medium=divisors.get(BoostLevel.MEDIUM), high=divisors.get(BoostLevel.HIGH)
    )


def _divisors_from_pb(message: tuning_pb2.BoostDivisors) -> dict[BoostLevel, float]:
    said = {BoostLevel.LOW: message.low, BoostLevel.MEDIUM: message.medium, BoostLevel.HIGH: message.high}
    return {level: value for level, value in said.items() if message.HasField(level.value)}


def _hits_to_pb(hits: Mapping[Budget, int]) -> tuning_pb2.BudgetHits:
    return tuning_pb2.BudgetHits(low=hits.get(Budget.LOW), mid=hits.get(Budget.MID), high=hits.get(Budget.HIGH))


def _hits_from_pb(message: tuning_pb2.BudgetHits) -> dict[Budget, int]:
    said = {Budget.LOW: message.low, Budget.MID: message.mid, Budget.HIGH: message.high}
    return {budget: value for budget, value in said.items() if message.HasField(budget.value)}


def _shares_to_pb(shares: Mapping[Budget, float]) -> tuning_pb2.BudgetShares:
    return tuning_pb2.BudgetShares(low=shares.get(Budget.LOW), mid=shares.get(Budget.MID), high=shares.get(Budget.HIGH))


def _shares_from_pb(message: tuning_pb2.BudgetShares) -> dict[Budget, float]:
    said = {Budget.LOW: message.low, Budget.MID: message.mid, Budget.HIGH: message.high}
    return {budget: value for budget, value in said.items() if message.HasField(budget.value)}
