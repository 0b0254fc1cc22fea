"""The error of one batch as fields of an answer, and back to the same class."""

from datetime import timedelta

import structlog
from google.rpc import code_pb2  # type: ignore[import-untyped]

from recallmesh.core.errors import DefenseBlocked, FieldViolation, InvalidArgument, MeshError, Overloaded
from recallmesh.rpc.codec.time import duration_from_pb, duration_to_pb
from recallmesh.rpc.status import DETAILS_BYTES, MESSAGE_BYTES, VALUE_BYTES, bounded, class_of, cut, rebuilt
from recallmesh.v1 import error_reason_pb2, retain_service_pb2

PREFIX = "ERROR_REASON_"

_log = structlog.get_logger("recallmesh.rpc")


def failure_to_pb(error: MeshError) -> retain_service_pb2.BatchFailure:
    """Write why a batch was not kept; of a bug of ours the caller learns no more than of a call's."""
    internal = error.code == "INTERNAL"
    if internal:
        _log.error("a batch failed", exc_info=error)
    message = retain_service_pb2.BatchFailure(
        code=code_pb2.Code.Value(error.code),
        reason=error_reason_pb2.ErrorReason.Value(PREFIX + error.reason),
        message="internal error" if internal else cut(error.message, MESSAGE_BYTES),
        metadata={} if internal else bounded(error.metadata),
    )
    if isinstance(error, Overloaded):
        message.retry_delay.CopyFrom(duration_to_pb(error.retry_after))
    if isinstance(error, InvalidArgument | DefenseBlocked):
        room = DETAILS_BYTES
        for violation in error.violations:
            told = retain_service_pb2.BatchViolation(
                field=cut(violation.field, VALUE_BYTES), description=cut(violation.description, VALUE_BYTES)
            )
            room -= told.ByteSize()
            if room < 0:
                break
            message.violations.append(told)
    return message


def failure_from_pb(message: retain_service_pb2.BatchFailure) -> MeshError:
    """Read why a batch was not kept."""
    known = message.reason in error_reason_pb2.ErrorReason.values()
    reason = error_reason_pb2.ErrorReason.Name(message.reason).removeprefix(PREFIX) if known else ""
    violations = tuple(FieldViolation(one.field, one.description) for one in message.violations)
    delay = duration_from_pb(message.retry_delay) if message.HasField("retry_delay") else timedelta(seconds=1)
    return rebuilt(class_of(reason, message.code), message.message, dict(message.metadata), violations, delay)
