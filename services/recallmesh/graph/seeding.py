"""The order of the seeds: by nearness to the query, lifted by what they name and by links to better seeds."""

from collections.abc import Iterable, Mapping
from math import inf

from recallmesh.core.memory import FactType
from recallmesh.graph.neighbourhood import Neighbourhood, Ranked, Reach, Seed, reach
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


def base_cosines(seeds: Iterable[Seed]) -> dict[FactType, float]:
    """Return, by fact type, the lowest cosine among the near seeds: no memory beyond them is nearer."""
    lowest: dict[FactType, float] = {}
    for _, fact_type, cosine, _ in seeds:
        if cosine is not None and cosine < lowest.get(fact_type, inf):
            lowest[fact_type] = cosine
    overall = min(lowest.values(), default=0.0)
    return {fact_type: lowest.get(fact_type, overall) for fact_type in FactType}


def nearness(seeds: tuple[Seed, ...], rarities: Mapping[str, float], spread: float) -> dict[str, float]:
    """Score seeds by cosine and by the rarity of what they name."""
    base = base_cosines(seeds)
    # Few combinations of names occur on many seeds.
    lifts = {
        names: NAMED_LIFT * spread * entity_score(sum(rarities.get(e, 0.0) for e in names))
        for names in {seed.names for seed in seeds}
    }
    return {
        memory_id: (base[fact_type] if cosine is None else cosine) + lifts[names]
        for memory_id, fact_type, cosine, names in seeds
    }


def rank_seeds(around: Neighbourhood) -> list[Ranked]:
    """Order the seeds of a query that has a vector, best first."""
    near = nearness(around.seeds, around.rarities, around.spread)
    decay = {origin: 1 / (1 + place / RANK_DECAY) for place, origin in enumerate(around.origins)}
    linked = reach(around.edges, decay)
    # Few phrases occur on many seeds.
    phrases = {
        (names, close): _phrase(around, names, near=close)
        for names, close in {(seed.names, seed.cosine is not None) for seed in around.seeds}
    }
    pull = LINK_LIFT * around.spread
    rows: list[tuple[float, str, FactType, str]] = []
    for memory_id, fact_type, cosine, names in around.seeds:
        score = SEED_FLOOR + near[memory_id]
        because = phrases[names, cosine is not None]
        found = linked.get(memory_id)
        if found is not None:
            score += pull * _pull(found)
            because = f"{because}; {found.phrase}" if because else found.phrase
        rows.append((-max(SEED_FLOOR, score), memory_id, fact_type, because))
    rows.sort()  # no two have the same score and memory id
    return [Ranked(memory_id, fact_type, -score, because) for score, memory_id, fact_type, because in rows]


def _pull(found: Reach) -> float:
    likeness = found.weight(LinkKind.SEMANTIC) + found.weight(LinkKind.CAUSAL)
    return found.weight(LinkKind.TEMPORAL) + LIKE_SHARE * likeness


def _phrase(around: Neighbourhood, names: tuple[str, ...], *, near: bool) -> str:
    ties = [f"names {around.label(names)}"] if names else []
    if near:
        ties.append("near the query")
    return "; ".join(ties)
