"""Fakes for the orchestrator: each says what it is told to, and counts."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.bank import Bank, BankConfig, BankRef
from recallmesh.core.encoder import EmbedderInfo, RerankerInfo
from recallmesh.core.errors import BankNotFound, StoreUnavailable
from recallmesh.core.memory import FactType, Memory, Outline
from recallmesh.core.recall import RecallRequest
from recallmesh.recall.orchestrator import Orchestrator
from recallmesh.recall.plan import RecallDefaults

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
REF = BankRef("b1")


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

    async def embed(self, texts, kind):  # noqa: ARG002 - the port's names
        self.calls += 1
        if self.hang:
            await asyncio.Event().wait()
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

    async def info(self):
        return RerankerInfo("fake", "fake", 512, self.logits)

    async def rerank(self, query, texts):  # noqa: ARG002 - the port's names
        self.texts.append(texts)
        if self.hang:
            await asyncio.Event().wait()
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

    async def read_chunks(self, bank_uid, chunk_ids):  # noqa: ARG002 - the port's names
        return tuple(self.chunks[each] for each in reversed(chunk_ids) if each in self.chunks)


class FakeTimes:
    def __init__(self, reading=None) -> None:
        self.reading, self.asked = reading, []

    def read(self, text, now):
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
    defaults: RecallDefaults = field(default_factory=RecallDefaults)

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
        )

    async def recall(self, query: str = "what happened", **fields):
        return await self.recaller().recall(RecallRequest(REF, query, **fields))


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def numbers(answer) -> list[int]:
    return [UUID(each.memory.id).int for each in answer.memories]
