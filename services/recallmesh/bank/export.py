"""Exports as JSON lines: a header, a line for each thing, and an end that says how many there were."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from recallmesh.bank.admission import thing_violations
from recallmesh.bank.config import check_config
from recallmesh.core.attachment import StoredAttachment, id_of, type_of
from recallmesh.core.bank import Bank, BankConfig
from recallmesh.core.document import Document
from recallmesh.core.entity import Entity
from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, NotReady
from recallmesh.core.export import Exported, Past
from recallmesh.core.memory import Memory
from recallmesh.core.source import ChunkSource
from recallmesh.core.text import NUL

FORMAT = 1
"""What this version writes, and the newest that it reads."""
PIECE_BYTES = 262_144
LINE_BYTES = 16_777_216
"""The longest line: a document, chunk or memory is far below it."""
IN_MEMORY_BYTES = 8_388_608
"""An export up to this size is not put on the disk."""
STRICT = ConfigDict(extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


@checked(config=STRICT, frozen=True, slots=True)
class Header:
    """The first line: the format, when and of which bank it was made, and how that was set up."""

    format: int
    exported: datetime
    bank_id: str
    name: str
    config: BankConfig


@checked(config=STRICT, frozen=True, slots=True)
class Line:
    """Any line: one of these."""

    header: Header | None = None
    document: Document | None = None
    attachment: StoredAttachment | None = None
    chunk: ChunkSource | None = None
    entity: Entity | None = None
    memory: Memory | None = None
    past: Past | None = None
    end: int | None = None
    """The number of things before it."""


LINES = TypeAdapter(Line)
ORDER = (Document, StoredAttachment, ChunkSource, Entity, Memory, Past)
NAMES = {
    Document: "document",
    StoredAttachment: "attachment",
    ChunkSource: "chunk",
    Entity: "entity",
    Memory: "memory",
    Past: "past",
}


def spool() -> IO[bytes]:
    """Return a file of nobody else's that is gone when it is closed."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)


class Writing:
    """Writes an export into a file, thing by thing."""

    def __init__(self, file: IO[bytes], bank: Bank, at: datetime) -> None:
        """Begin with the header."""
        self._file = file
        self._count = 0
        self._write(Line(header=Header(FORMAT, at, bank.ref.bank_id, bank.name, bank.config)))

    def take(self, thing: Exported) -> None:
        """Write one thing."""
        self._count += 1
        match thing:
            case Document():
                self._write(Line(document=thing))
            case StoredAttachment():
                self._write(Line(attachment=thing))
            case ChunkSource():
                self._write(Line(chunk=thing))
            case Entity():
                self._write(Line(entity=thing))
            case Memory():
                self._write(Line(memory=thing))
            case Past():
                self._write(Line(past=thing))

    def end(self) -> None:
        """Write the last line: an export without it is cut."""
        self._write(Line(end=self._count))
        self._file.seek(0)

    def _write(self, line: Line) -> None:
        self._file.write(LINES.dump_json(line, exclude_defaults=True, fallback=dict, warnings=False) + b"\n")


@dataclass(slots=True)
class Reading:
    """Reads an export from a file, and checks each line as it comes."""

    file: IO[bytes]
    _number: int = 0

    def header(self) -> Header:
        """Return the first line.

        Raises:
            InvalidArgument: it is none.
            NotReady: a newer version made the export.

        """
        line = self._next()
        if line is None or line.header is None:
            raise self._bad("header", "is missing: this is no export of a bank")
        if line.header.format > FORMAT:
            raise NotReady(f"the export has format {line.header.format}; this version reads up to {FORMAT}")
        check_config(line.header.config)
        return line.header

    def things(self) -> Iterator[Exported]:
        """Yield what follows, in order.

        Raises:
            InvalidArgument: a line is wrong, names what is not there, or the end is missing.

        """
        count, stage = 0, 0
        known: dict[type, set[str]] = {kind: set() for kind in ORDER}
        while (line := self._next()) is not None:
            if line.end is not None:
                if line.end != count or self.file.read(1):
                    raise self._bad("end", f"says {line.end} things, and {count} came")
                return
            thing = line.document or line.attachment or line.chunk or line.entity or line.memory or line.past
            if thing is None:
                raise self._bad(
                    "line", "is neither a document, an attachment, a chunk, an entity, a memory, a past nor the end"
                )
            place = ORDER.index(type(thing))
            if place < stage:
                raise self._bad(NAMES[type(thing)], "comes after things that rest on it")
            stage = place
            self._check(thing, known)
            count += 1
            yield thing
        raise self._bad("end", "is missing: the export is cut")

    def _check(self, thing: Exported, known: dict[type, set[str]]) -> None:
        """See that the thing is new, and that what it names came before it."""
        kind, name = type(thing), NAMES[type(thing)]
        own = _id_of(thing)
        if not own or own in known[kind]:
            raise self._bad(f"{name}.id", "is empty or came before")
        known[kind].add(own)
        for violation in thing_violations(thing):
            raise self._bad(f"{name}.{violation.field}", violation.description)
        if isinstance(thing, StoredAttachment) and (id_of(thing.data), type_of(thing.data)) != (own, thing.media_type):
            raise self._bad(f"{name}.data", "is not what its id and media type say")
        named: list[tuple[str, type, str]] = []
        if isinstance(thing, ChunkSource):
            named = [("document_id", Document, thing.chunk.document_id)]
            named += [("attachments", StoredAttachment, attachment_id) for attachment_id in thing.attachments]
        if isinstance(thing, Past):
            named = [("memory_id", Memory, thing.memory_id)]
        if isinstance(thing, Memory):
            named = [("document_id", Document, thing.document_id), ("chunk_id", ChunkSource, thing.chunk_id)]
            if thing.chunk_id:
                named += [("attachments", StoredAttachment, attachment_id) for attachment_id in thing.attachments]
            named += [("mentions", Entity, mention.entity_id) for mention in thing.mentions]
        for field, of, other in named:
            if other not in known[of] and (other or of is Entity or kind is ChunkSource):
                raise self._bad(f"{name}.{field}", f"names {other!r}, which is not in the export before it")

    def _next(self) -> Line | None:
        raw = self.file.readline(LINE_BYTES)
        if not raw:
            return None
        self._number += 1
        if not raw.endswith(b"\n"):
            raise self._bad("line", "is cut or too long")
        if NUL.encode() in raw or b"\\u0000" in raw:
            raise self._bad("line", "contains a NUL character")
        try:
            return LINES.validate_json(raw)
        except ValidationError as error:
            first: Any = error.errors(include_url=False, include_input=False, include_context=False)[0]
            raise self._bad(".".join(map(str, first["loc"])) or "line", first["msg"].lower()) from error
        except MeshError as error:  # of a value that refuses itself, such as a window
            raise self._bad("line", error.message) from error

    def _bad(self, field: str, description: str) -> InvalidArgument:
        return InvalidArgument(FieldViolation(f"data, line {self._number}: {field}", description))


def _id_of(thing: Exported) -> str:
    match thing:
        case ChunkSource():
            return thing.chunk.id
        case Past():
            return thing.memory_id
        case _:
            return thing.id
