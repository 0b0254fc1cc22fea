"""One recall under way: what is fixed for it once the bank is known."""

from dataclasses import dataclass, replace

from recallmesh.core.bank import Bank
from recallmesh.core.recall import RecallRequest
from recallmesh.recall.candidates import Admission
from recallmesh.recall.plan import ResolvedTuning
from recallmesh.recall.question import Question
from recallmesh.recall.stopwatch import Stopwatch
from recallmesh.recall.waves import Goal


@dataclass(frozen=True, slots=True)
class Call:
    """A request with its bank and its tuning; ``begun`` and ``seconds`` are its share of time.

    ``again``: the arms are asked for the second time, and what they propose is taken as it is.
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
        )
