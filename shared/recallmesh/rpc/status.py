"""Mesh errors as gRPC statuses with google.rpc details, and back to the same class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2  # type: ignore[import-untyped]

from recallmesh.core.errors import (
    ArmTimeout,
    DefenseBlocked,
    FieldViolation,
    Forbidden,
    InternalFault,
    InvalidArgument,
    MeshError,
    NotFound,
    Overloaded,
    StoreUnavailable,
    Unauthenticated,
    Unimplemented,
    all_errors,
)
from recallmesh.rpc.codec.time import duration_from_pb, duration_to_pb
from recallmesh.rpc.handshake import trouble_of

DOMAIN = "recallmesh"
DETAILS_KEY = "grpc-status-details-bin"
DETAILS_BYTES = 3072
"""Of the details, before base64. Message, details and trailers together stay well below the 8 KiB of header data that
gRPC peers accept; over 16 KiB the caller would see RESOURCE_EXHAUSTED in place of the error."""
MESSAGE_BYTES = 512
VALUE_BYTES = 256
METADATA_KEYS = 12
DEFENSE = "MEMORY_DEFENSE"
"""The type of PreconditionFailure's violations; their subjects are items of the call."""

CLASSES: Mapping[str, type[MeshError]] = {error.reason: error for error in all_errors() if error is not MeshError}

WITHOUT_REASON: Mapping[grpc.StatusCode, tuple[type[MeshError], str]] = {
    grpc.StatusCode.UNAVAILABLE: (StoreUnavailable, "a service of the mesh does not answer"),
    grpc.StatusCode.CANCELLED: (StoreUnavailable, "a service of the mesh gave the call up"),
    grpc.StatusCode.DEADLINE_EXCEEDED: (ArmTimeout, "the work was not done within its deadline"),
    grpc.StatusCode.UNIMPLEMENTED: (
        Unimplemented,
        "the server does not offer the call: it may be of another version, or host no such part",
    ),
    grpc.StatusCode.RESOURCE_EXHAUSTED: (Overloaded, "a message was too large, or the server is overloaded"),
    grpc.StatusCode.NOT_FOUND: (NotFound, "what was named was not found"),
    grpc.StatusCode.UNAUTHENTICATED: (Unauthenticated, "no credential, or one that is not known"),
    grpc.StatusCode.PERMISSION_DENIED: (Forbidden, "the credential does not allow this"),
}
"""What an answer without our details (a proxy's, gRPC's own) is read as. Its text may be a driver's: it is not kept."""


@dataclass(frozen=True, slots=True)
class WireStatus:
    """An error as it goes over the wire."""

    code: grpc.StatusCode
    message: str
    details: bytes

    @property
    def trailers(self) -> tuple[tuple[str, str | bytes], ...]:
        """The trailing metadata that carries the details."""
        return ((DETAILS_KEY, self.details),)


def status_from_error(error: MeshError, request_id: str) -> WireStatus:
    """Write an error for the caller. A bug of ours says only "internal error" and the request id."""
    internal = error.code == "INTERNAL"
    message = cut("internal error" if internal else error.message, MESSAGE_BYTES)
    metadata = {} if internal else bounded(error.metadata)
    info = error_details_pb2.ErrorInfo(
        reason=error.reason, domain=DOMAIN, metadata=metadata | {"request_id": request_id}
    )
    status = status_pb2.Status(code=code_pb2.Code.Value(error.code), message=message)
    status.details.add().Pack(info)
    if isinstance(error, Overloaded):
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=duration_to_pb(error.retry_after)))
    if isinstance(error, InvalidArgument):
        _add_violations(status, error.violations)
    if isinstance(error, DefenseBlocked):
        _add_findings(status, error.violations)
    return WireStatus(grpc.StatusCode[error.code], message, status.SerializeToString())


def _add_violations(status: status_pb2.Status, violations: Sequence[FieldViolation]) -> None:
    """Add as many as there is room for; the first ones matter most."""
    bad = error_details_pb2.BadRequest()
    room = DETAILS_BYTES - status.ByteSize()
    for violation in violations:
        field, description = cut(violation.field, VALUE_BYTES), cut(violation.description, VALUE_BYTES)
        bad.field_violations.add(field=field, description=description)
        if bad.ByteSize() > room:
            del bad.field_violations[-1]
            break
    status.details.add().Pack(bad)


def _add_findings(status: status_pb2.Status, violations: Sequence[FieldViolation]) -> None:
    """Add what memory defense found, as much as there is room for."""
    failed = error_details_pb2.PreconditionFailure()
    room = DETAILS_BYTES - status.ByteSize()
    for violation in violations:
        subject, description = cut(violation.field, VALUE_BYTES), cut(violation.description, VALUE_BYTES)
        failed.violations.add(type=DEFENSE, subject=subject, description=description)
        if failed.ByteSize() > room:
            del failed.violations[-1]
            break
    status.details.add().Pack(failed)


def bounded(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return as much of it as goes with an error."""
    kept = list(metadata.items())[:METADATA_KEYS]
    return {cut(key, VALUE_BYTES // 4): cut(value, VALUE_BYTES // 2) for key, value in kept}


def cut(text: str, size: int) -> str:
    """Return what of a text can be sent: valid UTF-8 of at most so many bytes."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def error_from_rpc(failed: grpc.aio.AioRpcError) -> MeshError:
    """Read the error that a call ended with: the same class with the same fields, if the server is one of ours."""
    for key, value in failed.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            error = error_from_details(value)
            if error is not None:
                return error
    found, message = WITHOUT_REASON.get(failed.code(), (InternalFault, "internal error of a service of the mesh"))
    if found is StoreUnavailable:
        message = trouble_of(failed.details() or "") or message
    return rebuilt(found, message, {}, (), timedelta(seconds=1))


def error_from_details(details: bytes) -> MeshError | None:
    """Rebuild an error from serialised details; ``None`` when they are not ours."""
    status = status_pb2.Status()
    info = error_details_pb2.ErrorInfo()
    bad = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    failed = error_details_pb2.PreconditionFailure()
    try:
        status.ParseFromString(details)
        for part in status.details:
            _ = part.Unpack(info) or part.Unpack(bad) or part.Unpack(retry) or part.Unpack(failed)
    except DecodeError:
        return None
    if info.domain != DOMAIN:
        return None
    found = class_of(info.reason, status.code)
    violations = tuple(FieldViolation(v.field, v.description) for v in bad.field_violations)
    violations += tuple(FieldViolation(v.subject, v.description) for v in failed.violations)
    delay = duration_from_pb(retry.retry_delay) if retry.HasField("retry_delay") else timedelta(seconds=1)
    return rebuilt(found, status.message, dict(info.metadata), violations, delay)


def class_of(reason: str, number: int) -> type[MeshError]:
    """Return the class of a reason; of one that only a newer server knows, as near as its code."""
    code = next((code for code in grpc.StatusCode if code.value[0] == number), grpc.StatusCode.UNKNOWN)
    return CLASSES.get(reason) or WITHOUT_REASON.get(code, (InternalFault, ""))[0]


def rebuilt(
    found: type[MeshError],
    message: str,
    metadata: Mapping[str, str],
    violations: tuple[FieldViolation, ...],
    delay: timedelta,
) -> MeshError:
    """Make an instance past its own constructor, which would word the message anew."""
    error = found.__new__(found)
    MeshError.__init__(error, message, metadata=metadata)
    if isinstance(error, InvalidArgument | DefenseBlocked):
        error.violations = violations
    if isinstance(error, Overloaded):
        error.retry_after = delay
    return error
