"""Those who ask and write while faults come and go, and what they saw."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from faults.outage import AWAY, SLACK_S
from faults.soak import NAMES, NOW, REF, WORDS, Writer

from recallmesh.client import Client
from recallmesh.core.deadline import within
from recallmesh.core.errors import MeshError
from recallmesh.core.recall import RecallRequest
from recallmesh.core.time import Window
from recallmesh.core.tuning import Budget, RecallTuning

WRITE_PAUSE_S = 0.5
READ = 4
"""Every so many questions one is answered with the cross-encoder."""
TUNING = RecallTuning(reranking=False)
READING = RecallTuning(reranking=True, rerank_limit=8)


@dataclass(frozen=True)
class Asked:
    """One question: when it began, how long it might take and took, what was away, and what was raised instead."""

    began: float
    deadline_s: float
    seconds: float
    read: bool
    away: frozenset[str] = frozenset()
    unnamed: bool = False
    error: str = ""

    @property
    def is_available(self) -> bool:
        """Whether it was answered in time, by whoever was there, and said who was not."""
        return not self.error and not self.unnamed and self.seconds <= self.deadline_s

    @property
    def is_whole(self) -> bool:
        """Whether it was answered by everybody."""
        return self.is_available and not self.away

    @property
    def is_late(self) -> bool:
        """Whether whoever asked was kept waiting past the deadline, by more than two busy cores explain."""
        return self.seconds > self.deadline_s + SLACK_S


@dataclass
class Askers:
    """Many who ask, one after the other every so many seconds, whether those before were answered or not."""

    faces: Client
    chance: random.Random
    every_s: float
    deadline_s: float
    seen: list[Asked] = field(default_factory=list)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for turn in count():
                group.create_task(self._add(read=turn % READ == 0))
                await asyncio.sleep(self.every_s)

    async def _add(self, *, read: bool) -> None:
        self.seen.append(await self._ask(read=read))

    async def _ask(self, *, read: bool) -> Asked:
        words = f"What did {self.chance.choice(NAMES)} see of the {self.chance.choice(WORDS)}?"
        request = RecallRequest(
            REF,
            words,
            query_time=NOW,
            window=Window(NOW, NOW),
            budget=Budget.LOW,
            max_tokens=400,
            tuning=READING if read else TUNING,
        )
        began = time.monotonic()
        try:
            with within(self.deadline_s):
                answer = await self.faces.recaller.recall(request)
        except MeshError as error:
            took, said = time.monotonic() - began, f"{error.reason}: {error.message}"
            return Asked(began, self.deadline_s, took, read, error=said)
        took = time.monotonic() - began
        reports = {str(one.arm): one for one in answer.arms} | {str(one.part): one for one in answer.models}
        away = {name: one for name, one in reports.items() if one.state in AWAY}
        told = frozenset(f"{name} {one.state}" for name, one in away.items())
        return Asked(began, self.deadline_s, took, read, told, unnamed=any(not one.detail for one in away.values()))


@dataclass
class Writing:
    """Some who write until they are told to stop, each until it is acknowledged."""

    writers: Sequence[Writer]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        await asyncio.gather(*(self._write_on(one) for one in self.writers))

    async def _write_on(self, writer: Writer) -> None:
        while not self.stopping.is_set():
            await writer.write()
            await asyncio.sleep(WRITE_PAUSE_S)
