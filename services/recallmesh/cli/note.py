"""Notes: what a bulk load has sent and how far it was answered, so that it can go on after a kill."""

import hashlib
import json
import os
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from uuid import uuid4

from recallmesh.client.batch import Batch

VERSION = 1


@dataclass(frozen=True, slots=True)
class About:
    """Which load a note is of: one file into one bank of one mesh."""

    place: str
    bank: str
    file: str


@dataclass(slots=True)
class Note:
    """One load's note, in a file of its own.

    It is written before a batch is sent, so that one that may have been kept is sent again exactly as it was.
    """

    path: Path
    about: About
    bank_uid: str
    words: str
    """The options that shape what is kept."""
    run: str = field(default_factory=lambda: uuid4().hex)
    """What the request ids of this load begin with."""
    line: int = 0
    """The last line of the last batch that was answered; so far all is kept."""
    offset: int = 0
    digest: str = ""
    """Of the file up to there, of so many bytes, the hash."""
    ends: deque[int] = field(default_factory=deque)
    """The last lines of the batches that were sent since."""

    @property
    def sizes(self) -> deque[int]:
        """How many lines each batch has that was sent and not answered."""
        starts = (self.line, *self.ends)
        return deque(end - start for start, end in zip(starts, self.ends, strict=False))

    def request_id(self, batch: Batch) -> str:
        """Return the id of a batch: the same whenever it is sent."""
        return f"lines-{self.run}-{batch.first}"

    def sent(self, batch: Batch) -> None:
        """Note that a batch is about to be sent."""
        if batch.last not in self.ends:
            self.ends.append(batch.last)
            self._write()

    def answered(self, batch: Batch) -> None:
        """Note that a batch was kept, and all before it."""
        self.line, self.offset, self.digest = batch.last, batch.offset, batch.digest
        while self.ends and self.ends[0] <= batch.last:
            self.ends.popleft()
        self._write()

    def forget(self) -> None:
        """Delete the note: all is kept."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        said = {"version": VERSION, **asdict(self), "path": None, "ends": list(self.ends)}
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(said), encoding="utf-8")
        os.replace(beside, self.path)  # noqa: PTH105 - Path.replace says less well that the old one goes


def note_path(folder: Path, about: About) -> Path:
    """Return where the note of a load is."""
    name = hashlib.sha256(json.dumps(asdict(about)).encode()).hexdigest()[:32]
    return folder / f"{name}.json"


def read_note(folder: Path, about: About) -> Note | None:
    """Return the note of a load that stopped half way; nothing when there is none, or one of another version."""
    path = note_path(folder, about)
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        version = said.pop("version")
        said |= {"path": path, "about": About(**said["about"]), "ends": deque(said["ends"])}
        return Note(**said) if version == VERSION else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return None
