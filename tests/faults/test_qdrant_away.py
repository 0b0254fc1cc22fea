"""The vectors' server stands still, dies and loses what it kept, in the middle of writing and asking.

It is a process of its own that speaks Qdrant's protocol, over the client's local mode (tests/qdrant_server.py).
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import qdrant_server
from deployment import NOW, Diary, free_ports, until

from bench.hashed import HashedEmbedder
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.operation import OperationState
from recallmesh.core.recall import PartState
from recallmesh.core.retain import DeliveryState, RetainItem
from recallmesh.core.time import Window
from recallmesh.mesh import open_assembly
from recallmesh.settings import load_settings
from recallmesh.vectors.qdrant import migrate_qdrant, open_qdrant_vectors

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(600)]

REF = BankRef("quay")
AWAY = {PartState.UNAVAILABLE, PartState.TIMED_OUT}
TIMEOUT_S = 1.0
SLACK_S = 4.0
"""By how much an answer may be late on busy cores; without a deadline it would come after ten seconds."""
WRITES = 400
RETAINED_AT_ONCE = 8
PLACES = ("yard", "barn", "mill", "chapel", "cellar", "attic", "stable", "orchard", "quay", "forge")


class Server:
    """The process, which can be stopped, woken and ended."""

    def __init__(self, port: int) -> None:
        self.url, self._port = f"http://127.0.0.1:{port}", port

    async def start(self) -> None:
        script = Path(qdrant_server.__file__)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, str(script), str(self._port), stdout=asyncio.subprocess.PIPE
        )
        assert int(await self._process.stdout.readline()) == self._port

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    async def kill(self) -> None:
        self._process.kill()
        await self._process.communicate()


@asynccontextmanager
async def open_process() -> AsyncIterator[Server]:
    server = Server(free_ports(1)[0])
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


async def migrate(server: Server) -> None:
    info = await HashedEmbedder().info()
    await migrate_qdrant(server.url, fingerprint=info.fingerprint, dimensions=info.dimensions)


@asynccontextmanager
async def opened(folder: Path, server: Server) -> AsyncIterator[Diary]:
    own = {"timeout_s": TIMEOUT_S}
    settings = load_settings(
        data=folder,
        reranker={"backend": "none"},
        retain={"outbox_poll_s": 0.05, "arm_timeout_s": TIMEOUT_S},
        semantic={"qdrant_url": server.url, **own},
        graph=own,
        temporal=own,
    )
    async with open_assembly(settings, frozenset(), embedder=HashedEmbedder()) as assembly:
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        await faces.admin.create_bank(REF)
        yield Diary(faces, REF)


async def wrong(diary: Diary) -> dict[str, tuple[int, str]]:
    """Return what each index has wrong, or is still to be brought."""
    found = await diary.faces.admin.verify_bank(REF)
    counts = {one.arm.value: (one.missing + one.extra + one.stale + one.pending, one.error) for one in found}
    return {arm: told for arm, told in counts.items() if told != (0, "")}


async def asked(diary: Diary) -> tuple[dict, float]:
    """Return the arms' states and the seconds that a recall took."""
    began = time.perf_counter()
    answer = await diary.ask("Which lantern hangs in the mill?", window=Window(NOW, NOW))
    return {one.arm: one.state for one in answer.arms}, time.perf_counter() - began


async def test_a_server_that_stands_still_holds_nobody_past_the_deadline_and_gets_all_when_it_goes_on(tmp_path) -> None:
    async with open_process() as server:
        await migrate(server)
        async with opened(tmp_path, server) as diary:
            await diary.keep("A lantern hangs in the mill.")
            assert (await asked(diary))[0] == dict.fromkeys(ArmName, PartState.OK)
            server.signal(signal.SIGSTOP)
            for _ in range(3):
                states, took = await asked(diary)
                assert states[ArmName.KEYWORD] is PartState.OK
                assert states[ArmName.SEMANTIC] in AWAY
                assert states[ArmName.TEMPORAL] in AWAY
                assert took < TIMEOUT_S + SLACK_S
            told = await diary.retain(RetainItem(("A lantern hangs in the attic.",), time=NOW))
            assert {one.arm: one.state for one in told.deliveries}[ArmName.SEMANTIC] is DeliveryState.PENDING
            server.signal(signal.SIGCONT)
            await until(lambda: right(diary), 60)
            assert (await asked(diary))[0] == dict.fromkeys(ArmName, PartState.OK)


async def right(diary: Diary) -> bool:
    return not await wrong(diary)


async def test_writes_through_a_server_that_stops_and_goes_on_are_all_there_once(tmp_path) -> None:
    async with open_process() as server:
        await migrate(server)
        async with opened(tmp_path, server) as diary:
            written: list[str] = []
            waiting = iter(range(WRITES))

            async def write() -> None:
                for number in waiting:
                    item = RetainItem((f"Lantern {number} hangs in the {PLACES[number % 10]}.",), time=NOW)
                    answer = await diary.retain(item, request_id=f"lantern-{number}")
                    written.extend(one for told in answer.items for one in told.memory_ids)

            async def disturb() -> None:
                while True:
                    await asyncio.sleep(0.7)
                    server.signal(signal.SIGSTOP)
                    await asyncio.sleep(TIMEOUT_S + 0.2)
                    server.signal(signal.SIGCONT)

            disturbing = asyncio.create_task(disturb())
            await asyncio.gather(*(write() for _ in range(RETAINED_AT_ONCE)))
            disturbing.cancel()
            server.signal(signal.SIGCONT)
            assert len(set(written)) == WRITES
            await until(lambda: right(diary), 90)
            semantic = next(one for one in await diary.faces.admin.verify_bank(REF) if one.arm is ArmName.SEMANTIC)
            assert (semantic.shown, semantic.indexed) == (WRITES, WRITES)


async def test_a_server_that_lost_everything_says_what_to_do_and_a_repair_brings_it_back(tmp_path) -> None:
    async with open_process() as server:
        await migrate(server)
        async with opened(tmp_path, server) as diary:
            await diary.keep(*(f"A lantern hangs in the {place}." for place in PLACES))
            await server.kill()
            await server.start()
            said = await until(lambda: complaint(diary))
            assert "run: recallmesh migrate" in said
            await migrate(server)
            begun = await diary.faces.admin.repair_bank(REF)
            *_, last = [seen async for seen in diary.faces.admin.watch_operation(REF, begun.id)]
            assert last.state is OperationState.SUCCEEDED
            await until(lambda: right(diary), 60)
            assert (await asked(diary))[0] == dict.fromkeys(ArmName, PartState.OK)


async def complaint(diary: Diary) -> str:
    answer = await diary.ask("Which lantern hangs in the mill?")
    (report,) = [one for one in answer.arms if one.arm is ArmName.SEMANTIC]
    return report.detail if "migrate" in report.detail else ""


async def test_500_abandoned_calls_do_no_harm(tmp_path) -> None:
    del tmp_path
    async with open_process() as server:
        await migrate(server)
        info = await HashedEmbedder().info()
        given = {"fingerprint": info.fingerprint, "dimensions": info.dimensions}
        async with open_qdrant_vectors(server.url, **given) as index:
            await index.check()
            server.signal(signal.SIGSTOP)
            calls = [asyncio.create_task(index.check()) for _ in range(500)]
            await asyncio.sleep(0.2)
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(one) for one in ended} == {asyncio.CancelledError}
            server.signal(signal.SIGCONT)
            async with asyncio.timeout(30):
                while True:
                    try:
                        await index.check()
                        break
                    except StoreUnavailable:
                        await asyncio.sleep(0.05)
