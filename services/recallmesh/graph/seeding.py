"""The order of the seeds: by nearness to the query, lifted by what they name and by links to better seeds."""

from collections.abc import Mapping

from recallmesh.core.memory import FactType
from recallmesh.graph.neighbourhood import Neighbourhood, Ranking, Reach, Seeds, reach
from recallmesh.graph.score import entity_score
from recallmesh.graph.store import LinkKind

SEED_FLOOR = 3.0
"""The highest graph score: a seed's score begins here, so that none comes after what was only reached."""
NAMED_LIFT = 2.0
"""The lift for naming the query's rarest entities, in spreads of unrelated cosines. Measured: from 0.35 to 2 the
evidence found does not change; a high one brings memories that only a name leads to near the top in large banks."""
LINK_LIFT = 0.35
"""The lift for lying beside the best seed in its document, in spreads; being like it counts half. Measured on six
long conversations: evidence among the graph arm's first 20 rises from 0.657 to 0.693."""
LIKE_SHARE = 0.5
RANK_DECAY = 10.0
"""The rank at which a seed lifts its neighbours half as much as the first one does."""
NEAR = "near the query"


def base_cosines(lowest: Mapping[FactType, float]) -> dict[FactType, float]:
    """Return the lowest cosine of each type; of a type that none is near of, the lowest of all."""
    overall = min(lowest.values(), default=0.0)
    return {fact_type: lowest.get(fact_type, overall) for fact_type in FactType}


def nearness(seeds: Seeds, rarities: Mapping[str, float], spread: float) -> dict[str, float]:
    """Score seeds by cosine and by the rarity of what they name."""
    cosines, base = seeds.cosines, seeds.base
    near = {memory_id: cosines.get(memory_id, base[fact_type]) for memory_id, fact_type in seeds.types.items()}
    # Few combinations of names occur on many seeds.
    lifts = {
        names: NAMED_LIFT * spread * entity_score(sum(rarities.get(e, 0.0) for e in names))
        for names in set(seeds.names.values())
    }
    for memory_id, names in seeds.names.items():
        near[memory_id] += lifts[names]
    return near


def rank_seeds(around: Neighbourhood) -> Ranking:
    """Order the seeds of a query that has a vector, best first."""
    decay = {origin: 1 / (1 + place / RANK_DECAY) for place, origin in enumerate(around.origins)}
    linked = reach(around.edges, decay)
    pull = LINK_LIFT * around.spread
    scores = nearness(around.seeds, around.rarities, around.spread)
    rows = [(-max(SEED_FLOOR, SEED_FLOOR + s), m) for m, s in scores.items() if m not in linked]
    rows += [
        (-max(SEED_FLOOR, SEED_FLOOR + scores[memory_id] + pull * _pull(found)), memory_id)
        for memory_id, found in linked.items()
        if memory_id in scores
    ]
    rows.sort()
    names_of, cosines = around.seeds.names, around.seeds.cosines
    phrases: dict[tuple[str, ...], str] = {}

    def because(memory_id: str) -> str:
        names, found = names_of.get(memory_id), linked.get(memory_id)
        near = NEAR if memory_id in cosines else ""
        if names is None and found is None:  # as most are
            return near
        if names and names not in phrases:
            phrases[names] = f"names {around.label(names)}"
        ties = (phrases[names] if names else "", near, found.phrase if found else "")
        return "; ".join([tie for tie in ties if tie])

    return Ranking(rows, because)


def _pull(found: Reach) -> float:
    likeness = found.weight(LinkKind.SEMANTIC) + found.weight(LinkKind.CAUSAL)
    return found.weight(LinkKind.TEMPORAL) + LIKE_SHARE * likeness
