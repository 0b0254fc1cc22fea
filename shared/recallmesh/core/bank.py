"""A bank: the isolated memory of one agent or tenant, and how it is set up."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recallmesh.core.defense import DefenseTuning
from recallmesh.core.tuning import RecallTuning

DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class BankRef:
    """How a caller names a bank: the tenant comes from the credential alone, never from the request."""

    bank_id: str
    tenant: str = DEFAULT_TENANT


class ExtractionMode(StrEnum):
    """What retain makes of a chunk."""

    CONCISE = "concise"
    """Self-contained facts; greetings and fillers are dropped."""
    VERBOSE = "verbose"
    """Self-contained facts; nothing is dropped."""
    CUSTOM = "custom"
    """By the bank's own instructions; needs an LLM extractor."""
    VERBATIM = "verbatim"
    """The chunk's text is the memory; entities and dates are extracted."""
    CHUNKS = "chunks"
    """The chunk's text is the memory; nothing is extracted."""


@dataclass(frozen=True, slots=True)
class RetainTuning:
    """How a bank takes in what it is told.

    ``chunk_tokens`` bounds a chunk; ``agent_names`` are the names under which the bank's own agent speaks (their first
    person makes an ``experience``); ``mission`` and ``instructions`` steer LLM extraction and are unused without one.
    """

    mode: ExtractionMode = ExtractionMode.CONCISE
    chunk_tokens: int = 512
    agent_names: tuple[str, ...] = ("assistant", "agent")
    mission: str = ""
    instructions: str = ""
    language: str = "en"


class ObservationScope(StrEnum):
    """Which memories may meet in one observation. What each means, ``core.scope`` tells."""

    COMBINED = "combined"
    """Those with the same set of tags."""
    SHARED = "shared"
    """All of the bank, whatever their tags."""
    PER_TAG = "per_tag"
    """Those that have a tag in common, for each tag."""
    ALL_COMBINATIONS = "all_combinations"
    """Those that have a set of tags in common, for each such set."""
    CUSTOM = "custom"
    """Those that have the tags of a scope that the bank or the item names."""


@dataclass(frozen=True, slots=True)
class ConsolidationTuning:
    """How a bank's facts are consolidated into observations.

    ``enabled`` absent: as the service is set up. ``custom_scopes`` are the tag sets of ``CUSTOM``; an empty one stands
    for the memories without tags.
    """

    enabled: bool | None = None
    scope: ObservationScope = ObservationScope.COMBINED
    custom_scopes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LabelKey:
    """One key of a bank's controlled vocabulary and the values that it may have: labels are written ``key:value``.

    ``description`` tells an LLM extractor what the key means. ``write_tags``: a label of this key is written to the
    tags of the memories that have it, too.
    """

    key: str
    values: tuple[str, ...]
    description: str = ""
    write_tags: bool = False


@dataclass(frozen=True, slots=True)
class BankConfig:
    """All of a bank's own settings; a field left at its default follows the service's default."""

    recall: RecallTuning = field(default_factory=RecallTuning)
    retain: RetainTuning = field(default_factory=RetainTuning)
    consolidation: ConsolidationTuning = field(default_factory=ConsolidationTuning)
    labels: tuple[LabelKey, ...] = ()
    defense: DefenseTuning = field(default_factory=DefenseTuning)


@dataclass(frozen=True, slots=True)
class Bank:
    """A bank as the ledger keeps it.

    ``uid`` is ours and never reused: a bank deleted and created again under its id has another. The arms know banks by
    ``uid`` alone, so neither tenants nor former lives of an id can meet in an index. ``version`` guards updates.
    """

    ref: BankRef
    uid: str
    created: datetime
    name: str = ""
    config: BankConfig = field(default_factory=BankConfig)
    version: int = 1


@dataclass(frozen=True, slots=True)
class BankStats:
    """What a bank holds now; ``pending`` counts index writes not yet delivered."""

    memories: int = 0
    memories_by_type: tuple[tuple[str, int], ...] = ()
    documents: int = 0
    chunks: int = 0
    entities: int = 0
    tags: int = 0
    pending: int = 0
