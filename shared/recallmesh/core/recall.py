"""The port of recall: what is asked, what is answered, and the account of how the answer came about."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.document import Chunk
from recallmesh.core.hop import Hop
from recallmesh.core.memory import ALL_FACT_TYPES, FactType, Memory
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.core.time import Window
from recallmesh.core.tuning import BoostLevel, Budget, EffectiveTuning, RecallTuning

MAX_TOKENS_DEFAULT = 4096


class Fusion(StrEnum):
    """How the arms' lists become one."""

    RRF = "rrf"
    """By the sum of 1/(k + rank): what several arms found comes first."""
    INTERLEAVE = "interleave"
    """Each list's first, then each list's second, in the arms' own order and without repeats: for finding near twins.

    The reported ``rrf`` score stays that sum; whatever else ranks by the fused order ranks by this one.
    """


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question to a bank.

    ``query_time`` is the asker's now (absent: the service's now); its UTC offset is the asker's. ``window`` is a period
    the caller knows already: then none is read from the query. ``limit`` bounds the number of memories (0: no bound).
    ``tuning`` overrides the bank's. ``chunk_tokens`` and ``source_tokens`` absent: none are returned.
    """

    bank: BankRef
    query: str
    budget: Budget = Budget.MID
    max_tokens: int = MAX_TOKENS_DEFAULT
    limit: int = 0
    query_time: datetime | None = None
    window: Window | None = None
    fact_types: tuple[FactType, ...] = ALL_FACT_TYPES
    tags: TagTest = EVERYTHING
    tuning: RecallTuning = field(default_factory=RecallTuning)
    chunk_tokens: int | None = None
    source_tokens: int | None = None
    include_entities: bool = False
    trace: bool = False
    fusion: Fusion = Fusion.RRF


class PartState(StrEnum):
    """How a part of the mesh fared in one call."""

    OK = "ok"
    SKIPPED = "skipped"
    """Not asked: there was nothing for it to do (no window, say)."""
    DISABLED = "disabled"
    """Not asked: switched off for the bank, the request or the service."""
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class ArmReport:
    """How one arm fared: its state, how many hits it gave, how long it took, and in words why it was silent."""

    arm: ArmName
    state: PartState
    hits: int = 0
    latency: timedelta = timedelta()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PartReport:
    """How a model (``embedder`` or ``reranker``) fared; ``items`` counts texts or pairs."""

    part: str
    state: PartState
    items: int = 0
    latency: timedelta = timedelta()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one memory at each stage.

    ``rrf`` is the sum of 1/(k + rank). ``reranker_raw`` is what the model said, ``relevance`` that in [0, 1], or the
    synthetic score when nothing was reranked. ``final`` orders the answer: its odds are ``reading`` times the priors,
    the boosts and ``surroundings``, which are factors around 1 (docs/adr/0016-what-a-reading-says.md).
    """

    rrf: float
    relevance: float
    final: float
    reranker_raw: float | None = None
    recency_boost: float = 1.0
    temporal_boost: float = 1.0
    proof_boost: float = 1.0
    strategy_boost: float = 1.0
    """The nudge for what a favoured arm found, in [1, 1.1)."""
    fusion_prior: float = 1.0
    """How likely a memory of this fused rank is an answer, compared with the first; in (0, 1]."""
    context_prior: float = 1.0
    """How much its context adds to its own nearness to the query; over 0, and 1 for the middle of the candidates."""
    naming_prior: float = 1.0
    """Below 1 where the query names entities and the memory mentions none of them; in (0, 1]."""
    keyword_prior: float = 1.0
    """How much it shares of the query's words, compared with what shares most; 1 or more."""
    length_prior: float = 1.0
    """How long it is, compared with the usual among the candidates; over 0, and 1 for the usual."""
    reading: float = 1.0
    """What the reranker said, as a factor: over 0.26, and 1 where ``relevance`` is one half or it read nothing."""
    surroundings: float = 1.0
    """How much of what was read around it in its document answers too; 1 or more."""


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A packed memory: the memory, its rank in each arm that found it (from 1), its scores."""

    memory: Memory
    ranks: Mapping[ArmName, int]
    scores: Scores
    oversized: bool = False
    """Longer than ``max_tokens``: it came whole because nothing else fitted."""


class Outcome(StrEnum):
    """What became of a candidate."""

    PACKED = "packed"
    CAP = "cap"
    """Beyond twice the budget."""
    FLOOR = "floor"
    BUDGET = "budget"
    """Did not fit what was left of ``max_tokens``, or came after ``limit``."""
    SUPERSEDED = "superseded"
    """A returned observation was built from it."""
    TAG = "tag"
    INVALIDATED = "invalidated"
    MISSING = "missing"
    """An index proposed it; the ledger does not know it (deleted, or not yet there)."""


@dataclass(frozen=True, slots=True)
class TraceCandidate:
    """One row of the account: where a memory stood at each stage and what became of it.

    ``arm_scores`` are the arms' own scores, ``because`` their phrases. ``fused_rank`` is the place after RRF and boosts
    (from 1), ``final_rank`` the place after final scoring (0: dropped before that). ``detail`` says more of the
    outcome: ``limit`` where it was that, not the tokens, which left a memory out.
    """

    memory_id: str
    text: str
    outcome: Outcome
    fused_rank: int
    final_rank: int = 0
    ranks: Mapping[ArmName, int] = field(default_factory=dict)
    arm_scores: Mapping[ArmName, float] = field(default_factory=dict)
    because: Mapping[ArmName, str] = field(default_factory=dict)
    scores: Scores | None = None
    tokens: int = 0
    reranked: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of the work: when it began after the call came in, and how long it took."""

    name: str
    start: timedelta
    duration: timedelta


@dataclass(frozen=True, slots=True)
class WindowReading:
    """The period in force, the words it was read from and the rule that read it (``caller`` when it was passed)."""

    window: Window
    rule: str
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class Prefilter:
    """What was kept for reranking: how many, of how many, under which cap and boosts, and which arms they came from.

    ``stopped`` says why reading in waves ended before the cap.
    """

    kept: int
    dropped: int
    cap: int
    boosts: Mapping[ArmName, BoostLevel]
    composition: Mapping[ArmName, int]
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Why this memory, why not that one. Tracing changes no result."""

    phases: tuple[Phase, ...]
    window: WindowReading | None
    prefilter: Prefilter
    candidates: tuple[TraceCandidate, ...]
    tuning: RecallTuning
    query_time: datetime
    budget_hits: int
    hops: tuple[Hop, ...] = ()
    """The calls that recall made of other parts and of the ledger, by when they began."""


@dataclass(frozen=True, slots=True)
class RecalledChunk:
    """A source chunk, every memory of which may be shown; ``truncated``: its text was cut to the token budget."""

    chunk: Chunk
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """The packed memories, best first, and how they were found.

    ``omitted`` counts considered memories that did not come, ``source_facts_omitted`` facts that may be shown but did
    not fit. ``tokens`` is the sum over the packed memories.
    """

    memories: tuple[RecalledMemory, ...]
    arms: tuple[ArmReport, ...]
    models: tuple[PartReport, ...] = ()
    window: WindowReading | None = None
    omitted: int = 0
    tokens: int = 0
    chunks: tuple[RecalledChunk, ...] = ()
    source_facts: tuple[Memory, ...] = ()
    trace: Trace | None = None
    source_facts_omitted: int = 0


class RecallStage(StrEnum):
    """How far an answer is."""

    FUSED = "fused"
    """Provisional: packed in fused order, not yet reranked."""
    FINAL = "final"
    """What ``recall`` would have answered."""


@dataclass(frozen=True, slots=True)
class RecallProgress:
    """One answer of a stream; each is whole and replaces the one before."""

    stage: RecallStage
    answer: RecallAnswer


class Recaller(Protocol):
    """Answers questions to banks."""

    async def recall(self, request: RecallRequest) -> RecallAnswer:
        """Search by every arm, fuse, rerank, score and pack.

        Equal requests over equal banks give equal answers. An arm or model that fails costs its contribution alone.

        Raises:
            InvalidArgument: a blank or too long query, a negative ``max_tokens``, …
            BankNotFound: no such bank.
            RecallUnavailable: every arm that was asked failed.

        """
        ...

    def stream(self, request: RecallRequest) -> AsyncGenerator[RecallProgress, None]:
        """Recall, and tell what is known so far: with reranking ahead, the fused answer comes as soon as it is there.

        Exactly one answer is final, the last, and it is what ``recall`` would have answered; an error may come in its
        stead, and after a provisional one. A provisional answer obeys everything that the final one does but for what
        is decided by reranking: the floors on ``reranker`` and ``final``. It has no trace, and where it would be empty
        it does not come. A reranker that fails or is too slow makes the fused answer the final one, and is reported.
        To close the stream stops the work.

        Raises what ``recall`` raises.
        """
        ...

    async def resolve_tuning(self, bank: BankRef, tuning: RecallTuning) -> EffectiveTuning:
        """Return how a recall of the bank with this tuning would rank, and who said so. Asks no arm.

        Raises:
            InvalidArgument: a value out of its range.
            BankNotFound: no such bank.

        """
        ...
