"""The ledger's port: the system of record. Indexes propose, the ledger disposes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import AttachmentLedger
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.comparison import IndexLedger
from recallmesh.core.consolidation import ConsolidationLedger, HistoryLedger
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.document import Chunk, ChunkOutline, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.entity_ledger import EntityLedger
from recallmesh.core.event import EventLedger, WebhookLedger
from recallmesh.core.export import ExportLedger
from recallmesh.core.job import JobLedger
from recallmesh.core.memory import FactType, Memory, MemoryState, Outline
from recallmesh.core.models import ModelLedger
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.source import SourceLedger
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.core.upkeep import UpkeepLedger
from recallmesh.core.write import Commit, OutboxRow, RequestRecord, Submission, Write


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories to list; empty parts do not filter."""

    fact_types: tuple[FactType, ...] = ()
    states: tuple[MemoryState, ...] = ()
    tags: TagTest = EVERYTHING
    document_id: str = ""
    entity_id: str = ""


@dataclass(frozen=True, slots=True)
class MemoryEdit:
    """What to change of a memory; ``None`` leaves a part as it is."""

    text: str | None = None
    tags: tuple[str, ...] | None = None
    context: str | None = None
    tokens: int | None = None


class BankLedger(Protocol):
    """Banks. Every method raises ``BankNotFound`` for one that is not in the tenant."""

    async def create_bank(self, bank: Bank) -> Bank:
        """Store a bank.

        Raises:
            BankExists: the tenant has one of this id.

        """
        ...

    async def get_bank(self, ref: BankRef) -> Bank:
        """Return a bank."""
        ...

    async def list_banks(self, tenant: str, page: PageRequest) -> Page[Bank]:
        """List a tenant's banks by id."""
        ...

    async def update_bank(self, ref: BankRef, *, name: str | None, config: BankConfig | None, version: int) -> Bank:
        """Change a bank; ``version`` 0 takes any.

        Raises:
            ConflictingWrite: the bank has another version.

        """
        ...

    async def delete_bank(self, ref: BankRef, arms: tuple[ArmName, ...], at: datetime) -> None:
        """Delete a bank and all it holds, and put its removal from every arm into the outbox.

        Twice: at once, and when whatever still writes for it has come to its end, which the ledger cannot call back.
        """
        ...

    async def bank_stats(self, bank_uid: str) -> BankStats:
        """Count what a bank holds."""
        ...


class MemoryLedger(Protocol):
    """Memories, documents, chunks and entities of a bank (named by its ``uid``)."""

    async def read(self, bank_uid: str, memory_ids: tuple[str, ...], *, mentions: bool = True) -> tuple[Memory, ...]:
        """Return those of the memories that are there, in any state, in no particular order; the hot path of recall.

        With ``mentions`` off they come without theirs, which saves looking up what the entities are called. They are
        then as they are now, or as they were when this process last asked for the bank (``get_bank``), or since:
        whoever is to see what another process wrote asks for the bank first.
        """
        ...

    async def outline(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Outline, ...]:
        """Return the outlines of those that are there, at less than half the cost: for choosing.

        As ``read`` returns memories with ``mentions`` off.
        """
        ...

    async def list_memories(self, bank_uid: str, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
        """List memories by id."""
        ...

    async def edit_memory(
        self, bank_uid: str, memory_id: str, edit: MemoryEdit, arms: tuple[ArmName, ...], at: datetime
    ) -> Memory:
        """Change a memory and put it into the outbox again; raises ``MemoryNotFound``."""
        ...

    async def set_state(
        self, bank_uid: str, memory_id: str, state: MemoryState, arms: tuple[ArmName, ...], at: datetime
    ) -> Memory:
        """Invalidate or restore a memory and tell the arms by the outbox; raises ``MemoryNotFound``."""
        ...

    async def delete_memories(
        self, bank_uid: str, memory_ids: tuple[str, ...], arms: tuple[ArmName, ...], at: datetime
    ) -> int:
        """Delete memories, and what only they held (entities no memory mentions, causal links); returns how many."""
        ...

    async def get_document(self, bank_uid: str, document_id: str) -> Document:
        """Return a document; raises ``DocumentNotFound``."""
        ...

    async def list_documents(self, bank_uid: str, page: PageRequest) -> Page[Document]:
        """List documents by id."""
        ...

    async def delete_document(self, bank_uid: str, document_id: str, arms: tuple[ArmName, ...], at: datetime) -> int:
        """Delete a document, its chunks and memories; returns the number of memories; raises ``DocumentNotFound``."""
        ...

    async def read_chunks(self, bank_uid: str, chunk_ids: tuple[str, ...]) -> tuple[Chunk, ...]:
        """Return those of the chunks that are there, in no particular order."""
        ...

    async def outline_chunks(self, bank_uid: str, chunk_ids: tuple[str, ...]) -> tuple[ChunkOutline, ...]:
        """Return the outlines of those of the chunks that have memories, in no particular order."""
        ...

    async def list_chunks(self, bank_uid: str, document_id: str, page: PageRequest) -> Page[Chunk]:
        """List a document's chunks by number."""
        ...

    async def get_entity(self, bank_uid: str, entity_id: str) -> Entity:
        """Return an entity; raises ``EntityNotFound``."""
        ...

    async def list_entities(self, bank_uid: str, page: PageRequest) -> Page[Entity]:
        """List entities by id."""
        ...

    async def entities_like(self, bank_uid: str, keys: tuple[str, ...]) -> tuple[Entity, ...]:
        """Return entities that share a folded word with any of the keys, or are one: the candidates for resolution.

        Their ``memory_count`` is at most 1000, whatever there are more.
        """
        ...

    async def list_tags(self, bank_uid: str, page: PageRequest) -> Page[TagCount]:
        """List tags of visible memories with their counts, by tag."""
        ...


class WriteLedger(Protocol):
    """Retain's side: the write transaction, idempotency, the outbox and operations."""

    async def find_request(self, bank_uid: str, request: RequestRecord) -> Commit | None:
        """Return what the request id wrote before, if it came before.

        Raises:
            RequestIdReused: it came with other content, or an operation with other content has it.

        """
        ...

    async def known_digests(self, bank_uid: str, document_id: str) -> frozenset[str]:
        """Return the digests of a document's chunks, so that unchanged ones are not extracted again."""
        ...

    async def commit(self, write: Write) -> Commit:
        """Write everything in one transaction, or find the request id used and replay it.

        Raises:
            RequestIdReused: it came before with other content, or an operation with other content has it.
            ConflictingWrite: another write came between; may be tried again.
            BankNotFound: the bank was deleted meanwhile.

        """
        ...

    async def retire(self, bank_uid: str, write_id: str, arms: tuple[ArmName, ...], at: datetime) -> int:
        """Delete the memories that a write left ``RETIRING``, with outbox rows to remove them; returns how many."""
        ...

    async def unretired(self, before: datetime) -> tuple[tuple[str, str], ...]:
        """Return (bank_uid, write_id) of writes committed before a moment that still have ``RETIRING`` memories."""
        ...

    async def lease_outbox(
        self, worker: str, arm: ArmName, *, limit: int, lease: timedelta, now: datetime
    ) -> tuple[OutboxRow, ...]:
        """Take due rows of an arm, oldest first, at most one action a memory (the first), hidden for the lease."""
        ...

    async def hold_outbox(self, worker: str, seqs: tuple[int, ...], *, until: datetime) -> int:
        """Hide leased rows for longer; returns how many the worker still has: others were taken over or deleted."""
        ...

    async def own_outbox(self, write_id: str) -> tuple[OutboxRow, ...]:
        """Return a write's rows that are still there."""
        ...

    async def settle_outbox(self, seqs: tuple[int, ...]) -> None:
        """Forget delivered rows."""
        ...

    async def defer_outbox(self, seqs: tuple[int, ...], *, until: datetime, error: str) -> None:
        """Count an attempt and make the rows due again at a moment."""
        ...

    async def outbox_lag(self, now: datetime) -> tuple[tuple[ArmName, int, timedelta], ...]:
        """Return per arm the number of rows and the age of the oldest."""
        ...

    async def submit(
        self,
        bank_uid: str,
        kind: OperationKind,
        payload: bytes,
        total: int,
        at: datetime,
        request: RequestRecord | None = None,
        *,
        decisions: tuple[SecurityEvent, ...] = (),
    ) -> Submission:
        """Put an operation in the queue, or find the one that has the request id, whatever became of it.

        ``decisions`` that memory defense took are written with it, and not again when it is carried out.
        An id that a write has is no hindrance when the content is the same: that operation will replay the write.

        Raises:
            RequestIdReused: the id came before with other content, for an operation or a write.
            BankNotFound: the bank was deleted meanwhile.

        """
        ...


class OperationLedger(Protocol):
    """Operations as callers see them; raise ``OperationNotFound``."""

    async def get_operation(self, bank_uid: str, operation_id: str) -> Operation:
        """Return an operation."""
        ...

    async def list_operations(
        self, bank_uid: str, page: PageRequest, states: tuple[OperationState, ...] = ()
    ) -> Page[Operation]:
        """List operations, newest last; those in the states, or all."""
        ...

    async def cancel_operation(self, bank_uid: str, operation_id: str, at: datetime) -> Operation:
        """Cancel a pending operation; a running one is to stop at its next step; a finished one stays as it is."""
        ...

    async def retry_operation(self, bank_uid: str, operation_id: str, at: datetime) -> Operation:
        """Make a failed or cancelled operation pending again, with all its attempts; others stay as they are."""
        ...


class Ledger(
    BankLedger,
    MemoryLedger,
    EntityLedger,
    WriteLedger,
    JobLedger,
    OperationLedger,
    SourceLedger,
    EventLedger,
    WebhookLedger,
    ExportLedger,
    IndexLedger,
    AttachmentLedger,
    ConsolidationLedger,
    HistoryLedger,
    UpkeepLedger,
    ModelLedger,
    Protocol,
):
    """The whole ledger. A service's constructor asks for the part it uses."""

    async def check(self) -> None:
        """Return if the ledger can work now.

        Raises:
            StoreUnavailable: the database does not answer.
            NotReady: its schema is not the one this version needs; says to migrate.

        """
        ...
