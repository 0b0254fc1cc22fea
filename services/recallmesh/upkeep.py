"""What an operator's job does to a whole mesh: every bank of every tenant verified, or mended, one after the other."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.bank import Bank
from recallmesh.core.comparison import IndexComparison, compare
from recallmesh.core.errors import MeshError
from recallmesh.core.ledger import Ledger
from recallmesh.core.page import PAGE_SIZE_MAX, PageRequest
from recallmesh.core.upkeep import UpkeepLedger
from recallmesh.retain.repair import Repairer

Tell = Callable[[Bank, int, int], None]
"""Is told of which bank how many of how many memories are done."""
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Looked:
    """A bank, how its indexes compare, and how many of their ``rows`` were mended; ``error``: why that was not done."""

    bank: Bank
    arms: tuple[IndexComparison, ...] = ()
    memories: int = 0
    rows: int = 0
    error: str = ""

    @property
    def is_well(self) -> bool:
        """Whether every index holds what the ledger shows."""
        return not self.error and all(one.is_equal for one in self.arms)


@dataclass(slots=True)
class Pace:
    """Keeps work below a number of memories a second, by waiting between stretches; 0: as fast as it goes."""

    at_most: float = 0.0
    now: Callable[[], float] = time.monotonic
    sleep: Sleep = asyncio.sleep
    _begun: float = field(default=0.0)
    _done: int = 0

    async def keep(self, memories: int) -> None:
        """Count so many more memories, and wait until they may have been done."""
        self._begun = self._begun or self.now()
        self._done += memories
        if self.at_most:
            await self.sleep(max(0.0, self._begun + self._done / self.at_most - self.now()))


async def every_bank(ledger: UpkeepLedger) -> AsyncIterator[Bank]:
    """Yield the banks of all tenants, page by page."""
    page = PageRequest(PAGE_SIZE_MAX)
    while True:
        found = await ledger.every_bank(page)
        for bank in found.rows:
            yield bank
        if not found.next_after:
            return
        page = PageRequest(PAGE_SIZE_MAX, found.next_after)


async def verify_every(ledger: Ledger, arms: Mapping[ArmName, Arm], pace: Pace) -> AsyncIterator[Looked]:
    """Compare bank after bank; one that cannot be compared does not keep the others from it."""
    async for bank in every_bank(ledger):
        try:
            found = await compare(ledger, arms, bank.uid)
        except MeshError as error:
            yield Looked(bank, error=error.message)
            continue
        memories = max((one.shown for one in found), default=0)
        yield Looked(bank, found, memories)
        await pace.keep(memories)


async def mend_every(
    ledger: Ledger, arms: Mapping[ArmName, Arm], repairer: Repairer, pace: Pace, tell: Tell
) -> AsyncIterator[Looked]:
    """Mend bank after bank, and say how its indexes compare then; begun again, it passes quickly over what is well."""
    async for bank in every_bank(ledger):
        before = 0

        async def progress(done: int, total: int, bank: Bank = bank) -> None:
            nonlocal before
            tell(bank, done, total)
            await pace.keep(done - before)
            before = done

        try:
            mended = await repairer.mend(bank.uid, progress)
            yield Looked(bank, await compare(ledger, arms, bank.uid), mended.memories, mended.rows)
        except MeshError as error:
            yield Looked(bank, error=error.message)
