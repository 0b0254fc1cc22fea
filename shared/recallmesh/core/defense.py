"""Memory defense: what a bank keeps out of its memory, and what was decided about what it was told."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class DefenseDetector(StrEnum):
    """What is looked for."""

    SECRET = "secret"  # noqa: S105 - the name of a detector
    """Keys, passwords and tokens."""
    PERSONAL_DATA = "personal_data"
    """Addresses, numbers of phones, cards, accounts and persons."""
    PROMPT_INJECTION = "prompt_injection"
    """Text that tries to instruct the model that will read it."""


class DefenseAction(StrEnum):
    """What is done about a finding."""

    REDACT = "redact"
    """It is replaced by a mark that says what it was."""
    BLOCK = "block"
    """The item is refused."""


class Severity(StrEnum):
    """How bad a finding is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class DefenseTuning:
    """What a bank keeps out, and how; a detector without an action is off."""

    secret: DefenseAction | None = None
    personal_data: DefenseAction | None = None
    prompt_injection: DefenseAction | None = None


@dataclass(frozen=True, slots=True)
class DefenseViolation:
    """One kind of finding in one item, and what was done; ``message`` says what it was, never the thing itself."""

    detector: DefenseDetector
    action: DefenseAction
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class SecurityEvent:
    """A decision as it is kept: a violation, the item (by its place in the call, from 0) and what the caller named it.

    ``id`` is a UUID; a call that is made again under its request id decides the same again, under the same id.
    """

    id: str
    time: datetime
    violation: DefenseViolation
    document_id: str = ""
    item_index: int = 0
    receipt_uri: str = ""
