"""Questions to banks and their answers on the wire."""

from collections.abc import Iterable

from recallmesh.core.memory import ALL_FACT_TYPES
from recallmesh.core.recall import (
    MAX_TOKENS_DEFAULT,
    ArmReport,
    Fusion,
    PartReport,
    RecallAnswer,
    RecalledChunk,
    RecalledMemory,
    RecallProgress,
    RecallRequest,
)
from recallmesh.core.tuning import Budget
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.document import chunk_from_pb, chunk_to_pb
from recallmesh.rpc.codec.enums import BUDGET, FACT_TYPE, FUSION, PART_STATE, RECALL_STAGE, arm_from_server
from recallmesh.rpc.codec.memory import memory_from_pb, write_memory
from recallmesh.rpc.codec.tag import tag_test_from_pb, tag_test_to_pb
from recallmesh.rpc.codec.time import (
    duration_from_pb,
    duration_to_pb,
    local_moment_from_pb,
    moment_to_pb,
    offset_to_pb,
    window_from_pb,
    window_to_pb,
)
from recallmesh.rpc.codec.trace import (
    by_arm_from_pb,
    reading_from_pb,
    reading_to_pb,
    scores_from_pb,
    trace_from_pb,
    write_scores,
    write_trace,
)
from recallmesh.rpc.codec.tuning import tuning_from_pb, tuning_to_pb
from recallmesh.v1 import recall_service_pb2, report_pb2


def recall_to_pb(request: RecallRequest) -> recall_service_pb2.RecallRequest:
    """Write a question."""
    return recall_service_pb2.RecallRequest(
        bank_id=request.bank.bank_id,
        query=request.query,
        budget=BUDGET.to_pb(request.budget),
        max_tokens=request.max_tokens,
        limit=request.limit,
        query_time=None if request.query_time is None else moment_to_pb(request.query_time),
        utc_offset=offset_to_pb(request.query_time),
        window=None if request.window is None else window_to_pb(request.window),
        fact_types=[FACT_TYPE.to_pb(fact_type) for fact_type in request.fact_types],
        tags=tag_test_to_pb(request.tags),
        tuning=tuning_to_pb(request.tuning),
        max_chunk_tokens=request.chunk_tokens,
        max_source_tokens=request.source_tokens,
        include_entities=request.include_entities,
        trace=request.trace,
        fusion=FUSION.to_pb(request.fusion),
    )


def recall_from_pb(message: recall_service_pb2.RecallRequest, tenant: str) -> RecallRequest:
    """Read a question of a caller of this tenant."""
    has = message.HasField
    return RecallRequest(
        bank=bank_ref(message.bank_id, tenant),
        query=message.query,
        budget=BUDGET.at_door(message.budget, "budget", default=Budget.MID),
        max_tokens=message.max_tokens if has("max_tokens") else MAX_TOKENS_DEFAULT,
        limit=message.limit,
        query_time=(
            local_moment_from_pb(message.query_time, message.utc_offset, "query_time") if has("query_time") else None
        ),
        window=window_from_pb(message.window) if has("window") else None,
        fact_types=tuple(FACT_TYPE.at_door(number, "fact_types") for number in message.fact_types) or ALL_FACT_TYPES,
        tags=tag_test_from_pb(message.tags),
        tuning=tuning_from_pb(message.tuning, "tuning", door=True),
        chunk_tokens=message.max_chunk_tokens if has("max_chunk_tokens") else None,
        source_tokens=message.max_source_tokens if has("max_source_tokens") else None,
        include_entities=message.include_entities,
        trace=message.trace,
        fusion=FUSION.at_door(message.fusion, "fusion", default=Fusion.RRF),
    )


def answer_to_pb(answer: RecallAnswer) -> recall_service_pb2.RecallResponse:
    """Write an answer, whatever its size."""
    message = recall_service_pb2.RecallResponse()
    write_answer(answer, message)
    return message


def write_answer(answer: RecallAnswer, message: recall_service_pb2.RecallResponse) -> None:
    """Write an answer where it belongs, whatever its size."""
    for recalled in answer.memories:
        _write_recalled(recalled, message.memories.add())
    message.arms.extend(map(_arm_report_to_pb, answer.arms))
    message.models.extend(map(_model_report_to_pb, answer.models))
    if answer.window is not None:
        message.window.CopyFrom(reading_to_pb(answer.window))
    message.omitted_count = answer.omitted
    message.token_count = answer.tokens
    for found in answer.chunks:
        message.chunks.add(chunk=chunk_to_pb(found.chunk), truncated=found.truncated)
    for memory in answer.source_facts:
        write_memory(memory, message.source_facts.add())
    message.omitted_source_fact_count = answer.source_facts_omitted
    if answer.trace is not None:
        write_trace(answer.trace, message.trace)


def answer_from_pb(message: recall_service_pb2.RecallResponse) -> RecallAnswer:
    """Read an answer; reports of arms that this version does not know are left out."""
    return RecallAnswer(
        memories=tuple(_recalled_from_pb(recalled) for recalled in message.memories),
        arms=tuple(_arm_reports_from_pb(message.arms)),
        models=tuple(_model_report_from_pb(report) for report in message.models),
        window=reading_from_pb(message.window) if message.HasField("window") else None,
        omitted=message.omitted_count,
        tokens=message.token_count,
        chunks=tuple(RecalledChunk(chunk_from_pb(found.chunk), found.truncated) for found in message.chunks),
        source_facts=tuple(memory_from_pb(memory) for memory in message.source_facts),
        source_facts_omitted=message.omitted_source_fact_count,
        trace=trace_from_pb(message.trace) if message.HasField("trace") else None,
    )


def progress_to_pb(progress: RecallProgress) -> recall_service_pb2.RecallStreamResponse:
    """Write one answer of a stream, whatever its size."""
    stage = RECALL_STAGE.to_pb(progress.stage)
    message = recall_service_pb2.RecallStreamResponse(stage=stage)
    message.answer.SetInParent()
    write_answer(progress.answer, message.answer)
    return message


def progress_from_pb(message: recall_service_pb2.RecallStreamResponse) -> RecallProgress:
    """Read one answer of a stream."""
    return RecallProgress(RECALL_STAGE.from_server(message.stage), answer_from_pb(message.answer))


def _write_recalled(recalled: RecalledMemory, message: recall_service_pb2.RecalledMemory) -> None:
    write_memory(recalled.memory, message.memory)
    for arm, rank in recalled.ranks.items():
        message.ranks[arm.value] = rank
    write_scores(recalled.scores, message.scores)
    message.oversized = recalled.oversized


def _recalled_from_pb(message: recall_service_pb2.RecalledMemory) -> RecalledMemory:
    return RecalledMemory(
        memory=memory_from_pb(message.memory),
        ranks=by_arm_from_pb(message.ranks),
        scores=scores_from_pb(message.scores),
        oversized=message.oversized,
    )


def _arm_report_to_pb(report: ArmReport) -> report_pb2.ArmReport:
    return report_pb2.ArmReport(
        arm=report.arm,
        state=PART_STATE.to_pb(report.state),
        hit_count=report.hits,
        latency=duration_to_pb(report.latency),
        detail=report.detail,
    )


def _arm_reports_from_pb(messages: Iterable[report_pb2.ArmReport]) -> Iterable[ArmReport]:
    for message in messages:
        arm = arm_from_server(message.arm)
        if arm is not None:
            state = PART_STATE.from_server(message.state)
            yield ArmReport(arm, state, message.hit_count, duration_from_pb(message.latency), message.detail)


def _model_report_to_pb(report: PartReport) -> report_pb2.ModelReport:
    return report_pb2.ModelReport(
        model=report.part,
        state=PART_STATE.to_pb(report.state),
        item_count=report.items,
        latency=duration_to_pb(report.latency),
        detail=report.detail,
    )


def _model_report_from_pb(message: report_pb2.ModelReport) -> PartReport:
    state = PART_STATE.from_server(message.state)
    return PartReport(message.model, state, message.item_count, duration_from_pb(message.latency), message.detail)
