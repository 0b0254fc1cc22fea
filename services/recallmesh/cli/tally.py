"""Tallies: what came of the calls so far, counted and not collected, so that a long load does not grow."""

import hashlib
import tempfile
from dataclasses import dataclass, field
from typing import IO

from recallmesh.client.batch import NAME_BYTES, Batch
from recallmesh.core.arm import ArmName
from recallmesh.core.defense import DefenseAction
from recallmesh.core.retain import Delivery, DeliveryState, RetainAnswer
from recallmesh.rpc.text import retain_answer_json, retained_item_json

SPOOL_BYTES = 1 << 20
"""What the items' JSON may take in memory; more goes to a temporary file."""


@dataclass(slots=True)
class Tally:
    """What came of the calls so far; with ``items_json`` also each item's own answer, for printing at the end."""

    items: int = 0
    memories: int = 0
    line: int = 0
    """The last line of the input that was retained."""
    before: int = 0
    """The last line that an earlier run had retained."""
    skipped: int = 0
    """Wrong lines, or files, that were left out."""
    redacted: int = 0
    """Items of which memory defense took something out."""
    refused: int = 0
    """Items that memory defense refused."""
    deliveries: dict[ArmName, Delivery] = field(default_factory=dict)
    items_json: IO[str] | None = None
    _documents: set[bytes] = field(default_factory=set)
    _unnamed: int = 0
    _written: bool = False

    def add(self, answer: RetainAnswer, batch: Batch) -> None:
        """Count a call; an arm that missed one call has not all of it."""
        self.items += len(answer.items)
        self.memories += answer.memory_count
        self.line = batch.last
        for told, item in zip(answer.items, batch.items, strict=False):
            if self.items_json is not None:
                self.items_json.write(("," if self._written else "") + retained_item_json(told))
                self._written = True
            if any(one.action is DefenseAction.BLOCK for one in told.violations):
                self.refused += 1
                continue
            self.redacted += bool(told.violations)
            if item.document_id:
                name = hashlib.blake2b(told.document_id.encode(), digest_size=NAME_BYTES)
                self._documents.add(name.digest())
            else:
                self._unnamed += 1
        for delivery in answer.deliveries:
            known = self.deliveries.get(delivery.arm)
            if known is None or known.state is not DeliveryState.PENDING:
                self.deliveries[delivery.arm] = delivery

    def refuse(self, batch: Batch) -> None:
        """Count a call of which memory defense refused every item."""
        self.line = batch.last
        self.items += len(batch.items)
        self.refused += len(batch.items)

    @property
    def documents(self) -> int:
        """How many documents there are: those that have a name, and an item without one is one of its own."""
        return len(self._documents) + self._unnamed

    @property
    def pending(self) -> tuple[Delivery, ...]:
        """The arms that have not all of it yet."""
        return tuple(one for one in self.deliveries.values() if one.state is DeliveryState.PENDING)

    def print_json(self) -> None:
        """Print one ``RetainResponse`` for all calls."""
        whole = retain_answer_json(RetainAnswer(deliveries=tuple(self.deliveries.values())))
        head, empty, tail = whole.partition('"items":[]')
        print(head + empty.removesuffix("]"), end="")
        if self.items_json is not None:
            self.items_json.seek(0)
            while part := self.items_json.read(SPOOL_BYTES):
                print(part, end="")
        print(f"]{tail}")


def collecting() -> IO[str]:
    """Return a place for the items' JSON."""
    return tempfile.SpooledTemporaryFile(SPOOL_BYTES, "w+", encoding="utf-8")


def summary(bank: str, tally: Tally) -> str:
    """Say in a line what was kept."""
    counts = (
        f"{count(tally.items, 'item')} as {count(tally.memories, 'memory')} of {count(tally.documents, 'document')}"
    )
    return f"retained {counts} in bank {bank}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y') + 'ies' if noun.endswith('y') else noun + 's'}"
