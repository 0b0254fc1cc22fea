"""Nearest-neighbour questions and answers on the wire."""

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.vectors import VectorField, VectorHit, VectorQuery
from recallmesh.rpc.codec.arm import limit_from_pb, vector_from_pb
from recallmesh.rpc.codec.enums import FACT_TYPE, VECTOR_FIELD
from recallmesh.rpc.codec.tag import tag_test_from_pb, tag_test_to_pb
from recallmesh.rpc.codec.time import window_from_pb, window_to_pb
from recallmesh.v1 import vector_service_pb2


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
    """Write one question's hits as lists of equal length."""
    times = [vector_service_pb2.OwnTime(window=None if hit.time is None else window_to_pb(hit.time)) for hit in hits]
    return vector_service_pb2.VectorHits(
        memory_ids=[hit.memory_id for hit in hits],
        scores=[hit.score for hit in hits],
        fact_types=[FACT_TYPE.to_pb(hit.fact_type) for hit in hits],
        times=times,
    )


def vector_hits_from_pb(message: vector_service_pb2.VectorHits) -> tuple[VectorHit, ...]:
    """Read one question's hits."""
    rows = zip(message.memory_ids, message.scores, message.fact_types, message.times, strict=True)
    return tuple(
        VectorHit(
            memory_id,
            score,
            FACT_TYPE.from_server(fact_type),
            window_from_pb(time.window) if time.HasField("window") else None,
        )
        for memory_id, score, fact_type, time in rows
    )
