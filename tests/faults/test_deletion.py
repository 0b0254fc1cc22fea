"""Banks deleted under the feet of those who write to them (case 38)."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from deployment import until
from faults.stepping import NEW, OLD, REF, asked, settings_of

from bench.hashed import HashedEmbedder
from recallmesh import parts, retaining
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.errors import BankNotFound
from recallmesh.core.page import PageRequest
from recallmesh.core.time import system_clock
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.models import Role
from recallmesh.retain import outbox

pytestmark = pytest.mark.timeout(600)

COUNTED = {
    "keyword.db": ("memory",),
    "graph.db": ("bank", "memory", "entity", "name", "mention", "tag", "link"),
    "ledger.db": (
        "banks",
        "documents",
        "chunks",
        "memories",
        "memory_tags",
        "memory_entities",
        "entities",
        "operations",
    ),
    "vectors/*/catalog.sqlite": ("memory",),
}


def counts(data: Path) -> dict[str, int]:
    """Return how many rows each table of each store has."""
    found = {}
    for pattern, tables in COUNTED.items():
        (path,) = data.glob(pattern)
        with closing(sqlite3.connect(path)) as connection:
            for table in tables:
                (found[f"{path.name}.{table}"],) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()  # noqa: S608
    return found


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test can put forward."""
    ahead = [timedelta()]
    for opener in (parts, retaining):
        monkeypatch.setattr(opener, "system_clock", lambda: system_clock() + ahead[0])
    monkeypatch.setattr(outbox, "RETIRE_EVERY_S", 0.05)
    return ahead


async def opened(data, work):
    """Do some work on a mesh, and close it again: its stores can then be counted."""
    async with open_assembly(settings_of(data), frozenset(), embedder=HashedEmbedder()) as assembly:
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        ledger = await assembly.ledger()

        async def delivered():
            return not await ledger.outbox_lag(parts.system_clock())

        await work(faces, lambda: until(delivered, 60))


async def test_a_bank_deleted_while_others_retain_leaves_nothing_in_any_store(tmp_path, clock):
    async def keep_one(faces, delivered):
        await faces.admin.create_bank(REF)
        await faces.admin.delete_bank(REF)
        clock[0] += timedelta(minutes=2)
        await delivered()

    async def writing(faces, number):
        with suppress(BankNotFound):
            for part in range(100):
                wait = part % 3 != 0
                await faces.retainer.retain(asked(NEW, f"d{number}-{part}", wait=wait))

    async def delete_under_writers(faces, delivered):
        for _ in range(4):
            await faces.admin.create_bank(REF)
            await faces.retainer.retain(asked(OLD, "old"))
            writers = asyncio.gather(*(writing(faces, number) for number in range(6)))
            await asyncio.sleep(0.3)
            await faces.admin.delete_bank(REF)
            await writers
            with pytest.raises(BankNotFound):
                await faces.admin.bank_stats(REF)
        clock[0] += timedelta(minutes=2)
        await delivered()

    await opened(tmp_path, keep_one)
    before = counts(tmp_path)
    await opened(tmp_path, delete_under_writers)
    assert counts(tmp_path) == before


class HeldArm:
    """An arm whose indexing waits until it is let go, as one that is slow."""

    def __init__(self, arm):
        self._arm, self.at_work, self.go = arm, asyncio.Event(), asyncio.Event()

    def __getattr__(self, method):
        return getattr(self._arm, method)

    async def index(self, bank_uid, entries):
        self.at_work.set()
        await self.go.wait()
        await self._arm.index(bank_uid, entries)


@dataclass(slots=True)
class HeldAssembly(Assembly):
    """The mesh's own composition, with a keyword arm that is held."""

    held: HeldArm | None = None

    async def arm(self, name, role=Role.MAIN):
        arm = await Assembly.arm(self, name, role)
        if name is not ArmName.KEYWORD:
            return arm
        self.held = self.held or HeldArm(arm)
        return self.held


async def test_what_an_arm_still_writes_of_a_deleted_bank_goes_a_minute_later(tmp_path, clock):
    async with AsyncExitStack() as stack:
        assembly = HeldAssembly(settings_of(tmp_path), frozenset(), stack, given_embedder=HashedEmbedder())
        retainer, admin, ledger = await assembly.retainer(), await assembly.admin(), await assembly.ledger()
        arms = [await assembly.arm(name) for name in parts.INDEXING_ARMS]

        async def delivered():
            return not [age for _, _, age in await ledger.outbox_lag(parts.system_clock()) if age]

        uid = (await admin.create_bank(REF)).uid
        retaining = asyncio.create_task(retainer.retain(asked(NEW, "new")))
        await assembly.held.at_work.wait()
        await admin.delete_bank(REF)
        await until(delivered)
        assembly.held.go.set()
        await asyncio.gather(retaining, return_exceptions=True)
        assert len((await assembly.held.scan(uid, PageRequest())).rows) == 2
        clock[0] += timedelta(minutes=2)
        await until(delivered)
        assert await ledger.outbox_lag(parts.system_clock()) == ()
        assert [(await arm.scan(uid, PageRequest())).rows for arm in arms] == [(), (), ()]


async def test_a_bank_made_again_under_its_name_is_empty_and_works_at_once(tmp_path, clock):
    async def again(faces, delivered):
        for _ in range(3):
            await faces.admin.create_bank(REF)
            assert (await faces.admin.bank_stats(REF)).memories == 0
            answer = await faces.retainer.retain(asked(NEW, "new", "r"))
            assert (answer.replayed, answer.memory_count) == (False, 2)
            assert all(one.is_equal for one in await faces.admin.verify_bank(REF))
            await faces.admin.delete_bank(REF)
        await faces.admin.create_bank(REF)
        await faces.retainer.retain(asked(NEW, "new", "r"))
        clock[0] += timedelta(minutes=2)
        await delivered()
        assert [(one.shown, one.indexed, one.is_equal) for one in await faces.admin.verify_bank(REF)] == [
            (2, 2, True)
        ] * 3

    await opened(tmp_path, again)
