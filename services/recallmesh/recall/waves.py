"""Reading in waves: what is read next, and when nothing that is not yet read can plausibly come up any more.

What is expected most is read first: by its priors and boosts, and after the first wave by what was read around it too.
What is about the same thing lies together, so the first half of the reading tells where the other half is well spent.

The rule for stopping is that of the threshold algorithm (Fagin, Lotem, Naor: "Optimal aggregation algorithms for
middleware", 2003): stop when the best that an unread candidate can reach does not pass the last that is in. What it
can reach is not known here but estimated, as by Theobald, Weikum and Schenkel ("Top-k query evaluation with
probabilistic guarantees", 2004): all but its reading is known beforehand, and its reading is taken to be at most that
of the best of the last wave, and a margin. What is expected most comes first, so waves get worse; how much worse,
docs/adr/0013-reading-in-waves.md tells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log

from recallmesh.core.memory import Memory
from recallmesh.core.tuning import MinScores
from recallmesh.recall import score
from recallmesh.recall.pack import pack
from recallmesh.recall.rerank import Wave
from recallmesh.recall.standing import Standings
from recallmesh.recall.surroundings import Surroundings


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

    ``read`` are the log odds that the model gave the first candidates; ``known``, for all of them, the log of what else
    there is to say of each, whatever the model says. ``memories`` are the candidates in the order in which they are
    read, as many as ``known``.
    """
    count = len(read)
    if not 0 < count < len(known) or len(set(read)) == 1:
        return ""  # nothing is read, nothing is left to read, or the model does not tell memories apart
    needed = _needed([_said(read[place]) + known[place] for place in range(count)], memories, goal)
    floor = goal.floors.reranker
    least = -inf if floor is None else _said(score.log_odds(floor))
    reach = max(read[-goal.wave :]) + goal.margin
    nearest = min(max(needed - weight, least) for weight in known[count:])
    if nearest <= _said(reach):
        return ""
    rest = len(known) - count
    return f"sure after {count}: to come up, the next {rest} need more than {reach:.1f}, the most that is likely"


def _said(raw: float) -> float:
    return log(score.reading(raw))


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
        needed = max(needed, score.log_odds(goal.floors.final))
    return needed


class Waves:
    """Chooses for the candidates of one call what is read next.

    Of ``limit`` in all, the first half is read by what is known beforehand, the other by what the first says too; where
    the goal has waves, those, until it is sure. Where a favoured arm has ordered the candidates, its order says which
    are read.
    """

    def __init__(self, standings: Standings, limit: int, goal: Goal) -> None:
        """Take the candidates and how many of them may be read."""
        self._standings = standings
        self._goal = goal
        count = len(standings.memories)
        self._limit = min(limit, count)
        self._eligible = range(self._limit if standings.context.places else count)
        self._around = Surroundings(standings.memories)
        self._heard = 0

    def choose(self, read: Mapping[int, float], *, logits: bool) -> Wave:
        """Return the next wave."""
        if len(read) >= self._limit:
            return Wave()
        odds = [score.raw_odds(raw, logits=logits) for raw in read.values()]
        expected = self._expected(list(read), odds)
        left = sorted((place for place in self._eligible if place not in read), key=lambda p: (-expected[p], p))
        left = left[: self._limit - len(read)]
        stopped = self._stopped(list(read), odds, left, expected) if self._goal.wave else ""
        return Wave(stopped=stopped) if stopped else Wave(tuple(left[: self._size(len(read))]))

    def _size(self, read: int) -> int:
        if self._goal.wave:
            return self._goal.wave
        if len(self._eligible) <= self._limit or read:
            return self._limit
        return self._limit - self._limit // 2

    def _expected(self, places: list[int], odds: list[float]) -> list[float]:
        """Return the log of what is known of each candidate but for its own reading."""
        weight = self._standings.context.tuning.surroundings_weight
        for place, each in zip(places[self._heard :], odds[self._heard :], strict=True):
            self._around.add(place, score.voice(each))
        self._heard = len(places)
        weights = self._standings.after(odds).weights
        return [known + log(self._around.factor(place, weight)) for place, known in enumerate(weights)]

    def _stopped(self, places: list[int], odds: list[float], left: list[int], expected: list[float]) -> str:
        order = [*places, *left]
        memories = self._standings.memories
        return stop(odds, [expected[place] for place in order], [memories[place] for place in order], self._goal)
