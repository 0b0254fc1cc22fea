"""Administration over the ledger: what it changes, the outbox brings to the arms."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from uuid import uuid4

from recallmesh.bank.config import check_config
from recallmesh.bank.edit import refusal, screened_edit
from recallmesh.bank.entities import LedgerEntities
from recallmesh.bank.events import PUBLIC_ONLY, LedgerEvents, WebhookRules
from recallmesh.bank.moves import BankMoves
from recallmesh.bank.names import checked_bank_id, checked_bank_name
from recallmesh.bank.text import checked_edit
from recallmesh.bank.verification import Verifier
from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.disclosure import disclosed, may_rest, may_show_attachment, may_show_chunk, rests_on
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import TagCount
from recallmesh.core.errors import AttachmentNotFound, ChunkNotFound, DocumentNotFound, MemoryNotFound
from recallmesh.core.event import decided
from recallmesh.core.ledger import Ledger, MemoryEdit, MemoryFilter
from recallmesh.core.memory import Memory, MemoryState
from recallmesh.core.operation import FINISHED, Operation, OperationKind, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.screening import EditScreening
from recallmesh.core.tags import EVERYTHING, TagTest, is_open, passes
from recallmesh.core.time import Clock
from recallmesh.core.tokens import TokenCounter


class LedgerAdmin(LedgerEntities, LedgerEvents, BankMoves):
    """All of administration on one ledger. ``arms`` are those that index memories and must hear of changes."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        arms: tuple[ArmName, ...],
        tokens: TokenCounter,
        now: Clock,
        watch_interval_s: float = 0.5,
        webhooks: WebhookRules = PUBLIC_ONLY,
        new_id: Callable[[], str] = lambda: str(uuid4()),
        indexes: Mapping[ArmName, Arm] = MappingProxyType({}),
        screening: EditScreening | None = None,
    ) -> None:
        """Administer what the ledger holds; ``new_id`` names webhooks, ``indexes`` are what is reached from here.

        Without ``screening`` memories of banks that keep something out cannot be edited.
        """
        self._ledger = ledger
        self._arms = arms
        self._tokens = tokens
        self._now = now
        self._watch_interval_s = watch_interval_s
        self._webhooks = webhooks
        self._new_id = new_id
        self._screening = screening
        self._verifier = Verifier(ledger, arms, indexes, now)

    async def create_bank(self, ref: BankRef, *, name: str = "", config: BankConfig | None = None) -> Bank:
        """Create a bank under an id that is free."""
        checked_bank_id(ref.bank_id)
        check_config(config)
        checked_bank_name(name)
        bank = Bank(ref=ref, uid=uuid4().hex, created=self._now(), name=name, config=config or BankConfig())
        return await self._ledger.create_bank(bank)

    async def get_bank(self, ref: BankRef) -> Bank:
        """Return a bank."""
        return await self._ledger.get_bank(ref)

    async def list_banks(self, tenant: str, page: PageRequest) -> Page[Bank]:
        """List a tenant's banks by id."""
        return await self._ledger.list_banks(tenant, page)

    async def update_bank(
        self, ref: BankRef, *, name: str | None = None, config: BankConfig | None = None, version: int = 0
    ) -> Bank:
        """Change a bank's name or configuration."""
        check_config(config)
        checked_bank_name(name or "")
        return await self._ledger.update_bank(ref, name=name, config=config, version=version)

    async def delete_bank(self, ref: BankRef) -> None:
        """Delete a bank and all it holds."""
        await self._ledger.delete_bank(ref, self._arms, self._now())

    async def bank_stats(self, ref: BankRef) -> BankStats:
        """Count what a bank holds."""
        return await self._ledger.bank_stats(await self._uid(ref))

    async def verify_bank(self, ref: BankRef, *, glance: bool = False) -> tuple[IndexComparison, ...]:
        """Compare every arm's index with the ledger."""
        return await self._verifier.verify(await self._uid(ref), glance=glance)

    async def repair_bank(self, ref: BankRef) -> Operation:
        """Start mending every arm's index, unless that is under way."""
        return await self._verifier.repair(await self._uid(ref))

    async def consolidate(self, ref: BankRef) -> Operation:
        """Have what is new consolidated."""
        return await self._ledger.ask_consolidation(await self._uid(ref), self._now())

    async def get_document(self, ref: BankRef, document_id: str, *, visible: TagTest = EVERYTHING) -> Document:
        """Return a document."""
        document = await self._ledger.get_document(await self._uid(ref), document_id)
        if not passes(visible, document.tags):
            raise DocumentNotFound(document_id)
        return document

    async def list_documents(self, ref: BankRef, page: PageRequest, *, visible: TagTest = EVERYTHING) -> Page[Document]:
        """List documents by id."""
        found = await self._ledger.list_documents(await self._uid(ref), page)
        return replace(found, rows=tuple(document for document in found.rows if passes(visible, document.tags)))

    async def delete_document(self, ref: BankRef, document_id: str) -> int:
        """Delete a document and everything derived from it."""
        return await self._ledger.delete_document(await self._uid(ref), document_id, self._arms, self._now())

    async def reprocess_document(self, ref: BankRef, document_id: str) -> Operation:
        """Put into the queue that a document's memories be made once more."""
        uid = await self._uid(ref)
        document = await self._ledger.get_document(uid, document_id)
        payload, at = document_id.encode(), self._now()
        submitted = await self._ledger.submit(uid, OperationKind.REPROCESS, payload, document.chunk_count, at)
        return submitted.operation

    async def get_chunk(self, ref: BankRef, chunk_id: str, *, visible: TagTest = EVERYTHING) -> Chunk:
        """Return a chunk."""
        uid = await self._uid(ref)
        found = await self._shown(uid, await self._ledger.read_chunks(uid, (chunk_id,)), visible)
        if not found:
            raise ChunkNotFound(chunk_id)
        return found[0]

    async def list_chunks(
        self, ref: BankRef, document_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[Chunk]:
        """List a document's chunks by number."""
        uid = await self._uid(ref)
        await self._ledger.get_document(uid, document_id)
        found = await self._ledger.list_chunks(uid, document_id, page)
        return replace(found, rows=await self._shown(uid, found.rows, visible))

    async def get_attachment(
        self, ref: BankRef, attachment_id: str, *, visible: TagTest = EVERYTHING
    ) -> StoredAttachment:
        """Return an attachment."""
        uid = await self._uid(ref)
        found = await self._ledger.read_attachments(uid, (attachment_id,))
        # Asked after it was read, so that what was hidden by then is.
        if not found or not may_show_attachment(await self._ledger.outline_attachment(uid, attachment_id), visible):
            raise AttachmentNotFound(attachment_id)
        return found[0]

    async def get_memory(self, ref: BankRef, memory_id: str, *, visible: TagTest = EVERYTHING) -> Memory:
        """Return a memory in whatever state."""
        uid = await self._uid(ref)
        found = await self._ledger.read(uid, (memory_id,))
        evidence = {one.id: one for one in await self._ledger.outline(uid, rests_on(found, visible))}
        if not found or not passes(visible, found[0].tags) or not may_rest(found[0], evidence, visible):
            raise MemoryNotFound(memory_id)
        return disclosed(found[0], visible)

    async def list_memories(self, ref: BankRef, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
        """List memories by id."""
        found = await self._ledger.list_memories(await self._uid(ref), wanted, page)
        return replace(found, rows=tuple(disclosed(memory, wanted.tags) for memory in found.rows))

    async def edit_memory(self, ref: BankRef, memory_id: str, edit: MemoryEdit) -> Memory:
        """Change a memory's text, tags or context."""
        checked = await asyncio.to_thread(checked_edit, edit, self._tokens)
        bank, at = await self._ledger.get_bank(ref), self._now()
        screened = await screened_edit(self._screening, bank, memory_id, checked, at)
        if screened.edit is None:
            await self._ledger.record_events(bank.uid, decided(screened.decisions), at)
            raise refusal(screened.decisions)
        if screened.decisions:
            checked = await asyncio.to_thread(checked_edit, screened.edit, self._tokens)
        edited = await self._ledger.edit_memory(bank.uid, memory_id, checked, self._arms, at)
        if screened.decisions:
            await self._ledger.record_events(bank.uid, decided(screened.decisions), at)
        return edited

    async def invalidate_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """Hide a memory from recall."""
        return await self._set_state(ref, memory_id, MemoryState.INVALIDATED)

    async def restore_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """Show a hidden memory again."""
        return await self._set_state(ref, memory_id, MemoryState.ACTIVE)

    async def delete_memory(self, ref: BankRef, memory_id: str) -> None:
        """Delete a memory for good."""
        if not await self._ledger.delete_memories(await self._uid(ref), (memory_id,), self._arms, self._now()):
            raise MemoryNotFound(memory_id)

    async def memory_history(
        self, ref: BankRef, memory_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[MemoryVersion]:
        """List what a memory said, newest first."""
        return await self._ledger.memory_history(await self._uid(ref), memory_id, page, tags=visible)

    async def list_tags(self, ref: BankRef, page: PageRequest) -> Page[TagCount]:
        """List tags with their counts."""
        return await self._ledger.list_tags(await self._uid(ref), page)

    async def get_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Return an operation."""
        return await self._ledger.get_operation(await self._uid(ref), operation_id)

    async def list_operations(
        self, ref: BankRef, page: PageRequest, states: tuple[OperationState, ...] = ()
    ) -> Page[Operation]:
        """List operations, oldest first; those in the states, or all."""
        return await self._ledger.list_operations(await self._uid(ref), page, states)

    async def watch_operation(self, ref: BankRef, operation_id: str) -> AsyncIterator[Operation]:
        """Yield the operation now and at every change until it is finished."""
        uid = await self._uid(ref)
        seen: Operation | None = None
        while seen is None or seen.state not in FINISHED:
            current = await self._ledger.get_operation(uid, operation_id)
            if current == seen:
                await asyncio.sleep(self._watch_interval_s)
                continue
            seen = current
            yield current

    async def cancel_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Cancel a pending operation; a running one stops at its next step."""
        return await self._ledger.cancel_operation(await self._uid(ref), operation_id, self._now())

    async def retry_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Make a failed or cancelled operation pending again."""
        return await self._ledger.retry_operation(await self._uid(ref), operation_id, self._now())

    async def _shown(self, uid: str, chunks: tuple[Chunk, ...], visible: TagTest) -> tuple[Chunk, ...]:
        if is_open(visible) or not chunks:
            return chunks
        # Asked after the texts were read, so that what was hidden by then is.
        ids = tuple(chunk.id for chunk in chunks)
        outlines = {outline.id: outline for outline in await self._ledger.outline_chunks(uid, ids)}
        return tuple(chunk for chunk in chunks if may_show_chunk(chunk, outlines.get(chunk.id), visible))

    async def _set_state(self, ref: BankRef, memory_id: str, state: MemoryState) -> Memory:
        return await self._ledger.set_state(await self._uid(ref), memory_id, state, self._arms, self._now())
