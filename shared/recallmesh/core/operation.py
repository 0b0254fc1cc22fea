"""Operations: work that goes on after the call returned."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class OperationKind(StrEnum):
    """What the work is."""

    RETAIN = "retain"
    CONSOLIDATE = "consolidate"
    REPROCESS = "reprocess"
    REPAIR = "repair"


class OperationState(StrEnum):
    """How far the work is."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED = (OperationState.SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Operation:
    """Work that goes on: its state, how far it is (``done`` of ``total`` items), and why it failed."""

    id: str
    kind: OperationKind
    state: OperationState
    created: datetime
    updated: datetime
    done: int = 0
    total: int = 0
    attempts: int = 0
    error: str = ""
    memory_ids: tuple[str, ...] = ()
