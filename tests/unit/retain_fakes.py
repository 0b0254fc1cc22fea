"""Small stand-ins for what lies behind retain's ports, and a mesh of them over a real ledger."""

import itertools
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recallmesh.core.arm import ArmName, Indexed, IndexEntry, Removal
from recallmesh.core.bank import Bank, BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.ledger import Ledger, MemoryFilter
from recallmesh.core.memory import Memory, MemoryState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.ledger.sql import open_ledger
from recallmesh.retain.local import LocalExtractor
from recallmesh.retain.outbox import OutboxWorker
from recallmesh.retain.retainer import MeshRetainer

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
REF = BankRef("b1")


class WordCounter:
    """A word is a token, and so is each letter beyond the eighth of a word."""

    def count(self, text):
        return sum(max(1, len(word) - 7) for word in text.split())

    def truncate(self, text, limit):
        end = len(text)
        while self.count(text[:end]) > limit:
            end -= max(1, (self.count(text[:end]) - limit) // 2)
        return text[:end]


class NoTimes:
    def read(self, _text, _now):
        return None

    def read_all(self, _text, _now):
        return ()


@dataclass
class FakeEmbedder:
    down: bool = False
    short_by: int = 0
    asked: list[str] = field(default_factory=list)

    async def embed(self, texts, _kind):
        if self.down:
            raise StoreUnavailable("the embedder does not answer")
        self.asked.extend(texts)
        return tuple((float(len(text)), 1.0) for text in texts)[: len(texts) - self.short_by]


@dataclass
class FakeArm:
    """Keeps entries by version as an arm must; ``calls`` counts what was asked of it."""

    down: bool = False
    refused: str = ""
    entries: dict[str, IndexEntry] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    stored: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    async def index(self, _bank_uid, entries):
        if self.down:
            raise StoreUnavailable("the arm does not answer")
        for entry in entries:
            self.stored.append(entry.memory_id)
            if self.removed.get(entry.memory_id, 0) < entry.version:
                self.entries[entry.memory_id] = entry

    async def remove(self, _bank_uid, removals: tuple[Removal, ...]):
        if self.down:
            raise StoreUnavailable("the arm does not answer")
        for removal in removals:
            self.entries.pop(removal.memory_id, None)
            self.removed[removal.memory_id] = removal.version

    async def scan(self, _bank_uid, page):
        if self.down:
            raise StoreUnavailable("the arm does not answer")
        rows = [Indexed(*row) for row in sorted((e.memory_id, e.version) for e in self.entries.values())]
        rows = [row for row in rows if row.memory_id > page.after]
        shown = tuple(rows[: page.size])
        return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")

    async def drop(self, bank_uid):
        self.dropped.append(bank_uid)

    @property
    def texts(self):
        return sorted(entry.text for entry in self.entries.values())


class Moving:
    """A clock that a test moves."""

    def __init__(self):
        self.at = NOW

    def __call__(self):
        return self.at

    def forward(self, seconds):
        self.at += timedelta(seconds=seconds)


@dataclass
class Bench:
    ledger: Ledger
    bank: Bank
    clock: Moving
    embedder: FakeEmbedder
    arms: dict[ArmName, FakeArm]
    retainer: MeshRetainer
    outbox: OutboxWorker

    async def memories(self) -> list[Memory]:
        page = await self.ledger.list_memories(self.bank.uid, MemoryFilter(), PageRequest(1000))
        return sorted(page.rows, key=lambda memory: (memory.document_id, memory.position))

    async def texts(self) -> list[str]:
        return [memory.text for memory in await self.memories() if memory.state is not MemoryState.RETIRING]

    async def keep(self, *texts, mode=ExtractionMode.CHUNKS, request_id="", wait=True, **parts):
        items = tuple(RetainItem((text,), **parts) for text in texts)
        return await self.retainer.retain(RetainRequest(REF, items, request_id=request_id, mode=mode, wait=wait))


@asynccontextmanager
async def open_bench(
    folder: Path, *, url="", chunk_tokens=512, extractor=None, screening=None, on_retained=lambda _: None
) -> AsyncIterator[Bench]:
    clock, embedder = Moving(), FakeEmbedder()
    arms = {name: FakeArm() for name in (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)}
    numbers, ledgers_own = itertools.count(1), itertools.count(1_000_000)
    async with open_ledger(
        url or f"sqlite:///{folder}/ledger.db", new_id=lambda: str(uuid.UUID(int=next(ledgers_own)))
    ) as ledger:
        config = BankConfig(retain=RetainTuning(chunk_tokens=chunk_tokens))
        bank = await ledger.create_bank(Bank(REF, "uid-1", NOW, config=config))
        retainer = MeshRetainer(
            ledger,
            arms,
            embedder,
            extractor or LocalExtractor(NoTimes()),
            WordCounter(),
            now=clock,
            new_id=lambda: str(uuid.UUID(int=next(numbers))),
            arm_timeout_s=0.5,
            on_retained=on_retained,
            screening=screening,
        )
        outbox = OutboxWorker(ledger, arms, embedder, worker="w1", now=clock, random=lambda: 0.0)
        yield Bench(ledger, bank, clock, embedder, arms, retainer, outbox)
