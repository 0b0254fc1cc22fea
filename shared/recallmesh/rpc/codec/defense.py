"""What memory defense found and decided, on the wire."""

from recallmesh.core.defense import (
    DefenseAction,
    DefenseDetector,
    DefenseTuning,
    DefenseViolation,
    SecurityEvent,
    Severity,
)
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.rpc.codec.enums import DEFENSE_ACTION, DEFENSE_DETECTOR
from recallmesh.rpc.codec.time import moment_from_pb, moment_to_pb
from recallmesh.v1 import bank_pb2, event_pb2, retain_service_pb2


def defense_to_pb(tuning: DefenseTuning) -> bank_pb2.DefenseTuning | None:
    """Write what a bank keeps out; nothing when that is nothing."""
    actions = ((detector, getattr(tuning, detector.value)) for detector in DefenseDetector)
    rules = [
        bank_pb2.DefenseRule(detector=DEFENSE_DETECTOR.to_pb(detector), action=DEFENSE_ACTION.to_pb(action))
        for detector, action in actions
        if action is not None
    ]
    return bank_pb2.DefenseTuning(rules=rules) if rules else None


def defense_from_pb(message: bank_pb2.DefenseTuning, *, door: bool) -> DefenseTuning:
    """Read what a bank keeps out; of a newer server, a detector is left out and an action taken for the strictest.

    Raises:
        InvalidArgument: a rule lacks a part, or a detector has two.

    """
    actions: dict[str, DefenseAction] = {}
    for number, rule in enumerate(message.rules):
        field = f"config.defense.rules[{number}]"
        detector = DEFENSE_DETECTOR.known(rule.detector)
        if detector is None and not door:
            continue
        detector = DEFENSE_DETECTOR.at_door(rule.detector, f"{field}.detector")
        if door and detector.value in actions:
            raise InvalidArgument(FieldViolation(f"{field}.detector", f"has a rule already: {detector}"))
        actions[detector.value] = DEFENSE_ACTION.read(rule.action, f"{field}.action", door=door)
    return DefenseTuning(**actions)


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
