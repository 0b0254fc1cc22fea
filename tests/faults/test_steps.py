"""The process is killed between every two steps of what it does; what was begun is then done once or not at all."""

import asyncio
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from deployment import until
from faults.stepping import DEEDS, NEW, OLD, REF, asked, delete_memory, settings_of

from bench.hashed import HashedEmbedder
from recallmesh import parts, retaining
from recallmesh.client import Client
from recallmesh.core.errors import BankNotFound, DocumentNotFound
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import Memory
from recallmesh.core.operation import OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainAnswer, UpdateMode
from recallmesh.core.time import system_clock
from recallmesh.ledger import banks
from recallmesh.mesh import open_assembly
from recallmesh.retain import outbox

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
KILLED = -9
AT_ONCE = 3
LOST = {"repair": ("keyword.db", "graph.db")}
"""What is lost before a deed begins."""
PAGE = PageRequest(1000)


@dataclass(frozen=True)
class Found:
    """What a mesh holds that was opened again and left to finish what was begun."""

    faces: Client
    portrait: dict
    settled: Callable[[], Awaitable[object]]


@dataclass
class Doer:
    """A process that carries out orders in processes of their own."""

    process: asyncio.subprocess.Process

    async def do(self, **order) -> int:
        self.process.stdin.write((json.dumps(order) + "\n").encode())
        return json.loads(await self.process.stdout.readline())["ended"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doers() -> AsyncIterator[asyncio.Queue[Doer]]:
    queue: asyncio.Queue[Doer] = asyncio.Queue()
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/tests:{ROOT}"}
    script = Path(__file__).with_name("stepping.py")
    for _ in range(AT_ONCE):
        process = await asyncio.create_subprocess_exec(
            sys.executable, script, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment
        )
        queue.put_nowait(Doer(process))
    yield queue
    while not queue.empty():
        process = queue.get_nowait().process
        process.stdin.close()
        await process.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def begun(tmp_path_factory) -> Path:
    """Data of a bank with one document."""
    data = tmp_path_factory.mktemp("begun") / "data"
    async with open_assembly(settings_of(data), frozenset(), embedder=HashedEmbedder()) as assembly:
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        await faces.admin.create_bank(REF)
        await faces.retainer.retain(asked(OLD, "old"))
    return data


@pytest.fixture(autouse=True)
def _later(monkeypatch):
    """An hour passes until the mesh is opened again: leases are over, and what was to retire is due."""
    for opener in (parts, retaining):
        monkeypatch.setattr(opener, "system_clock", lambda: system_clock() + timedelta(hours=1))
    monkeypatch.setattr(outbox, "RETIRE_EVERY_S", 0.05)
    # A bank that is deleted then is taken out of the arms again after a second, and not after a minute.
    monkeypatch.setattr(banks, "LAST_WORDS", 1 / 30)


@asynccontextmanager
async def reopened(data: Path, *, equal: bool = True) -> AsyncIterator[Found]:
    """Open a mesh on what is left, and wait until nothing is under way; then every index is ``equal`` to the ledger."""
    async with open_assembly(settings_of(data), frozenset(), embedder=HashedEmbedder()) as assembly:
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        ledger = await assembly.ledger()

        async def settled():
            now = system_clock() + timedelta(hours=1)
            # The outbox last: what retires, or is worked on, ends with something for it.
            return not await at_work(faces) and not await ledger.unretired(now) and not await ledger.outbox_lag(now)

        await until(settled, 60)
        yield Found(faces, await portrait(faces, equal=equal), partial(until, settled, 60))


async def at_work(faces: Client) -> tuple:
    states = (OperationState.PENDING, OperationState.RUNNING)
    try:
        return (await faces.admin.list_operations(REF, PAGE, states)).rows
    except BankNotFound:
        return ()


async def portrait(faces: Client, *, equal: bool = True) -> dict:
    """Return all that can be seen of the bank, without ids and moments; and see that its indexes are equal to it."""
    try:
        comparisons = await faces.admin.verify_bank(REF)
    except BankNotFound:
        return {}
    assert not equal or [one for one in comparisons if not one.is_equal or one.pending] == []
    memories = (await faces.admin.list_memories(REF, MemoryFilter(), PAGE)).rows
    texts = {memory.id: memory.text for memory in memories}
    documents = (await faces.admin.list_documents(REF, PAGE)).rows
    chunks = {
        one.id: [(chunk.number, chunk.text) for chunk in (await faces.admin.list_chunks(REF, one.id, PAGE)).rows]
        for one in documents
    }
    entities = (await faces.admin.list_entities(REF, PAGE)).rows
    return {
        "memories": sorted(
            (one.document_id, one.position, one.text, one.state.value, texts.get(one.previous_id, ""), names(one))
            for one in memories
        ),
        "documents": sorted((one.id, one.version, one.chunk_count, one.memory_count) for one in documents),
        "chunks": chunks,
        "entities": sorted((one.name, one.memory_count) for one in entities),
        "stats": await faces.admin.bank_stats(REF),
    }


def names(memory: Memory) -> list[str]:
    return sorted(mention.name for mention in memory.mentions)


async def again(faces: Client, deed: str):
    """Do once more what the caller of a killed process does: the same call."""
    match deed:
        case "retain" | "later":
            return await faces.retainer.retain(asked(NEW, "new", "r"))
        case "replace":
            return await faces.retainer.retain(asked(NEW, "old", "r"))
        case "append":
            return await faces.retainer.retain(asked(NEW, "old", "r", update_mode=UpdateMode.APPEND))
        case "delete_memory":
            # What is deleted already is not found any more.
            if OLD[1] in {memory.text for memory in (await faces.admin.list_memories(REF, MemoryFilter(), PAGE)).rows}:
                await delete_memory(faces)
        case "delete_document":
            with suppress(DocumentNotFound):
                await faces.admin.delete_document(REF, "old")
        case "delete_bank":
            with suppress(BankNotFound):
                await faces.admin.delete_bank(REF)
        case _:
            return await DEEDS[deed](faces)
    return None


@pytest.mark.parametrize("deed", DEEDS)
async def test_whatever_step_the_process_dies_after_it_is_done_once_or_not_at_all(deed, doers, begun, tmp_path):
    async def data_for(name: str) -> Path:
        data = await asyncio.to_thread(shutil.copytree, begun, tmp_path / name)
        for lost in LOST.get(deed, ()):
            for path in data.glob(f"{lost}*"):
                path.unlink()
        return Path(data)

    async def do(**order) -> int:
        doer = await doers.get()
        try:
            return await doer.do(deed=deed, **order)
        finally:
            doers.put_nowait(doer)

    whole, trace = await data_for("whole"), tmp_path / "trace"
    equal = deed not in LOST
    async with reopened(await data_for("before"), equal=equal) as found:
        before = found.portrait
    assert await do(data=str(whole), trace=str(trace)) == 0
    async with reopened(whole) as found:
        after = found.portrait
    steps = trace.read_text(encoding="utf-8").split()
    endings: Counter[int] = Counter()

    async def killed_after(step: str) -> None:
        data = await data_for(step)
        ending = await do(data=str(data), deadly=step)
        endings[ending] += 1
        assert ending in (KILLED, 0), step
        async with reopened(data, equal=equal) as found:
            assert found.portrait in (before, after), step
            done, kept = found.portrait == after, await ids(found.faces)
            assert done or not (data / "answered").exists(), step
            answer = await again(found.faces, deed)
            await found.settled()
            assert await portrait(found.faces) == after, step
            if isinstance(answer, RetainAnswer) and answer.items:
                assert answer.replayed is done, step
                assert {one for item in answer.items for one in item.memory_ids} <= await ids(found.faces), step
            assert not done or await ids(found.faces) == kept, step

    await asyncio.gather(*(killed_after(step) for step in steps))
    # What two loops do at once does not come in one order: a step that another took over was passed alive.
    assert endings[KILLED] > len(steps) // 2


async def ids(faces: Client) -> set[str]:
    try:
        return {memory.id for memory in (await faces.admin.list_memories(REF, MemoryFilter(), PAGE)).rows}
    except BankNotFound:
        return set()
