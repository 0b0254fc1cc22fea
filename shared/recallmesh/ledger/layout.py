"""How a document's new content lies on what it held: what stays, what is new, what vanishes; nothing but values."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recallmesh.core.document import Chunk
from recallmesh.core.errors import ConflictingWrite
from recallmesh.core.memory import Memory
from recallmesh.core.write import ChunkWrite


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory stands in its document."""

    memory_id: str
    position: int
    previous_id: str


@dataclass(frozen=True, slots=True)
class HeldChunk:
    """A chunk that the document has, and its memories in order."""

    id: str
    number: int
    digest: str
    places: tuple[Place, ...]


@dataclass(slots=True)
class Layout:
    """What is to be stored of one document.

    ``memory_ids`` are all the content's memories by chunk, kept or new; ``moved_*`` what stays at another place.
    ``new_chunks`` come with what was said besides their text. ``number``, ``position`` and ``previous_id`` are where
    the next chunk and memory go.
    """

    number: int = 0
    position: int = 0
    previous_id: str = ""
    new_chunks: list[tuple[Chunk, str]] = field(default_factory=list)
    added: list[Memory] = field(default_factory=list)
    moved_chunks: list[tuple[str, int]] = field(default_factory=list)
    moved: list[Place] = field(default_factory=list)
    vanished: list[HeldChunk] = field(default_factory=list)
    memory_ids: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def is_unchanged(self) -> bool:
        """Whether the document has this very content already."""
        return not (self.new_chunks or self.vanished or self.moved_chunks)

    def keep(self, chunk: HeldChunk) -> None:
        """Put a chunk that the document has at the next place."""
        if chunk.number != self.number:
            self.moved_chunks.append((chunk.id, self.number))
        self.number += 1
        for held in chunk.places:
            place = self._next(held.memory_id)
            if place != held:
                self.moved.append(place)
        self.memory_ids.append(tuple(held.memory_id for held in chunk.places))

    def add(self, document_id: str, written: ChunkWrite) -> None:
        """Put a new chunk at the next place.

        Raises:
            ConflictingWrite: its memories were left out since the document had it, and it has it no more.

        """
        if written.known:
            raise ConflictingWrite("the document changed while its new content was read; try again")
        chunk = replace(written.chunk, document_id=document_id, number=self.number)
        self.number += 1
        self.new_chunks.append((chunk, written.said))
        for memory in written.memories:
            place = self._next(memory.id)
            self.added.append(
                replace(
                    memory,
                    document_id=document_id,
                    chunk_id=chunk.id,
                    position=place.position,
                    previous_id=place.previous_id,
                )
            )
        self.memory_ids.append(tuple(memory.id for memory in written.memories))

    def _next(self, memory_id: str) -> Place:
        place = Place(memory_id, self.position, self.previous_id)
        self.position += 1
        self.previous_id = memory_id
        return place


def lay_over(document_id: str, written: Sequence[ChunkWrite], held: Sequence[HeldChunk]) -> Layout:
    """Replace what the document holds: chunks of a digest it has stay, as many as it has of it; the others vanish."""
    layout = Layout()
    left: dict[str, deque[HeldChunk]] = defaultdict(deque)
    for chunk in held:
        left[chunk.digest].append(chunk)
    for one in written:
        same = left[one.chunk.digest] if one.chunk.digest else None  # no digest, no claim to be the same
        if same:
            layout.keep(same.popleft())
        else:
            layout.add(document_id, one)
    layout.vanished = [chunk for same in left.values() for chunk in same]
    return layout


def lay_behind(document_id: str, written: Sequence[ChunkWrite], number: int, last: Place | None) -> Layout:
    """Append to what the document holds: ``number`` chunks, ``last`` its last memory."""
    layout = Layout(number=number)
    if last is not None:
        layout.position, layout.previous_id = last.position + 1, last.memory_id
    for one in written:
        layout.add(document_id, one)
    return layout
