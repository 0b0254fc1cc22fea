"""Administration again, with the guard around every call; the composition root puts it on."""

from collections.abc import AsyncIterator

from recallmesh.core.admin import Admin
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.event import Event, EventFilter, EventKind, Webhook, WebhookDraft
from recallmesh.core.export import Imported
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import Memory
from recallmesh.core.operation import Operation, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.resolution import EntityExplanation, EntityQuestion
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics


class ObservedBanks:
    """Banks whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard

    async def create_bank(self, ref: BankRef, *, name: str = "", config: BankConfig | None = None) -> Bank:
        """As administration does."""
        return await self._guard.run("create_bank", self._admin.create_bank(ref, name=name, config=config))

    async def get_bank(self, ref: BankRef) -> Bank:
        """As administration does."""
        return await self._guard.run("get_bank", self._admin.get_bank(ref))

    async def list_banks(self, tenant: str, page: PageRequest) -> Page[Bank]:
        """As administration does."""
        return await self._guard.run("list_banks", self._admin.list_banks(tenant, page))

    async def update_bank(
        self, ref: BankRef, *, name: str | None = None, config: BankConfig | None = None, version: int = 0
    ) -> Bank:
        """As administration does."""
        return await self._guard.run(
            "update_bank", self._admin.update_bank(ref, name=name, config=config, version=version)
        )

    async def delete_bank(self, ref: BankRef) -> None:
        """As administration does."""
        await self._guard.run("delete_bank", self._admin.delete_bank(ref))

    async def bank_stats(self, ref: BankRef) -> BankStats:
        """As administration does."""
        return await self._guard.run("bank_stats", self._admin.bank_stats(ref))

    async def consolidate(self, ref: BankRef) -> Operation:
        """As administration does."""
        return await self._guard.run("consolidate", self._admin.consolidate(ref))


class ObservedMoves:
    """Banks moved, with every call counted and traced; how long it takes is the size of the bank."""

    _admin: Admin
    _unhurried: Guard

    def export_bank(self, ref: BankRef) -> AsyncIterator[bytes]:
        """As administration does."""
        return self._unhurried.each("export_bank", self._admin.export_bank(ref))

    async def import_bank(self, ref: BankRef, pieces: AsyncIterator[bytes]) -> Imported:
        """As administration does."""
        return await self._unhurried.run("import_bank", self._admin.import_bank(ref, pieces))


class ObservedIndexes:
    """Indexes whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard
    _unhurried: Guard

    async def verify_bank(self, ref: BankRef, *, glance: bool = False) -> tuple[IndexComparison, ...]:
        """As administration does; a comparison of all has no deadline but the caller's."""
        guard = self._guard if glance else self._unhurried
        return await guard.run("verify_bank", self._admin.verify_bank(ref, glance=glance))

    async def repair_bank(self, ref: BankRef) -> Operation:
        """As administration does."""
        return await self._guard.run("repair_bank", self._admin.repair_bank(ref))


class ObservedDocuments:
    """Documents whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard

    async def get_document(self, ref: BankRef, document_id: str, *, visible: TagTest = EVERYTHING) -> Document:
        """As administration does."""
        return await self._guard.run("get_document", self._admin.get_document(ref, document_id, visible=visible))

    async def list_documents(self, ref: BankRef, page: PageRequest, *, visible: TagTest = EVERYTHING) -> Page[Document]:
        """As administration does."""
        return await self._guard.run("list_documents", self._admin.list_documents(ref, page, visible=visible))

    async def delete_document(self, ref: BankRef, document_id: str) -> int:
        """As administration does."""
        return await self._guard.run("delete_document", self._admin.delete_document(ref, document_id))

    async def reprocess_document(self, ref: BankRef, document_id: str) -> Operation:
        """As administration does."""
        return await self._guard.run("reprocess_document", self._admin.reprocess_document(ref, document_id))

    async def get_chunk(self, ref: BankRef, chunk_id: str, *, visible: TagTest = EVERYTHING) -> Chunk:
        """As administration does."""
        return await self._guard.run("get_chunk", self._admin.get_chunk(ref, chunk_id, visible=visible))

    async def list_chunks(
        self, ref: BankRef, document_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[Chunk]:
        """As administration does."""
        return await self._guard.run("list_chunks", self._admin.list_chunks(ref, document_id, page, visible=visible))

    async def get_attachment(
        self, ref: BankRef, attachment_id: str, *, visible: TagTest = EVERYTHING
    ) -> StoredAttachment:
        """As administration does."""
        return await self._guard.run("get_attachment", self._admin.get_attachment(ref, attachment_id, visible=visible))


class ObservedMemories:
    """Memories whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard

    async def get_memory(self, ref: BankRef, memory_id: str, *, visible: TagTest = EVERYTHING) -> Memory:
        """As administration does."""
        return await self._guard.run("get_memory", self._admin.get_memory(ref, memory_id, visible=visible))

    async def list_memories(self, ref: BankRef, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
        """As administration does."""
        return await self._guard.run("list_memories", self._admin.list_memories(ref, wanted, page))

    async def edit_memory(self, ref: BankRef, memory_id: str, edit: MemoryEdit) -> Memory:
        """As administration does."""
        return await self._guard.run("edit_memory", self._admin.edit_memory(ref, memory_id, edit))

    async def invalidate_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """As administration does."""
        return await self._guard.run("invalidate_memory", self._admin.invalidate_memory(ref, memory_id))

    async def restore_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """As administration does."""
        return await self._guard.run("restore_memory", self._admin.restore_memory(ref, memory_id))

    async def delete_memory(self, ref: BankRef, memory_id: str) -> None:
        """As administration does."""
        await self._guard.run("delete_memory", self._admin.delete_memory(ref, memory_id))

    async def memory_history(
        self, ref: BankRef, memory_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[MemoryVersion]:
        """As administration does."""
        return await self._guard.run(
            "memory_history", self._admin.memory_history(ref, memory_id, page, visible=visible)
        )

    async def list_tags(self, ref: BankRef, page: PageRequest) -> Page[TagCount]:
        """As administration does."""
        return await self._guard.run("list_tags", self._admin.list_tags(ref, page))


class ObservedEntities:
    """Entities whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard

    async def get_entity(self, ref: BankRef, entity_id: str) -> Entity:
        """As administration does."""
        return await self._guard.run("get_entity", self._admin.get_entity(ref, entity_id))

    async def list_entities(self, ref: BankRef, page: PageRequest) -> Page[Entity]:
        """As administration does."""
        return await self._guard.run("list_entities", self._admin.list_entities(ref, page))

    async def merge_entities(self, ref: BankRef, into_id: str, from_ids: tuple[str, ...]) -> Entity:
        """As administration does."""
        return await self._guard.run("merge_entities", self._admin.merge_entities(ref, into_id, from_ids))

    async def split_entity(self, ref: BankRef, entity_id: str, split: EntitySplit) -> tuple[Entity, Entity]:
        """As administration does."""
        return await self._guard.run("split_entity", self._admin.split_entity(ref, entity_id, split))

    async def add_entity_alias(self, ref: BankRef, entity_id: str, alias: str) -> Entity:
        """As administration does."""
        return await self._guard.run("add_entity_alias", self._admin.add_entity_alias(ref, entity_id, alias))

    async def explain_entity(self, ref: BankRef, question: EntityQuestion) -> EntityExplanation:
        """As administration does."""
        return await self._guard.run("explain_entity", self._admin.explain_entity(ref, question))


class ObservedOperations:
    """Operations whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard

    async def get_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """As administration does."""
        return await self._guard.run("get_operation", self._admin.get_operation(ref, operation_id))

    async def list_operations(
        self, ref: BankRef, page: PageRequest, states: tuple[OperationState, ...] = ()
    ) -> Page[Operation]:
        """As administration does."""
        return await self._guard.run("list_operations", self._admin.list_operations(ref, page, states))

    def watch_operation(self, ref: BankRef, operation_id: str) -> AsyncIterator[Operation]:
        """As administration does; a watch has no deadline of its own."""
        return self._guard.each("watch_operation", self._admin.watch_operation(ref, operation_id))

    async def cancel_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """As administration does."""
        return await self._guard.run("cancel_operation", self._admin.cancel_operation(ref, operation_id))

    async def retry_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """As administration does."""
        return await self._guard.run("retry_operation", self._admin.retry_operation(ref, operation_id))


class ObservedEvents:
    """Events whose every call is bounded, counted and traced."""

    _admin: Admin
    _guard: Guard

    async def list_events(self, ref: BankRef, wanted: EventFilter, page: PageRequest) -> Page[Event]:
        """As administration does."""
        return await self._guard.run("list_events", self._admin.list_events(ref, wanted, page))

    def watch_events(self, ref: BankRef, kinds: tuple[EventKind, ...] = (), after: str = "") -> AsyncIterator[Event]:
        """As administration does; a watch has no deadline of its own."""
        return self._guard.each("watch_events", self._admin.watch_events(ref, kinds, after))

    async def list_security_events(self, ref: BankRef, page: PageRequest) -> Page[SecurityEvent]:
        """As administration does."""
        return await self._guard.run("list_security_events", self._admin.list_security_events(ref, page))

    async def create_webhook(self, ref: BankRef, draft: WebhookDraft) -> Webhook:
        """As administration does."""
        return await self._guard.run("create_webhook", self._admin.create_webhook(ref, draft))

    async def list_webhooks(self, ref: BankRef, page: PageRequest) -> Page[Webhook]:
        """As administration does."""
        return await self._guard.run("list_webhooks", self._admin.list_webhooks(ref, page))

    async def delete_webhook(self, ref: BankRef, webhook_id: str) -> None:
        """As administration does."""
        await self._guard.run("delete_webhook", self._admin.delete_webhook(ref, webhook_id))


class ObservedAdmin(
    ObservedBanks,
    ObservedMoves,
    ObservedIndexes,
    ObservedDocuments,
    ObservedMemories,
    ObservedEntities,
    ObservedOperations,
    ObservedEvents,
):
    """Administration whose every call is bounded, counted and traced."""

    def __init__(self, admin: Admin, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Wrap administration, here or there (``at``)."""
        self._admin = admin
        self._guard = Guard("bank", timeout_s=timeout_s, metrics=metrics, at=at)
        self._unhurried = Guard("bank", timeout_s=None, metrics=metrics, at=at)
