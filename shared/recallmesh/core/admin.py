"""The port of administration: what reads and changes banks and what they hold."""

from collections.abc import AsyncIterator
from typing import Protocol

from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.event import Events
from recallmesh.core.export import Moves
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import Memory
from recallmesh.core.operation import Operation, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.resolution import EntityExplanation, EntityQuestion
from recallmesh.core.tags import EVERYTHING, TagTest


class Banks(Protocol):
    """Banks of a tenant. Methods that name a bank raise ``BankNotFound``."""

    async def create_bank(self, ref: BankRef, *, name: str = "", config: BankConfig | None = None) -> Bank:
        """Create a bank; raises ``BankExists`` and ``InvalidArgument`` (a bad id)."""
        ...

    async def get_bank(self, ref: BankRef) -> Bank:
        """Return a bank."""
        ...

    async def list_banks(self, tenant: str, page: PageRequest) -> Page[Bank]:
        """List a tenant's banks by id."""
        ...

    async def update_bank(
        self, ref: BankRef, *, name: str | None = None, config: BankConfig | None = None, version: int = 0
    ) -> Bank:
        """Change a bank; ``version`` other than 0 must be the bank's, else ``ConflictingWrite``."""
        ...

    async def delete_bank(self, ref: BankRef) -> None:
        """Delete a bank and all it holds."""
        ...

    async def bank_stats(self, ref: BankRef) -> BankStats:
        """Count what a bank holds."""
        ...

    async def consolidate(self, ref: BankRef) -> Operation:
        """Have what is new consolidated; the operation that waits to do so already is returned, if there is one."""
        ...


class Indexes(Protocol):
    """What the arms hold of a bank, against the ledger; raise ``BankNotFound``."""

    async def verify_bank(self, ref: BankRef, *, glance: bool = False) -> tuple[IndexComparison, ...]:
        """Compare each index with the ledger, in the order of arms; a glance takes a sample.

        An index that does not answer costs its own comparison alone.
        """
        ...

    async def repair_bank(self, ref: BankRef) -> Operation:
        """Start an operation that mends the indexes, or return the one that is under way."""
        ...


class Documents(Protocol):
    """Documents of a bank and their chunks; raise ``DocumentNotFound``, ``ChunkNotFound``.

    ``visible`` is the test that a document's tags must pass, or those of every memory of a chunk; what does not pass is
    not found, or left out of a list, whose pages may then be short. With a test in force a chunk that has no memories,
    or one that is invalidated, or that is ``outdated``, does not pass either.
    """

    async def get_document(self, ref: BankRef, document_id: str, *, visible: TagTest = EVERYTHING) -> Document:
        """Return a document."""
        ...

    async def list_documents(self, ref: BankRef, page: PageRequest, *, visible: TagTest = EVERYTHING) -> Page[Document]:
        """List documents by id."""
        ...

    async def delete_document(self, ref: BankRef, document_id: str) -> int:
        """Delete a document and everything derived from it; returns the number of memories."""
        ...

    async def reprocess_document(self, ref: BankRef, document_id: str) -> Operation:
        """Start making a document's memories once more, from its stored text, as the bank is set up now.

        Until the new ones are indexed the old ones are found; what is read in the same words keeps its id. Memories of
        a chunk of which one was deleted or edited stay as they are.
        """
        ...

    async def get_chunk(self, ref: BankRef, chunk_id: str, *, visible: TagTest = EVERYTHING) -> Chunk:
        """Return a chunk."""
        ...

    async def list_chunks(
        self, ref: BankRef, document_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[Chunk]:
        """List a document's chunks by number."""
        ...

    async def get_attachment(
        self, ref: BankRef, attachment_id: str, *, visible: TagTest = EVERYTHING
    ) -> StoredAttachment:
        """Return an attachment; with a test in force, one that a memory is drawn from which may be shown.

        Raises:
            AttachmentNotFound: there is none such, or nothing that may be shown is drawn from it.

        """
        ...


class Memories(Protocol):
    """Memories of a bank; raise ``MemoryNotFound``.

    With a test of tags in force (``visible``, or the filter's) a memory's mentions are as ``core.disclosure`` tells.
    """

    async def get_memory(self, ref: BankRef, memory_id: str, *, visible: TagTest = EVERYTHING) -> Memory:
        """Return a memory in whatever state; one that does not pass the test is not found."""
        ...

    async def list_memories(self, ref: BankRef, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
        """List memories by id."""
        ...

    async def edit_memory(self, ref: BankRef, memory_id: str, edit: MemoryEdit) -> Memory:
        """Change a memory; the arms follow."""
        ...

    async def invalidate_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """Hide a memory from recall; twice is as once."""
        ...

    async def restore_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """Undo an invalidation; twice is as once."""
        ...

    async def delete_memory(self, ref: BankRef, memory_id: str) -> None:
        """Delete a memory for good."""
        ...

    async def memory_history(
        self, ref: BankRef, memory_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[MemoryVersion]:
        """List what a memory said, newest first, without versions that fail the test or whose evidence does."""
        ...

    async def list_tags(self, ref: BankRef, page: PageRequest) -> Page[TagCount]:
        """List tags with their counts, by tag."""
        ...


class Entities(Protocol):
    """Entities of a bank; raise ``EntityNotFound``."""

    async def get_entity(self, ref: BankRef, entity_id: str) -> Entity:
        """Return an entity."""
        ...

    async def list_entities(self, ref: BankRef, page: PageRequest) -> Page[Entity]:
        """List entities by id."""
        ...

    async def merge_entities(self, ref: BankRef, into_id: str, from_ids: tuple[str, ...]) -> Entity:
        """Make several entities one; twice is as once. The id of one that went is from now on that of the one.

        Raises:
            InvalidArgument: none are named, or the one that stays among those that go.
            NotReady: one of them is a label.

        """
        ...

    async def split_entity(self, ref: BankRef, entity_id: str, split: EntitySplit) -> tuple[Entity, Entity]:
        """Make a new entity of some of one's memories and aliases; twice is as once.

        Returns the one split and the new. The names of each do not resolve to the other by likeness any more.

        Raises:
            InvalidArgument: the name is blank, or no memories are named.
            NameTaken: the name, or an alias, is the one that the entity keeps, or another's.
            NotReady: a memory does not mention the entity, none of them would be left to it, or it is a label.

        """
        ...

    async def add_entity_alias(self, ref: BankRef, entity_id: str, alias: str) -> Entity:
        """Give an entity another name; twice is as once.

        Raises:
            InvalidArgument: it is blank.
            NameTaken: it is another entity's.
            NotReady: the entity is a label.

        """
        ...

    async def explain_entity(self, ref: BankRef, question: EntityQuestion) -> EntityExplanation:
        """Tell what a name would resolve to and why, by what a retain resolves names with; raises InvalidArgument."""
        ...


class Operations(Protocol):
    """Operations of a bank; raise ``OperationNotFound``."""

    async def get_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Return an operation."""
        ...

    async def list_operations(
        self, ref: BankRef, page: PageRequest, states: tuple[OperationState, ...] = ()
    ) -> Page[Operation]:
        """List operations, oldest first; those in the states, or all."""
        ...

    def watch_operation(self, ref: BankRef, operation_id: str) -> AsyncIterator[Operation]:
        """Yield the operation now and at every change until it is finished."""
        ...

    async def cancel_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Cancel a pending operation; a running one stops at its next step, unless that is its last."""
        ...

    async def retry_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Make a failed or cancelled operation pending again."""
        ...


class Admin(Banks, Indexes, Documents, Memories, Entities, Operations, Events, Moves, Protocol):
    """All of administration; one service (``bank``) offers it."""
