"""Link expansion: the seeds first, then what shares entities with them or is linked to them."""

from collections.abc import Set as AbstractSet

from recallmesh.graph.neighbourhood import EMPTY, Neighbourhood, Ranking, two_hops
from recallmesh.graph.score import graph_score
from recallmesh.graph.seeding import rank_seeds
from recallmesh.graph.store import LinkKind

_NOTHING: frozenset[str] = frozenset()


def expand(around: Neighbourhood) -> tuple[Ranking, Ranking]:
    """Return the seeds and what was reached from them, each best first.

    Without a near seed there is nothing to order seeds by but the graph: then all are in the second list.
    """
    if not around.seeds.cosines:
        return EMPTY, score_reached(around)
    return rank_seeds(around), score_reached(around, leave_out=around.seeds.types.keys())


def score_reached(around: Neighbourhood, leave_out: AbstractSet[str] = _NOTHING) -> Ranking:
    """Score every memory of the neighbourhood, save those left out, by what ties it to the query and the origins."""
    linked = two_hops(around.edges, around.origins)
    rows = []
    for memory_id in around.types.keys() - leave_out:
        found = linked.get(memory_id)
        shared = len(_shared(around, memory_id))
        if found is not None:
            score = graph_score(shared, found.weight(LinkKind.SEMANTIC), found.weight(LinkKind.CAUSAL))
        else:
            score = graph_score(shared)
        if score > 0:
            rows.append((-score, memory_id))
    rows.sort()
    labels: dict[frozenset[str], str] = {}

    def because(memory_id: str) -> str:
        shared = frozenset(_shared(around, memory_id))
        if shared not in labels:
            labels[shared] = around.label(shared)
        label = labels[shared]
        names = memory_id in around.seeds.types
        ties = [] if not label else [f"names {label}" if names else f"shares {label} with the seeds"]
        found = linked.get(memory_id)
        if found is not None and found.kind is not LinkKind.TEMPORAL:
            ties.append(found.phrase)
        return "; ".join(ties)

    return Ranking(rows, {memory_id for _, memory_id in rows}, because)


def _shared(around: Neighbourhood, memory_id: str) -> AbstractSet[str]:
    # A seed shares its own entities with itself: of those, only what the query names counts.
    if memory_id in around.seeds.types:
        return frozenset(around.seeds.names.get(memory_id, ()))
    return around.shared.get(memory_id, _NOTHING)
