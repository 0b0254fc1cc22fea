"""What retain writes, and what the arms still have to do about it: the values of a write, its outbox and the queue."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.document import Chunk, Document
from recallmesh.core.memory import Memory
from recallmesh.core.operation import Operation
from recallmesh.core.retain import UpdateMode


@dataclass(frozen=True, slots=True)
class NewEntity:
    """An entity that a write mentions. When the bank has one of this ``key`` (and label-ness), that one is used.

    ``id`` is what the write's memories call it; the ledger puts the bank's own in its place. ``aliases`` are added.
    """

    id: str
    name: str
    key: str
    kind: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """A chunk and the memories made of it, in order. The ledger assigns numbers, positions and ``previous_id``.

    ``said`` is what the caller said besides the text, for reading the chunk once more; kept as it is. ``attachments``
    are the ids of those in its text.

    ``known`` says that the memories were left out because the document has a chunk of this digest. Should it have lost
    that chunk meanwhile, the write is refused as ``ConflictingWrite``: stored as it is, the chunk would have none.
    ``scopes`` are the tag sets that its memories are to be consolidated under; none: as the bank is set up.
    """

    chunk: Chunk
    memories: tuple[Memory, ...]
    known: bool = False
    said: str = ""
    attachments: tuple[str, ...] = ()
    scopes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document's new content.

    With ``REPLACE`` the chunks are all of it: chunks whose digest the document has already keep their memories and need
    not bring any (bring them all the same when in doubt: they are dropped); of vanished chunks a memory whose text and
    type are among the new ones stays under its id, in their place, and one more of its version where anything else of
    it changed; what a person has edited of it stays as long as ``said`` is the same, and invalidated it stays in any
    case. The others become ``RETIRING``. With ``APPEND`` the chunks follow what is there. ``version`` other than 0 must
    be the document's, else the write is refused as ``ConflictingWrite``.
    """

    document: Document
    mode: UpdateMode
    chunks: tuple[ChunkWrite, ...]
    version: int = 0


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request id and the hash of the content that came with it."""

    request_id: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Submission:
    """An operation in the queue; ``replayed``: the request id had put it there before, and nothing was added."""

    operation: Operation
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """One transaction of a retain. ``arms`` are those that must index what it writes.

    The ledger writes its events with it: that it is complete, and the ``decisions`` that memory defense took.
    ``operation_id`` is the operation that it is of, empty when its caller waits.
    ``attachments`` holds at least those of the chunks that the ledger has not yet; each is stored once for a bank.
    ``consolidate`` is when what is new in it is due to be consolidated; absent: when somebody asks.
    """

    bank_uid: str
    documents: tuple[DocumentWrite, ...]
    entities: tuple[NewEntity, ...]
    arms: tuple[ArmName, ...]
    at: datetime
    request: RequestRecord | None = None
    operation_id: str = ""
    decisions: tuple[SecurityEvent, ...] = ()
    attachments: tuple[StoredAttachment, ...] = ()
    consolidate: datetime | None = None


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """What a write made of one document: all its chunks' memory ids by the write's chunk order."""

    document_id: str
    memory_ids: tuple[tuple[str, ...], ...]
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """What a transaction did.

    ``added`` are the new memories as stored, with the bank's own entity ids; not those that a document had already.
    ``replayed``: the request id was known with the same content; nothing was written and ``documents`` tell what the
    first call wrote. ``retiring`` are the ids whose document has moved on.
    """

    write_id: str
    documents: tuple[WrittenDocument, ...] = ()
    added: tuple[Memory, ...] = ()
    retiring: tuple[str, ...] = ()
    replayed: bool = False


class OutboxAction(StrEnum):
    """What an arm still has to do."""

    INDEX = "index"
    REMOVE = "remove"
    DROP_BANK = "drop_bank"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One memory (or bank) that one arm has to index, remove or drop; delivered in the order of ``seq`` per memory.

    ``origin`` is the ``traceparent`` of what wrote it; empty: that was not traced.
    """

    seq: int
    write_id: str
    bank_uid: str
    arm: ArmName
    action: OutboxAction
    memory_id: str
    version: int
    attempts: int = 0
    origin: str = ""
