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
    near = dict(seeds.cosines)
    for memory_id in seeds.types.keys() - seeds.cosines.keys():
        near[memory_id] = seeds.base[seeds.types[memory_id]]
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
    for memory_id in linked.keys() & scores.keys():
        scores[memory_id] += pull * _pull(linked[memory_id])
    rows = [(-SEED_FLOOR - score, memory_id) for memory_id, score in scores.items()]
    rows.sort()
    if rows and rows[-1][0] > -SEED_FLOOR:  # the cosine of an opposite is below 0
        rows = sorted((min(score, -SEED_FLOOR), memory_id) for score, memory_id in rows)
    names_of, cosines = around.seeds.names, around.seeds.cosines
    phrases: dict[tuple[str, ...], str] = {(): ""}

    def because(memory_id: str) -> str:
        names, found = names_of.get(memory_id, ()), linked.get(memory_id)
        phrase = phrases.get(names)
        if phrase is None:
            phrase = phrases[names] = f"names {around.label(names)}"
        if memory_id in cosines:
            phrase = f"{phrase}; {NEAR}" if names else NEAR
        if found is None:
            return phrase
        return f"{phrase}; {found.phrase}" if phrase else found.phrase

    return Ranking(rows, names_of.keys() | linked.keys(), because, NEAR)


def _pull(found: Reach) -> float:
    likeness = found.weight(LinkKind.SEMANTIC) + found.weight(LinkKind.CAUSAL)
    return found.weight(LinkKind.TEMPORAL) + LIKE_SHARE * likeness
