"""Many retains while the process is killed again and again: nothing is lost or doubled, each index equals the ledger.

``make faults`` runs ten thousand; a few hundred are a test. The process that is killed is a whole mesh of its own, with
vectors made of hashed words in the place of a model: what is tested here does not depend on what a text means.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from deployment import SERVING, every, free_ports, health, until

from bench.hashed import HashedEmbedder
from recallmesh import parts, retaining
from recallmesh.client import Client, open_client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import ArmTimeout, ConflictingWrite, DocumentNotFound, Overloaded, StoreUnavailable
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import MemoryState
from recallmesh.core.operation import FINISHED, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import NamedEntity, RetainItem, RetainRequest, UpdateMode
from recallmesh.core.time import system_clock
from recallmesh.mesh import Part, open_assembly
from recallmesh.rpc.server import open_server
from recallmesh.serve import host
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

T = TypeVar("T")
REF = BankRef("soak")
NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
WRITERS = 12
PASSING = (StoreUnavailable, ArmTimeout, Overloaded, ConflictingWrite)
"""What a caller tries again: the process is gone, or busy after its return."""
NAMES = tuple(f"Person {letter}" for letter in "ABCDEFGHIJKLMNOPQRST")
WORDS = ("harbour", "mill", "bakery", "bridge", "island", "winter", "letter", "garden", "engine", "market", "violin")
SHARED = "shared-"
AHEAD = timedelta(hours=1)
"""How far the last process's clock is ahead, so that every lease is over and nothing has to be waited for."""
HOSTED = frozenset(Part) - {Part.EMBEDDER, Part.RERANKER}


async def serve(data: Path, port: int, ahead: timedelta) -> None:
    """Serve a mesh until the process is killed."""
    set_up_logging(level="error")
    parts.system_clock = retaining.system_clock = lambda: system_clock() + ahead
    settings = load_settings(data=data, reranker={"backend": "none"}, retain={"outbox_poll_s": 0.1})
    async with AsyncExitStack() as stack:
        assembly = await stack.enter_async_context(open_assembly(settings, HOSTED, embedder=HashedEmbedder()))
        hosted = await host(assembly, HOSTED)
        await stack.enter_async_context(open_server(f"127.0.0.1:{port}", hosted))
        await asyncio.Event().wait()


def fork_for(data: Path) -> None:
    """Start and bury processes that serve, as lines of standard input say; each is forked from this one, loaded."""
    child = 0
    for line in sys.stdin:
        port, ahead = line.split()
        if child:
            os.waitpid(child, 0)
        child = os.fork()
        if not child:
            asyncio.run(serve(data, int(port), timedelta(seconds=float(ahead))))
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


@dataclass
class Served:
    """A mesh in a process of its own, which can be killed and started again."""

    data: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
    environment: Mapping[str, str] = field(default_factory=dict)
    forking: asyncio.subprocess.Process | None = None
    pid: int = 0
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, ahead: timedelta = timedelta(), *, whole: bool = True) -> None:
        """Start it, and wait until all of it is ready; or, if not ``whole``, until it answers."""
        if self.forking is None:
            root = Path(__file__).parents[2]
            paths = filter(None, (f"{root}/tests", str(root), os.environ.get("PYTHONPATH")))
            environment = os.environ | dict(self.environment) | {"PYTHONPATH": os.pathsep.join(paths)}
            words, pipe = (__file__, "--serve", str(self.data)), asyncio.subprocess.PIPE
            self.forking = await asyncio.create_subprocess_exec(
                sys.executable, *words, stdin=pipe, stdout=pipe, env=environment
            )
        self.forking.stdin.write(f"{self.port} {ahead.total_seconds()}\n".encode())
        self.pid = int(await self.forking.stdout.readline())

        async def serves():
            answered = await health(f"127.0.0.1:{self.port}")
            return answered == SERVING or (answered is not None and not whole)

        await until(serves, 180)
        self.ready.set()

    def kill(self) -> None:
        self.ready.clear()
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
        self.pid = 0

    async def close(self) -> None:
        self.kill()
        if self.forking is not None:
            self.forking.stdin.close()
            await self.forking.wait()


@dataclass
class Tally:
    """What was done, and what went wrong: nothing may."""

    done: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    retried: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def retains(self) -> int:
        return sum(self.done[deed] for deed in ("retain", "replace", "append", "share", "later"))


async def insist(call: Callable[[], Awaitable[T]], served: Served, tally: Tally) -> T:
    """Call until there is an answer, as whoever calls a mesh does."""
    while True:
        await served.ready.wait()
        try:
            return await call()
        except PASSING:
            tally.retried += 1
            await asyncio.sleep(0.05)


@dataclass
class Writer:
    """One of those who write at once: it alone writes its documents, so that it knows what they must say."""

    number: int
    faces: Client
    served: Served
    tally: Tally
    chance: random.Random
    shared: dict[str, list[str]]
    said: dict[str, list[str]] = field(default_factory=dict)
    made: int = 0

    async def write(self) -> None:
        """Do one thing, until it is acknowledged."""
        deeds = (self.retain, self.replace, self.append, self.share, self.later, self.delete)
        (deed,) = self.chance.choices(deeds, weights=(66, 10, 8, 4, 6, 6))
        if not self.said and deed in (self.replace, self.append, self.delete):
            deed = self.retain
        await deed()
        self.tally.done[deed.__name__] += 1

    async def retain(self) -> None:
        document, texts = self._document(), self._texts()
        await self._kept(document, texts)
        self.said[document] = texts

    async def replace(self) -> None:
        document = self.chance.choice(sorted(self.said))
        kept = self.said[document]
        texts = [*kept[: self.chance.randint(0, len(kept))], *self._texts()]
        await self._kept(document, texts)
        self.said[document] = texts

    async def append(self) -> None:
        document, texts = self.chance.choice(sorted(self.said)), self._texts()
        await self._kept(document, texts, update_mode=UpdateMode.APPEND)
        self.said[document] += texts

    async def share(self) -> None:
        """Add to a document that others add to at the same time."""
        document, texts = f"{SHARED}{self.chance.randrange(3)}", self._texts()
        await self._kept(document, texts, update_mode=UpdateMode.APPEND)
        self.shared[document] += texts

    async def later(self) -> None:
        document, texts = self._document(), self._texts()
        request = self._request(document, texts, wait=False)
        answer = await self._insist(lambda: self.faces.retainer.retain(request))
        if answer.operation_id:
            await self._insist(lambda: self._finished(answer.operation_id))
        self.said[document] = texts

    async def delete(self) -> None:
        document = self.chance.choice(sorted(self.said))
        try:
            await self._insist(lambda: self.faces.admin.delete_document(REF, document))
        except DocumentNotFound:
            # A call whose answer was lost has deleted it.
            self.tally.done["deleted unheard"] += 1
        del self.said[document]

    async def _kept(self, document: str, texts: list[str], **more) -> None:
        request = self._request(document, texts, **more)
        answer = await self._insist(lambda: self.faces.retainer.retain(request))
        if self.chance.random() < 0.05:
            again = await self._insist(lambda: self.faces.retainer.retain(request))
            if not again.replayed or again.items != answer.items:
                self.tally.wrong.append(f"{request.request_id} was answered otherwise the second time")

    def _request(self, document: str, texts: list[str], *, wait: bool = True, **more) -> RetainRequest:
        items = tuple(
            RetainItem((text,), time=NOW, document_id=document, entities=(NamedEntity(self._name(), "person"),), **more)
            for text in texts
        )
        self.made += 1
        request_id = f"{self.number}-{self.made}"
        return RetainRequest(REF, items, request_id=request_id, mode=ExtractionMode.CHUNKS, wait=wait)

    def _document(self) -> str:
        return f"w{self.number}-{self.made}"

    def _texts(self) -> list[str]:
        return [self._text(f"{self.number}-{self.made}-{line}") for line in range(self.chance.randint(1, 3))]

    def _text(self, note: str) -> str:
        return f"{self._name()} saw the {' and the '.join(self.chance.sample(WORDS, 3))}, note {note}."

    def _name(self) -> str:
        return self.chance.choice(NAMES)

    async def _finished(self, operation_id: str) -> None:
        async for seen in self.faces.admin.watch_operation(REF, operation_id):
            if seen.state in FINISHED and seen.state is not OperationState.SUCCEEDED:
                self.tally.wrong.append(f"operation {operation_id} {seen.state}: {seen.error}")

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        return await insist(call, self.served, self.tally)


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    tally: Tally
    documents: int
    memories: int
    seconds: float
    mended: dict[str, int]

    def told(self) -> str:
        """Return the summary for people."""
        done = self.tally.done
        deeds = ", ".join(f"{done[name]} {word}" for name, word in TOLD.items())
        mended = ", ".join(f"{arm} {count}" for arm, count in self.mended.items())
        lines = (
            f"{self.tally.retains} retains ({deeds}) by {WRITERS} writers at once, in {self.seconds:.0f} s",
            f"{self.tally.kills} kills of the process, {self.tally.retried} calls tried again",
            f"{done['deleted unheard']} documents were deleted though the answer was lost",
            f"{self.documents} documents, {self.memories} memories at the end",
            f"damaged afterwards and mended: {mended}",
            f"wrong: {len(self.tally.wrong) or 'nothing'}",
        )
        return "\n".join((*lines, *self.tally.wrong[:20]))


TOLD = {
    "retain": "new",
    "replace": "replacing",
    "append": "appending",
    "share": "to documents of all",
    "later": "not waited for",
    "delete": "deletions",
}


async def run(data: Path, *, retains: int, kills: int, seed: int) -> Outcome:
    """Write until there were so many retains, killing the process meanwhile; then compare, damage, mend and compare."""
    began, chance, tally = time.monotonic(), random.Random(seed), Tally()
    served = Served(data)
    shared: dict[str, list[str]] = defaultdict(list)
    try:
        await served.start()
        async with open_client(f"127.0.0.1:{served.port}") as faces:
            await faces.admin.create_bank(REF)
            writers = [
                Writer(one, faces, served, tally, random.Random(f"{seed}-{one}"), shared) for one in range(WRITERS)
            ]
            killing = asyncio.create_task(_kill(served, tally, chance, retains, kills))
            await asyncio.gather(*(_write(writer, tally, retains) for writer in writers))
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
            served.kill()
            await served.start(AHEAD)
            await until(lambda: insist(lambda: is_settled(faces), served, tally), 300)
            said = {document: texts for writer in writers for document, texts in writer.said.items()}
            memories = await compare(faces, served, said | shared, tally)
            mended = await _mend(served, faces, chance, tally)
            await compare(faces, served, said | shared, tally)
    finally:
        await served.close()
    return Outcome(tally, len(said) + len(shared), memories, time.monotonic() - began, mended)


async def _write(writer: Writer, tally: Tally, retains: int) -> None:
    while tally.retains < retains:
        await writer.write()


async def _kill(served: Served, tally: Tally, chance: random.Random, retains: int, kills: int) -> None:
    """Kill the process after so many retains each time, at a moment of chance, and start it again."""
    for number in range(1, kills + 1):
        after = (number - chance.random()) * retains / (kills + 1)

        async def written(after: float = after) -> bool:
            return tally.retains >= after

        await until(written, 3600)
        await asyncio.sleep(chance.random() / 10)
        served.kill()
        tally.kills += 1
        await served.start()


async def is_settled(faces: Client) -> bool:
    states = (OperationState.PENDING, OperationState.RUNNING)
    if (await faces.admin.list_operations(REF, PageRequest(), states)).rows:
        return False
    if (await faces.admin.bank_stats(REF)).pending:
        return False
    wanted = MemoryFilter(states=(MemoryState.RETIRING,))
    return not (await faces.admin.list_memories(REF, wanted, PageRequest(1))).rows


async def compare(faces: Client, served: Served, said: dict[str, list[str]], tally: Tally) -> int:
    """Hold what the mesh has against what was acknowledged; returns the number of memories."""
    read = partial(faces.admin.list_memories, REF, MemoryFilter())
    memories = await every(lambda page: insist(lambda: read(page), served, tally), size=1000)
    held: dict[str, list[str]] = defaultdict(list)
    for memory in sorted(memories, key=lambda memory: (memory.document_id, memory.position)):
        held[memory.document_id].append(memory.text)
    for document in sorted(said.keys() | held.keys()):
        has, should = held.get(document, []), said.get(document, [])
        # Who came first in a document of all is nobody's to know.
        if has != should and (not document.startswith(SHARED) or sorted(has) != sorted(should)):
            tally.wrong.append(f"document {document} says {has}, not {should}")
    for one in await insist(lambda: faces.admin.verify_bank(REF), served, tally):
        if not one.is_equal or one.pending or one.shown != len(memories):
            tally.wrong.append(f"the index differs: {one}")
    return len(memories)


async def _mend(served: Served, faces: Client, chance: random.Random, tally: Tally) -> dict[str, int]:
    """Lose one index and cut another short, see that it is noticed, and repair; returns what was wrong, by arm."""
    served.kill()
    for path in served.data.glob("keyword.db*"):
        path.unlink()
    graph = served.data / "graph.db"
    with graph.open("r+b") as file:
        file.truncate(chance.randrange(100, graph.stat().st_size))
    await served.start(AHEAD, whole=False)
    broken = {one.arm: one for one in await insist(lambda: faces.admin.verify_bank(REF), served, tally)}
    if broken[ArmName.KEYWORD].is_equal or broken[ArmName.GRAPH].is_equal:
        tally.wrong.append(f"the damage was not noticed: {broken}")
    served.kill()
    for path in served.data.glob("graph.db*"):
        path.unlink()
    await served.start(AHEAD)
    found = await insist(lambda: faces.admin.verify_bank(REF), served, tally)
    wrong = {one.arm.value: one.missing for one in found if not one.is_equal}
    begun = await insist(lambda: faces.admin.repair_bank(REF), served, tally)
    *_, last = [seen async for seen in faces.admin.watch_operation(REF, begun.id)]
    if last.state is not OperationState.SUCCEEDED:
        tally.wrong.append(f"the repair {last.state}: {last.error}")
    return wrong


def main() -> int:
    """Run what ``make faults`` asks for; 1 when something was lost, doubled or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retains", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--serve", type=Path)
    words = parser.parse_args()
    if words.serve:
        fork_for(words.serve)
        return 0
    set_up_logging(level="error")
    sys.stdout.write(f"seed {words.seed}; the same again: --seed {words.seed}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        outcome = asyncio.run(run(Path(folder), retains=words.retains, kills=words.kills, seed=words.seed))
    sys.stdout.write(outcome.told() + "\n")
    return int(bool(outcome.tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
