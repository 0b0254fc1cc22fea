"""A bank as a row of things that another can be made of: documents, attachments, chunks, entities, memories, pasts."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.bank import BankConfig, BankRef
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.document import Document
from recallmesh.core.entity import Entity
from recallmesh.core.memory import Memory
from recallmesh.core.source import ChunkSource


@dataclass(frozen=True, slots=True)
class Past:
    """What is kept of a fact besides itself: the scopes that came with it, and what it said before, oldest first."""

    memory_id: str
    scopes: tuple[tuple[str, ...], ...] = ()
    versions: tuple[MemoryVersion, ...] = ()


Exported = Document | StoredAttachment | ChunkSource | Entity | Memory | Past
"""One thing. Entities come without what is counted, memories without other names of what they mention."""


@dataclass(frozen=True, slots=True)
class Imported:
    """How much came into a bank."""

    documents: int = 0
    memories: int = 0


class ExportLedger(Protocol):
    """Banks moved: no vectors, no requests, nothing under way."""

    async def export_bank(self, bank_uid: str, take: Callable[[Exported], None]) -> None:
        """Hand over all that a bank holds, of one moment.

        Documents, attachments, chunks, entities, memories, each by id, and what is past of the facts among them.

        What gives way to a newer version just then is left out. ``take`` is called in the thread of the transaction.
        """
        ...

    async def import_bank(
        self, bank_uid: str, config: BankConfig, things: Iterable[Exported], arms: tuple[ArmName, ...], at: datetime
    ) -> Imported:
        """Fill an empty bank in one transaction, set it up, and put its memories into the outbox.

        The things come in the order of ``export_bank`` and are drawn in the thread of the transaction: what they raise
        leaves the bank as it was.

        Raises:
            NotReady: the bank holds something.
            BankNotFound: it was deleted meanwhile.

        """
        ...


class Moves(Protocol):
    """Banks moved, as files of JSON lines in pieces of at most 1 MiB; raise ``BankNotFound``."""

    def export_bank(self, ref: BankRef) -> AsyncIterator[bytes]:
        """Yield all a bank holds but vectors, of one moment."""
        ...

    async def import_bank(self, ref: BankRef, pieces: AsyncIterator[bytes]) -> Imported:
        """Fill an empty bank with an export, atomically at its end; its texts are embedded again.

        Raises:
            InvalidArgument: a line is no part of an export, or the export is cut; names the line and the field.
            NotReady: the bank holds something, or a newer version made the export.

        """
        ...
