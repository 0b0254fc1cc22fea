"""Link expansion: the seeds first, then what shares entities with them or is linked to them."""

from collections.abc import Set as AbstractSet

from recallmesh.graph.neighbourhood import Neighbourhood, Ranked, Reach, two_hops
from recallmesh.graph.score import graph_score
from recallmesh.graph.seeding import rank_seeds
from recallmesh.graph.store import LinkKind


def expand(around: Neighbourhood) -> tuple[list[Ranked], list[Ranked]]:
    """Return the seeds and what was reached from them, each best first.

    Without a near seed there is nothing to order seeds by but the graph: then all are in the second list.
    """
    near = any(seed.cosine is not None for seed in around.seeds)
    seeds = rank_seeds(around) if near else []
    kept = {ranked.memory_id for ranked in seeds}
    return seeds, score_reached(around, leave_out=kept)


def score_reached(around: Neighbourhood, leave_out: AbstractSet[str] = frozenset()) -> list[Ranked]:
    """Score every memory of the neighbourhood, save those left out, by what ties it to the query and the origins."""
    linked = two_hops(around.edges, around.origins)
    named = {seed.memory_id: frozenset(seed.names) for seed in around.seeds if seed.memory_id not in leave_out}
    labels: dict[frozenset[str], str] = {}
    ranked = []
    for memory_id, fact_type in around.types.items():
        if memory_id in leave_out:
            continue
        # A seed shares its own entities with itself: of those, only what the query names counts.
        shared = named.get(memory_id, around.shared.get(memory_id, frozenset()))
        found = linked.get(memory_id)
        semantic = found.weight(LinkKind.SEMANTIC) if found else 0.0
        causal = found.weight(LinkKind.CAUSAL) if found else 0.0
        score = graph_score(len(shared), semantic, causal)
        if score > 0:
            if shared not in labels:
                labels[shared] = around.label(shared)
            because = _because(labels[shared], found, names=memory_id in named)
            ranked.append(Ranked(memory_id, fact_type, score, because))
    return sorted(ranked, key=lambda r: (-r.score, r.memory_id))


def _because(label: str, found: Reach | None, *, names: bool) -> str:
    ties = [] if not label else [f"names {label}" if names else f"shares {label} with the seeds"]
    if found is not None and found.kind is not LinkKind.TEMPORAL:
        ties.append(found.phrase)
    return "; ".join(ties)
