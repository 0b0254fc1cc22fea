"""Deliveries: a memory and its two vectors as the arms index it, and one arm's outbox rows carried out."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from recallmesh.core.arm import Arm, ArmName, IndexEntry, Removal, Vector
from recallmesh.core.document import Chunk
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.errors import MeshError, StoreUnavailable
from recallmesh.core.ledger import MemoryLedger
from recallmesh.core.memory import VISIBLE_STATES, Memory
from recallmesh.core.write import OutboxAction, OutboxRow
from recallmesh.retain.encoding import Encoding, Encodings, OneEncoding
from recallmesh.retain.speaker import split_turns

VECTOR_ARMS = frozenset({ArmName.SEMANTIC, ArmName.GRAPH})
"""The arms that ask for vectors."""
# Each batch has the embedder's whole deadline: 64 texts as long as its window take 10 s on two busy cores.
# An index batch of 768 dimensions, two vectors an entry, is well below gRPC's default message limit of 4 MiB.
_EMBED_BATCH = 64
_INDEX_BATCH = 256
_CONTEXT_CHARS = 600
_BESIDE_S = 10.0

_log = structlog.get_logger()


def context_text(previous: str, text: str) -> str:
    """Return what the context vector embeds: what was said before and the text; the text alone where nothing was.

    Of a long text before only its end: a model's window must not be full before the text begins.
    """
    if len(previous) > _CONTEXT_CHARS:
        previous = previous[-_CONTEXT_CHARS:].partition(" ")[2] or previous[-_CONTEXT_CHARS:]
    return f"{previous}\n{text}" if previous else text


@dataclass(slots=True)
class Vectors:
    """Embeddings by text, made once a text; kept for the length of one call, those of each model apart."""

    embedder: Embedder
    made: dict[str, Vector] = field(default_factory=dict)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)
    _others: "dict[int, Vectors]" = field(default_factory=dict)

    def of(self, embedder: Embedder) -> "Vectors":
        """Return those of another model, or these."""
        if embedder is self.embedder:
            return self
        return self._others.setdefault(id(embedder), Vectors(embedder))

    async def make(self, texts: Iterable[str]) -> None:
        """Embed the texts that have no vector yet.

        Raises:
            StoreUnavailable: the embedder does not answer, or not with one vector a text.

        """
        # One at a time: two arms that lack the same vector must not both have it made.
        async with self._making:
            await self._make([text for text in dict.fromkeys(texts) if text not in self.made])

    async def _make(self, missing: list[str]) -> None:
        for start in range(0, len(missing), _EMBED_BATCH):
            batch = tuple(missing[start : start + _EMBED_BATCH])
            vectors = await self.embedder.embed(batch, EmbedKind.PASSAGE)
            if len(vectors) != len(batch):
                raise StoreUnavailable(f"the embedder answered {len(batch)} texts with {len(vectors)} vectors")
            self.made.update(zip(batch, vectors, strict=True))


class Carrier:
    """Carries outbox rows out at an arm: what the ledger shows is indexed, what it hides or lacks is removed."""

    def __init__(self, ledger: MemoryLedger, embedder: Embedder, encodings: Encodings | None = None) -> None:
        """Read from the ledger, embed with the embedder, or with those of ``encodings`` that are written."""
        self._ledger = ledger
        self._encodings = encodings or OneEncoding(Encoding(embedder))

    async def carry(
        self,
        name: ArmName,
        arm: Arm,
        rows: Sequence[OutboxRow],
        *,
        vectors: Vectors | None = None,
        memories: Mapping[str, Memory] | None = None,
    ) -> Encoding | None:
        """Do what the rows of one arm and one bank say, for the model in use, which is returned; twice is as once.

        ``arm`` is the one of the name, where it has no vectors. ``vectors`` and ``memories`` are what the caller has at
        hand already.

        Raises:
            StoreUnavailable: nothing or part was done; may be called again.

        """
        encoding = None
        if name in VECTOR_ARMS:
            encoding = (await self._encodings.written()).in_use
            arm = encoding.arms.get(name, arm)
        await self._carry(encoding, arm, rows, vectors, memories)
        return encoding

    async def deliver(self, name: ArmName, arm: Arm, rows: Sequence[OutboxRow]) -> None:
        """Do what the rows say, for the model in use and for the one beside it; as ``carry`` and ``carry_beside``."""
        await self.carry_beside(name, rows, await self.carry(name, arm, rows))

    async def carry_beside(
        self,
        name: ArmName,
        rows: Sequence[OutboxRow],
        carried: Encoding | None,
        *,
        timeout_s: float = _BESIDE_S,
        vectors: Vectors | None = None,
        memories: Mapping[str, Memory] | None = None,
    ) -> None:
        """Do the same, as well as it goes, for the other model that is written; the one that was ``carried`` has it.

        What fails is left to a backfill: it must not hold up what answers.

        Raises:
            StoreUnavailable: it failed, and that model is the one in use meanwhile; the rows are not done.

        """
        if name is not ArmName.SEMANTIC:
            return
        # Looked at once more: they may have been switched since, and then the one in use is the one that has it not.
        now = await self._encodings.written()
        for other in (now.in_use, now.beside):
            if other is None or other is carried or name not in other.arms:
                continue
            try:
                async with asyncio.timeout(timeout_s):
                    await self._carry(other, other.arms[name], rows, vectors, memories)
            except (MeshError, TimeoutError) as error:
                why = error.message if isinstance(error, MeshError) else f"took longer than {timeout_s:g} s"
                _log.warning("retain.beside_missed", arm=name, rows=len(rows), error=why)
                if (await self._encodings.written()).in_use is other:
                    raise StoreUnavailable(f"the model that is in use now was not written: {why}") from error

    async def _carry(
        self,
        encoding: Encoding | None,
        arm: Arm,
        rows: Sequence[OutboxRow],
        vectors: Vectors | None,
        memories: Mapping[str, Memory] | None,
    ) -> None:
        bank_uid = rows[0].bank_uid
        if any(row.action is OutboxAction.DROP_BANK for row in rows):
            await arm.drop(bank_uid)
            return
        at_hand = dict(memories or {})
        wanted = {row.memory_id for row in rows if row.action is OutboxAction.INDEX}
        if unread := tuple(sorted(wanted - at_hand.keys())):
            at_hand |= {memory.id: memory for memory in await self._ledger.read(bank_uid, unread)}
        shown = [at_hand[one] for one in sorted(wanted & at_hand.keys()) if at_hand[one].state in VISIBLE_STATES]
        hidden = {row.memory_id: row.version for row in rows} | {one.id: one.version for one in at_hand.values()}
        gone = [Removal(one, hidden[one]) for one in sorted({row.memory_id for row in rows} - {m.id for m in shown})]
        entries = tuple(entry_of(memory) for memory in shown)
        if encoding is not None:
            own = vectors.of(encoding.embedder) if vectors else Vectors(encoding.embedder)
            entries = await self._with_vectors(bank_uid, shown, entries, own, at_hand)
        for start in range(0, len(entries), _INDEX_BATCH):
            await arm.index(bank_uid, entries[start : start + _INDEX_BATCH])
        if gone:
            await arm.remove(bank_uid, tuple(gone))

    async def _with_vectors(
        self,
        bank_uid: str,
        memories: Sequence[Memory],
        plain: tuple[IndexEntry, ...],
        vectors: Vectors,
        at_hand: Mapping[str, Memory],
    ) -> tuple[IndexEntry, ...]:
        if not memories:
            return plain
        contexts = await self._contexts(bank_uid, memories, at_hand)
        await vectors.make((*(memory.text for memory in memories), *contexts))
        return tuple(
            replace(entry, vector=vectors.made[entry.text], context_vector=vectors.made[context])
            for entry, context in zip(plain, contexts, strict=True)
        )

    async def _contexts(self, bank_uid: str, memories: Sequence[Memory], at_hand: Mapping[str, Memory]) -> list[str]:
        before = dict(at_hand)
        if missing := tuple(sorted({m.previous_id for m in memories if m.previous_id} - before.keys())):
            before |= {one.id: one for one in await self._ledger.read(bank_uid, missing)}
        opening = {before[m.previous_id].chunk_id for m in memories if _opens_chunk(m, before.get(m.previous_id))}
        chunks: dict[str, Chunk] = {}
        if opening:
            chunks = {one.id: one for one in await self._ledger.read_chunks(bank_uid, tuple(sorted(opening)))}
        return [
            context_text(said_before(memory, before.get(memory.previous_id), chunks), memory.text)
            for memory in memories
        ]


def said_before(memory: Memory, previous: Memory | None, chunks: Mapping[str, Chunk]) -> str:
    """Return what was said just before a memory.

    In its own chunk that is the memory before. The first of a chunk follows all that the chunk before says, for the
    question that it answers may be in none of the memories made of that. Of a chunk whose text is withheld, or that is
    gone, what is left is the memory made of it.
    """
    if previous is None:
        return ""
    chunk = chunks.get(previous.chunk_id) if _opens_chunk(memory, previous) else None
    if chunk is None or not chunk.text or chunk.text == previous.text:
        return previous.text
    turns = split_turns(chunk.text, chunk.context)
    # Facts name the speaker, whom the chunk's own text may leave to its context.
    unnamed = turns and turns[0].begin == 0 and turns[0].speaker
    return f"{turns[0].speaker}: {chunk.text}" if unnamed else chunk.text


def _opens_chunk(memory: Memory, previous: Memory | None) -> bool:
    return previous is not None and bool(previous.chunk_id) and previous.chunk_id != memory.chunk_id


def entry_of(memory: Memory) -> IndexEntry:
    """Return a memory as arms without vectors index it."""
    return IndexEntry(
        memory_id=memory.id,
        version=memory.version,
        text=memory.text,
        fact_type=memory.fact_type,
        tags=memory.tags,
        mentions=memory.mentions,
        causes=memory.causes,
        occurred=memory.occurred,
        mentioned=memory.mentioned,
        document_id=memory.document_id,
        position=memory.position,
    )
