"""What one call of retain takes: items, and the lines they came from."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace

from recallmesh.cli.lines import read_items
from recallmesh.cli.stream import packets
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import RetainItem, UpdateMode

SIZE = 50
"""Items a call: enough to spare round trips, few enough that the progress bar moves."""

TEXT = "--text"
"""The place of the item that the command line itself holds."""
WORDS = frozenset({"time", "context"})
"""The fields of that item which have a word of their own."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one call; ``places`` says where each came from, ``last`` is the last line read so far."""

    items: tuple[RetainItem, ...]
    places: tuple[str, ...]
    last: int = 0


@dataclass(slots=True)
class Continuation:
    """Makes batches of one another's continuation: a document that an earlier one began is appended to."""

    _begun: set[str] = field(default_factory=set)

    def batch(self, items: Iterable[tuple[str, RetainItem]], last: int = 0) -> Batch:
        """Return the next batch, of items with their places."""
        pairs = tuple(items)
        made = tuple(
            replace(item, update_mode=UpdateMode.APPEND) if item.document_id in self._begun else item
            for _, item in pairs
        )
        self._begun.update(item.document_id for item in made if item.document_id)
        return Batch(made, tuple(place for place, _ in pairs), last)


async def batches(lines: Iterable[str], size: int = SIZE) -> AsyncIterator[Batch]:
    """Yield the items of JSONL lines as they come, in batches of at most ``size``.

    Raises:
        InvalidArgument: a line is no item; those before its batch were given.

    """
    continuation, done = Continuation(), 0
    try:
        async for packet in packets(lines, size):
            numbered = [(f"line {number}", item) for number, item in read_items(packet, first=done + 1)]
            done += len(packet)
            if numbered:
                yield continuation.batch(numbered, done)
    except UnicodeDecodeError as error:
        raise InvalidArgument(FieldViolation(f"after line {done}", "the input is not UTF-8")) from error
    except OSError as error:
        raise InvalidArgument(FieldViolation(f"after line {done}", f"cannot be read: {error.strerror}")) from error


def in_their_words(error: InvalidArgument, batch: Batch) -> InvalidArgument:
    """Return the error with ``items[3].content`` written as ``line 54.content``."""
    return InvalidArgument(*(FieldViolation(_place(v.field, batch), v.description) for v in error.violations))


def _place(path: str, batch: Batch) -> str:
    head, bracket, rest = path.removeprefix("items[").partition("]")
    if not path.startswith("items[") or not bracket or not head.isdecimal() or int(head) >= len(batch.places):
        return path
    where = batch.places[int(head)]
    if where != TEXT:
        return where + rest
    field = rest.removeprefix(".").partition("[")[0]
    return f"--{field}" if field in WORDS else where
