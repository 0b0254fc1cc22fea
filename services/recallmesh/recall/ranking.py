"""The ranking: candidates in fused order become rows with all their scores, in final order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log, prod

from recallmesh.core.memory import Memory
from recallmesh.core.recall import Scores
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecencyCurve
from recallmesh.recall import score
from recallmesh.recall.naming import unnamed
from recallmesh.recall.nearness import NO_NEARNESS, Nearness
from recallmesh.recall.plan import ResolvedTuning
from recallmesh.recall.rerank import Reranking

Factors = tuple[float, float, float, float]
"""The recency, temporal, proof and strategy boosts of one memory."""
NO_BOOST: Factors = (1.0, 1.0, 1.0, 1.0)
Priors = tuple[float, float, float]
"""What was to be expected of one memory before it was read: by its fused rank, its context and what it mentions."""
NO_PRIOR: Priors = (1.0, 1.0, 1.0)
LEAST = 5e-324
"""The least number above 0: what a product of priors may fall to, and still have a logarithm."""


@dataclass(slots=True)
class Row:
    """One candidate; ``place`` is its index in fused order."""

    memory: Memory
    place: int
    relevance: float
    final: float
    raw: float | None = None
    factors: Factors = NO_BOOST
    priors: Priors = NO_PRIOR

    def scores(self, rrf: float) -> Scores:
        """Return the scores as an answer tells them."""
        recency, temporal, proof, strategy = self.factors
        fusion, context, naming = self.priors
        return Scores(
            rrf=rrf,
            relevance=self.relevance,
            final=self.final,
            reranker_raw=self.raw,
            recency_boost=recency,
            temporal_boost=temporal,
            proof_boost=proof,
            strategy_boost=strategy,
            fusion_prior=fusion,
            context_prior=context,
            naming_prior=naming,
        )


@dataclass(frozen=True, slots=True)
class Context:
    """What boosts and priors are measured against.

    ``nearness`` is what the context prior comes from, ``query`` what the naming prior does; ``unnamed_odds`` is the
    latter for a memory that mentions nothing the query names. ``nudge`` gives a memory's strategy boost and ``places``
    its place in RRF's own order; both are absent where no arm is favoured, and fused order is RRF's own.
    """

    tuning: ResolvedTuning
    asked_at: datetime
    window: Window | None
    half_life_days: float
    rrf_k: int
    fusion_weight: float
    context_weight: float = 0.0
    nearness: Nearness = NO_NEARNESS
    unnamed_odds: float = 1.0
    query: str = ""
    nudge: Callable[[str], float] | None = None
    places: Mapping[str, int] | None = None


def rank(memories: Sequence[Memory], reranking: Reranking, context: Context) -> list[Row]:
    """Return the rows, best first.

    With a telling reranker its scores and the boosts order the first rows, and those it did not see follow in fused
    order, their finals spread below the last of the seen. Otherwise the order is the fused one, moved only by the
    boosts that request or bank asked for.
    """
    if not reranking.raw:
        return _unreranked(memories, context)
    seen = len(reranking.raw)
    if reranking.telling:
        rows = _reranked(memories[:seen], reranking, context)
        # Where a saturated sigmoid makes finals equal, the raw scores still tell.
        rows.sort(key=lambda row: (-row.final, -(row.raw or 0.0), row.place))
    elif context.tuning.boosts_asked:
        rows = _unreranked(memories[:seen], context)
        for row in rows:
            row.raw = reranking.raw[0]
    else:
        relevance = score.relevance(reranking.raw[0], logits=reranking.logits)
        rows = [
            Row(memory, place, relevance, relevance, reranking.raw[0]) for place, memory in enumerate(memories[:seen])
        ]
    return rows + _tail(memories, seen, rows[-1].final)


def _tail(memories: Sequence[Memory], seen: int, below: float) -> list[Row]:
    rest = len(memories) - seen
    finals = (below * (rest - place) / (rest + 1) for place in range(rest))
    return [Row(memories[seen + place], seen + place, final, final) for place, final in enumerate(finals)]


def _unreranked(memories: Sequence[Memory], context: Context) -> list[Row]:
    relevances = score.synthetic(len(memories))
    if not context.tuning.boosts_asked:
        return [Row(memory, place, relevances[place], relevances[place]) for place, memory in enumerate(memories)]
    factors = [_asked(_factors(memory, context), context.tuning) for memory in memories]
    finals = score.shifted([prod(each) for each in factors])
    rows = [
        Row(memory, place, relevances[place], finals[place], factors=factors[place])
        for place, memory in enumerate(memories)
    ]
    rows.sort(key=lambda row: (-row.final, row.place))
    return rows


def _reranked(memories: Sequence[Memory], reranking: Reranking, context: Context) -> list[Row]:
    relevances = [score.relevance(raw, logits=reranking.logits) for raw in reranking.raw]
    window_leads = context.window is not None and max(relevances) < score.TELLING
    rows = []
    for place, (memory, (priors, factors)) in enumerate(
        zip(memories, _weighed(memories, context, window_leads=window_leads), strict=True)
    ):
        final = score.lift(relevances[place], _weight(priors, factors))
        rows.append(Row(memory, place, relevances[place], final, reranking.raw[place], factors, priors))
    return rows


def weights(memories: Sequence[Memory], context: Context, *, window_leads: bool) -> list[float]:
    """Return the natural log of what multiplies the odds of each memory, whatever the reranker says of it.

    The context prior is measured against the memories given: of more of them, all of its logs shift alike.
    """
    weighed = _weighed(memories, context, window_leads=window_leads)
    return [log(max(_weight(priors, factors), LEAST)) for priors, factors in weighed]


def _weight(priors: Priors, factors: Factors) -> float:
    return prod(priors) * prod(factors) ** score.SHARPNESS


def _weighed(memories: Sequence[Memory], context: Context, *, window_leads: bool) -> Iterator[tuple[Priors, Factors]]:
    lifted = context.nearness.priors([memory.id for memory in memories], context.context_weight)
    missed = unnamed(context.query, memories) if context.unnamed_odds < 1.0 else frozenset()
    for place, memory in enumerate(memories):
        # A favoured arm's hits have their nudge: they keep the prior of the place that RRF alone gave them.
        fused = context.places[memory.id] if context.places else place
        priors = (
            score.prior(fused, context.rrf_k, context.fusion_weight),
            lifted.get(memory.id, 1.0),
            context.unnamed_odds if memory.id in missed else 1.0,
        )
        yield priors, _factors(memory, context, window_leads=window_leads)


def _factors(memory: Memory, context: Context, *, window_leads: bool = False) -> Factors:
    tuning, window = context.tuning, context.window
    recency = temporal = score.NEUTRAL
    if tuning.recency_curve is not RecencyCurve.NONE:
        days = score.days_between(memory, context.asked_at)
        recency = score.recency(days, tuning.recency_curve, context.half_life_days)
    if window is not None:
        temporal = score.temporal(score.days_between(memory, window.centre), window)
    return (
        score.boost(tuning.recency_alpha, recency),
        score.OUTSIDE if window_leads and not _inside(memory, window) else score.boost(tuning.temporal_alpha, temporal),
        score.boost(tuning.proof_alpha, score.proof(memory)),
        context.nudge(memory.id) if context.nudge else 1.0,
    )


def _inside(memory: Memory, window: Window | None) -> bool:
    return window is not None and memory.time is not None and memory.time.overlaps(window)


def _asked(factors: Factors, tuning: ResolvedTuning) -> Factors:
    """Keep the boosts that were asked for; strategy boosts have shaped the fused order already."""
    recency, temporal, proof, _ = factors
    return (
        recency if tuning.recency_asked else 1.0,
        temporal if tuning.temporal_asked else 1.0,
        proof if tuning.proof_asked else 1.0,
        1.0,
    )
