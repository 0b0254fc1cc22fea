"""Fakes for the orchestrator: each says what it is told to, and counts."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.bank import Bank, BankConfig, BankRef
from recallmesh.core.document import ChunkOutline
from recallmesh.core.encoder import EmbedderInfo, RerankerInfo
from recallmesh.core.errors import BankNotFound, StoreUnavailable
from recallmesh.core.memory import FactType, Memory, Outline
from recallmesh.core.recall import RecallAnswer, RecallRequest
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReading
from recallmesh.recall.orchestrator import Orchestrator
from recallmesh.recall.plan import RecallDefaults
from recallmesh.recall.slow import SlowLog

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
REF = BankRef("b1")
S, K, G, T = ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH, ArmName.TEMPORAL


def name(number: int) -> str:
    return str(UUID(int=number))


def memory(number: int, text: str = "", **fields) -> Memory:
    fields = {"fact_type": FactType.WORLD, "tokens": 10, "created": NOW, **fields}
    return Memory(id=name(number), text=text or f"fact {number}", **fields)


def hits(*numbers: int, contexts=None) -> tuple[Hit, ...]:
    told = contexts or {}
    return tuple(
        Hit(name(number), 1.0 / place, f"because {number}", told.get(number)) for place, number in enumerate(numbers, 1)
    )


class FakeArm:
    def __init__(self, *numbers: int, error: Exception | None = None, hang: bool = False, contexts=None) -> None:
        self.hits, self.error, self.hang = hits(*numbers, contexts=contexts), error, hang
        self.queries, self.cancelled, self.begun = [], 0, asyncio.Event()

    async def search(self, query):
        self.queries.append(query)
        self.begun.set()
        if self.hang:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.error:
            raise self.error
        return self.hits


class FakeEmbedder:
    def __init__(self, *, error: Exception | None = None, hang: bool = False, mute: bool = False) -> None:
        self.calls, self.error, self.hang, self.mute, self.described = 0, error, hang, mute, 0
        self.begun, self.cancelled = asyncio.Event(), 0

    async def embed(self, texts, kind):  # noqa: ARG002 - the port's names
        self.calls += 1
        self.begun.set()
        if self.hang:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.error:
            raise self.error
        return ((1.0, 0.0),) * len(texts)

    async def info(self):
        self.described += 1
        if self.error or self.mute:
            raise self.error or StoreUnavailable("the model does not answer")
        return EmbedderInfo("fake", "fake", 2, 512, cosine_mean=0.6, cosine_high=0.8)


class FakeReranker:
    """Scores by the number at the end of the text: by default the higher, the better."""

    def __init__(self, score=float, *, logits=True, error=None, hang=False) -> None:
        self.score, self.logits, self.error, self.hang, self.texts = score, logits, error, hang, []
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    async def info(self):
        return RerankerInfo("fake", "fake", 512, self.logits)

    async def rerank(self, query, texts):  # noqa: ARG002 - the port's names
        self.texts.append(texts)
        self.begun.set()
        if self.hang:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if self.error:
            raise self.error
        return tuple(self.score(int(text.split()[-1])) for text in texts)


class FakeLedger:
    def __init__(self, *memories: Memory, config: BankConfig | None = None, chunks=()) -> None:
        self.memories = {each.id: each for each in memories}
        self.chunks = {each.id: each for each in chunks}
        self.bank = Bank(REF, "uid", NOW, config=config or BankConfig())
        self.outlined, self.read_whole = [], []

    async def get_bank(self, ref):
        if ref != REF:
            raise BankNotFound(ref.bank_id)
        return self.bank

    async def read(self, bank_uid, memory_ids, *, mentions=True):  # noqa: ARG002 - the port's names
        self.read_whole.append(memory_ids)
        found = [self.memories[each] for each in reversed(memory_ids) if each in self.memories]
        return tuple(found if mentions else [replace(each, mentions=()) for each in found])

    async def outline(self, bank_uid, memory_ids):  # noqa: ARG002 - the port's names
        self.outlined.append(memory_ids)
        found = (self.memories[each] for each in reversed(memory_ids) if each in self.memories)
        return tuple(
            Outline(each.id, each.fact_type, each.tags, each.sources, each.tokens, each.state) for each in found
        )

    async def outline_chunks(self, bank_uid, chunk_ids):
        held = {each: [one.id for one in self.memories.values() if one.chunk_id == each] for each in chunk_ids}
        return tuple([ChunkOutline(each, await self.outline(bank_uid, ids)) for each, ids in held.items() if ids])

    async def read_chunks(self, bank_uid, chunk_ids):  # noqa: ARG002 - the port's names
        return tuple(self.chunks[each] for each in reversed(chunk_ids) if each in self.chunks)


class FakeTimes:
    def __init__(self, reading=None) -> None:
        self.reading, self.asked = reading, []

    async def read(self, text, now):
        self.asked.append((text, now))
        return self.reading


class WordTokens:
    def count(self, text):
        return len(text.split())

    def truncate(self, text, limit):
        return " ".join(text.split()[:limit])


@dataclass
class Mesh:
    """An orchestrator and the fakes behind it."""

    ledger: FakeLedger
    arms: dict[ArmName, FakeArm]
    embedder: FakeEmbedder | None = field(default_factory=FakeEmbedder)
    reranker: FakeReranker | None = None
    times: FakeTimes = field(default_factory=FakeTimes)
    # What the fake keyword arm's scores say would count beside the reranker; a test that wants that says so.
    defaults: RecallDefaults = field(default_factory=lambda: RecallDefaults(keyword_weight=0.0))
    slow: SlowLog | None = None

    def recaller(self) -> Orchestrator:
        return Orchestrator(
            ledger=self.ledger,
            arms=self.arms,
            embedder=self.embedder,
            reranker=self.reranker,
            times=self.times,
            tokens=WordTokens(),
            now=lambda: NOW,
            defaults=self.defaults,
            slow=self.slow,
        )

    async def recall(self, query: str = "what happened", **fields):
        return await self.recaller().recall(RecallRequest(REF, query, **fields))


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def numbers(answer) -> list[int]:
    return [UUID(each.memory.id).int for each in answer.memories]


LAST_WEEK = Window(days_ago(9), days_ago(2))
RRF_ORDER = [2, 3, 1, 4, 5]
"""What ``four_arms`` make without a period."""


def four_arms(**arms):
    every = {S: FakeArm(1, 2, 3), K: FakeArm(2, 4), G: FakeArm(3, 5), T: FakeArm(6, 1)}
    return every | {ArmName(key): arm for key, arm in arms.items()}


def mesh(**parts):
    parts = {"ledger": FakeLedger(*(memory(number) for number in range(1, 7))), "arms": four_arms(), **parts}
    return Mesh(**parts)


def states(answer):
    return {report.arm: report.state for report in answer.arms}


def detail(answer, arm):
    return next(report.detail for report in answer.arms if report.arm is arm)


def part(answer, which):
    return next(report for report in answer.models if report.part == which)


def reading(phrase="last week", text="what happened last week"):
    begin = text.index(phrase)
    return TimeReading(Occurrence(LAST_WEEK, Precision.WEEK), begin, begin + len(phrase), "relative")


def timeless(answer: RecallAnswer) -> RecallAnswer:
    """Return an answer without what differs from call to call: how long things took."""
    trace = answer.trace
    if trace is not None:
        assert all(phase.duration >= timedelta() for phase in trace.phases)
        phases = tuple(replace(phase, start=timedelta(), duration=timedelta()) for phase in trace.phases)
        trace = replace(trace, phases=phases, hops=())
    return replace(
        answer,
        arms=tuple(replace(report, latency=timedelta()) for report in answer.arms),
        models=tuple(replace(report, latency=timedelta()) for report in answer.models),
        trace=trace,
    )
