"""Strategy boosts: favouring an arm by its ranks, never by scaling its scores."""

from collections.abc import Mapping, Sequence

from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import BoostLevel
from recallmesh.recall.fusion import Fused, fuse

NUDGE = 0.1
"""The most by which a boost lifts a reranked hit: the ±10 % of the other boosts, and like them on the odds.

So no boosted hit passes one whose odds, final / (1 - final), are 1.1 times its own or more: 0.5 is not passed by
anything below 0.476, nor 0.9 by anything below 0.891.
"""


def divisors(boosts: Mapping[ArmName, BoostLevel], levels: Mapping[BoostLevel, float]) -> dict[ArmName, float]:
    """Return what each boosted arm's ranks are divided by."""
    return {arm: levels[level] for arm, level in boosts.items()}


def boosted(ranks: Mapping[ArmName, Mapping[str, int]], by: Mapping[ArmName, float], k: int) -> Fused:
    """Fuse for ordering, with the boosted arms' ranks divided.

    Memories that no boosted arm found keep their order among themselves. Among memories that one arm alone found, the
    hit at rank j of an arm stays within the first j · (sum of all divisors) / (its own divisor), that of an unboosted
    arm being 1. What several arms found adds up and may pass any number of them: see ``seated``.
    """
    return fuse(ranks, k=k, divisors=by)


def seated(
    favoured: Sequence[str], plain: Sequence[str], ranks: Mapping[ArmName, Mapping[str, int]], cap: int
) -> list[str]:
    """Return the favoured order so that no boost takes another arm's top hits their places within the cap.

    With a cap of n and m arms: of each arm's first ⌊n/m⌋ hits, those that are among the first n without boosts are so
    with them, whatever is boosted and whatever the lists share. Each takes the place of the last one that is no such
    hit; all else stays in order. There is always such a place, since m · ⌊n/m⌋ is at most n. A cap of 0 cuts nothing.
    """
    if not 0 < cap < len(favoured):
        return list(favoured)
    without = frozenset(plain[:cap])
    seats = cap // len(ranks)
    held = {memory_id for places in ranks.values() for memory_id, rank in places.items() if rank <= seats} & without
    lost = [memory_id for memory_id in favoured[cap:] if memory_id in held]
    if not lost:
        return list(favoured)
    giving = [memory_id for memory_id in favoured[:cap] if memory_id not in held][-len(lost) :]
    head = frozenset(favoured[:cap]).difference(giving).union(lost)
    return [memory_id for inside in (True, False) for memory_id in favoured if (memory_id in head) is inside]


def nudge(rrf: float, favoured: float) -> float:
    """Return the factor in [1, 1 + NUDGE) by which boosts lift a reranked hit.

    It grows with the share of the boosted sum that the boost brought: 1 for what no boosted arm found.
    """
    return 1.0 + NUDGE * (1.0 - rrf / favoured)
