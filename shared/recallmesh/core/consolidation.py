"""Consolidation as the ledger keeps it: marks of what is new, observations and their evidence, and every version."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from recallmesh.core.arm import ArmName
from recallmesh.core.memory import Memory
from recallmesh.core.operation import Operation
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest

FEWEST = 2
"""The fewest facts of an observation: what one fact says, the fact says itself."""

ASKED = b"asked"
"""The payload of an operation that somebody asked for: whatever is new is consolidated, in any bank."""
DUE = b"due"
"""The payload of one that became due: what is new is consolidated if the bank is set up so; else what was before."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact that is not consolidated yet, and the scopes that came with it (none: the bank's)."""

    memory: Memory
    scopes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class HeldObservation:
    """An observation as it is: its scope's key, and of each fact that is evidence for it whether its text rests on it.

    ``stale``: it lost evidence that its text rested on, says what one of its facts says, and is to be written anew.
    """

    memory: Memory
    scope: str
    evidence: Mapping[str, bool]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class ObservationWrite:
    """An observation to create (``memory.version`` 0) or to change from the version that was read.

    Its ``memory.sources`` are the evidence; ``told`` those of them that the text rests on; ``quotes`` their words;
    ``reason`` says in words why, for the history.
    """

    memory: Memory
    scope: str
    told: frozenset[str]
    quotes: Mapping[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class Consolidation:
    """One transaction of consolidation, all or nothing.

    ``seen`` are the versions of all facts that it rests on: evidence that meanwhile has another is refused. ``done``
    are the facts whose marks go, unless they have another version than the one seen: then they are new again.
    """

    bank_uid: str
    arms: tuple[ArmName, ...]
    at: datetime
    written: tuple[ObservationWrite, ...] = ()
    removed: tuple[HeldObservation, ...] = ()
    seen: Mapping[str, int] | None = None
    done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a transaction of consolidation did; ``write_id`` is that of its outbox rows."""

    write_id: str
    written: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Backlog:
    """What consolidation has yet to do in the banks that it is due in.

    ``facts`` are new, ``observations`` stale (in all banks); ``age`` is how long the longest due bank has waited.
    """

    facts: int = 0
    observations: int = 0
    age: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """What a memory said from one change to the next.

    ``reason`` is one of retain, edit and consolidate, and after a colon in words what changed. ``quotes`` are the words
    of an observation's evidence then, by memory id.
    """

    version: int
    text: str
    created: datetime
    reason: str
    tags: tuple[str, ...] = ()
    quotes: Mapping[str, str] = field(default_factory=dict)


class ConsolidationLedger(Protocol):
    """Consolidation's side of the ledger.

    A commit marks its new facts; a change of a fact marks it again. When a fact is deleted, hidden or says something
    else, it is no evidence any more, in that very transaction: an observation that is left with less than ``FEWEST``
    is deleted, one whose text rested on it says what its longest fact says and is stale, any other loses a source.
    """

    async def new_facts(
        self, bank_uid: str, *, limit: int, after: str = "", again: bool = False
    ) -> tuple[NewFact, ...]:
        """Return marked facts by id, those after an id; those that the semantic arm still waits for are left out.

        With ``again`` only those that were consolidated before, and have changed or were shown again since.
        """
        ...

    async def has_new_facts(self, bank_uid: str, *, again: bool = False) -> bool:
        """Tell whether any fact is marked, also those that ``new_facts`` leaves out."""
        ...

    async def own_scopes(self, bank_uid: str, fact_ids: tuple[str, ...]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the scopes that came with those of the facts that have any of their own."""
        ...

    async def observations_of(
        self, bank_uid: str, fact_ids: tuple[str, ...], observation_ids: tuple[str, ...]
    ) -> tuple[HeldObservation, ...]:
        """Return the observations that the facts are evidence for, and those of the ids, by id."""
        ...

    async def stale_observations(self, bank_uid: str, *, limit: int) -> tuple[HeldObservation, ...]:
        """Return observations that wait to be written anew, by id."""
        ...

    async def consolidate(self, change: Consolidation) -> Consolidated:
        """Write one transaction of consolidation.

        Raises:
            ConflictingWrite: a fact or an observation is not as it was read, or is evidence elsewhere in the scope;
                nothing was written. Read again.
            BankNotFound: the bank was deleted meanwhile.

        """
        ...

    async def tell_consolidated(self, bank_uid: str, operation: Operation, memory_count: int, at: datetime) -> None:
        """Write the event that an operation consolidated a bank; one that was told of already is not told again."""
        ...

    async def ask_consolidation(self, bank_uid: str, at: datetime) -> Operation:
        """Return a pending operation that consolidates all that is new in a bank; made unless there is one."""
        ...

    async def start_consolidations(self, at: datetime) -> int:
        """Make an operation for each bank that is due, unless one has not ended yet; returns how many were made."""
        ...

    async def ask_again(self, bank_uid: str, due: datetime) -> None:
        """Make a bank due; one that is due already stays so."""
        ...

    async def consolidation_backlog(self, at: datetime) -> Backlog:
        """Count what is left to do."""
        ...


class HistoryLedger(Protocol):
    """What memories said before."""

    async def memory_history(
        self, bank_uid: str, memory_id: str, page: PageRequest, *, tags: TagTest = EVERYTHING
    ) -> Page[MemoryVersion]:
        """List a memory's versions, newest first; those are left out that have tags, or evidence, that fail the test.

        Raises:
            MemoryNotFound: it is not there, or fails the test itself.

        """
        ...
