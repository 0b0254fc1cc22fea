"""Nearness: what a memory's context adds to its own nearness to the query, by the vectors that the arms compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, isfinite
from statistics import median

from recallmesh.core.arm import ArmName, Hit

OWN_SHARE = 0.5
"""How much of a memory's own cosine is taken off: the cross-encoder has read its text. Measured: 0.25 to 0.75."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """The cosines that the arms told, and the spread of the embedder's unrelated texts (0: not known)."""

    own: Mapping[str, float] = field(default_factory=dict)
    context: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.0

    def priors(self, memory_ids: Iterable[str], weight: float) -> dict[str, float]:
        """Return the factors on the odds, by memory id; 1 for a memory of which a cosine is not known.

        ``exp(weight · (s - m) / spread)`` with ``s = context - own / 2`` and ``m`` the median of s among these
        memories.
        """
        if weight == 0 or self.spread <= 0:
            return {}
        surplus = {
            memory_id: self.context[memory_id] - OWN_SHARE * self.own[memory_id]
            for memory_id in memory_ids
            if memory_id in self.context and memory_id in self.own
        }
        middle = median(surplus.values()) if surplus else 0.0
        return {memory_id: exp(weight * (one - middle) / self.spread) for memory_id, one in surplus.items()}


NO_NEARNESS = Nearness()


def nearness(hits: Mapping[ArmName, Iterable[Hit]], spread: float) -> Nearness:
    """Collect the cosines: the semantic arm's scores are those of the texts, others may know those of the contexts."""
    own = {hit.memory_id: hit.score for hit in hits.get(ArmName.SEMANTIC, ()) if isfinite(hit.score)}
    context = {
        hit.memory_id: hit.context_cosine
        for found in hits.values()
        for hit in found
        if hit.context_cosine is not None and isfinite(hit.context_cosine)
    }
    return Nearness(own, context, spread)
