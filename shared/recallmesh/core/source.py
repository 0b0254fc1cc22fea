"""What a document's memories can be made of once more: its chunks, and what was said besides their text."""

from dataclasses import dataclass
from typing import Protocol

from recallmesh.core.document import Chunk, Document


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """A chunk as it is stored; ``said`` is what the caller said besides its text, in the words of who wrote it.

    ``attachments`` are the ids of those that it has, in no particular order.
    """

    chunk: Chunk
    said: str
    attachments: tuple[str, ...] = ()


class SourceLedger(Protocol):
    """The sources of documents."""

    async def read_sources(self, bank_uid: str, document_id: str) -> tuple[Document, tuple[ChunkSource, ...]]:
        """Return a document and all its chunks in order, both of one moment; raises ``DocumentNotFound``."""
        ...
