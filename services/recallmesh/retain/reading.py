"""Reading: facts of the chunks that are new, by the bank's extraction mode (SPEC T3)."""

import asyncio
from collections.abc import Sequence

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.errors import NotReady
from recallmesh.retain.draft import ChunkDraft
from recallmesh.retain.extraction import Extractor, Fact
from recallmesh.retain.local import speakers_of, type_of
from recallmesh.retain.speaker import split_turns


def check_mode(extractor: Extractor, mode: ExtractionMode) -> None:
    """Refuse a mode that the extractor cannot work in.

    Raises:
        NotReady: says what is missing.

    """
    if mode is not ExtractionMode.CHUNKS and mode not in extractor.modes:
        raise NotReady(f"extraction mode {mode} needs an LLM extractor, and none is set up")


async def read_facts(
    extractor: Extractor, chunks: Sequence[ChunkDraft], mode: ExtractionMode, tuning: RetainTuning
) -> tuple[tuple[Fact, ...], ...]:
    """Return each chunk's facts, in order."""
    if mode is ExtractionMode.CHUNKS:
        return await asyncio.to_thread(lambda: tuple((_verbatim(chunk, tuning),) for chunk in chunks))
    return await extractor.extract(tuple(chunk.passage for chunk in chunks), mode, tuning)


def _verbatim(chunk: ChunkDraft, tuning: RetainTuning) -> Fact:
    # Nothing is read out of the text: who speaks is the form of the message, not its content.
    turns = split_turns(chunk.text, chunk.item.context)
    return Fact(chunk.text, type_of(turns, chunk.text, tuning), names=speakers_of(turns))
