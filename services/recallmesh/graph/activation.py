"""Spreading activation: seeds pass on a share of their activation, and what several of them reach adds up."""

from recallmesh.graph.expansion import score_reached
from recallmesh.graph.neighbourhood import Neighbourhood, Ranking
from recallmesh.graph.score import entity_score
from recallmesh.graph.seeding import NEAR, nearness

DECAY = 0.5
"""What is left of an activation after one hop (Crestani 1997 gives 0.2 to 0.9; half keeps two hops audible)."""
HOPS = 2
CEILING = 3.0


def activate(around: Neighbourhood) -> Ranking:
    """Rank every memory of the neighbourhood by its activation after two hops, best first, in [0, 3]."""
    held = _initial(around)
    total = dict(held)
    for _ in range(HOPS):
        held = _spread(around, held)
        for memory_id, amount in held.items():
            total[memory_id] = total.get(memory_id, 0.0) + amount
    for memory_id, entities in around.shared.items():
        if memory_id not in around.origins:
            total[memory_id] = total.get(memory_id, 0.0) + DECAY * entity_score(len(entities))
    reached = score_reached(around)
    rows = sorted((-min(CEILING, total[m]), m) for m in around.types if total.get(m, 0.0) > 0)
    return Ranking(rows, reached.told, reached.because, NEAR)


def _initial(around: Neighbourhood) -> dict[str, float]:
    """Give the seed nearest to the query 1, the furthest of the near ones next to nothing."""
    seeds = around.seeds
    if not seeds.cosines:
        return {memory_id: entity_score(len(seeds.names.get(memory_id, ()))) for memory_id in seeds.types}
    near = nearness(seeds, around.rarities, around.spread)
    lowest = min(seeds.base.values())
    width = max(max(near.values()) - lowest, 1e-9)
    return {memory_id: max((score - lowest) / width, 1e-6) for memory_id, score in near.items()}


def _spread(around: Neighbourhood, held: dict[str, float]) -> dict[str, float]:
    """Pass activation along the links; a memory of many links gives each less, so that none floods the rest."""
    fan: dict[str, int] = {}
    for edge in around.edges:
        fan[edge.source_id] = fan.get(edge.source_id, 0) + 1
    passed: dict[str, float] = {}
    for edge in around.edges:
        amount = held.get(edge.source_id, 0.0) * edge.weight * DECAY / fan[edge.source_id] ** 0.5
        if amount > 0:
            passed[edge.target_id] = passed.get(edge.target_id, 0.0) + amount
    return passed
