"""What arms are asked, answer and index, on the wire."""

from collections.abc import Iterable
from itertools import repeat
from math import isfinite, isnan, nan

from recallmesh.core.arm import ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector, hit_of
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.memory import ALL_FACT_TYPES
from recallmesh.core.page import Page
from recallmesh.rpc.codec.enums import FACT_TYPE
from recallmesh.rpc.codec.memory import cause_from_pb, cause_to_pb, mention_from_pb, mention_to_pb
from recallmesh.rpc.codec.tag import tag_test_from_pb, tag_test_to_pb
from recallmesh.rpc.codec.time import (
    local_moment_from_pb,
    moment_to_pb,
    occurrence_from_pb,
    occurrence_to_pb,
    offset_to_pb,
    window_from_pb,
    window_to_pb,
)
from recallmesh.v1 import arm_service_pb2

LIMIT_DEFAULT = 300
LIMIT_MAX = 2000


def limit_from_pb(limit: int, field: str = "limit") -> int:
    """Read how many hits are wanted.

    Raises:
        InvalidArgument: fewer than 1 or more than ``LIMIT_MAX``.

    """
    if not 0 <= limit <= LIMIT_MAX:
        raise InvalidArgument(FieldViolation(field, f"must be in [1, {LIMIT_MAX}]"))
    return limit or LIMIT_DEFAULT


def vector_from_pb(values: Iterable[float], field: str) -> Vector | None:
    """Read a vector; an empty one is none.

    Raises:
        InvalidArgument: a number of it is not finite: an index would keep it and never find it.

    """
    vector = tuple(values)
    if not isfinite(sum(vector)):
        raise InvalidArgument(FieldViolation(field, "holds a number that is not finite"))
    return vector or None


def search_to_pb(arm: str, query: ArmQuery, model: str = "") -> arm_service_pb2.SearchRequest:
    """Write what an arm is asked; ``model`` made the vector."""
    return arm_service_pb2.SearchRequest(
        arm=arm,
        bank_uid=query.bank_uid,
        text=query.text,
        vector=query.vector,
        window=None if query.window is None else window_to_pb(query.window),
        fact_types=[FACT_TYPE.to_pb(fact_type) for fact_type in query.fact_types],
        tags=tag_test_to_pb(query.tags),
        limit=query.limit,
        min_score=query.min_score,
        strategy=query.strategy,
        model=model,
        unexplained=not query.explained,
    )


def search_from_pb(message: arm_service_pb2.SearchRequest) -> ArmQuery:
    """Read what an arm is asked."""
    return ArmQuery(
        bank_uid=message.bank_uid,
        text=message.text,
        vector=vector_from_pb(message.vector, "vector"),
        window=window_from_pb(message.window) if message.HasField("window") else None,
        fact_types=tuple(FACT_TYPE.at_door(number, "fact_types") for number in message.fact_types) or ALL_FACT_TYPES,
        tags=tag_test_from_pb(message.tags),
        limit=limit_from_pb(message.limit),
        min_score=message.min_score if message.HasField("min_score") else None,
        strategy=message.strategy,
        explained=not message.unexplained,
    )


def hits_to_pb(hits: tuple[Hit, ...]) -> arm_service_pb2.SearchResponse:
    """Write hits as lists of equal length; what no hit has is left out."""
    phrases = [hit.because for hit in hits]
    cosines = [nan if hit.context_cosine is None else hit.context_cosine for hit in hits]
    return arm_service_pb2.SearchResponse(
        memory_ids=[hit.memory_id for hit in hits],
        scores=[hit.score for hit in hits],
        because=phrases if any(phrases) else None,
        context_cosines=None if all(map(isnan, cosines)) else cosines,
    )


def hits_from_pb(message: arm_service_pb2.SearchResponse) -> tuple[Hit, ...]:
    """Read hits."""
    because = message.because or repeat("")
    cosines: Iterable[float | None] = repeat(None)
    if message.context_cosines:
        cosines = [None if isnan(cosine) else cosine for cosine in message.context_cosines]
    return tuple(map(hit_of, zip(message.memory_ids, message.scores, because, cosines, strict=False)))


def entry_to_pb(entry: IndexEntry) -> arm_service_pb2.IndexEntry:
    """Write an entry."""
    return arm_service_pb2.IndexEntry(
        memory_id=entry.memory_id,
        version=entry.version,
        text=entry.text,
        fact_type=FACT_TYPE.to_pb(entry.fact_type),
        tags=entry.tags,
        mentions=[mention_to_pb(mention) for mention in entry.mentions],
        causes=[cause_to_pb(cause) for cause in entry.causes],
        occurred=None if entry.occurred is None else occurrence_to_pb(entry.occurred),
        mention_time=None if entry.mentioned is None else moment_to_pb(entry.mentioned),
        mention_utc_offset=offset_to_pb(entry.mentioned),
        document_id=entry.document_id,
        position=entry.position,
        vector=entry.vector,
        context_vector=entry.context_vector,
    )


def entry_from_pb(message: arm_service_pb2.IndexEntry, field: str) -> IndexEntry:
    """Read an entry."""
    occurred = message.occurred if message.HasField("occurred") else None
    mentioned = message.mention_time if message.HasField("mention_time") else None
    return IndexEntry(
        memory_id=message.memory_id,
        version=message.version,
        text=message.text,
        fact_type=FACT_TYPE.at_door(message.fact_type, f"{field}.fact_type"),
        tags=tuple(message.tags),
        mentions=tuple(mention_from_pb(mention) for mention in message.mentions),
        causes=tuple(cause_from_pb(cause) for cause in message.causes),
        occurred=None if occurred is None else occurrence_from_pb(occurred, f"{field}.occurred", door=True),
        mentioned=(
            None
            if mentioned is None
            else local_moment_from_pb(mentioned, message.mention_utc_offset, f"{field}.mention_time")
        ),
        document_id=message.document_id,
        position=message.position,
        vector=vector_from_pb(message.vector, f"{field}.vector"),
        context_vector=vector_from_pb(message.context_vector, f"{field}.context_vector"),
    )


def removal_to_pb(removal: Removal) -> arm_service_pb2.Removal:
    """Write a removal."""
    return arm_service_pb2.Removal(memory_id=removal.memory_id, version=removal.version)


def removal_from_pb(message: arm_service_pb2.Removal) -> Removal:
    """Read a removal."""
    return Removal(message.memory_id, message.version)


def indexed_to_pb(row: Indexed) -> arm_service_pb2.Indexed:
    """Write a row of an index."""
    return arm_service_pb2.Indexed(memory_id=row.memory_id, version=row.version)


def indexed_page(rows: Iterable[arm_service_pb2.Indexed], next_page_token: str) -> Page[Indexed]:
    """Read a page of an index.

    It goes on from the last id rather than from the token: an id is the key of the port, and one can begin anywhere.
    """
    read = tuple(Indexed(row.memory_id, row.version) for row in rows)
    return Page(read, read[-1].memory_id if read and next_page_token else "")
