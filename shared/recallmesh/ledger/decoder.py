"""Memories of rows, as fast as Python makes them: recall reads hundreds in every call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from recallmesh.core.memory import CausalLink, FactType, Memory, MemoryState, Mention, Outline
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.ledger.moment import Clocks
from recallmesh.ledger.rows import unpack, unpack_causes, unpack_map

T = TypeVar("T")

_FACT_TYPES = {kind.value: kind for kind in FactType}
_STATES = {state.value: state for state in MemoryState}
_PRECISIONS = {precision.value: precision for precision in Precision}


class _Draft:
    """A memory whose fields can still be set; made one by its class.

    A frozen dataclass sets each of its 21 fields by a call, which was a third of a read. This class has the same fields
    in the same slots, so Python lets it become a ``Memory``; a test holds that every field is set.
    """

    __slots__ = tuple(field.name for field in fields(Memory))


class _OutlineDraft:
    """The same for an outline."""

    __slots__ = tuple(field.name for field in fields(Outline))


class _Unpacked(dict[str, T]):
    """Packed values already unpacked."""

    def __init__(self, read: Callable[[str], T]) -> None:
        """Start with nothing unpacked."""
        super().__init__()
        self._read = read

    def __missing__(self, packed: str) -> T:
        """Unpack a value seen for the first time."""
        found = self[packed] = self._read(packed)
        return found


class Decoder:
    """Makes memories of the rows of ``select_memories``; what many rows share is decoded once.

    ``mentions`` are what packed entity ids stand for; ``is_there`` tells which causes still exist, others are left out.
    """

    def __init__(self, mentions: Mapping[str, tuple[Mention, ...]], is_there: Callable[[str], bool]) -> None:
        """Start with nothing decoded."""
        self._mentions = mentions
        self._is_there = is_there
        self._clocks = Clocks()
        self._lists = _Unpacked(unpack)
        self._maps = _Unpacked(unpack_map)

    def memories(self, rows: Iterable[Sequence[Any]]) -> list[Memory]:
        """Return the rows' memories."""
        clocks, lists, maps = self._clocks, self._lists, self._maps
        utc = clocks[0]
        made: list[Memory] = []
        for row in rows:
            draft: Any = _Draft()
            (
                draft.id, draft.text, fact_type, created, start, start_offset, end, end_offset, precision, mentioned,
                mentioned_offset, draft.context, tags, metadata, draft.document_id, draft.chunk_id, draft.position,
                draft.previous_id, entities, causes, sources, attachments, draft.proof_count, draft.tokens, state,
                draft.version,
            ) = row  # fmt: skip
            draft.fact_type = _FACT_TYPES[fact_type]
            draft.created = utc[created]
            if start is None:
                draft.occurred = None
            else:
                window = Window(clocks[start_offset][start], clocks[end_offset][end])
                draft.occurred = Occurrence(window, _PRECISIONS[precision])
            draft.mentioned = None if mentioned is None else clocks[mentioned_offset][mentioned]
            draft.tags = lists[tags]
            draft.metadata = maps[metadata]
            draft.mentions = self._mentions[entities]
            draft.causes = self._caused(causes) if causes else ()
            draft.sources = unpack(sources) if sources else ()
            draft.attachments = lists[attachments]
            draft.state = _STATES[state]
            draft.__class__ = Memory
            made.append(draft)
        return made

    def _caused(self, packed: str) -> tuple[CausalLink, ...]:
        return tuple(CausalLink(cause, weight) for cause, weight in unpack_causes(packed) if self._is_there(cause))


def outlines(rows: Iterable[Sequence[Any]]) -> list[Outline]:
    """Return the outlines of the rows of ``select_outlines``."""
    lists = _Unpacked(unpack)
    made: list[Outline] = []
    for memory_id, fact_type, tags, sources, tokens, state in rows:
        draft: Any = _OutlineDraft()
        draft.id = memory_id
        draft.fact_type = _FACT_TYPES[fact_type]
        draft.tags = lists[tags]
        draft.sources = unpack(sources) if sources else ()
        draft.tokens = tokens
        draft.state = _STATES[state]
        draft.__class__ = Outline
        made.append(draft)
    return made
