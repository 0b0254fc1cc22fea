"""Processes of one name share the calls; who joins gets some, who leaves or hangs costs none (cases 50 and 51)."""

import asyncio
import signal
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deployment import Process, free_ports, open_processes, until
from names import open_names

from recallmesh.core.arm import ArmName, ArmQuery, IndexEntry
from recallmesh.core.memory import FactType
from recallmesh.rpc.arm import RemoteArm
from recallmesh.rpc.channel import open_channel

pytestmark = pytest.mark.timeout(600)

BANK = "u1"
ASKERS = 4
JOINED_S = 30.0
"""Within which a process that joined gets calls; case 50 has five seconds, of a machine that does nothing else."""


@dataclass
class Load:
    """Calls that go on all the time, and which process answered each."""

    arm: RemoteArm
    answered: Counter[str] = field(default_factory=Counter)
    failed: list[Exception] = field(default_factory=list)

    async def ask(self) -> None:
        while True:
            try:
                (hit,) = await self.arm.search(ArmQuery(BANK, "lighthouse"))
            except Exception as error:  # noqa: BLE001 - whatever it is, no call may fail
                self.failed.append(error)
            else:
                self.answered[hit.memory_id] += 1
            await asyncio.sleep(0.02)

    async def more(self, calls: int) -> Counter[str]:
        """Wait for so many more calls; returns who answered them."""
        before = self.answered.copy()

        async def enough() -> bool:
            return (self.answered - before).total() >= calls

        await until(enough, 60)
        return self.answered - before


@asynccontextmanager
async def open_load(target: str):
    async with open_channel(target) as channel:
        load = Load(RemoteArm(ArmName.KEYWORD, channel))
        asking = [asyncio.create_task(load.ask()) for _ in range(ASKERS)]
        try:
            yield load
        finally:
            for one in asking:
                one.cancel()
            await asyncio.gather(*asking, return_exceptions=True)


async def introduce(process: Process) -> None:
    """Give a process one memory, whose id is its address: every answer says who gave it."""
    entry = IndexEntry(process.host, 1, "The lighthouse is lit.", FactType.WORLD)
    async with open_channel(process.address) as channel:
        await RemoteArm(ArmName.KEYWORD, channel).index(BANK, (entry,))


def keyword(folder: Path, number: int, port: int) -> Process:
    """Return a keyword arm at an address and with an index of its own."""
    log, quiet = folder / f"{number}.log", {"RECALLMESH_LOG_LEVEL": "warning"}
    return Process(("keyword",), folder / f"data-{number}", log, quiet, port, f"127.0.0.{number}")


async def test_three_share_the_calls_a_fourth_gets_some_and_who_leaves_costs_none(tmp_path):
    (port,) = free_ports(1)
    *three, fourth = (keyword(tmp_path, number, port) for number in (11, 12, 13, 14))
    async with (
        open_processes({one.host: one for one in three}),
        open_names(*(one.host for one in three)) as names,
    ):
        for one in three:
            await introduce(one)
        async with open_load(names.target(port)) as load:
            shares = await load.more(300)
            assert shares.keys() == {one.host for one in three}
            assert min(shares.values()) > 0.75 * max(shares.values()), shares

            async with open_processes({fourth.host: fourth}):
                await introduce(fourth)
                names.addresses.append(fourth.host)

                async def joined() -> bool:
                    return load.answered[fourth.host] > 0

                await until(joined, JOINED_S)
                shares = await load.more(300)
                assert min(shares[one.host] for one in (*three, fourth)) > 0.1 * shares.total(), shares

                leaving = three[0]
                leaving.signal(signal.SIGTERM)
                assert await leaving.left() == 0
                shares = await load.more(200)
                assert shares.keys() == {one.host for one in (*three[1:], fourth)}
            assert load.failed == []
    assert names.asked > 1


async def test_a_process_that_hangs_costs_no_call_and_is_called_again_when_it_goes_on(tmp_path):
    (port,) = free_ports(1)
    stays, hangs = keyword(tmp_path, 15, port), keyword(tmp_path, 16, port)
    async with open_processes({one.host: one for one in (stays, hangs)}):
        for one in (stays, hangs):
            await introduce(one)
        async with open_load(f"ipv4:{stays.address},{hangs.address}") as load:
            assert len(await load.more(20)) == 2
            hangs.signal(signal.SIGSTOP)
            try:
                # What was on its way to it is tried elsewhere once it is given up; then nobody waits for it any more.
                await load.more(200)
                assert (await load.more(100)).keys() == {stays.host}
            finally:
                hangs.signal(signal.SIGCONT)

            async def again() -> bool:
                return len(await load.more(1)) > 1 or hangs.host in await load.more(4)

            await until(again, 60)
        assert load.failed == []
