"""Ranking settings on the wire."""

from collections.abc import Mapping

from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning
from recallmesh.rpc.codec.enums import BOOST_LEVEL, BUDGET_MODE, RECENCY_CURVE, arm_at_door, arm_from_server
from recallmesh.v1 import tuning_pb2


def tuning_to_pb(tuning: RecallTuning) -> tuning_pb2.RecallTuning:
    """Write the settings; what is ``None`` is left unset."""
    message = tuning_pb2.RecallTuning(
        arms=None if tuning.arms is None else tuning_pb2.ArmSet(arms=sorted(tuning.arms)),
        boosts=None if tuning.boosts is None else tuning_pb2.ArmBoosts(levels=boosts_to_pb(tuning.boosts)),
        min_scores=None if tuning.min_scores is None else min_scores_to_pb(tuning.min_scores),
        reranking=tuning.reranking,
        cap_per_arm=tuning.cap_per_arm,
        rerank_limit=tuning.rerank_limit,
        recency_alpha=tuning.recency_alpha,
        temporal_alpha=tuning.temporal_alpha,
        proof_alpha=tuning.proof_alpha,
        graph_strategy=tuning.graph_strategy,
        prefer_observations=tuning.prefer_observations,
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
        recency_curve=RECENCY_CURVE.read(curve, f"{field}.recency_curve", door=door) if curve else None,
        recency_alpha=message.recency_alpha if has("recency_alpha") else None,
        temporal_alpha=message.temporal_alpha if has("temporal_alpha") else None,
        proof_alpha=message.proof_alpha if has("proof_alpha") else None,
        graph_strategy=message.graph_strategy if has("graph_strategy") else None,
        prefer_observations=message.prefer_observations if has("prefer_observations") else None,
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
