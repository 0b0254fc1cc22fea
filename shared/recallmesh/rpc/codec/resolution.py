"""Names asked about, and what they would resolve to, on the wire."""

from recallmesh.core.entity import CONCEPT
from recallmesh.core.resolution import Comparison, EntityExplanation, EntityQuestion, Verdict
from recallmesh.rpc.codec.entity import entity_from_pb, entity_to_pb
from recallmesh.rpc.codec.time import moment_from_pb, moment_to_pb
from recallmesh.v1 import entity_pb2
from recallmesh.v1 import entity_service_pb2 as pb


def question_to_pb(bank_id: str, question: EntityQuestion) -> pb.ExplainEntityRequest:
    """Write a question about a name."""
    return pb.ExplainEntityRequest(
        bank_id=bank_id,
        name=question.name,
        kind=question.kind,
        neighbours=question.neighbours,
        time=None if question.time is None else moment_to_pb(question.time),
    )


def question_from_pb(message: pb.ExplainEntityRequest) -> EntityQuestion:
    """Read a question about a name."""
    return EntityQuestion(
        name=message.name,
        kind=message.kind or CONCEPT,
        neighbours=tuple(message.neighbours),
        time=moment_from_pb(message.time, "time") if message.HasField("time") else None,
    )


def explanation_to_pb(explanation: EntityExplanation) -> pb.ExplainEntityResponse:
    """Write what a name would resolve to."""
    return pb.ExplainEntityResponse(
        entity=None if explanation.entity is None else entity_to_pb(explanation.entity),
        comparisons=[_comparison_to_pb(one) for one in explanation.verdict.comparisons],
        threshold=explanation.verdict.threshold,
    )


def explanation_from_pb(message: pb.ExplainEntityResponse) -> EntityExplanation:
    """Read what a name would resolve to."""
    entity = entity_from_pb(message.entity) if message.HasField("entity") else None
    comparisons = tuple(
        Comparison(one.entity_id, one.name, one.name_score, one.neighbour_score, one.time_score, one.matched, one.rule)
        for one in message.comparisons
    )
    return EntityExplanation(entity, Verdict(entity.id if entity else None, comparisons, message.threshold))


def _comparison_to_pb(one: Comparison) -> entity_pb2.EntityComparison:
    return entity_pb2.EntityComparison(
        entity_id=one.entity_id,
        name=one.name,
        name_score=one.name_score,
        neighbour_score=one.neighbour_score,
        time_score=one.time_score,
        score=one.score,
        matched=one.matched,
        rule=one.rule,
    )
