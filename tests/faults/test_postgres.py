"""A PostgreSQL server that is killed, stopped in the middle of a word and started again, under an open ledger."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from contract.ledger_bed import Bed, chunk, new_bank
from store_servers.__main__ import ROOT
from store_servers.postgres import Postgres
from store_servers.process import Command, Process, free_port, start_process
from store_servers.server import Missing

from recallmesh.core.bank import BankRef
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import Memory
from recallmesh.core.write import RequestRecord
from recallmesh.ledger.database import BUSY
from recallmesh.ledger.sql import open_ledger
from recallmesh.ledger.upkeep import migrate_ledger

pytestmark = pytest.mark.stores
POLL_S = 0.05


@dataclass
class Server:
    """A server of this module's own."""

    command: Command
    port: int
    log: Path
    process: Process = field(init=False)

    @property
    def url(self) -> str:
        return Postgres().address(self.port)

    def start(self) -> None:
        # In the main thread: a tied process ends with the thread that started it.
        self.process = start_process(self.command, self.log, tied=True)
        until_ready = threading.Event()
        for _ in range(400):
            if Postgres().is_ready(self.port):
                return
            until_ready.wait(POLL_S)
        raise AssertionError(self.log.read_text(encoding="utf-8"))

    def kill(self) -> None:
        """End it and all it made at once, as a crash does."""
        self.send(signal.SIGKILL)
        self.process.wait(20)

    def send(self, number: signal.Signals) -> None:
        for pid in (*children(self.process.pid), self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def restart(self) -> None:
        self.kill()
        self.start()


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, port, installed = tmp_path_factory.mktemp("postgres"), free_port(), ROOT / Postgres.name
    installed.mkdir(parents=True, exist_ok=True)
    try:
        Postgres().install(installed)
        command = Postgres().prepare(installed, folder, port)
    except Missing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    server = Server(command, port, folder / "log")
    server.start()
    try:
        asyncio.run(migrate_ledger(server.url))
        yield server
    finally:
        server.send(signal.SIGCONT)
        server.kill()
        Postgres().wipe(folder)


@asynccontextmanager
async def opened(server: Server, name: str, **parts):
    async with open_ledger(server.url, **parts) as ledger:
        yield Bed(ledger, await new_bank(ledger, name))


async def test_an_open_ledger_works_on_after_its_server_was_killed_and_started_again(server: Server):
    async with opened(server, "killed") as bed:
        await bed.write("one", chunk("a", "one"))
        await asyncio.gather(*(bed.memories() for _ in range(4)))
        server.restart()
        await bed.write("two", chunk("b", "two"))
        for _ in range(4):  # on each of the connections
            assert [one.text for one in await bed.memories()] == ["one", "two"]
        server.restart()
        told: list[object] = []
        await bed.ledger.export_bank(bed.uid, told.append)
        assert {one.text for one in told if isinstance(one, Memory)} == {"one", "two"}


async def test_while_its_server_is_away_a_ledger_says_so_and_then_works_again(server: Server):
    async with opened(server, "away") as bed:
        await bed.write("one", chunk("a", "one"))
        server.kill()
        for call in (bed.memories, bed.ledger.check, lambda: bed.write("two", chunk("b", "two"))):
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await call()
        server.start()
        await bed.ledger.check()
        assert [one.text for one in await bed.memories()] == ["one"]


async def test_a_ledger_may_be_opened_before_its_server_is_there(server: Server):
    server.kill()
    async with open_ledger(server.url) as ledger:
        with pytest.raises(StoreUnavailable, match="does not answer"):
            await ledger.check()
        server.start()
        await ledger.check()
        await new_bank(ledger, "opened before")


async def test_a_silent_server_costs_no_thread_for_ever(server: Server):
    """Stopped, not ended: its sockets take every question, and nothing answers."""
    async with opened(server, "silent", timeout_s=1, readers=2, writers=1) as bed:
        await bed.write("one", chunk("a", "one"))
        await asyncio.gather(*(bed.memories() for _ in range(4)))
        server.send(signal.SIGSTOP)
        try:
            async with asyncio.timeout(30):
                reads = [bed.ledger.get_bank(BankRef("silent")) for _ in range(8)]
                write = bed.write("two", chunk("b", "two"), request=RequestRecord("r", "h"))
                told = await asyncio.gather(*reads, write, return_exceptions=True)
        finally:
            server.send(signal.SIGCONT)
        assert [type(one) for one in told] == [StoreUnavailable] * 9
        assert {one.message for one in told} <= {BUSY, "the ledger's database does not answer"}
        await bed.write("two", chunk("b", "two"), request=RequestRecord("r", "h"))
        assert [one.text for one in await bed.memories()] == ["one", "two"]


async def test_a_caller_that_gives_up_does_not_wait_for_a_silent_server(server: Server):
    async with opened(server, "given up", timeout_s=3, readers=1, writers=1) as bed:
        await bed.memories()
        server.send(signal.SIGSTOP)
        try:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await bed.memories()
        finally:
            server.send(signal.SIGCONT)
        assert await bed.memories() == ()


async def test_what_was_answered_outlives_a_kill_of_the_server(server: Server):
    async with opened(server, "outlives") as bed:
        kept: list[str] = []

        async def write(number: int) -> None:
            request = RequestRecord(f"r{number}", "h")
            for _ in range(200):
                try:
                    await bed.write(f"d{number:03}", chunk("a", f"fact {number}"), request=request)
                except StoreUnavailable:
                    await asyncio.sleep(POLL_S)
                else:
                    kept.append(f"d{number:03}")
                    return

        writing = asyncio.gather(*(write(number) for number in range(60)))
        await asyncio.sleep(POLL_S)
        server.restart()
        await writing
        found = [one.document_id for one in await bed.memories()]
        assert found == sorted(kept)
        assert len(found) == 60
