"""A memory: one fact, the unit that is retrieved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recallmesh.core.time import Occurrence, Window


class FactType(StrEnum):
    """Whose story a memory tells."""

    WORLD = "world"
    """About other people, places, things and events."""
    EXPERIENCE = "experience"
    """What the bank's own agent did, saw or said."""
    OBSERVATION = "observation"
    """What consolidation made of several facts."""


ALL_FACT_TYPES = (FactType.WORLD, FactType.EXPERIENCE, FactType.OBSERVATION)


class MemoryState(StrEnum):
    """Whether recall may show a memory."""

    ACTIVE = "active"
    INVALIDATED = "invalidated"
    """Hidden by its owner; can be restored."""
    RETIRING = "retiring"
    """Its document has a newer version; shown until that version is indexed, then deleted."""


VISIBLE_STATES = (MemoryState.ACTIVE, MemoryState.RETIRING)


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity that a memory is about. ``aliases`` are its other known names; a label has kind ``label``.

    ``version`` counts the changes of the names: an index that keeps them by entity takes those of the newest.
    """

    entity_id: str
    name: str
    kind: str = "concept"
    aliases: tuple[str, ...] = ()
    version: int = 1


@dataclass(frozen=True, slots=True)
class CausalLink:
    """What the memory that holds it was caused by: ``cause_id``, believed to the degree ``weight`` in (0, 1]."""

    cause_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Memory:
    """One fact as the ledger keeps it.

    ``id`` is a UUID in canonical text. ``version`` grows by one with every change; indexes ignore older versions.
    ``occurred`` is absent for standing facts, ``mentioned`` when the source has no time. ``tokens`` counts the text
    alone. ``position`` is the place in its document, from 0; ``previous_id`` the memory just before it there.
    ``sources`` are the facts an observation was built from, ``proof_count`` their number (1 for other types).
    """

    id: str
    text: str
    fact_type: FactType
    created: datetime
    occurred: Occurrence | None = None
    mentioned: datetime | None = None
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    document_id: str = ""
    chunk_id: str = ""
    position: int = 0
    previous_id: str = ""
    mentions: tuple[Mention, ...] = ()
    causes: tuple[CausalLink, ...] = ()
    sources: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    proof_count: int = 1
    tokens: int = 0
    state: MemoryState = MemoryState.ACTIVE
    version: int = 1

    @property
    def time(self) -> Window | None:
        """The memory's own time: when it occurred, else the moment it was mentioned, else nothing."""
        if self.occurred is not None:
            return self.occurred.window
        return None if self.mentioned is None else Window(self.mentioned, self.mentioned)


@dataclass(frozen=True, slots=True)
class Outline:
    """What of a memory decides whether it may be shown and how much room it takes, without what it says.

    The fields are those of the ``Memory``.
    """

    id: str
    fact_type: FactType
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tokens: int = 0
    state: MemoryState = MemoryState.ACTIVE
