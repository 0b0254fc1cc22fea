"""What a reader is given and what it returns."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from recallmesh.core.errors import FieldViolation, InvalidArgument


@dataclass(frozen=True, slots=True)
class Source:
    """A file and what is in it."""

    path: Path
    data: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """What one speaker says, or a text: when it was said (absent: the file does not say), and who speaks to whom."""

    text: str
    time: datetime | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One document of a file, its pieces in order. ``name`` tells it from the file's others; empty: there is one."""

    pieces: tuple[Piece, ...]
    name: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


class Unreadable(InvalidArgument):
    """A file that cannot be retained; says which and why."""

    def __init__(self, path: Path, why: str) -> None:
        """Blame the file."""
        super().__init__(FieldViolation(str(path), why))
