"""Batches: what one call of retain takes of a longer row of items, and where each item came from."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import RetainItem, UpdateMode

SIZE = 100
"""Items a batch: enough to spare round trips and commits, few enough that progress is seen."""
NAME_BYTES = 8
"""Of the hash by which a document that was begun is known: a name as long as it may be would be 512 bytes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one call; ``places`` says where each came from.

    Of a row also the number of the first and of the last that was read for it, from 1; of a file or stream how many
    bytes all lines so far have and their hash.
    """

    items: tuple[RetainItem, ...]
    places: tuple[str, ...]
    first: int = 0
    last: int = 0
    offset: int = 0
    digest: str = ""


@dataclass(slots=True)
class Continuation:
    """Makes batches of one another's continuation: a document that an earlier one began is appended to."""

    _begun: set[bytes] = field(default_factory=set)

    def batch(self, items: Iterable[tuple[str, RetainItem]]) -> Batch:
        """Return the next batch, of items with their places."""
        pairs = tuple(items)
        made = tuple(
            replace(item, update_mode=UpdateMode.APPEND) if _name(item) in self._begun else item for _, item in pairs
        )
        self.begin(item for _, item in pairs)
        return Batch(made, tuple(place for place, _ in pairs))

    def begin(self, items: Iterable[RetainItem]) -> None:
        """Know the items' documents as begun."""
        self._begun.update(_name(item) for item in items if item.document_id)


def in_its_place(error: InvalidArgument, batch: Batch) -> InvalidArgument:
    """Return the error with ``items[3].content`` written as ``line 54.content``, if that is the item's place."""
    return InvalidArgument(*(FieldViolation(_placed(v.field, batch), v.description) for v in error.violations))


def _name(item: RetainItem) -> bytes:
    return hashlib.blake2b(item.document_id.encode("utf-8", "replace"), digest_size=NAME_BYTES).digest()


def _placed(path: str, batch: Batch) -> str:
    head, bracket, rest = path.removeprefix("items[").partition("]")
    if not path.startswith("items[") or not bracket or not head.isdecimal() or int(head) >= len(batch.places):
        return path
    return batch.places[int(head)] + rest
