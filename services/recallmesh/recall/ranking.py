"""The ranking: candidates in fused order become rows with all their scores, in final order."""

from dataclasses import dataclass
from math import log, prod

from recallmesh.core.memory import Memory
from recallmesh.core.recall import Scores
from recallmesh.recall import score
from recallmesh.recall.plan import ResolvedTuning
from recallmesh.recall.rerank import Reranking
from recallmesh.recall.standing import NO_BOOST, NO_PRIOR, Factors, Priors, Standings
from recallmesh.recall.surroundings import Surroundings


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
    reading: float = 1.0
    surroundings: float = 1.0

    def scores(self, rrf: float) -> Scores:
        """Return the scores as an answer tells them."""
        return Scores(
            rrf=rrf,
            relevance=self.relevance,
            final=self.final,
            reranker_raw=self.raw,
            recency_boost=self.factors.recency,
            temporal_boost=self.factors.temporal,
            proof_boost=self.factors.proof,
            strategy_boost=self.factors.strategy,
            fusion_prior=self.priors.fusion,
            context_prior=self.priors.context,
            naming_prior=self.priors.naming,
            keyword_prior=self.priors.keyword,
            length_prior=self.priors.length,
            reading=self.reading,
            surroundings=self.surroundings,
        )


def rank(standings: Standings, reranking: Reranking) -> list[Row]:
    """Return the rows, best first.

    With a telling reranker, what it read is ordered by what it said and by all else that is known of it. What it did
    not read follows by all else alone, the finals spread below the last that was; in fused order where an arm is
    favoured, since no arm's boost may be undone. Otherwise the order is the fused one, moved only by the boosts that
    request or bank asked for.
    """
    if not reranking.raw:
        return _unreranked(standings)
    if not reranking.telling:
        rows = _unreranked(standings)
        said = dict(zip(reranking.places, reranking.raw, strict=True))
        for row in rows:
            if row.place in said:
                row.raw = said[row.place]
                row.relevance = score.relevance(row.raw, logits=reranking.logits)
        return rows
    return _reranked(standings, reranking)


def _unreranked(standings: Standings) -> list[Row]:
    memories, tuning = standings.memories, standings.context.tuning
    relevances = score.synthetic(len(memories))
    if not tuning.boosts_asked:
        return [Row(memory, place, relevances[place], relevances[place]) for place, memory in enumerate(memories)]
    factors = [_asked(each, tuning) for each in standings.factors]
    finals = score.shifted([prod(each) for each in factors])
    rows = [
        Row(memory, place, relevances[place], finals[place], factors=factors[place])
        for place, memory in enumerate(memories)
    ]
    rows.sort(key=lambda row: (-row.final, row.place))
    return rows


def _reranked(standings: Standings, reranking: Reranking) -> list[Row]:
    said = sorted(zip(reranking.places, reranking.raw, strict=True))
    odds = {place: score.raw_odds(raw, logits=reranking.logits) for place, raw in said}
    standings = standings.after(odds.values())
    around = Surroundings(standings.memories)
    for place, each in odds.items():
        around.add(place, score.voice(each))
    weight = standings.context.tuning.surroundings_weight
    rows = []
    for place, raw in said:
        reading, near = score.reading(odds[place]), around.factor(place, weight)
        final = score.sigmoid(log(reading * near) + standings.weights[place])
        relevance = score.relevance(raw, logits=reranking.logits)
        rows.append(_row(standings, place, relevance, final, raw=raw, reading=reading, surroundings=near))
    # Where a saturated sigmoid makes finals equal, the raw scores still tell.
    rows.sort(key=lambda row: (-row.final, -(row.raw or 0.0), row.place))
    rest = [place for place in range(len(standings.memories)) if place not in odds]
    near_rest = {place: around.factor(place, weight) for place in rest}
    if standings.context.places is None:
        rest.sort(key=lambda place: (-(standings.weights[place] + log(near_rest[place])), place))
    below = rows[-1].final
    for nth, place in enumerate(rest):
        final = below * (len(rest) - nth) / (len(rest) + 1)
        rows.append(_row(standings, place, final, final, surroundings=near_rest[place]))
    return rows


def _row(
    standings: Standings,
    place: int,
    relevance: float,
    final: float,
    *,
    surroundings: float,
    raw: float | None = None,
    reading: float = 1.0,
) -> Row:
    return Row(
        memory=standings.memories[place],
        place=place,
        relevance=relevance,
        final=final,
        raw=raw,
        factors=standings.factors[place],
        priors=standings.priors[place],
        reading=reading,
        surroundings=surroundings,
    )


def _asked(factors: Factors, tuning: ResolvedTuning) -> Factors:
    """Keep the boosts that were asked for; strategy boosts have shaped the fused order already."""
    return Factors(
        recency=factors.recency if tuning.recency_asked else 1.0,
        temporal=factors.temporal if tuning.temporal_asked else 1.0,
        proof=factors.proof if tuning.proof_asked else 1.0,
    )
