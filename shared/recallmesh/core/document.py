"""Documents and the chunks they are cut into: the source text of memories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recallmesh.core.memory import Outline


@dataclass(frozen=True, slots=True)
class Document:
    """A source. ``version`` grows with every replace or append; ``tokens`` counts all its chunks."""

    id: str
    created: datetime
    updated: datetime
    version: int = 1
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    chunk_count: int = 0
    memory_count: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document.

    ``number`` counts from 0 without gaps; ``digest`` is the hash of all that shapes its facts; ``time`` is when it was
    said, absent when the source has none. Of an ``outdated`` one a memory was deleted or given other words: ``text`` is
    withheld, and empty.
    """

    id: str
    document_id: str
    number: int
    text: str
    tokens: int
    digest: str = ""
    context: str = ""
    time: datetime | None = None
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class ChunkOutline:
    """What decides whether a chunk may be shown: the outlines of all memories made of it, in any state.

    Its text says what they say, each of them.
    """

    id: str
    memories: tuple[Outline, ...]
