"""When banks are consolidated: which are, how long after a retain, and the loop that begins with those that are due."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from recallmesh.core.bank import Bank
from recallmesh.core.consolidation import Backlog, ConsolidationLedger
from recallmesh.core.errors import MeshError
from recallmesh.core.time import Clock

_log = structlog.get_logger()
_COUNT_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Consolidating:
    """Whether banks that do not say are consolidated by themselves, and how long after a retain."""

    by_itself: bool
    delay: timedelta

    def is_on(self, bank: Bank) -> bool:
        """Tell whether a bank is consolidated by itself."""
        said = bank.config.consolidation.enabled
        return self.by_itself if said is None else said

    def due(self, bank: Bank, at: datetime) -> datetime | None:
        """Return when what came at a moment is to be consolidated; nothing: when somebody asks."""
        return at + self.delay if self.is_on(bank) else None


NEVER = Consolidating(by_itself=False, delay=timedelta())
"""Only what banks ask for, at once."""


class ConsolidationClock:
    """Makes operations of the banks that are due, and tells now and then what is left to do."""

    def __init__(
        self,
        ledger: ConsolidationLedger,
        *,
        now: Clock,
        poll_s: float,
        on_begun: Callable[[], None],
        observe: Callable[[Backlog], None],
    ) -> None:
        """Look every ``poll_s`` seconds; ``on_begun`` is called when there are new operations."""
        self._ledger = ledger
        self._now = now
        self._poll_s = poll_s
        self._on_begun = on_begun
        self._observe = observe

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._each(self._poll_s, self.begin))
            tasks.create_task(self._each(_COUNT_EVERY_S, self.count))

    async def begin(self) -> None:
        """Make operations of what is due."""
        if await self._ledger.start_consolidations(self._now()):
            self._on_begun()

    async def count(self) -> None:
        """Tell what is left to do."""
        self._observe(await self._ledger.consolidation_backlog(self._now()))

    async def _each(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except MeshError as error:
                _log.warning("consolidation.failed", error=error.message)
            await asyncio.sleep(seconds)
