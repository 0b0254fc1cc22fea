"""Repair: an operation that makes every arm's index of a bank hold what the ledger shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from recallmesh.core.arm import Arm, ArmName, Indexed
from recallmesh.core.comparison import Difference, IndexLedger, Span, compare_span
from recallmesh.core.encoder import Embedder
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.job import Job, Progress
from recallmesh.core.ledger import BankLedger, MemoryLedger
from recallmesh.core.page import PageRequest
from recallmesh.core.time import Clock
from recallmesh.core.write import OutboxAction, OutboxRow
from recallmesh.retain.delivery import Carrier, Vectors
from recallmesh.retain.encoding import Encodings

_log = structlog.get_logger()
# A memory has two texts to embed, and each is embedded once a stretch, for all arms.
_SPAN = 200
# More changes than a memory sees between a backup of the ledger and its restoring.
_LEAP = 1000


@dataclass(frozen=True, slots=True)
class Mended:
    """What a repair came to: how many memories it held against the indexes, and how many rows of those it mended."""

    memories: int
    rows: int


class RepairLedger(BankLedger, MemoryLedger, IndexLedger, Protocol):
    """What of the ledger a repair uses."""


class Repairer:
    """Mends the indexes of a bank stretch by stretch: indexes what is missing or stale, removes what is extra.

    It may be cut off anywhere and begun again: what is mended is found to be equal and costs a comparison. Others may
    write meanwhile; what they write is newer than what a repair brings, and stays.
    """

    def __init__(
        self,
        ledger: RepairLedger,
        arms: Mapping[ArmName, Arm],
        embedder: Embedder,
        *,
        now: Clock,
        on_pending: Callable[[], None] = lambda: None,
        encodings: Encodings | None = None,
    ) -> None:
        """Mend ``arms``, those with an index of their own; ``on_pending`` is called when the outbox got something.

        ``encodings`` say which model is in use, where that may be another than the embedder's.
        """
        # The graph links memories by the vectors that the semantic arm holds: that one first.
        self._arms = dict(sorted(arms.items(), key=lambda pair: pair[0] is not ArmName.SEMANTIC))
        self._ledger = ledger
        self._embedder = embedder
        self._encodings = encodings
        self._carrier = Carrier(ledger, embedder, encodings)
        self._now = now
        self._on_pending = on_pending

    async def work(self, job: Job, progress: Progress) -> tuple[str, ...]:
        """Carry out a repair; no memories come of it.

        Raises:
            StoreUnavailable: an arm did not answer; the others are mended.

        """
        await self.mend(job.bank.uid, progress)
        return ()

    async def mend(self, bank_uid: str, progress: Progress) -> Mended:
        """Mend a bank's indexes, and return what that was.

        Raises:
            StoreUnavailable: an arm did not answer; the others are mended.

        """
        own = (await self._encodings.written()).in_use.arms if self._encodings else {}
        arms = {name: own.get(name, arm) for name, arm in self._arms.items()}
        silent = dict[ArmName, str]()
        total, done, mended, page = (await self._ledger.bank_stats(bank_uid)).memories, 0, 0, PageRequest(_SPAN)
        more = True
        while more and arms:
            await progress(done, max(done, total))
            span = await compare_span(self._ledger, arms, bank_uid, page)
            silent |= {index.arm: index.error for index in span.indexes if index.error}
            arms = {name: arm for name, arm in arms.items() if name not in silent}
            mended += await self._mend(bank_uid, arms, span, page)
            done += span.shown
            more, page = bool(span.end), PageRequest(_SPAN, span.end)
        _log.info("repair.completed", bank_uid=bank_uid, memories=done, mended=mended, silent=sorted(silent))
        if silent:
            raise StoreUnavailable("; ".join(f"{arm} is not mended: {why}" for arm, why in silent.items()))
        return Mended(done, mended)

    async def _mend(self, bank_uid: str, arms: Mapping[ArmName, Arm], span: Span, page: PageRequest) -> int:
        """Mend a stretch; returns how many rows of indexes were not as they should be."""
        wrong = {index.arm: index.differences for index in span.indexes if index.differences}
        if not wrong:
            return 0
        vectors = Vectors(self._embedder)
        for name, differences in wrong.items():
            rows = [_row(bank_uid, name, one) for one in differences]
            await self._carrier.carry(name, arms[name], rows, vectors=vectors)
        again = await compare_span(self._ledger, {name: arms[name] for name in wrong}, bank_uid, page)
        carried = {(name, one.memory_id) for name, differences in wrong.items() for one in differences}
        stubborn = {
            one.memory_id: max(one.ledger, one.index) + _LEAP
            for index in again.indexes
            for one in index.differences
            if (index.arm, one.memory_id) in carried
        }
        if stubborn:
            floors = tuple(Indexed(memory_id, version) for memory_id, version in stubborn.items())
            await self._ledger.outrank(bank_uid, floors, tuple(self._arms), self._now())
            self._on_pending()
        return len(carried)


def _row(bank_uid: str, arm: ArmName, wrong: Difference) -> OutboxRow:
    """Return a row as the outbox has them: what the ledger shows is indexed, what it hides or lacks is removed."""
    return OutboxRow(0, "", bank_uid, arm, OutboxAction.INDEX, wrong.memory_id, max(wrong.ledger, wrong.index))
