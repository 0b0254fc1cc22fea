"""What memory defense found and decided, on the wire."""

from recallmesh.core.defense import DefenseViolation, SecurityEvent, Severity
from recallmesh.rpc.codec.enums import DEFENSE_ACTION, DEFENSE_DETECTOR
from recallmesh.rpc.codec.time import moment_from_pb, moment_to_pb
from recallmesh.v1 import event_pb2, retain_service_pb2


def violation_to_pb(violation: DefenseViolation) -> retain_service_pb2.DefenseViolation:
    """Write a violation."""
    return retain_service_pb2.DefenseViolation(
        detector=DEFENSE_DETECTOR.to_pb(violation.detector),
        action=DEFENSE_ACTION.to_pb(violation.action),
        severity=violation.severity,
        message=violation.message,
    )


def violation_from_pb(message: retain_service_pb2.DefenseViolation | event_pb2.SecurityEvent) -> DefenseViolation:
    """Read a violation out of an answer, also the one that a decision holds."""
    return DefenseViolation(
        DEFENSE_DETECTOR.from_server(message.detector),
        DEFENSE_ACTION.from_server(message.action),
        _severity(message.severity),
        message.message,
    )


def decision_to_pb(decision: SecurityEvent) -> event_pb2.SecurityEvent:
    """Write a decision."""
    violation = decision.violation
    return event_pb2.SecurityEvent(
        id=decision.id,
        time=moment_to_pb(decision.time),
        detector=DEFENSE_DETECTOR.to_pb(violation.detector),
        action=DEFENSE_ACTION.to_pb(violation.action),
        severity=violation.severity,
        message=violation.message,
        document_id=decision.document_id,
        item_index=decision.item_index,
        receipt_uri=decision.receipt_uri,
    )


def decision_from_pb(message: event_pb2.SecurityEvent) -> SecurityEvent:
    """Read a decision out of an answer."""
    return SecurityEvent(
        message.id,
        moment_from_pb(message.time, "security.time"),
        violation_from_pb(message),
        message.document_id,
        message.item_index,
        message.receipt_uri,
    )


def _severity(said: str) -> Severity:
    """Read how bad it is; a word of a newer server's is taken for the worst."""
    return Severity(said) if said in Severity.__members__.values() else Severity.HIGH
