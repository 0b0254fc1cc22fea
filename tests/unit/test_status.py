"""Every mesh error becomes a status with details, and from it the same error again."""

from datetime import timedelta

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2

from recallmesh.core.errors import (
    ArmTimeout,
    BankExists,
    BankNotFound,
    DefenseBlocked,
    FieldViolation,
    InternalFault,
    InvalidArgument,
    MeshError,
    NotFound,
    Overloaded,
    PageTokenMismatch,
    QuotaExceeded,
    StoreUnavailable,
    all_errors,
)
from recallmesh.rpc.status import CLASSES, error_from_details, error_from_rpc, status_from_error
from recallmesh.v1 import error_reason_pb2


def example(error):
    if error is PageTokenMismatch:
        return error()
    if issubclass(error, InvalidArgument):
        return error(FieldViolation("items[3].content", "is blank"), FieldViolation("tags", "has 65"))
    if error is DefenseBlocked:
        return error(FieldViolation("items[0]", "password in content"), FieldViolation("items[2]", "IBAN in metadata"))
    if issubclass(error, NotFound):
        return error("w-1")
    if issubclass(error, Overloaded):
        return error("come again", retry_after=timedelta(seconds=2.5))
    return error("what happened", metadata={"limit": "3"})


CLOSED_SET = [error for error in all_errors() if error not in (MeshError, InternalFault)]


@pytest.mark.parametrize("error", CLOSED_SET, ids=lambda error: error.__name__)
def test_an_error_comes_back_as_the_same_class_with_its_fields(error):
    sent = example(error)
    status = status_from_error(sent, "r-1")
    got = error_from_details(status.details)
    assert type(got) is error
    assert status.code is grpc.StatusCode[error.code]
    assert got.message == sent.message
    assert dict(got.metadata) == {**sent.metadata, "request_id": "r-1"}
    assert getattr(got, "violations", None) == getattr(sent, "violations", None)
    assert getattr(got, "retry_after", None) == getattr(sent, "retry_after", None)


def test_reasons_and_the_enum_of_the_protos_are_the_same_set():
    reasons = {f"ERROR_REASON_{error.reason}" for error in all_errors()}
    assert reasons == set(error_reason_pb2.ErrorReason.keys()) - {"ERROR_REASON_UNSPECIFIED"}


def test_a_reason_belongs_to_one_class():
    assert len(CLASSES) == len([error for error in all_errors() if error is not MeshError])


def test_a_bug_tells_the_request_id_and_nothing_else():
    status = status_from_error(InternalFault("password=hunter2", metadata={"path": "/etc"}), "r-9")
    assert status.message == "internal error"
    assert b"hunter2" not in status.details
    assert b"/etc" not in status.details
    assert error_from_details(status.details).metadata == {"request_id": "r-9"}


def parts(details):
    return [part.type_url.rsplit(".", 1)[-1] for part in status_pb2.Status.FromString(details).details]


def test_details_are_of_the_standard_kinds():
    assert parts(status_from_error(BankNotFound("b"), "r").details) == ["ErrorInfo"]
    assert parts(status_from_error(QuotaExceeded("q"), "r").details) == ["ErrorInfo", "RetryInfo"]
    assert parts(status_from_error(PageTokenMismatch(), "r").details) == ["ErrorInfo", "BadRequest"]


def test_the_largest_error_stays_below_the_header_limit():
    many = InvalidArgument(*(FieldViolation(f"items[{n}].content" * 40, "é\n" * 4000) for n in range(1000)))
    status = status_from_error(many, "r" * 128)
    percent_encoded = 3 * len(status.message.encode())
    base64 = len(status.details) * 4 / 3
    assert percent_encoded + base64 < 7000
    assert len(error_from_details(status.details).violations) > 2
    wide = BankExists("x" * 100_000, metadata={f"k{n}" * 99: "é" * 9999 for n in range(99)})
    assert len(status_from_error(wide, "r" * 128).details) * 4 / 3 + 3 * 512 < 7000


def test_a_lone_surrogate_in_a_message_can_be_sent():
    status = status_from_error(BankNotFound("\ud800"), "r\ud800"[:1])
    assert error_from_details(status.details).metadata["bank"] == "?"


def rpc_error(code, trailers=(), details="ipv4:10.1.2.3: connection refused"):
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailers), details)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (grpc.StatusCode.UNAVAILABLE, StoreUnavailable),
        (grpc.StatusCode.CANCELLED, StoreUnavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, ArmTimeout),
        (grpc.StatusCode.UNKNOWN, InternalFault),
    ],
)
def test_an_error_without_our_details_is_read_by_its_code_and_its_text_is_not_kept(code, expected):
    error = error_from_rpc(rpc_error(code))
    assert type(error) is expected
    assert "10.1.2.3" not in error.message


def test_a_reason_of_a_newer_server_is_read_by_its_code():
    status = status_pb2.Status(code=grpc.StatusCode.UNAVAILABLE.value[0], message="the moon is down")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="MOON_DOWN", domain="recallmesh"))
    error = error_from_rpc(
        rpc_error(grpc.StatusCode.UNAVAILABLE, [("grpc-status-details-bin", status.SerializeToString())])
    )
    assert type(error) is StoreUnavailable
    assert error.message == "the moon is down"


@pytest.mark.parametrize("details", [b"\xff\xff", b"", status_pb2.Status(code=5).SerializeToString()])
def test_details_that_are_not_ours_are_no_error_of_ours(details):
    assert error_from_details(details) is None
