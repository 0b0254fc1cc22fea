"""The port of retain: what a bank is told, and which arms have it."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.defense import DefenseViolation
from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError


class UpdateMode(StrEnum):
    """What becomes of the document's former content."""

    REPLACE = "replace"
    APPEND = "append"


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or file in the content, in its place."""

    media_type: str
    data: bytes = field(repr=False)


ContentBlock = str | Attachment


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity the caller names. ``resolve`` false: taken as it stands, never matched to a similar one."""

    name: str
    kind: str = "concept"
    resolve: bool = True


@dataclass(frozen=True, slots=True)
class RetainItem:
    """One thing to keep.

    ``content`` is ordered blocks. ``time`` is when it was said (absent with ``timeless`` false: now; with ``timeless``
    true: it has none). ``context`` says who is speaking or what this is. Items of one call that name the same
    ``document_id`` are that document's content, in order; without one each item is a document of its own.

    Raises:
        InvalidArgument: ``content`` is a bare string.

    """

    content: tuple[ContentBlock, ...]
    time: datetime | None = None
    timeless: bool = False
    context: str = ""
    document_id: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    entities: tuple[NamedEntity, ...] = ()
    observation_scopes: tuple[tuple[str, ...], ...] = ()
    update_mode: UpdateMode = UpdateMode.REPLACE
    receipt_uri: str = ""

    def __post_init__(self) -> None:
        """Refuse a bare string: as a sequence of blocks it would be torn into its letters."""
        if isinstance(self.content, str):
            raise InvalidArgument(FieldViolation("content", "must be a tuple of blocks, such as (text,)"))


@dataclass(frozen=True, slots=True)
class RetainRequest:
    """Things to keep in a bank, all or nothing.

    ``request_id`` makes the call idempotent (empty: it is not). ``wait`` false: the answer is an operation.
    ``mode`` overrides the bank's extraction mode. ``tags`` apply to every item.
    """

    bank: BankRef
    items: tuple[RetainItem, ...]
    request_id: str = ""
    wait: bool = True
    mode: ExtractionMode | None = None
    tags: tuple[str, ...] = ()


class DeliveryState(StrEnum):
    """Whether an arm has what was written."""

    STORED = "stored"
    PENDING = "pending"
    """Not yet; the outbox delivers it."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One arm's share of a write; ``detail`` says in words why it is pending."""

    arm: ArmName
    state: DeliveryState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RetainedItem:
    """What became of one item: its document and the memories made of it (none is a success that says so)."""

    document_id: str
    memory_ids: tuple[str, ...] = ()
    unchanged: bool = False
    """The document had this very content already; its memories were kept."""
    violations: tuple[DefenseViolation, ...] = ()
    """What memory defense found in it; a refused item has no memories and one that says ``block``."""


@dataclass(frozen=True, slots=True)
class RetainAnswer:
    """What was written and which arms have it; ``operation_id`` alone when the call did not wait."""

    items: tuple[RetainedItem, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    operation_id: str = ""
    replayed: bool = False
    """An earlier call with this request id made the answer."""

    @property
    def memory_count(self) -> int:
        """How many memories came of the call."""
        return sum(len(item.memory_ids) for item in self.items)


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What became of one batch of a stream: what was kept, or the error for which nothing of it was."""

    request_id: str
    outcome: RetainAnswer | MeshError


class Retainer(Protocol):
    """Takes in what a bank is told."""

    async def retain(self, request: RetainRequest) -> RetainAnswer:
        """Write to the ledger, then to all arms at once; what an arm missed is delivered later.

        Raises:
            InvalidArgument: an item is blank or beyond a limit; names the field (``items[3].content``).
            BankNotFound: no such bank.
            RequestIdReused: the request id came before with other content.
            DefenseBlocked: memory defense refused every item; says why.
            NotReady: the bank asks memory defense for what cannot be looked for here.
            NoVisionModel: an attachment came and nothing here can read it.

        """
        ...

    def stream(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """Keep batch after batch, and answer each, in their order.

        Each batch is atomic, the stream is not: what ``retain`` would raise is a batch's answer, and the next one goes
        on. A batch needs a request id, by which it may be sent again, and must wait. A few are worked on at once, those
        of the same document or request id one after the other; more are not asked for until an answer was taken. An
        append to a document whose batch before it was not kept is ``NotReady``: no document lacks a piece in its midst.

        A batch has as long as a ``retain``; the stream has no end of its own, but keeps to the deadline in hand. When
        ``requests`` raises, what came before is finished and answered, then that is raised. To close the stream
        cancels what is in hand. A batch that was not answered may have been kept.

        Raises:
            StoreUnavailable: the other side went away; what was not answered may be sent again, to be kept once.
            Overloaded: the other side takes no more streams now.

        """
        ...
