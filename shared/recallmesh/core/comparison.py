"""Indexes compared with the ledger: what each arm has of a bank that it should not have, and has not that it should."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from recallmesh.core.arm import Arm, ArmName, Indexed
from recallmesh.core.errors import MeshError
from recallmesh.core.page import Page, PageRequest

SPAN = 500
"""Memories compared at once: the second look at twice as many is still one page of the wire."""
GLANCE = 200
"""Memories of a glance. Their ids are random: an index that lost a fiftieth shows it 98 times of 100."""
EXAMPLES = 100
"""The most ids that a comparison tells."""


class IndexLedger(Protocol):
    """What the ledger says of a bank's indexes."""

    async def shown(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List the memories that may be shown, with their versions, by id: what every index should hold."""
        ...

    async def waiting(self, bank_uid: str, arm: ArmName, memory_ids: tuple[str, ...]) -> frozenset[str]:
        """Return those of the memories for which something is in the outbox for the arm."""
        ...

    async def outrank(self, bank_uid: str, floors: tuple[Indexed, ...], arms: tuple[ArmName, ...], at: datetime) -> int:
        """Count up the memories' versions past these, and tell the arms by the outbox; returns how many were.

        For indexes that remember a newer version than the ledger has, as after a ledger was restored: they would keep
        what they have for ever.
        """
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """A memory of which index and ledger have different versions; 0 where one has none."""

    memory_id: str
    ledger: int
    index: int


@dataclass(frozen=True, slots=True)
class IndexSpan:
    """One index on a stretch of ids; ``waiting`` differ, but the outbox knows. ``error``: it did not answer."""

    arm: ArmName
    indexed: int = 0
    waiting: int = 0
    differences: tuple[Difference, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of memory ids, after one and up to another (empty: to the end), in the ledger and in each index."""

    after: str
    end: str
    shown: int
    indexes: tuple[IndexSpan, ...]


@dataclass(frozen=True, slots=True)
class IndexComparison:
    """One arm's index compared with the ledger.

    ``shown`` is how many memories the ledger shows and ``indexed`` how many the index holds; ``missing``, ``extra`` and
    ``stale`` (of another version) are wrong, ``pending`` will be right when the outbox is delivered. ``examples`` are
    ids of wrong ones. ``error`` says why it could not be compared; the counts are then of what was seen before.
    """

    arm: ArmName
    shown: int = 0
    indexed: int = 0
    missing: int = 0
    extra: int = 0
    stale: int = 0
    pending: int = 0
    examples: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether the index holds what the ledger shows, but for what is on its way."""
        return not (self.missing or self.extra or self.stale or self.error)

    def with_span(self, shown: int, index: IndexSpan) -> "IndexComparison":
        """Return the comparison of this and one more stretch."""
        missing = sum(not one.index for one in index.differences)
        extra = sum(not one.ledger for one in index.differences)
        ids = tuple(one.memory_id for one in index.differences)
        return replace(
            self,
            shown=self.shown + shown,
            indexed=self.indexed + index.indexed,
            missing=self.missing + missing,
            extra=self.extra + extra,
            stale=self.stale + len(index.differences) - missing - extra,
            pending=self.pending + index.waiting,
            examples=(self.examples + ids)[:EXAMPLES],
            error=index.error,
        )


async def compare(
    ledger: IndexLedger, arms: Mapping[ArmName, Arm], bank_uid: str, *, glance: bool = False
) -> tuple[IndexComparison, ...]:
    """Compare the arms' indexes of a bank with the ledger; a glance looks at the first ``GLANCE`` ids alone.

    An index that does not answer is left out from there on.
    """
    found = {name: IndexComparison(name) for name in arms}
    page, more = PageRequest(GLANCE if glance else SPAN), True
    while more:
        left = {name: arm for name, arm in arms.items() if not found[name].error}
        span = await compare_span(ledger, left, bank_uid, page)
        for index in span.indexes:
            found[index.arm] = found[index.arm].with_span(span.shown, index)
        more, page = bool(span.end and left) and not glance, PageRequest(page.size, span.end)
    return tuple(found.values())


async def compare_span(ledger: IndexLedger, arms: Mapping[ArmName, Arm], bank_uid: str, page: PageRequest) -> Span:
    """Compare one stretch of ids, as it is while others write: only what two looks agree on counts as different.

    The stretch ends where any index's or the ledger's page does.
    """
    span = await _look(ledger, arms, bank_uid, page)
    doubtful = {index.arm: arms[index.arm] for index in span.indexes if index.differences}
    if not doubtful:
        return span
    again = await _look(ledger, doubtful, bank_uid, PageRequest(2 * page.size, page.after))
    return replace(span, indexes=tuple(_agreed(index, again) for index in span.indexes))


async def _look(ledger: IndexLedger, arms: Mapping[ArmName, Arm], bank_uid: str, page: PageRequest) -> Span:
    pages = dict(zip(arms, await asyncio.gather(*(_scan(arm, bank_uid, page) for arm in arms.values())), strict=True))
    shown = await ledger.shown(bank_uid, page)
    scanned = [one for one in pages.values() if not isinstance(one, str)]
    end = min((one.next_after for one in (shown, *scanned) if one.next_after), default="")
    wanted = _within(shown, end)
    indexes: list[IndexSpan] = []
    for name, one in pages.items():
        if isinstance(one, str):
            indexes.append(IndexSpan(name, error=one))
            continue
        held = _within(one, end)
        differing = sorted(
            memory_id for memory_id in wanted.keys() | held.keys() if wanted.get(memory_id) != held.get(memory_id)
        )
        waiting = await ledger.waiting(bank_uid, name, tuple(differing)) if differing else frozenset[str]()
        wrong = tuple(
            Difference(memory_id, wanted.get(memory_id, 0), held.get(memory_id, 0))
            for memory_id in differing
            if memory_id not in waiting
        )
        indexes.append(IndexSpan(name, len(held), len(waiting), wrong))
    return Span(page.after, end, len(wanted), tuple(indexes))


async def _scan(arm: Arm, bank_uid: str, page: PageRequest) -> Page[Indexed] | str:
    try:
        return await arm.scan(bank_uid, page)
    except MeshError as error:
        return error.message


def _within(page: Page[Indexed], end: str) -> dict[str, int]:
    return {row.memory_id: row.version for row in page.rows if not end or row.memory_id <= end}


def _agreed(index: IndexSpan, again: Span) -> IndexSpan:
    """Keep of the differences those that are the same at the second look; what it did not reach stays."""
    for second in again.indexes:
        if second.arm is index.arm and not second.error:
            same = frozenset(second.differences)
            kept = tuple(one for one in index.differences if one in same or (again.end and one.memory_id > again.end))
            return replace(index, differences=kept)
    return index
