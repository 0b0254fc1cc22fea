"""What a recalled memory came from: its chunks, and the facts behind an observation."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from recallmesh.core.disclosure import disclosed, may_show, may_show_chunk
from recallmesh.core.document import Chunk
from recallmesh.core.ledger import MemoryLedger
from recallmesh.core.memory import Memory
from recallmesh.core.recall import RecalledChunk
from recallmesh.core.tags import TagTest
from recallmesh.core.tokens import TokenCounter

CHUNKS_PER_READ = 32
"""At 512 tokens a chunk the default budget of 8,192 holds 16: one reading mostly does."""


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The facts that fit, and how many more may be shown but did not."""

    memories: tuple[Memory, ...] = ()
    omitted: int = 0


NONE = SourceFacts()


async def chunks(
    ledger: MemoryLedger,
    tokens: TokenCounter,
    bank_uid: str,
    ranking: Iterable[Memory],
    max_tokens: int,
    visible: TagTest,
) -> tuple[RecalledChunk, ...]:
    """Return the chunks of the best memories, each once; the last is cut to what is left, and says so.

    A chunk comes only where all its memories may be shown (``core.disclosure``).
    """
    wanted = iter(dict.fromkeys(memory.chunk_id for memory in ranking if memory.chunk_id))
    found: list[RecalledChunk] = []
    left = max_tokens
    while left > 0 and (ids := tuple(islice(wanted, CHUNKS_PER_READ))):
        known = {chunk.id: chunk for chunk in await ledger.read_chunks(bank_uid, ids)}
        # Asked after the texts were read, so that what was hidden by then is.
        outlined = {outline.id: outline for outline in await ledger.outline_chunks(bank_uid, tuple(known))}
        for chunk in (known[chunk_id] for chunk_id in ids if chunk_id in known):
            if not may_show_chunk(chunk, outlined.get(chunk.id), visible):
                continue
            taken = chunk if chunk.tokens <= left else await asyncio.to_thread(_cut, chunk, left, tokens)
            found.append(RecalledChunk(taken, truncated=taken is not chunk))
            left -= chunk.tokens
            if left <= 0:
                break
    return tuple(found)


async def source_facts(
    ledger: MemoryLedger, bank_uid: str, memories: Sequence[Memory], max_tokens: int, visible: TagTest
) -> SourceFacts:
    """Return the facts that the observations among the memories were built from, as far as they may be shown and fit.

    They come in the observations' order, each once; one too long for what is left is skipped: a fact, unlike a chunk,
    cut short could say something else.
    """
    ids = tuple(dict.fromkeys(source for memory in memories for source in memory.sources))
    if not ids or max_tokens == 0:
        return NONE
    known = {memory.id: memory for memory in await ledger.read(bank_uid, ids)}
    found: list[Memory] = []
    omitted, left = 0, max_tokens
    for memory_id in ids:
        memory = known.get(memory_id)
        if memory is None or not may_show(memory, visible):
            continue
        if memory.tokens <= left:
            found.append(disclosed(memory, visible))
            left -= memory.tokens
        else:
            omitted += 1
    return SourceFacts(tuple(found), omitted)


def _cut(chunk: Chunk, limit: int, tokens: TokenCounter) -> Chunk:
    text = tokens.truncate(chunk.text, limit)
    return replace(chunk, text=text, tokens=tokens.count(text))
