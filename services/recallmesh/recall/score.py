"""The final score: the reading of a memory, and what else is known of it, multiplied as odds.

Each signal in [0, 1] becomes a factor ``1 + alpha · (signal - 0.5)``. The factors act on *odds*, not on the relevance:
a cross-encoder's sigmoid saturates near 1, and ten per cent of 0.99 outweighs differences of the raw score that are
clear. What was to be expected of a memory before the model read it counts as odds too (``standing``), and so does what
was read around it (``surroundings``). All measured in docs/adr/0016-what-a-reading-says.md.
"""

from datetime import datetime
from math import e, exp, log

from recallmesh.core.memory import FactType, Memory
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecencyCurve

NEUTRAL = 0.5
DAY_S = 86_400.0
RECENCY_DAYS = 365.0
RECENCY_LEAST = 0.1
SYNTHETIC_BEST = 1.0
SYNTHETIC_LEAST = 0.1
TELLING = 0.1
"""Where no memory is more relevant than this and a period was asked for, the query was about the period.

"What happened yesterday?" has no words that a text could answer; the model's scores are then noise of 1e-4 or so.
"""
OUTSIDE = 0.001
"""The temporal factor of what lies outside the period in that case: behind what lies inside, but not left out."""
DECAY = 0.03
"""How much a rank is worth against a boost where nothing was reranked: +10 % (ln 1.1 = 0.095) is 3.2 ranks."""
SURE = 36.0
"""The log odds at which a float's relevance is 0 or 1: ln(2^52)."""
LOUDEST = 600.0
"""The log odds beyond which no difference is made, so that no product overflows."""
LENGTHS = 4.0
"""How many times the usual length a memory may be, or the usual its, before more makes no difference."""


def sigmoid(logit: float) -> float:
    """Return 1/(1 + e^-x) without overflow."""
    if logit >= 0:
        return 1.0 / (1.0 + exp(-logit))
    grown = exp(logit)
    return grown / (1.0 + grown)


def relevance(raw: float, *, logits: bool) -> float:
    """Bring a model's score into [0, 1]: by the sigmoid if the *model* gives logits, else as it is."""
    return sigmoid(raw) if logits else min(1.0, max(0.0, raw))


def synthetic(count: int) -> list[float]:
    """Spread scores over [0.1, 1.0] by rank, for when nothing was reranked."""
    if count == 1:
        return [SYNTHETIC_BEST]
    step = (SYNTHETIC_BEST - SYNTHETIC_LEAST) / (count - 1) if count else 0.0
    return [SYNTHETIC_BEST - place * step for place in range(count)]


def shifted(factors: list[float]) -> list[float]:
    """Spread synthetic scores again after boosts: each rank is moved by ln(factor) / DECAY.

    Equal factors give ``synthetic`` back. The whole range of the three boosts (+27 %, -23 %) is 8 ranks up and 9 down.
    """
    places = [place - log(factor) / DECAY for place, factor in enumerate(factors)]
    first, last = min(places, default=0.0), max(places, default=0.0)
    if first == last:
        return synthetic(len(factors))
    step = (SYNTHETIC_BEST - SYNTHETIC_LEAST) / (last - first)
    return [SYNTHETIC_BEST - (place - first) * step for place in places]


def log_odds(relevant: float) -> float:
    """Return ln(p / (1 - p)), bounded."""
    if not 0.0 < relevant < 1.0:
        return SURE if relevant >= 1.0 else -SURE
    return log(relevant) - log(1.0 - relevant)


def raw_odds(raw: float, *, logits: bool) -> float:
    """Return the log odds behind a model's score."""
    return raw if logits else log_odds(raw)


def voice(raw: float) -> float:
    """Return how loudly a memory answers, by the log odds that the model gave it: ``e · √odds``.

    0 for what does not answer; and the root, since the model exaggerates: measured, it is worth half of its logit.
    """
    return exp(1.0 + min(raw, LOUDEST) / 2.0)


def reading(raw: float) -> float:
    """Return the factor on the odds for what the model said: 1 where it found one half.

    ``(1 + voice) / (1 + e)``: it grows with the root of the odds, and never falls below 0.27, since among memories of
    which the model says that they answer nothing, its differences say nothing.
    """
    return (1.0 + voice(raw)) / (1.0 + e)


def prior(place: int, k: int, weight: float) -> float:
    """Return the factor on the odds for a place in fused order, from 0: RRF's 1/(k + rank) compared with the first."""
    return 1.0 if weight == 0 else float(((k + 1) / (k + 1 + place)) ** weight)


def keyword(bm25: float, weight: float) -> float:
    """Return the factor on the odds for a keyword score: ``e^weight`` for a score of 1, 1 for what shares no word."""
    return exp(weight * bm25)


def length(tokens: int, usual: float, weight: float) -> float:
    """Return the factor on the odds for a length: what says more answers more; 1 at the usual length."""
    if tokens <= 0 or usual <= 0:
        return 1.0
    return float(min(LENGTHS, max(1.0 / LENGTHS, tokens / usual)) ** weight)


def boost(alpha: float, signal: float) -> float:
    """Return the factor of a signal; 0.5 is neutral."""
    return 1.0 + alpha * (signal - NEUTRAL)


def days_between(memory: Memory, moment: datetime) -> float | None:
    """Return the days from a memory's time to a moment: positive when before, negative when after, 0 when it holds it.

    A fact known to its month is that month: its nearest end counts. ``None`` for an undated one.
    """
    if memory.occurred is not None:
        window = memory.occurred.window
        if moment > window.end:
            return (moment - window.end).total_seconds() / DAY_S
        return min(0.0, (moment - window.start).total_seconds() / DAY_S)
    return None if memory.mentioned is None else (moment - memory.mentioned).total_seconds() / DAY_S


def recency(days_ago: float | None, curve: RecencyCurve, half_life_days: float) -> float:
    """Return how recent something is: 1 now and in the future, 0.5 when undated."""
    if days_ago is None or curve is RecencyCurve.NONE:
        return NEUTRAL
    if days_ago <= 0:
        return 1.0
    if curve is RecencyCurve.EXPONENTIAL:
        return float(0.5 ** (days_ago / half_life_days))
    return max(RECENCY_LEAST, 1.0 - days_ago / RECENCY_DAYS)


def temporal(days_from_centre: float | None, window: Window | None) -> float:
    """Return how near the middle of the asked period: 1 there, 0 at its ends and beyond, 0.5 without either."""
    if days_from_centre is None or window is None:
        return NEUTRAL
    distance, half = abs(days_from_centre), window.days / 2
    if half == 0:
        return 1.0 if distance == 0 else 0.0
    return 1.0 - min(distance / half, 1.0)


def proof(memory: Memory) -> float:
    """Return how well an observation is backed; neutral for other facts."""
    if memory.fact_type is not FactType.OBSERVATION:
        return NEUTRAL
    return min(1.0, max(0.0, NEUTRAL + log(max(1, memory.proof_count)) / 10.0))
