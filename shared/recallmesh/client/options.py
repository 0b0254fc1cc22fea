"""What calls may add, by keyword: the fields of the core's requests, whose defaults hold where nothing is said."""

from datetime import datetime
from typing import TypedDict

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.memory import FactType
from recallmesh.core.recall import Fusion
from recallmesh.core.tags import TagTest
from recallmesh.core.time import Window
from recallmesh.core.tuning import Budget, RecallTuning


class RecallOptions(TypedDict, total=False):
    """What a question may add: ``core.recall.RecallRequest`` says what each means."""

    budget: Budget
    max_tokens: int
    limit: int
    query_time: datetime | None
    window: Window | None
    fact_types: tuple[FactType, ...]
    tags: TagTest
    tuning: RecallTuning
    chunk_tokens: int | None
    source_tokens: int | None
    include_entities: bool
    trace: bool
    fusion: Fusion


class RetainOptions(TypedDict, total=False):
    """What a call of retain may add: ``core.retain.RetainRequest`` says what each means."""

    request_id: str
    wait: bool
    mode: ExtractionMode | None
    tags: tuple[str, ...]
