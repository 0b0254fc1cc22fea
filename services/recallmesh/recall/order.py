"""The one order that the arms' lists become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.interleaving import interleave, ranks_of
from recallmesh.core.recall import Fusion
from recallmesh.recall import boosts, fusion


@dataclass(frozen=True, slots=True)
class Order:
    """The arms' ranks and the memories' ids in the order they make.

    ``rrf`` are the sums of 1/(k + rank), whatever ordered. Where an arm is favoured, ``favoured`` are those sums with
    its boost and ``places`` are those of the order without it.
    """

    ranks: Mapping[ArmName, Mapping[str, int]]
    ids: list[str]
    rrf: Mapping[str, float]
    favoured: Mapping[str, float] | None = None
    places: Mapping[str, int] | None = None


def order_of(
    found: Mapping[ArmName, Sequence[Hit]],
    *,
    how: Fusion,
    cap: int,
    k: int,
    divisors: Mapping[ArmName, float],
    seats: int = 0,
) -> Order:
    """Fuse what the arms found, each list cut to ``cap`` hits (0: none is), favoured arms' ranks divided.

    ``seats`` is how many of the order will be read (0: all count alike): no boost takes them from other arms' top hits.
    """
    # In the arms' own order, not that of their answers: equal calls give equal answers.
    ranks = {name: ranks_of(found[name], cap) for name in ArmName if name in found}
    plain = fusion.fuse(ranks, k=k)
    ids = plain.order if how is Fusion.RRF else interleave(ranks)
    if divisors.keys().isdisjoint(ranks):
        return Order(ranks, ids, plain.scores)
    favoured = boosts.boosted(ranks, divisors, k)
    order = favoured.order if how is Fusion.RRF else interleave(ranks, divisors)
    return Order(
        ranks,
        boosts.seated(order, ids, ranks, seats),
        plain.scores,
        favoured.scores,
        {memory_id: place for place, memory_id in enumerate(ids)},
    )
