"""Callers in a process of their own, each asking again as soon as it is answered.

Told what to do by a line of JSON, says ``ready``, begins with the next line and tells one of JSON at the end. Who is
refused comes again when it was told to, give or take a fifth. Every call that began in the counted time is waited for.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter

from bench import corpus
from recallmesh.client import Client, Timeouts, open_client
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import MeshError, Overloaded
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.tuning import RecallTuning

QUESTIONS = 4_000
"""Different questions: more than an embedder remembers."""
STAGGER_S = 0.3
"""Callers begin over this time."""
SHORTEST_S = 0.005
"""The least pause of one that is refused, whatever it was told."""
RETAIN = "retain"
RERANKED = "reranked"


@dataclass(frozen=True, slots=True)
class Group:
    """Callers who do the same: ``kind`` is plain, reranked or retain; ``size`` is the bank's, of the corpus."""

    name: str
    address: str
    kind: str
    bank: str
    size: int
    clients: int
    deadline_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Task:
    """What one process of callers does."""

    groups: tuple[Group, ...]
    warm_s: float
    seconds: float
    seed: int


@dataclass(slots=True)
class Tally:
    """What callers met in the counted time. Times in ms."""

    answered: int = 0
    """Answers that came within it."""
    whole: int = 0
    """Of these, with all that was asked: every arm, and the reranker where it was wanted."""
    walls: list[float] = field(default_factory=list)
    """Of each answered call alone."""
    waits: list[float] = field(default_factory=list)
    """Of each answered call with the refusals before it."""
    refusals: list[float] = field(default_factory=list)
    """Until each refusal."""
    delays: list[float] = field(default_factory=list)
    """What each was told to wait."""
    failed: dict[str, int] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Take in what another caller met."""
        self.answered += other.answered
        self.whole += other.whole
        for name in ("walls", "waits", "refusals", "delays"):
            getattr(self, name).extend(getattr(other, name))
        self.failed = dict(Counter(self.failed) + Counter(other.failed))


class Caller:
    """One who asks again and again."""

    def __init__(self, client: Client, group: Group, asked: list[RecallRequest], chance: random.Random) -> None:
        self._client = client
        self._group = group
        self._chance = chance
        self._asked = asked
        self._at = chance.randrange(len(asked))

    async def call(self) -> bool:
        """Ask once; returns whether all that was asked came."""
        self._at += 1
        request = self._asked[self._at % len(self._asked)]
        if self._group.kind == RETAIN:
            number = self._chance.getrandbits(48)
            item = RetainItem((f"{request.query} That was asked as number {number}.",), document_id=f"new-{number}")
            await self._client.retainer.retain(RetainRequest(request.bank, (item,)))
            return True
        answer = await self._client.recaller.recall(request)
        fine = {PartState.OK, PartState.SKIPPED}
        arms = all(one.state in fine for one in answer.arms)
        read = self._group.kind != RERANKED or answer.models[1].state in fine
        return arms and read and answer.models[0].state in fine

    async def call_on(self, began: float, ends: float) -> Tally:
        """Call until the time is over."""
        tally = Tally()
        first = perf_counter()
        while (begun := perf_counter()) < ends:
            counts = begun >= began
            try:
                whole = await self.call()
            except Overloaded as error:
                told = error.retry_after.total_seconds()
                if counts:
                    tally.refusals.append(1000 * (perf_counter() - begun))
                    tally.delays.append(1000 * told)
                await asyncio.sleep(max(SHORTEST_S, told * self._chance.uniform(0.8, 1.2)))
                continue
            except MeshError as error:
                if counts:
                    tally.failed[error.reason] = tally.failed.get(error.reason, 0) + 1
            else:
                now = perf_counter()
                if began <= now < ends:
                    tally.answered += 1
                    tally.whole += whole
                if counts:
                    tally.walls.append(1000 * (now - begun))
                    tally.waits.append(1000 * (now - first))
            first = perf_counter()
        return tally


def questions(group: Group) -> list[RecallRequest]:
    """Return what a group asks."""
    texts = [str(item.content[0]) for item in corpus.items(group.size, corpus.load_vocabulary())]
    tuning = RecallTuning(reranking=group.kind == RERANKED)
    return [replace(one, tuning=tuning) for one in corpus.questions(texts, QUESTIONS, BankRef(group.bank))]


async def run(task: Task) -> dict[str, Tally]:
    """Let all groups call at once, when told to."""
    asked = {group.name: questions(group) for group in task.groups}
    tallies = {group.name: Tally() for group in task.groups}
    chance = random.Random(task.seed)
    async with AsyncExitStack() as stack:
        callers = []
        for group in task.groups:
            timeouts = Timeouts(recall_s=group.deadline_s, retain_s=group.deadline_s)
            client = await stack.enter_async_context(open_client(group.address, timeouts=timeouts))
            callers += [
                (group, Caller(client, group, asked[group.name], random.Random(chance.random())))
                for _ in range(group.clients)
            ]
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = perf_counter() + task.warm_s

        async def work(group: Group, caller: Caller, delay: float) -> None:
            await asyncio.sleep(delay)
            tallies[group.name].add(await caller.call_on(began, began + task.seconds))

        await asyncio.gather(*(work(group, caller, chance.uniform(0, STAGGER_S)) for group, caller in callers))
    return tallies


def main() -> None:
    """Read the task, do it, tell."""
    given = json.loads(sys.stdin.readline())
    given["groups"] = tuple(Group(**group) for group in given["groups"])
    tallies = asyncio.run(run(Task(**given)))
    print(json.dumps({name: asdict(tally) for name, tally in tallies.items()}), flush=True)
    sys.stdin.readline()  # who started this still looks at what it used


if __name__ == "__main__":
    main()
