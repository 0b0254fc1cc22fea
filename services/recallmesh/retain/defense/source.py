"""Documents that are read once more: what they said goes through the same screening as what is new."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from recallmesh.core.bank import Bank
from recallmesh.core.document import Document
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.source import ChunkSource
from recallmesh.core.tokens import TokenCounter
from recallmesh.retain.payload import images_said, said_from_text, said_to_text

Stored = tuple[Document, tuple[ChunkSource, ...]]
"""A document and all its chunks."""


def said_of(bank: Bank, stored: Stored, call: str) -> RetainRequest:
    """Return a stored document as a call (of this id) that says it again: an item for each chunk, one for itself."""
    document, sources = stored
    own = RetainItem((), tags=document.tags, metadata=document.metadata)
    items = (replace(item, document_id=document.id) for item in (*map(_item, sources), own))
    return RetainRequest(bank.ref, tuple(items), request_id=call)


def resaid(stored: Stored, items: Sequence[RetainItem], counter: TokenCounter) -> Stored:
    """Return the document and its chunks as they are by what was left of the items."""
    document, sources = stored
    *said, own = items
    chunks = tuple(_resaid(source, item, counter) for source, item in zip(sources, said, strict=True))
    return replace(document, tags=own.tags, metadata=own.metadata), chunks


def _resaid(source: ChunkSource, item: RetainItem, counter: TokenCounter) -> ChunkSource:
    if not source.said or replace(item, document_id="") == _item(source):
        return source
    texts = [block for block in item.content if isinstance(block, str)]
    text = "".join(texts)
    images = zip(accumulate(map(len, texts)), (image for _, image in images_said(source.said)), strict=False)
    chunk = replace(source.chunk, text=text, tokens=counter.count(text), context=item.context)
    return ChunkSource(chunk, said_to_text(item, item.tags, images))


def _item(source: ChunkSource) -> RetainItem:
    """Return a chunk as the item that said it, its text in blocks between its images."""
    text = source.chunk.text
    # What was stored by a version that kept no more is refused where it is read.
    if not source.said:
        return RetainItem((text,))
    places = (0, *(at for at, _ in images_said(source.said)), len(text))
    blocks = tuple(text[start:end] for start, end in pairwise(places))
    return replace(said_from_text(source.said, text), content=blocks)
