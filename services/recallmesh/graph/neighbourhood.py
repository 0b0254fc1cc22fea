"""The part of a bank's graph around a query: the seeds, what links lead to from the best of them, and who is named."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from recallmesh.core.memory import FactType
from recallmesh.graph.store import Edge, LinkKind


@dataclass(frozen=True, slots=True)
class Seeds:
    """The memories to start from: near the query by vector, or mentioning what it names, or both.

    Kept by column, since most of the hundreds are near and nothing else. ``cosines`` are of the near ones, ``names``
    the ids of the query's entities that a memory mentions, where it does. ``base`` is the lowest cosine of each type:
    no memory beyond the near ones is nearer.
    """

    types: Mapping[str, FactType]
    cosines: Mapping[str, float]
    names: Mapping[str, tuple[str, ...]]
    base: Mapping[FactType, float]


class Ranking(NamedTuple):
    """Memories in an order: rows of negated score and memory id, lowest first, and what says why one is there.

    Of most there is but one plain thing to say: only of those in ``told`` is ``because`` asked, and of those only if
    they are kept, since making the phrases takes longer than making the order.
    """

    rows: list[tuple[float, str]]
    told: AbstractSet[str]
    because: Callable[[str], str]
    plain: str = ""


EMPTY = Ranking([], frozenset(), str)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What a strategy ranks.

    ``origins`` are the seeds that links were followed from, best first, with how much each counts in [0, 1].
    ``shared`` holds, for memories reached, the entities they share with the query and the origins. ``labels`` and
    ``rarities`` describe the entities; ``spread`` is how far the cosines of unrelated texts scatter.
    """

    seeds: Seeds
    origins: Mapping[str, float]
    edges: tuple[Edge, ...]
    shared: Mapping[str, AbstractSet[str]]
    types: Mapping[str, FactType]
    labels: Mapping[str, str]
    rarities: Mapping[str, float]
    spread: float

    def label(self, entity_ids: Iterable[str]) -> str:
        """Name the entities, the rarest first, at most three."""
        order = sorted(entity_ids, key=lambda e: (-self.rarities.get(e, 0.0), self.labels.get(e, e), e))
        return ", ".join(self.labels.get(e, e) for e in order[:3])


@dataclass(frozen=True, slots=True)
class Reach:
    """How strongly links lead to a memory, in [0, 1] by kind, and the memory that the best one comes from."""

    weights: Mapping[LinkKind, float]
    source_id: str
    kind: LinkKind
    from_cause: bool = False

    def weight(self, kind: LinkKind) -> float:
        """Return the weight of a kind, 0 where there is no link of it."""
        return self.weights.get(kind, 0.0)

    @property
    def phrase(self) -> str:
        """Say it for the trace."""
        match self.kind:
            case LinkKind.CAUSAL:
                return f"caused by {self.source_id}" if self.from_cause else f"cause of {self.source_id}"
            case LinkKind.TEMPORAL:
                return f"beside {self.source_id}"
            case _:
                return f"like {self.source_id}"


def reach(edges: Iterable[Edge], strength: Mapping[str, float]) -> dict[str, Reach]:
    """Follow edges from memories of a strength: each target gets, by kind, the best of strength times weight."""
    weights: dict[str, dict[LinkKind, float]] = {}
    best: dict[str, tuple[float, Edge]] = {}
    for edge in edges:
        weight = strength.get(edge.source_id, 0.0) * edge.weight
        if weight <= 0:
            continue
        kinds = weights.setdefault(edge.target_id, {})
        kinds[edge.kind] = max(kinds.get(edge.kind, 0.0), weight)
        if edge.target_id not in best or weight > best[edge.target_id][0]:
            best[edge.target_id] = (weight, edge)
    return {
        target: Reach(kinds, best[target][1].source_id, best[target][1].kind, best[target][1].from_cause)
        for target, kinds in weights.items()
    }


def two_hops(edges: Iterable[Edge], origins: Mapping[str, float]) -> dict[str, Reach]:
    """Follow edges from the origins, and on from what they lead to; a second hop counts as the product of both.

    Links beside one another in a document are followed once only: twice, everything in it would be reached.
    """
    held = tuple(edges)
    first = reach((e for e in held if e.source_id in origins), origins)
    strength = {
        target: min(1.0, max(found.weight(LinkKind.SEMANTIC), found.weight(LinkKind.CAUSAL)))
        for target, found in first.items()
        if target not in origins
    }
    onward = [e for e in held if e.source_id in strength and e.kind is not LinkKind.TEMPORAL]
    whole = dict(origins) | strength
    return reach([*(e for e in held if e.source_id in origins), *onward], whole)
