"""What one call of retain takes: items, and the lines they came from."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recallmesh.cli.lines import HERE, read_line
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import RetainItem, UpdateMode

SIZE = 100
"""Lines a batch: enough to spare round trips and commits, few enough that the progress bar moves."""

TEXT = "--text"
"""The place of the item that the command line itself holds."""
WORDS = frozenset({"time", "context"})
"""The fields of that item which have a word of their own."""
NAME_BYTES = 8
"""Of the hash by which a document that was begun is known: a name as long as it may be would be 512 bytes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one call; ``places`` says where each came from.

    Of a file or stream also the first and the last line read for it, and how many bytes all lines so far have and their
    hash.
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


@dataclass(slots=True)
class Reading:
    """Reads JSONL on from where it is. A wrong line is raised, or given to ``skip`` and left out."""

    skip: Callable[[InvalidArgument], None] | None = None
    folder: Path = HERE
    """Where the images are that lines name."""
    line: int = 0
    """The last line that was read."""
    offset: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)
    _continuation: Continuation = field(default_factory=Continuation)

    @property
    def digest(self) -> str:
        """The hash of all that was read."""
        return str(self._hash.hexdigest())

    def pass_over(self, lines: Iterator[bytes], last: int) -> None:
        """Read up to a line without making anything of it but what the lines after it have to know."""
        while self.line < last and (line := next(lines, None)) is not None:
            self._continuation.begin(item for _, item in self._read((line,)))

    def batch(self, lines: Iterable[bytes]) -> Batch:
        """Make the next batch; of blank lines alone one without items."""
        first = self.line + 1
        made = self._continuation.batch(self._read(lines))
        return replace(made, first=first, last=self.line, offset=self.offset, digest=self.digest)

    def _read(self, lines: Iterable[bytes]) -> Iterator[tuple[str, RetainItem]]:
        for line in lines:
            self.line += 1
            self.offset += len(line)
            self._hash.update(line)
            try:
                item = read_line(line, f"line {self.line}", folder=self.folder)
            except InvalidArgument as error:
                if self.skip is None:
                    raise
                self.skip(error)
                continue
            if item is not None:
                yield f"line {self.line}", item


def in_their_words(error: InvalidArgument, batch: Batch) -> InvalidArgument:
    """Return the error with ``items[3].content`` written as ``line 54.content``."""
    return InvalidArgument(*(FieldViolation(_place(v.field, batch), v.description) for v in error.violations))


def _name(item: RetainItem) -> bytes:
    return hashlib.blake2b(item.document_id.encode("utf-8", "replace"), digest_size=NAME_BYTES).digest()


def _place(path: str, batch: Batch) -> str:
    head, bracket, rest = path.removeprefix("items[").partition("]")
    if not path.startswith("items[") or not bracket or not head.isdecimal() or int(head) >= len(batch.places):
        return path
    where = batch.places[int(head)]
    if where != TEXT:
        return where + rest
    field = rest.removeprefix(".").partition("[")[0]
    return f"--{field}" if field in WORDS else where
