"""One recall under way: what is fixed for it once the bank is known."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recallmesh.core.bank import Bank
from recallmesh.core.recall import RecallRequest, Trace
from recallmesh.recall.candidates import Admission
from recallmesh.recall.plan import ResolvedTuning
from recallmesh.recall.question import Question
from recallmesh.recall.stopwatch import Stopwatch
from recallmesh.recall.waves import Goal

if TYPE_CHECKING:
    from recallmesh.recall.fanout import Found


@dataclass(slots=True)
class Account:
    """What a recall leaves of itself for those who wonder why it was slow.

    ``since`` and ``done`` are moments of the ``clock``; ``done`` 0: not yet.
    """

    over_s: float | None
    clock: Callable[[], float]
    since: float
    call: "Call | None" = None
    found: "Found | None" = None
    trace: Trace | None = None
    done: float = 0.0

    def is_slow(self) -> bool:
        """Tell whether it has taken too long already."""
        return self.over_s is not None and self.clock() - self.since > self.over_s


@dataclass(frozen=True, slots=True)
class Call:
    """A request with its bank and its tuning; ``begun`` and ``seconds`` are its share of time.

    ``again``: the arms are asked for the second time, and what they propose is taken as it is. ``account`` is of the
    answer that counts; absent: this one is provisional.
    """

    request: RecallRequest
    question: Question
    bank: Bank
    tuning: ResolvedTuning
    hits: int
    begun: float
    seconds: float
    watch: Stopwatch
    again: bool = False
    account: Account | None = None

    @property
    def admission(self) -> Admission:
        """Who may be shown."""
        return Admission(self.request.tags, frozenset(self.question.fact_types))

    @property
    def goal(self) -> Goal:
        """What reading in waves is to settle."""
        request, tuning = self.request, self.tuning
        return Goal(
            wave=tuning.rerank_wave,
            places=tuning.rerank_stop_places,
            margin=tuning.rerank_stop_margin,
            # Chunks come of the best memories whether these are packed or not.
            max_tokens=None if request.chunk_tokens else request.max_tokens,
            limit=request.limit,
            observations=tuning.prefer_observations,
            floors=tuning.min_scores,
        )

    def provisional(self) -> "Call":
        """Return the call that is answered before reranking: without that, its floors and the account of it."""
        floors = replace(self.tuning.min_scores, reranker=None, final=None)
        return replace(
            self,
            request=replace(self.request, trace=False),
            tuning=replace(self.tuning, reranking=False, min_scores=floors),
            watch=Stopwatch(),
            account=None,
        )
