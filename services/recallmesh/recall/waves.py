"""Reading in waves: when no candidate that is not yet read can plausibly come up any more.

The rule is that of the threshold algorithm (Fagin, Lotem, Naor: "Optimal aggregation algorithms for middleware", 2003):
stop when the best that an unread candidate can reach does not pass the last that is in. What it can reach is not known
here but estimated, as by Theobald, Weikum and Schenkel ("Top-k query evaluation with probabilistic guarantees", 2004):
all but its reading is known beforehand, and its reading is taken to be at most that of the best of the last wave, and a
margin. Candidates come in fused order, so waves get worse; how much worse, docs/adr/0013-reading-in-waves.md tells.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log

from recallmesh.core.memory import Memory
from recallmesh.core.tuning import MinScores
from recallmesh.recall import score
from recallmesh.recall.pack import pack
from recallmesh.recall.ranking import Context, weights

SURE = 36.0
"""The log odds at which a float's relevance is 0 or 1: ln(2^52)."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be settled: the first ``places`` of the answer (0: all of them), as far as the pack reaches.

    ``margin`` is how much better than the best of the last wave a reading may plausibly be, in raw scores. Where
    ``max_tokens`` is absent, the pack bounds nothing: more than what is packed depends on the order.
    """

    wave: int
    places: int
    margin: float
    max_tokens: int | None
    limit: int = 0
    observations: bool = False
    floors: MinScores = field(default_factory=MinScores)


def stop(read: Sequence[float], known: Sequence[float], memories: Sequence[Memory], goal: Goal) -> str:
    """Return why no further candidate needs to be read, or nothing.

    ``read`` are the log odds that the model gave the first candidates; ``known``, for all of them, what is added to
    those whatever the model says. ``memories`` are the candidates in fused order, as many as ``known``.
    """
    count = len(read)
    if not 0 < count < len(known) or len(set(read)) == 1:
        return ""  # nothing is read, nothing is left to read, or the model does not tell memories apart
    needed = _needed([read[place] + known[place] for place in range(count)], memories, goal)
    floor = goal.floors.reranker
    least = -inf if floor is None else log_odds(floor)
    reach = max(read[-goal.wave :]) + goal.margin
    nearest = min(max(needed - weight, least) for weight in known[count:])
    if nearest <= reach:
        return ""
    rest = len(known) - count
    return f"sure after {count}: to come up, the next {rest} need {nearest:.1f} or more, at best {reach:.1f} is likely"


def _needed(standings: Sequence[float], memories: Sequence[Memory], goal: Goal) -> float:
    """Return the standing, in log odds, that lets a newcomer in at the end of what is to be settled."""
    order = sorted(range(len(standings)), key=lambda place: (-standings[place], place))
    needed = -inf
    if goal.max_tokens is None:
        places = order[: goal.limit] if goal.limit else order
        full = len(places) < len(order)
    else:
        ranking = [memories[place] for place in order]
        packed = pack(
            ranking,
            [memory.tokens for memory in ranking],
            max_tokens=goal.max_tokens,
            limit=goal.limit,
            observations=goal.observations,
        )
        # The one that comes although it is too long makes room for any that fits.
        places = [] if packed.oversized else [order[place] for place in packed.places]
        full = bool(places) and len(places) + len(packed.superseded) < len(order)
    if full:
        needed = standings[places[-1]]
    if goal.places and len(places) >= goal.places:
        needed = max(needed, standings[places[goal.places - 1]])
    if goal.floors.final is not None:
        needed = max(needed, log_odds(goal.floors.final))
    return needed


def log_odds(relevance: float) -> float:
    """Return ln(p / (1 - p)), bounded."""
    if not 0.0 < relevance < 1.0:
        return SURE if relevance >= 1.0 else -SURE
    return log(relevance) - log(1.0 - relevance)


class Waves:
    """Tells after each wave whether to go on, for the candidates of one call."""

    def __init__(self, memories: Sequence[Memory], context: Context, goal: Goal) -> None:
        """Take the candidates that may be read, in fused order, and what else counts."""
        self._memories = memories
        self._context = context
        self._goal = goal
        self._known: dict[bool, list[float]] = {}

    def stop(self, raw: Sequence[float], *, logits: bool) -> str:
        """Return why no further candidate needs to be read, or nothing."""
        read = list(raw) if logits else [log_odds(each) for each in raw]
        leads = self._context.window is not None and max(read) < log_odds(score.TELLING)
        if leads not in self._known:
            self._known[leads] = weights(self._memories, self._context, window_leads=leads)
        return stop(read, self._known[leads], self._memories, self._goal)
