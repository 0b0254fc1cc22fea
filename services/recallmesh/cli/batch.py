"""What one call of retain takes of what the command line names: lines, or a text."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recallmesh.cli.lines import HERE, read_line
from recallmesh.client.batch import Batch, Continuation, in_its_place
from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, RequestIdReused
from recallmesh.core.retain import RetainItem

TEXT = "--text"
"""The place of the item that the command line itself holds."""
WORDS = frozenset({"time", "context"})
"""The fields of that item which have a word of their own."""
CHANGED = "came before with other content: the file has changed there; put it back, or begin anew with --anew"


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


def in_their_words(error: MeshError, batch: Batch) -> MeshError:
    """Return the error as the command line says it: by its own words, or by the lines that a file has."""
    if isinstance(error, InvalidArgument):
        placed = in_its_place(error, batch)
        return InvalidArgument(*(FieldViolation(_word(v.field), v.description) for v in placed.violations))
    if isinstance(error, RequestIdReused) and batch.first:
        return InvalidArgument(FieldViolation(f"lines {batch.first} to {batch.last}", CHANGED))
    return error


def _word(path: str) -> str:
    if not path.startswith(TEXT):
        return path
    name = path.removeprefix(TEXT).removeprefix(".").partition("[")[0]
    return f"--{name}" if name in WORDS else TEXT
