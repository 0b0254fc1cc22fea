"""Drafts: a request laid out as documents of chunks, before anything is made of them."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import NAMESPACE_OID, uuid5

from recallmesh.core.attachment import StoredAttachment, id_of
from recallmesh.core.bank import Bank, ExtractionMode
from recallmesh.core.document import Document
from recallmesh.core.errors import NotReady
from recallmesh.core.retain import Attachment, RetainItem, RetainRequest, UpdateMode
from recallmesh.core.source import ChunkSource
from recallmesh.core.tokens import TokenCounter
from recallmesh.retain.chunking import cut
from recallmesh.retain.extraction import Passage, Shown
from recallmesh.retain.image import images_within, lay_out
from recallmesh.retain.local import question_of
from recallmesh.retain.payload import images_said, said_from_text

# Modes that keep the text as it is: what was said before changes nothing.
_WORD_FOR_WORD = frozenset({ExtractionMode.CHUNKS, ExtractionMode.VERBATIM})


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk to be: its text, the item (by its place in the call) it is of, and the hash of all that shapes it."""

    item_index: int
    item: RetainItem
    text: str
    tokens: int
    digest: str
    time: datetime | None
    tags: tuple[str, ...]
    before: Passage | None = None
    images: tuple[Shown, ...] = ()
    image_ids: tuple[str, ...] = ()

    @property
    def passage(self) -> Passage:
        """The chunk as an extractor reads it."""
        return Passage(self.text, self.item.context, self.time, self.before, images=self.images)


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A document to be, and the items (by place) that are its content."""

    id: str
    mode: UpdateMode
    item_indexes: tuple[int, ...]
    tags: tuple[str, ...]
    metadata: dict[str, str]
    chunks: tuple[ChunkDraft, ...]
    version: int = 0
    """The version that the document must have; 0: any."""


@dataclass(frozen=True, slots=True)
class Drafter:
    """Lays requests out as documents. Pure computing, long for long texts: call it off the event loop."""

    counter: TokenCounter
    new_id: Callable[[], str]
    fingerprint: str

    def draft(self, bank: Bank, request: RetainRequest, received: datetime) -> tuple[DocumentDraft, ...]:
        """Return the documents in the order of their first items."""
        grouped: dict[str, list[int]] = {}
        for index, item in enumerate(request.items):
            grouped.setdefault(item.document_id or self._own_id(bank, request, index), []).append(index)
        return tuple(self._document(bank, request, received, name, indexes) for name, indexes in grouped.items())

    def _own_id(self, bank: Bank, request: RetainRequest, index: int) -> str:
        if not request.request_id:
            return self.new_id()
        # A repeated request must name the same documents.
        return str(uuid5(NAMESPACE_OID, f"{bank.uid}/{request.request_id}/{index}"))

    def _document(
        self, bank: Bank, request: RetainRequest, received: datetime, name: str, indexes: Sequence[int]
    ) -> DocumentDraft:
        row = _Row(bank, request.mode or bank.config.retain.mode, self.fingerprint)
        for index in indexes:
            item = request.items[index]
            tags = tuple(dict.fromkeys((*request.tags, *item.tags)))
            time = None if item.timeless else item.time or received
            text, shown = lay_out(item)
            for piece in cut(text, bank.config.retain.chunk_tokens, self.counter):
                images = images_within(shown, piece)
                ids = tuple(id_of(one.image.data) for one in images)
                row.add(ChunkDraft(index, item, piece.text, piece.tokens, "", time, tags, images=images, image_ids=ids))
        items = [request.items[index] for index in indexes]
        return DocumentDraft(
            id=name,
            mode=items[0].update_mode,
            item_indexes=tuple(indexes),
            tags=tuple(dict.fromkeys((*request.tags, *_shared_tags(items)))),
            metadata=dict(_shared_metadata(items)),
            chunks=tuple(row.chunks),
        )

    def redraft(
        self,
        bank: Bank,
        document: Document,
        sources: Sequence[ChunkSource],
        attachments: Mapping[str, StoredAttachment],
    ) -> DocumentDraft:
        """Return a stored document as it is read once more: cut as it was, by the bank's mode of now.

        ``attachments`` are those of its chunks by id.

        A chunk whose words are withheld stays what it is: what was deleted or edited of it does not come back.

        Raises:
            NotReady: a chunk was stored by a version that did not keep what was said besides its text.

        """
        row = _Row(bank, bank.config.retain.mode, self.fingerprint)
        for index, source in enumerate(sources):
            chunk = source.chunk
            if not source.said:
                raise NotReady("the document was stored without what came beside its text: retain it again")
            item = said_from_text(source.said, chunk.text)
            places = [(at, attachments[image]) for at, image in images_said(source.said) if image in attachments]
            draft = ChunkDraft(
                index,
                item,
                chunk.text,
                chunk.tokens,
                chunk.digest,
                chunk.time,
                item.tags,
                images=tuple(Shown(at, Attachment(one.media_type, one.data)) for at, one in places),
                image_ids=tuple(one.id for _, one in places),
            )
            row.add(draft, as_it_is=chunk.outdated)
        return DocumentDraft(
            id=document.id,
            mode=UpdateMode.REPLACE,
            item_indexes=tuple(range(len(sources))),
            tags=document.tags,
            metadata=dict(document.metadata),
            chunks=tuple(row.chunks),
            version=document.version,
        )


class _Row:
    """A document's chunks in a row, each with the hash of all that shapes its facts."""

    def __init__(self, bank: Bank, mode: ExtractionMode, fingerprint: str) -> None:
        self.chunks: list[ChunkDraft] = []
        self._shape = _shape(bank, mode, fingerprint)
        self._looks_back = mode not in _WORD_FOR_WORD
        self._keeps_all = mode is ExtractionMode.VERBOSE
        self._seen: Counter[str] = Counter()

    def add(self, chunk: ChunkDraft, *, as_it_is: bool = False) -> None:
        """Put a chunk behind the others; ``as_it_is`` leaves it the hash it has."""
        last = self.chunks[-1] if self.chunks and self._looks_back else None
        digest = chunk.digest
        if not as_it_is:
            said = {**self._shape, **_shape_of(chunk.item, chunk.tags)}
            images = {"images": list(chunk.image_ids)} if chunk.image_ids else {}
            digest = _hash({**said, "text": chunk.text, **images, **self._shape_before(last)})
            self._seen[digest] += 1
            if self._seen[digest] > 1:  # the same words said twice in a document are two chunks
                digest = _hash({"again": self._seen[digest], "of": digest})
        before = None if last is None else replace(last.passage, before=None)
        self.chunks.append(replace(chunk, digest=digest, before=before))

    def _shape_before(self, before: ChunkDraft | None) -> dict[str, object]:
        """Return what of the chunk before may come into the facts: its question. Else a change there is none here."""
        asked = None if before is None else question_of(before.passage, keep_all=self._keeps_all)
        if before is None or asked is None:
            return {}
        time = before.item.time and before.item.time.isoformat()
        return {"asked": [asked.speaker, asked.text, time], **({"alone": True} if asked.alone else {})}


def _shape(bank: Bank, mode: ExtractionMode, fingerprint: str) -> dict[str, object]:
    tuning, labels = bank.config.retain, bank.config.labels
    vocabulary = [[one.key, sorted(one.values), one.description, one.write_tags] for one in labels]
    return {
        **({"labels": sorted(vocabulary)} if vocabulary else {}),
        "mode": mode,
        # Who or what reads changes nothing where nothing is read.
        "extractor": "" if mode is ExtractionMode.CHUNKS else fingerprint,
        "agents": sorted(tuning.agent_names),
        "mission": "" if mode is ExtractionMode.CHUNKS else tuning.mission,
        "instructions": tuning.instructions if mode is ExtractionMode.CUSTOM else "",
        "language": tuning.language,
    }


def _shape_of(item: RetainItem, tags: tuple[str, ...]) -> dict[str, object]:
    return {
        **(
            {"scopes": sorted(sorted(set(tags)) for tags in item.observation_scopes)} if item.observation_scopes else {}
        ),
        # The time the caller gave, not the time we took for it: the same content again must change nothing. Its offset
        # too: "today" is another day elsewhere.
        "time": None if item.time is None else item.time.isoformat(),
        "timeless": item.timeless,
        "context": item.context,
        "tags": sorted(tags),
        "metadata": dict(item.metadata),
        "entities": [[entity.name, entity.kind, entity.resolve] for entity in item.entities],
    }


def _hash(said: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _shared_tags(items: Sequence[RetainItem]) -> tuple[str, ...]:
    return tuple(tag for tag in items[0].tags if all(tag in item.tags for item in items))


def _shared_metadata(items: Sequence[RetainItem]) -> set[tuple[str, str]]:
    return set(items[0].metadata.items()).intersection(*(item.metadata.items() for item in items))
