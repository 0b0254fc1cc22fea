"""Rows of items, however long, cut into batches in the same places whenever they are drawn."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from recallmesh.client.batch import SIZE, Batch, Continuation
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.limits import ITEMS_PER_CALL
from recallmesh.core.retain import RetainItem

BATCH_BYTES = 1 << 20
"""A batch is whole when its content has as many bytes: well within a message, whatever stands beside the content."""

Told = RetainItem | str
"""One thing to keep; a text alone is an item that has nothing else."""
Row = Iterable[Told] | AsyncIterable[Told]


async def batches_of(row: Row, *, size: int = SIZE, skip: int = 0) -> AsyncGenerator[Batch, None]:
    """Yield the items of a row after the first ``skip`` in batches of ``size``, less where ``BATCH_BYTES`` are reached.

    An iterable is drawn in a thread, a batch at a time: what it waits for or computes holds nobody up.

    Raises:
        InvalidArgument: a size or a number of items that cannot be, what is no row, or no item, named by its number.

    """
    if not 1 <= size <= ITEMS_PER_CALL:
        raise InvalidArgument(FieldViolation("batch_size", f"must be in [1, {ITEMS_PER_CALL}]"))
    if skip < 0:
        raise InvalidArgument(FieldViolation("skip", "must be 0 or more"))
    if isinstance(row, str | bytes | Mapping | RetainItem) or not isinstance(row, AsyncIterable | Iterable):
        # A text is a row of its letters, and each would be kept.
        raise InvalidArgument(FieldViolation("row", "must be a row of texts and RetainItems, such as a list of them"))
    continuation, drawn = Continuation(), _Drawn(row)
    while drawn.number < skip and (passed := await drawn.take(min(size, skip - drawn.number))):
        continuation.begin(passed)
    first = drawn.number
    while items := await drawn.take(size):
        batch = continuation.batch((f"items[{first + place}]", item) for place, item in enumerate(items))
        yield replace(batch, first=first + 1, last=drawn.number)
        first = drawn.number


@dataclass(slots=True)
class _Taken:
    """Items until there are enough of them."""

    most: int
    items: list[RetainItem] = field(default_factory=list)
    weight: int = 0

    def add(self, item: RetainItem) -> bool:
        """Add one; returns whether these are enough."""
        self.items.append(item)
        self.weight += sum(
            len(block.encode("utf-8", "replace")) if isinstance(block, str) else len(block.data)
            for block in item.content
        )
        return len(self.items) >= self.most or self.weight >= BATCH_BYTES


class _Drawn:
    """A row that is drawn on; ``number`` items were."""

    def __init__(self, row: Row) -> None:
        self.number = 0
        self._coming = aiter(row) if isinstance(row, AsyncIterable) else None
        self._there: Iterator[Told] = iter(()) if isinstance(row, AsyncIterable) else iter(row)

    async def take(self, most: int) -> list[RetainItem]:
        """Return the next items, at most so many; none at the end."""
        if self._coming is None:
            return await asyncio.to_thread(self._take_there, most)
        taken = _Taken(most)
        async for told in self._coming:
            if taken.add(self._item(told)):
                break
        return taken.items

    def _take_there(self, most: int) -> list[RetainItem]:
        taken = _Taken(most)
        for told in self._there:
            if taken.add(self._item(told)):
                break
        return taken.items

    def _item(self, told: Told) -> RetainItem:
        item = RetainItem((told,)) if isinstance(told, str) else told
        if not isinstance(item, RetainItem):
            raise InvalidArgument(FieldViolation(f"items[{self.number}]", "must be a text or a RetainItem"))
        self.number += 1
        return item
