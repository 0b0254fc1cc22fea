"""A bench on which consolidation works: retain's, with arms that search by words and an embedder that counts them."""

import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from unit.retain_fakes import REF, Bench, FakeArm, FakeEmbedder, NoTimes, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.bank import ConsolidationTuning
from recallmesh.core.encoder import EmbedderInfo
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.operation import Operation, OperationKind
from recallmesh.core.tags import passes
from recallmesh.retain.consolidating import Consolidating, ConsolidationClock
from recallmesh.retain.consolidator import Consolidator, Limits
from recallmesh.retain.delivery import Carrier
from recallmesh.retain.fan_out import FanOut
from recallmesh.retain.jobs import JobWorker
from recallmesh.retain.local import LocalExtractor
from recallmesh.retain.observation import BestFact, ObservationWriter
from recallmesh.retain.outbox import OutboxWorker
from recallmesh.retain.retainer import MeshRetainer

ALL_ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
DELAY = timedelta(seconds=5)


def words(text):
    return Counter(re.findall(r"\w+", text.casefold()))


class WordEmbedder(FakeEmbedder):
    """Texts with the same words have the same vector; those that share none are at right angles, or nearly."""

    async def info(self):
        return EmbedderInfo("words", "words", 256, 512, cosine_mean=0.1, cosine_high=0.3)

    async def embed(self, texts, _kind):
        if self.down:
            raise StoreUnavailable("the embedder does not answer")
        self.asked.extend(texts)
        return tuple(self._vector(text) for text in texts)

    def _vector(self, text):
        vector = [0.0] * 256
        for word, number in words(text).items():
            vector[sum(ord(c) * 31**i for i, c in enumerate(word)) % 256] += number
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        return tuple(x / length for x in vector)


@dataclass
class SearchingArm(FakeArm):
    """Finds entries by their vectors where it is asked with one, else by the words that they share."""

    asked: list[str] = field(default_factory=list)

    async def search(self, query):
        if self.down:
            raise StoreUnavailable("the arm does not answer")
        self.asked.append(query.text)
        scored = []
        for entry in self.entries.values():
            if not passes(query.tags, entry.tags):
                continue
            if query.vector is None:
                score = float(sum((words(query.text) & words(entry.text)).values()))
            else:
                score = sum(a * b for a, b in zip(query.vector, entry.vector, strict=True))
            if score > 0:
                scored.append((-score, entry.memory_id))
        return tuple(Hit(memory_id, -score) for score, memory_id in sorted(scored)[: query.limit])


@dataclass
class Desk:
    """Retain's bench, consolidation, administration, and the worker that carries its operations out."""

    bench: Bench
    consolidator: Consolidator
    clock: ConsolidationClock
    jobs: JobWorker
    admin: LedgerAdmin
    remade: Callable[[Any], Consolidator]

    def revive(self, ledger) -> None:
        """Begin anew with a worker on this ledger."""
        self.consolidator = self.remade(ledger)

    async def deliver(self) -> None:
        """Bring to every arm what it missed."""
        while any([await self.bench.outbox.drain(name) for name in self.bench.arms]):
            pass

    async def keep(self, *texts, **parts):
        answer = await self.bench.keep(*texts, **parts)
        return [one for item in answer.items for one in item.memory_ids]

    async def asked(self) -> Operation:
        """Consolidate by hand, and return the operation."""
        operation = await self.admin.consolidate(REF)
        assert await self.jobs.step(OperationKind.CONSOLIDATE)
        return await self.bench.ledger.get_operation(self.bench.bank.uid, operation.id)

    async def due(self) -> int:
        """Let time pass and do what is due; returns how many operations there were."""
        self.bench.clock.forward(60)
        await self.clock.begin()
        done = 0
        while await self.jobs.step(OperationKind.CONSOLIDATE):
            done += 1
        return done

    async def observations(self) -> list[Memory]:
        found = [one for one in await self.bench.memories() if one.fact_type is FactType.OBSERVATION]
        return sorted(found, key=lambda one: (one.text, one.tags, one.id))

    async def said(self) -> list[str]:
        return [one.text for one in await self.observations()]

    async def tune(self, **tuning) -> None:
        bank = await self.bench.ledger.get_bank(REF)
        config = replace(bank.config, consolidation=ConsolidationTuning(**tuning))
        await self.admin.update_bank(REF, config=config)

    def indexed(self, name: ArmName = ArmName.KEYWORD) -> list[str]:
        """Return the texts of the observations that an arm has."""
        return sorted(
            entry.text for entry in self.bench.arms[name].entries.values() if entry.fact_type is FactType.OBSERVATION
        )


@asynccontextmanager
async def open_desk(
    folder: Path, *, by_itself: bool = True, writer: ObservationWriter | None = None, batch: int = 32
) -> AsyncIterator[Desk]:
    async with open_bench(folder) as plain:
        embedder = WordEmbedder()
        arms = {name: SearchingArm() for name in ALL_ARMS}
        ids = count(2_000_000)
        consolidating = Consolidating(by_itself, DELAY)
        bench = replace(plain, embedder=embedder, arms=arms)
        retained = count(1)
        bench.retainer = MeshRetainer(
            bench.ledger,
            arms,
            embedder,
            LocalExtractor(NoTimes()),
            WordCounter(),
            now=bench.clock,
            new_id=lambda: str(UUID(int=next(retained))),
            consolidation=consolidating,
        )
        bench.outbox = OutboxWorker(bench.ledger, arms, embedder, worker="w1", now=bench.clock, random=lambda: 0.0)

        def consolidator(ledger):
            return Consolidator(
                ledger,
                arms,
                embedder,
                writer or BestFact(),
                FanOut(ledger, arms, Carrier(ledger, embedder), bench.clock, 0.5),
                WordCounter(),
                now=bench.clock,
                new_id=lambda: str(UUID(int=next(ids))),
                consolidating=consolidating,
                limits=Limits(timedelta(seconds=30), batch),
            )

        own = consolidator(bench.ledger)
        jobs = JobWorker(bench.ledger, {OperationKind.CONSOLIDATE: own.work}, worker="j", now=bench.clock, lease_s=30)
        clock = ConsolidationClock(
            bench.ledger, now=bench.clock, poll_s=1, on_begun=lambda: None, observe=lambda _backlog: None
        )
        admin = LedgerAdmin(bench.ledger, arms=ALL_ARMS, tokens=WordCounter(), now=bench.clock)
        yield Desk(bench, own, clock, jobs, admin, consolidator)
