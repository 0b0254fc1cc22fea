"""Walks by link pattern (mpfp): each pattern makes a list of its own, and the lists are fused by rank."""

from recallmesh.graph.expansion import score_reached
from recallmesh.graph.neighbourhood import Neighbourhood, Ranking, reach, two_hops
from recallmesh.graph.score import entity_score
from recallmesh.graph.seeding import NEAR, nearness
from recallmesh.graph.store import LinkKind

K = 60
"""Cormack et al. 2009, as in the fusion of the arms."""


def walk(around: Neighbourhood) -> Ranking:
    """Rank every memory of the neighbourhood by the reciprocal ranks it has over the patterns, best first."""
    scores: dict[str, float] = {}
    for pattern in patterns(around).values():
        order = sorted((m for m in pattern if pattern[m] > 0), key=lambda m: (-pattern[m], m))
        for rank, memory_id in enumerate(order, start=1):
            scores[memory_id] = scores.get(memory_id, 0.0) + 1 / (K + rank)
    reached = score_reached(around)
    rows = sorted((-scores[memory_id], memory_id) for memory_id in around.types if memory_id in scores)
    return Ranking(rows, reached.told, reached.because, NEAR)


def patterns(around: Neighbourhood) -> dict[str, dict[str, float]]:
    """Score the memories by pattern: the seeds, then each kind of link once, and likeness twice."""
    once = reach(around.edges, around.origins)
    twice = two_hops(around.edges, around.origins)
    seeds = around.seeds
    start = (
        nearness(seeds, around.rarities, around.spread)
        if seeds.cosines
        else {memory_id: entity_score(len(seeds.names.get(memory_id, ()))) for memory_id in seeds.types}
    )
    lists = {kind.value: {m: found.weight(kind) for m, found in once.items()} for kind in LinkKind}
    lists["seeds"] = start
    lists["entities"] = {m: entity_score(len(shared)) for m, shared in around.shared.items() if m not in around.origins}
    lists["onward"] = {
        m: found.weight(LinkKind.SEMANTIC) + found.weight(LinkKind.CAUSAL)
        for m, found in twice.items()
        if m not in once
    }
    return lists
