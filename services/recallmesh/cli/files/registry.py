"""The kinds of files that are known, and a file as documents of items."""

import hashlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from recallmesh.cli.files.source import Piece, Source, Story, Unreadable
from recallmesh.core import limits
from recallmesh.core.blank import is_blank
from recallmesh.core.retain import RetainItem

READERS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".json": "chat",
    ".eml": "mail",
    ".html": "page",
    ".htm": "page",
    ".xhtml": "page",
    ".pdf": "pdf",
}
LINES = frozenset({".jsonl", ".ndjson"})
BY_EXTRA = {"selectolax", "pypdf", "yaml"}
FILE_BYTES = 20 << 20
"""The largest file that is read: a book has a tenth of it. It is read whole."""
PART_BYTES = 64 << 10
"""UTF-8 bytes of a call: what the packaged model embeds in a few seconds, and on a busy machine within a call's
deadline. A longer file has parts."""
PART_ITEMS = 500


class Reader(Protocol):
    """The module of one kind of file."""

    def read(self, source: Source) -> tuple[Story, ...]:
        """Return the documents in a file; raises ``Unreadable``."""
        ...


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file, or a part of a long one, as one call of retain takes it."""

    path: Path
    items: tuple[RetainItem, ...]
    surplus: Callable[[int], str] | None = None
    """Of the last part: the ids of those that a longer version had after it, by number from 1."""


def read_file(path: Path, time: datetime | None = None) -> tuple[Document, ...]:
    """Read a file; ``time`` is for what says none of its own, which else has none.

    Raises:
        Unreadable: it cannot be read, is of no known type, too large, or empty.

    """
    name = READERS.get(path.suffix.lower())
    if name is None:
        raise Unreadable(path, _unknown(path))
    source = Source(path, _bytes(path))
    stories = _reader(path, name).read(source)
    documents = tuple(document for story in stories for document in _documents(path, story, time))
    if not documents:
        raise Unreadable(path, "holds no text")
    return documents


def document_id(path: Path, story: str = "", part: int = 1) -> str:
    """Return the id of a file's document: the same whenever that file is retained."""
    name = f"file:{path.resolve()}{f'#{story}' if story else ''}{f' ({part})' if part > 1 else ''}"
    said = name.encode("utf-8", "replace")
    if len(said) <= limits.DOCUMENT_ID_BYTES:
        return said.decode()
    return f"file:{hashlib.sha256(said).hexdigest()}"


def _unknown(path: Path) -> str:
    if path.is_dir():
        return "is a folder: name the files in it, such as notes/*.md"
    if path.suffix.lower() in LINES:
        return "is JSONL, one item a line: give it by --file"
    return f"is of no known type; known are {' '.join(READERS)}, and JSONL by --file"


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > FILE_BYTES:
            raise Unreadable(path, f"is {size / (1 << 20):.0f} MiB; a file is at most {FILE_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(path, error.strerror or "cannot be read") from error


def _reader(path: Path, name: str) -> Reader:
    try:
        # A reader brings its parser; a command line without the extra still knows the kinds.
        return cast("Reader", importlib.import_module(f"recallmesh.cli.files.{name}"))
    except ModuleNotFoundError as error:
        if error.name not in BY_EXTRA:
            raise
        raise Unreadable(path, "needs the readers of files: pip install 'recallmesh[files]'") from error


def _documents(path: Path, story: Story, time: datetime | None) -> Iterator[Document]:
    metadata = {"file": path.name, **{key: value[:1024] for key, value in story.metadata.items() if value}}
    parts = list(_parts(story.pieces))
    for number, pieces in enumerate(parts, start=1):
        named = document_id(path, story.name, number)
        items = tuple(
            RetainItem(
                content=(piece.text,),
                time=piece.time or time,
                timeless=(piece.time or time) is None,
                context=_short(piece.context or path.name),
                document_id=named,
                metadata=metadata,
            )
            for piece in pieces
        )
        yield Document(path, items, partial(_after, path, story.name, number) if number == len(parts) else None)


def _after(path: Path, story: str, last: int, number: int) -> str:
    return document_id(path, story, last + number)


def _parts(pieces: tuple[Piece, ...]) -> Iterator[tuple[Piece, ...]]:
    part: list[Piece] = []
    size = 0
    for piece in (one for whole in pieces for one in _cut(whole)):
        weight = len(piece.text.encode("utf-8", "replace"))
        if part and (size + weight > PART_BYTES or len(part) == PART_ITEMS):
            yield tuple(part)
            part, size = [], 0
        part.append(piece)
        size += weight
    if part:
        yield tuple(part)


def _cut(piece: Piece) -> Iterator[Piece]:
    """Yield a piece in pieces that fit into a part, between paragraphs if there are any, else between words."""
    # A character has at most four bytes.
    limit = PART_BYTES // 4 if not piece.text.isascii() else PART_BYTES
    rest = piece.text
    while len(rest) > limit:
        at = max(rest.rfind("\n\n", limit // 2, limit), 0) or max(rest.rfind(" ", limit // 2, limit), 0) or limit
        if not is_blank(rest[:at]):
            yield replace(piece, text=rest[:at])
        rest = rest[at:]
    if not is_blank(rest):
        yield replace(piece, text=rest)


def _short(context: str) -> str:
    return context.encode("utf-8", "replace")[:1024].decode("utf-8", "ignore")
