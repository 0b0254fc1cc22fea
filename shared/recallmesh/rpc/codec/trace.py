"""The account of a recall on the wire."""

from collections.abc import Mapping
from typing import TypeVar

from recallmesh.core.arm import ArmName
from recallmesh.core.hop import Hop
from recallmesh.core.recall import Phase, Prefilter, Scores, Trace, TraceCandidate, WindowReading
from recallmesh.rpc.codec.enums import OUTCOME
from recallmesh.rpc.codec.time import (
    duration_from_pb,
    duration_to_pb,
    local_moment_from_pb,
    moment_to_pb,
    offset_to_pb,
    window_from_pb,
    window_to_pb,
)
from recallmesh.rpc.codec.tuning import boosts_from_pb, boosts_to_pb, tuning_from_pb, tuning_to_pb
from recallmesh.v1 import trace_pb2

T = TypeVar("T")
_ARMS = tuple(ArmName)


def by_arm_to_pb(values: Mapping[ArmName, T]) -> dict[str, T]:
    """Write what is told arm by arm."""
    return {arm.value: value for arm, value in values.items()}


def by_arm_from_pb(values: Mapping[str, T]) -> dict[ArmName, T]:
    """Read what is told arm by arm, in the arms' order; arms this version does not know are left out."""
    return {arm: values[arm] for arm in _ARMS if arm in values}


def write_scores(scores: Scores, message: trace_pb2.Scores) -> None:
    """Write a memory's scores where they belong."""
    message.rrf = scores.rrf
    message.relevance = scores.relevance
    message.final = scores.final
    if scores.reranker_raw is not None:
        message.reranker_raw = scores.reranker_raw
    message.recency_boost = scores.recency_boost
    message.temporal_boost = scores.temporal_boost
    message.proof_boost = scores.proof_boost
    message.strategy_boost = scores.strategy_boost
    message.fusion_prior = scores.fusion_prior
    message.context_prior = scores.context_prior
    message.naming_prior = scores.naming_prior
    message.keyword_prior = scores.keyword_prior
    message.length_prior = scores.length_prior
    message.reading = scores.reading
    message.surroundings = scores.surroundings


def scores_from_pb(message: trace_pb2.Scores) -> Scores:
    """Read a memory's scores."""
    return Scores(
        rrf=message.rrf,
        relevance=message.relevance,
        final=message.final,
        reranker_raw=message.reranker_raw if message.HasField("reranker_raw") else None,
        recency_boost=message.recency_boost,
        temporal_boost=message.temporal_boost,
        proof_boost=message.proof_boost,
        strategy_boost=message.strategy_boost,
        fusion_prior=message.fusion_prior,
        context_prior=message.context_prior,
        naming_prior=message.naming_prior,
        keyword_prior=message.keyword_prior,
        length_prior=message.length_prior,
        reading=message.reading,
        surroundings=message.surroundings,
    )


def reading_to_pb(reading: WindowReading) -> trace_pb2.WindowReading:
    """Write the period in force."""
    return trace_pb2.WindowReading(window=window_to_pb(reading.window), rule=reading.rule, phrase=reading.phrase)


def reading_from_pb(message: trace_pb2.WindowReading) -> WindowReading:
    """Read the period in force."""
    return WindowReading(window_from_pb(message.window), message.rule, message.phrase)


def write_candidate(candidate: TraceCandidate, message: trace_pb2.TraceCandidate) -> None:
    """Write a row of the account where it belongs."""
    message.memory_id = candidate.memory_id
    message.text = candidate.text
    message.outcome = OUTCOME.to_pb(candidate.outcome)
    message.fused_rank = candidate.fused_rank
    message.final_rank = candidate.final_rank
    message.ranks.update(by_arm_to_pb(candidate.ranks))
    message.arm_scores.update(by_arm_to_pb(candidate.arm_scores))
    message.because.update(by_arm_to_pb(candidate.because))
    if candidate.scores is not None:
        write_scores(candidate.scores, message.scores)
    message.token_count = candidate.tokens
    message.reranked = candidate.reranked
    message.detail = candidate.detail


def candidate_from_pb(message: trace_pb2.TraceCandidate) -> TraceCandidate:
    """Read a row of the account."""
    return TraceCandidate(
        memory_id=message.memory_id,
        text=message.text,
        outcome=OUTCOME.from_server(message.outcome),
        fused_rank=message.fused_rank,
        final_rank=message.final_rank,
        ranks=by_arm_from_pb(message.ranks),
        arm_scores=by_arm_from_pb(message.arm_scores),
        because=by_arm_from_pb(message.because),
        scores=scores_from_pb(message.scores) if message.HasField("scores") else None,
        tokens=message.token_count,
        reranked=message.reranked,
        detail=message.detail,
    )


def hop_to_pb(hop: Hop) -> trace_pb2.Hop:
    """Write a call that recall made."""
    return trace_pb2.Hop(
        part=hop.part,
        method=hop.method,
        start=duration_to_pb(hop.start),
        duration=duration_to_pb(hop.duration),
        remote=hop.there,
        inside=None if hop.inside is None else duration_to_pb(hop.inside),
        sent_bytes=hop.sent,
        received_bytes=hop.received,
        failure=hop.reason,
    )


def hop_from_pb(message: trace_pb2.Hop) -> Hop:
    """Read a call that recall made."""
    return Hop(
        part=message.part,
        method=message.method,
        start=duration_from_pb(message.start),
        duration=duration_from_pb(message.duration),
        there=message.remote,
        inside=duration_from_pb(message.inside) if message.HasField("inside") else None,
        sent=message.sent_bytes if message.HasField("sent_bytes") else None,
        received=message.received_bytes if message.HasField("received_bytes") else None,
        reason=message.failure,
    )


def write_trace(trace: Trace, message: trace_pb2.Trace) -> None:
    """Write the account where it belongs."""
    message.MergeFrom(_head_to_pb(trace))
    for candidate in trace.candidates:
        write_candidate(candidate, message.candidates.add())


def _head_to_pb(trace: Trace) -> trace_pb2.Trace:
    """Write the account but for its candidates."""
    prefilter = trace.prefilter
    return trace_pb2.Trace(
        phases=[
            trace_pb2.Phase(name=phase.name, start=duration_to_pb(phase.start), duration=duration_to_pb(phase.duration))
            for phase in trace.phases
        ],
        window=None if trace.window is None else reading_to_pb(trace.window),
        prefilter=trace_pb2.Prefilter(
            kept=prefilter.kept,
            dropped=prefilter.dropped,
            cap=prefilter.cap,
            boosts=boosts_to_pb(prefilter.boosts),
            composition=by_arm_to_pb(prefilter.composition),
            stopped=prefilter.stopped,
        ),
        tuning=tuning_to_pb(trace.tuning),
        query_time=moment_to_pb(trace.query_time),
        utc_offset=offset_to_pb(trace.query_time),
        budget_hits=trace.budget_hits,
        hops=[hop_to_pb(hop) for hop in trace.hops],
    )


def trace_from_pb(message: trace_pb2.Trace) -> Trace:
    """Read the account."""
    prefilter = message.prefilter
    return Trace(
        phases=tuple(
            Phase(phase.name, duration_from_pb(phase.start), duration_from_pb(phase.duration))
            for phase in message.phases
        ),
        window=reading_from_pb(message.window) if message.HasField("window") else None,
        prefilter=Prefilter(
            kept=prefilter.kept,
            dropped=prefilter.dropped,
            cap=prefilter.cap,
            boosts=boosts_from_pb(prefilter.boosts, "prefilter.boosts", door=False),
            composition=by_arm_from_pb(prefilter.composition),
            stopped=prefilter.stopped,
        ),
        candidates=tuple(candidate_from_pb(candidate) for candidate in message.candidates),
        tuning=tuning_from_pb(message.tuning, "trace.tuning", door=False),
        query_time=local_moment_from_pb(message.query_time, message.utc_offset, "trace.query_time"),
        budget_hits=message.budget_hits,
        hops=tuple(map(hop_from_pb, message.hops)),
    )
