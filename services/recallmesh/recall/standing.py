"""Standings: what is known of every candidate whatever the reranker says of it, told as factors on its odds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import log, prod
from statistics import median
from typing import NamedTuple

from recallmesh.core.memory import Memory
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecencyCurve
from recallmesh.recall import score
from recallmesh.recall.naming import unnamed
from recallmesh.recall.nearness import NO_NEARNESS, Nearness
from recallmesh.recall.plan import ResolvedTuning

LEAST = 5e-324
"""The least number above 0: what a product of priors may fall to, and still have a logarithm."""


class Factors(NamedTuple):
    """The boosts of one memory: 1 is neutral."""

    recency: float = 1.0
    temporal: float = 1.0
    proof: float = 1.0
    strategy: float = 1.0


class Priors(NamedTuple):
    """What is to be expected of one memory before it is read; 1 is neutral."""

    fusion: float = 1.0
    context: float = 1.0
    naming: float = 1.0
    keyword: float = 1.0
    length: float = 1.0


NO_BOOST = Factors()
NO_PRIOR = Priors()


@dataclass(frozen=True, slots=True)
class Context:
    """What boosts and priors are measured against.

    ``nearness`` is what the context prior comes from, ``keyword`` (the keyword arm's scores) and ``query`` what the
    keyword and the naming prior do. ``nudge`` gives a memory's strategy boost and ``places`` its place in RRF's own
    order; both are absent where no arm is favoured, and fused order is RRF's own.
    """

    tuning: ResolvedTuning
    asked_at: datetime
    window: Window | None
    query: str = ""
    nearness: Nearness = NO_NEARNESS
    keyword: Mapping[str, float] = field(default_factory=dict)
    nudge: Callable[[str], float] | None = None
    places: Mapping[str, int] | None = None


class Standings:
    """The priors and boosts of a call's candidates, which come in fused order; worked out when first asked for."""

    def __init__(self, memories: Sequence[Memory], context: Context) -> None:
        """Take the candidates and what they are measured against."""
        self.memories = memories
        self.context = context

    @cached_property
    def priors(self) -> list[Priors]:
        """The priors of each."""
        context, tuning = self.context, self.context.tuning
        ids = [memory.id for memory in self.memories]
        lifted = context.nearness.priors(ids, tuning.context_weight)
        missed = unnamed(context.query, self.memories) if tuning.unnamed_odds < 1.0 else frozenset()
        best = max(context.keyword.values(), default=0.0)
        weight = tuning.keyword_weight / best if best > 0 else 0.0
        usual = _usual_length(self.memories) if tuning.length_weight else 0.0
        return [
            Priors(
                # A favoured arm's hits have their nudge: they keep the prior of the place that RRF alone gave them.
                score.prior(context.places[memory.id] if context.places else place, tuning.rrf_k, tuning.fusion_weight),
                lifted.get(memory.id, 1.0),
                tuning.unnamed_odds if memory.id in missed else 1.0,
                score.keyword(context.keyword.get(memory.id, 0.0), weight),
                score.length(memory.tokens, usual, tuning.length_weight),
            )
            for place, memory in enumerate(self.memories)
        ]

    @cached_property
    def factors(self) -> list[Factors]:
        """The boosts of each."""
        return [self._factors(memory) for memory in self.memories]

    @cached_property
    def weights(self) -> list[float]:
        """The natural log of what multiplies the odds of each."""
        return [
            log(max(prod(priors) * prod(factors), LEAST))
            for priors, factors in zip(self.priors, self.factors, strict=True)
        ]

    def after(self, odds: Collection[float]) -> "Standings":
        """Return the standings once the model gave these log odds: where none of them tells, the period leads."""
        if self.context.window is None or not odds or max(odds) >= score.log_odds(score.TELLING):
            return self
        return self._led

    @cached_property
    def _led(self) -> "Standings":
        """The standings for a query that is about its period alone: what lies outside that comes behind."""
        led = Standings(self.memories, self.context)
        led.priors = self.priors
        led.factors = [
            factors if self._inside(memory) else factors._replace(temporal=score.OUTSIDE)
            for memory, factors in zip(self.memories, self.factors, strict=True)
        ]
        return led

    def _inside(self, memory: Memory) -> bool:
        window = self.context.window
        return window is not None and memory.time is not None and memory.time.overlaps(window)

    def _factors(self, memory: Memory) -> Factors:
        context, tuning = self.context, self.context.tuning
        recency = temporal = score.NEUTRAL
        if tuning.recency_curve is not RecencyCurve.NONE:
            days = score.days_between(memory, context.asked_at)
            recency = score.recency(days, tuning.recency_curve, tuning.recency_half_life_days)
        if context.window is not None:
            temporal = score.temporal(score.days_between(memory, context.window.centre), context.window)
        return Factors(
            score.boost(tuning.recency_alpha, recency),
            score.boost(tuning.temporal_alpha, temporal),
            score.boost(tuning.proof_alpha, score.proof(memory)),
            context.nudge(memory.id) if context.nudge else 1.0,
        )


def _usual_length(memories: Sequence[Memory]) -> float:
    sizes = [memory.tokens for memory in memories if memory.tokens > 0]
    return median(sizes) if sizes else 0.0
