"""The write of a retain: facts and names turned into memories, mentions and links, as one transaction takes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import Bank, LabelKey
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import LABEL
from recallmesh.core.key import key_of
from recallmesh.core.label import tags_of
from recallmesh.core.memory import CausalLink, Memory, Mention
from recallmesh.core.retain import NamedEntity
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.write import ChunkWrite, DocumentWrite, RequestRecord, Write
from recallmesh.retain.cast import Cast
from recallmesh.retain.draft import ChunkDraft, DocumentDraft
from recallmesh.retain.extraction import Fact
from recallmesh.retain.payload import said_to_text

Told = tuple[Fact, ...] | None
"""A chunk's facts; nothing of one that the ledger has already."""
Read = tuple[DocumentDraft, tuple[Told, ...]]
"""A document and its chunks' facts."""


def names_in(documents: Sequence[Read]) -> tuple[str, ...]:
    """Return the keys of all names in the facts and the items, each once."""
    keys: dict[str, None] = {}
    for draft, facts in documents:
        for chunk, told in zip(draft.chunks, facts, strict=True):
            keys.update(dict.fromkeys(key_of(name.name, name.kind) for fact in told or () for name in fact.names))
            keys.update(dict.fromkeys(key_of(entity.name, entity.kind) for entity in chunk.item.entities))
    return tuple(keys)


def in_doubt(documents: Sequence[Read], cast: Cast) -> tuple[str, ...]:
    """Return the ids of the entities whose neighbours could decide what a name means; mostly none."""
    named = (
        one
        for draft, facts in documents
        for chunk, told in zip(draft.chunks, facts, strict=True)
        for fact in told or ()
        for one in _named(chunk, fact)
    )
    return tuple(sorted(cast.doubted(named)))


def attachments_in(documents: Sequence[Read]) -> tuple[StoredAttachment, ...]:
    """Return the attachments of all chunks that the ledger has not yet, each once."""
    found = {
        attachment_id: StoredAttachment(attachment_id, shown.image.media_type, shown.image.data)
        for draft, facts in documents
        for chunk, told in zip(draft.chunks, facts, strict=True)
        if told is not None
        for attachment_id, shown in zip(chunk.image_ids, chunk.images, strict=True)
    }
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Writer:
    """Puts a write together. Pure computing: call it off the event loop."""

    counter: TokenCounter
    new_id: Callable[[], str]
    arms: tuple[ArmName, ...]

    def write(
        self,
        bank: Bank,
        documents: Sequence[Read],
        cast: Cast,
        *,
        at: datetime,
        request: RequestRecord | None,
    ) -> Write:
        """Return the transaction; ``cast`` knows the bank's candidates for the names in the facts."""
        scene = _Scene(cast, bank.config.labels, at)
        writes = tuple(
            DocumentWrite(
                Document(draft.id, at, at, tags=draft.tags, metadata=draft.metadata),
                draft.mode,
                tuple(
                    self._chunk(draft.id, chunk, told, scene) for chunk, told in zip(draft.chunks, facts, strict=True)
                ),
                draft.version,
            )
            for draft, facts in documents
        )
        return Write(bank.uid, writes, scene.cast.used, self.arms, at, request, attachments=attachments_in(documents))

    def _chunk(self, document_id: str, draft: ChunkDraft, told: Told, scene: "_Scene") -> ChunkWrite:
        facts = told or ()
        chunk = Chunk(
            id=self.new_id(),
            document_id=document_id,
            number=0,
            text=draft.text,
            tokens=draft.tokens,
            digest=draft.digest,
            context=draft.item.context,
            time=draft.time,
        )
        ids = [self.new_id() for _ in facts]
        memories = tuple(
            Memory(
                id=own,
                text=fact.text,
                fact_type=fact.fact_type,
                created=scene.at,
                occurred=fact.occurred,
                mentioned=draft.time,
                context=draft.item.context,
                tags=_tags(draft, fact, scene.vocabulary),
                metadata=dict(draft.item.metadata),
                document_id=document_id,
                chunk_id=chunk.id,
                mentions=scene.mentions(draft, fact),
                causes=tuple(CausalLink(ids[cause.index], cause.weight) for cause in fact.causes),
                attachments=tuple(dict.fromkeys(draft.image_ids[index] for index in fact.images)),
                tokens=draft.tokens if fact.text == draft.text else self.counter.count(fact.text),
            )
            for own, fact in zip(ids, facts, strict=True)
        )
        placed = zip((one.at for one in draft.images), draft.image_ids, strict=True)
        return ChunkWrite(
            chunk,
            memories,
            known=told is None,
            said=said_to_text(draft.item, draft.tags, placed),
            attachments=draft.image_ids,
            scopes=draft.item.observation_scopes,
        )


@dataclass(frozen=True, slots=True)
class _Scene:
    """What all chunks of a write share."""

    cast: Cast
    vocabulary: tuple[LabelKey, ...]
    at: datetime

    def mentions(self, draft: ChunkDraft, fact: Fact) -> tuple[Mention, ...]:
        return self.cast.mentions(_named(draft, fact), draft.time)


def _named(draft: ChunkDraft, fact: Fact) -> tuple[NamedEntity, ...]:
    # The caller's own come first: what they say a name is, it is.
    return (*draft.item.entities, *(NamedEntity(name.name, name.kind) for name in fact.names))


def _tags(draft: ChunkDraft, fact: Fact, vocabulary: tuple[LabelKey, ...]) -> tuple[str, ...]:
    """Return the item's tags and those labels that are tags too."""
    labels = (one.name for one in _named(draft, fact) if one.kind == LABEL)
    return tuple(dict.fromkeys((*draft.tags, *tags_of(labels, vocabulary))))
