"""Answers: what a commit means for each item of the call."""

from collections.abc import Sequence

from recallmesh.core.retain import Delivery, RetainAnswer, RetainedItem
from recallmesh.core.write import Commit, WrittenDocument
from recallmesh.retain.draft import DocumentDraft


def answer_of(
    drafts: Sequence[DocumentDraft], commit: Commit, deliveries: tuple[Delivery, ...], items: int
) -> RetainAnswer:
    """Return the answer, its items in the order of the call's."""
    written = {document.document_id: document for document in commit.documents}
    retained: dict[int, RetainedItem] = {}
    for draft in drafts:
        retained.update(_items(draft, written.get(draft.id, WrittenDocument(draft.id, ()))))
    return RetainAnswer(
        items=tuple(retained[index] for index in range(items)), deliveries=deliveries, replayed=commit.replayed
    )


def _items(draft: DocumentDraft, written: WrittenDocument) -> dict[int, RetainedItem]:
    ids: dict[int, list[str]] = {index: [] for index in draft.item_indexes}
    if len(written.memory_ids) == len(draft.chunks):
        for chunk, memory_ids in zip(draft.chunks, written.memory_ids, strict=True):
            ids[chunk.item_index].extend(memory_ids)
    else:
        # The bank cuts otherwise since the first call: which item a memory came of is no longer known.
        ids[draft.item_indexes[0]].extend(one for chunk in written.memory_ids for one in chunk)
    return {index: RetainedItem(draft.id, tuple(own), written.unchanged) for index, own in ids.items()}
