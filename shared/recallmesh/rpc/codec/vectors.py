"""Nearest-neighbour questions and answers on the wire."""

from functools import lru_cache
from itertools import repeat

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorField, VectorHit, VectorQuery, vector_hit_of
from recallmesh.rpc.codec.arm import limit_from_pb, vector_from_pb
from recallmesh.rpc.codec.enums import FACT_TYPE, VECTOR_FIELD
from recallmesh.rpc.codec.tag import tag_test_from_pb, tag_test_to_pb
from recallmesh.rpc.codec.time import micros_from_pb, micros_to_pb, window_from_pb, window_to_pb
from recallmesh.v1 import vector_service_pb2

KEPT_TIMES = 20_000
"""How many memories' times are kept as they were read, some 200 bytes each: making one costs ten times the rest of a
hit, and what is near to a question about a period is read again with the next one."""
UNDATED = -(2**63)
"""What stands for a memory's time where none is known."""


def vector_query_to_pb(query: VectorQuery) -> vector_service_pb2.VectorQuery:
    """Write a question."""
    return vector_service_pb2.VectorQuery(
        bank_uid=query.bank_uid,
        vector=query.vector,
        field=VECTOR_FIELD.to_pb(query.field),
        fact_types=[FACT_TYPE.to_pb(fact_type) for fact_type in query.fact_types],
        tags=tag_test_to_pb(query.tags),
        window=None if query.window is None else window_to_pb(query.window),
        limit=query.limit,
        min_score=query.min_score,
        exclude_ids=query.exclude,
        without_times=not query.times,
        begins_in_window=query.begins,
    )


def vector_query_from_pb(message: vector_service_pb2.VectorQuery, field: str) -> VectorQuery:
    """Read a question."""
    vector = vector_from_pb(message.vector, f"{field}.vector")
    if vector is None:
        raise InvalidArgument(FieldViolation(f"{field}.vector", "is required"))
    return VectorQuery(
        bank_uid=message.bank_uid,
        vector=vector,
        field=VECTOR_FIELD.at_door(message.field, f"{field}.field", default=VectorField.TEXT),
        fact_types=tuple(FACT_TYPE.at_door(number, f"{field}.fact_types") for number in message.fact_types),
        tags=tag_test_from_pb(message.tags, f"{field}.tags"),
        window=window_from_pb(message.window, f"{field}.window") if message.HasField("window") else None,
        limit=limit_from_pb(message.limit, f"{field}.limit"),
        min_score=message.min_score if message.HasField("min_score") else None,
        exclude=tuple(message.exclude_ids),
        times=not message.without_times,
        begins=message.begins_in_window,
    )


def vector_hits_to_pb(hits: tuple[VectorHit, ...]) -> vector_service_pb2.VectorHits:
    """Write one question's hits as lists of equal length; of times that nobody asked for there is none."""
    times = [hit.time for hit in hits]
    dated = any(time is not None for time in times)
    return vector_service_pb2.VectorHits(
        memory_ids=[hit.memory_id for hit in hits],
        scores=[hit.score for hit in hits],
        fact_types=[FACT_TYPE.to_pb(hit.fact_type) for hit in hits],
        starts=[UNDATED if time is None else micros_to_pb(time.start) for time in times] if dated else None,
        ends=[UNDATED if time is None else micros_to_pb(time.end) for time in times] if dated else None,
    )


def vector_hits_from_pb(message: vector_service_pb2.VectorHits) -> tuple[VectorHit, ...]:
    """Read one question's hits."""
    fact_types = map(FACT_TYPE.from_server, message.fact_types)
    times = map(_own_time, message.starts, message.ends) if message.starts else repeat(None)
    return tuple(map(vector_hit_of, zip(message.memory_ids, message.scores, fact_types, times, strict=False)))


@lru_cache(KEPT_TIMES)
def _own_time(start: int, end: int) -> Window | None:
    if start == UNDATED:
        return None
    # Most are moments, made of one: who compares ends may see that at once.
    begin = micros_from_pb(start)
    return Window(begin, begin if end == start else micros_from_pb(end))
