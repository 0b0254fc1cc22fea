"""What can go wrong, as a closed set: each class has one gRPC code and one public reason.

A message is written for the caller: it names fields and limits, never our insides.
What a driver said goes to the log and, as ``__cause__``, no further.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import ClassVar

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One argument that was refused: the field's path in the request, and why."""

    field: str
    description: str


class MeshError(Exception):
    """Every error that leaves a port.

    ``reason`` is the public word for it (``ERROR_REASON_…`` in the protos without the prefix),
    ``code`` the name of the gRPC status code, ``metadata`` what a program may need to know (ids, limits).
    """

    reason: ClassVar[str] = "INTERNAL"
    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, metadata: Mapping[str, str] = NOTHING) -> None:
        """Keep the message for the caller."""
        super().__init__(message)
        self.message = message
        self.metadata = metadata


class InternalFault(MeshError):
    """A bug of ours; the caller learns only the request id."""


class InvalidArgument(MeshError):
    """The request is wrong whatever the state of the system; says which fields and why."""

    reason = "INVALID_ARGUMENT"
    code = "INVALID_ARGUMENT"

    def __init__(self, *violations: FieldViolation) -> None:
        """Name every field that was refused."""
        super().__init__("; ".join(f"{v.field}: {v.description}" for v in violations))
        self.violations = violations


class PageTokenMismatch(InvalidArgument):
    """A page token was sent with other arguments than it was made for."""

    reason = "PAGE_TOKEN_MISMATCH"

    def __init__(self) -> None:
        """Blame the token."""
        super().__init__(FieldViolation("page_token", "was made for other arguments; start from the first page"))


class NotFound(MeshError):
    """What was named is not there, or not the caller's to see."""

    reason = "NOT_FOUND"
    code = "NOT_FOUND"
    kind: ClassVar[str] = "resource"

    def __init__(self, name: str) -> None:
        """Say what was looked for."""
        super().__init__(f"{self.kind} {name!r} not found", metadata={self.kind: name})


class BankNotFound(NotFound):
    """No such bank in the caller's tenant."""

    reason = "BANK_NOT_FOUND"
    kind = "bank"


class MemoryNotFound(NotFound):
    """No such memory in the bank."""

    reason = "MEMORY_NOT_FOUND"
    kind = "memory"


class DocumentNotFound(NotFound):
    """No such document in the bank."""

    reason = "DOCUMENT_NOT_FOUND"
    kind = "document"


class ChunkNotFound(NotFound):
    """No such chunk in the bank."""

    reason = "CHUNK_NOT_FOUND"
    kind = "chunk"


class EntityNotFound(NotFound):
    """No such entity in the bank."""

    reason = "ENTITY_NOT_FOUND"
    kind = "entity"


class OperationNotFound(NotFound):
    """No such operation in the bank."""

    reason = "OPERATION_NOT_FOUND"
    kind = "operation"


class AttachmentNotFound(NotFound):
    """No such attachment in the bank."""

    reason = "ATTACHMENT_NOT_FOUND"
    kind = "attachment"


class BankExists(MeshError):
    """A bank of that id exists already."""

    reason = "BANK_EXISTS"
    code = "ALREADY_EXISTS"


class RequestIdReused(MeshError):
    """A request id came again with other content."""

    reason = "REQUEST_ID_REUSED"
    code = "ALREADY_EXISTS"


class EmbeddingMismatch(MeshError):
    """The store holds vectors of another size or model than the embedder makes."""

    reason = "EMBEDDING_MISMATCH"
    code = "FAILED_PRECONDITION"


class DefenseBlocked(MeshError):
    """Memory defense refused every item of the call."""

    reason = "DEFENSE_BLOCKED"
    code = "FAILED_PRECONDITION"

    def __init__(self, *violations: FieldViolation) -> None:
        """Name every item and what was found in it, never the thing itself."""
        said = "; ".join(f"{one.field}: {one.description}" for one in violations)
        super().__init__(f"memory defense refused it: {said}", metadata={"violations": str(len(violations))})
        self.violations = violations


class NoVisionModel(MeshError):
    """An attachment came, and no extractor here can read it."""

    reason = "NO_VISION_MODEL"
    code = "FAILED_PRECONDITION"


class NotReady(MeshError):
    """The state of the thing does not allow this now; the message says which state does."""

    reason = "NOT_READY"
    code = "FAILED_PRECONDITION"


class NameTaken(MeshError):
    """The name is another entity's."""

    reason = "NAME_TAKEN"
    code = "FAILED_PRECONDITION"


class ConflictingWrite(MeshError):
    """Another write came between; the whole call may be made again."""

    reason = "CONFLICTING_WRITE"
    code = "ABORTED"


class Unauthenticated(MeshError):
    """No credential, or one that is not known."""

    reason = "UNAUTHENTICATED"
    code = "UNAUTHENTICATED"


class Forbidden(MeshError):
    """The credential does not allow this."""

    reason = "FORBIDDEN"
    code = "PERMISSION_DENIED"


class Overloaded(MeshError):
    """More work than there is room for; come again after ``retry_after``."""

    reason = "OVERLOADED"
    code = "RESOURCE_EXHAUSTED"

    def __init__(self, message: str, *, retry_after: timedelta = timedelta(seconds=1)) -> None:
        """Keep the delay for RetryInfo."""
        super().__init__(message)
        self.retry_after = retry_after


class QuotaExceeded(Overloaded):
    """The tenant has used up its quota; come again after ``retry_after``."""

    reason = "QUOTA_EXCEEDED"

    def __init__(self, message: str, *, retry_after: timedelta = timedelta(seconds=1), quota: str = "") -> None:
        """Say which quota it is, if that is known."""
        super().__init__(message, retry_after=retry_after)
        self.metadata = {"quota": quota} if quota else NOTHING


class StoreUnavailable(MeshError):
    """A store or a service behind this one does not answer."""

    reason = "STORE_UNAVAILABLE"
    code = "UNAVAILABLE"


class ExtractionFailed(MeshError):
    """A language model gave no answer that facts can be made of; nothing was stored."""

    reason = "EXTRACTION_FAILED"
    code = "ABORTED"


class RecallUnavailable(MeshError):
    """Every arm that was asked failed."""

    reason = "RECALL_UNAVAILABLE"
    code = "UNAVAILABLE"


class ArmTimeout(MeshError):
    """The work was not done within its deadline."""

    reason = "DEADLINE_EXCEEDED"
    code = "DEADLINE_EXCEEDED"


class Unimplemented(MeshError):
    """The server does not offer the call."""

    reason = "UNIMPLEMENTED"
    code = "UNIMPLEMENTED"


def all_errors() -> tuple[type[MeshError], ...]:
    """Return every class of this page, parents first; codecs and tests walk it."""
    found: list[type[MeshError]] = [MeshError]
    for error in found:
        # Of this page alone: what a module makes of them for itself has no reason of its own on the wire.
        found.extend(one for one in error.__subclasses__() if one.__module__ == __name__)
    return tuple(found)
