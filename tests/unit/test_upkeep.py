"""An operator's jobs over all banks: bounded, and going on where one bank fails."""

import pytest
from unit.retain_fakes import FakeArm, open_bench

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.page import Page
from recallmesh.retain.repair import Repairer
from recallmesh.upkeep import Pace, every_bank, mend_every, verify_every


class Seconds:
    """A clock that sleeping moves."""

    def __init__(self):
        self.at = 100.0
        self.slept = []

    def __call__(self):
        return self.at

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.at += seconds


async def test_work_is_kept_below_its_bound():
    clock = Seconds()
    pace = Pace(50, clock, clock.sleep)
    for _ in range(3):
        await pace.keep(100)
        clock.at += 0.5
    assert clock.slept == [2.0, 1.5, 1.5]
    assert clock.at == pytest.approx(100 + 300 / 50 + 0.5)


async def test_work_without_a_bound_does_not_wait():
    clock = Seconds()
    await Pace(0, clock, clock.sleep).keep(1_000_000)
    assert clock.slept == []


class Banks:
    """So many banks, two a page."""

    def __init__(self, count, now):
        self.all = [Bank(BankRef(f"b{n}", f"t{n % 3}"), f"uid-{n}", now) for n in range(count)]

    async def every_bank(self, page):
        rest = [bank for bank in self.all if bank.uid > page.after]
        return Page(tuple(rest[:2]), rest[1].uid if len(rest) > 2 else "")


async def test_all_banks_of_all_tenants_come_once(tmp_path):
    async with open_bench(tmp_path) as bench:
        banks = Banks(5, bench.clock())
        assert [bank async for bank in every_bank(banks)] == banks.all


class Failing(FakeArm):
    """An arm whose index of one bank cannot be listed."""

    async def scan(self, bank_uid, page):
        if bank_uid == "uid-1":
            raise StoreUnavailable("its disk is gone")
        return await super().scan(bank_uid, page)


def nobody(_bank, _done, _total):
    """Tell nobody."""


async def test_a_bank_that_cannot_be_mended_does_not_keep_the_others_from_it(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.ledger.create_bank(Bank(BankRef("another", "acme"), "uid-2", bench.clock()))
        arms = {ArmName.KEYWORD: Failing()}
        repairer = Repairer(bench.ledger, arms, bench.embedder, now=bench.clock)
        found = {one.bank.uid: one async for one in mend_every(bench.ledger, arms, repairer, Pace(), nobody)}
        assert "its disk is gone" in found["uid-1"].error
        assert found["uid-2"].is_well
        seen = {one.bank.uid: one async for one in verify_every(bench.ledger, arms, Pace())}
        assert not seen["uid-1"].is_well
        assert seen["uid-2"].is_well
