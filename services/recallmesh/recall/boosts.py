"""Strategy boosts: favouring an arm by its ranks, never by scaling its scores."""

from collections.abc import Mapping

from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import BoostLevel
from recallmesh.recall.fusion import Fused, fuse

NUDGE = 0.1
"""The most by which a boost lifts a reranked hit: the ±10 % of the other boosts, and like them squared on the odds.

So no boosted hit passes one whose odds, final / (1 - final), are 1.21 times its own or more: 0.5 is not passed by
anything below 0.452, nor 0.9 by anything below 0.881.
"""


def divisors(boosts: Mapping[ArmName, BoostLevel], levels: Mapping[BoostLevel, float]) -> dict[ArmName, float]:
    """Return what each boosted arm's ranks are divided by."""
    return {arm: levels[level] for arm, level in boosts.items()}


def boosted(ranks: Mapping[ArmName, Mapping[str, int]], by: Mapping[ArmName, float], k: int) -> Fused:
    """Fuse for ordering, with the boosted arms' ranks divided.

    Memories that no boosted arm found keep their order among themselves. Among memories that one arm alone found, the
    hit at rank j of another arm stays within the first j · (sum of all arms' divisors), an unboosted arm counting 1:
    with one arm of four at ``high`` and a cap of 300, each other arm's first 27 are never lost to the boost.
    """
    return fuse(ranks, k=k, divisors=by)


def nudge(rrf: float, favoured: float) -> float:
    """Return the factor in [1, 1 + NUDGE) by which boosts lift a reranked hit.

    It grows with the share of the boosted sum that the boost brought: 1 for what no boosted arm found.
    """
    return 1.0 + NUDGE * (1.0 - rrf / favoured)
