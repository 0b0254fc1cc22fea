"""Errors as problem details (RFC 9457), with the status that HTTP has for them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from recallmesh.core.errors import DefenseBlocked, InvalidArgument, MeshError, Overloaded

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:recallmesh:error:"
"""What the reason stands behind; a name, and no address of a page."""
STATUSES: Mapping[str, int] = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""The HTTP status of a gRPC status code, as google.rpc.Code has it; of every other one 500."""
REQUEST_ID = "request_id"
"""What every error's metadata has; here it has a place of its own."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An answer that says what is wrong."""

    status: int
    body: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)

    def written(self) -> bytes:
        """Return the body as JSON on one line."""
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def problem_of(error: MeshError, request_id: str) -> Problem:
    """Write an error of the mesh. A bug of ours says only "internal error" and the request id."""
    status = STATUSES.get(error.code, 500)
    internal = status == HTTPStatus.INTERNAL_SERVER_ERROR
    body: dict[str, object] = {
        "type": TYPE + error.reason,
        "title": error.reason.replace("_", " ").capitalize(),
        "status": status,
        "detail": "internal error" if internal else error.message,
        "code": error.code,
        "reason": error.reason,
        "requestId": request_id,
    }
    metadata = {} if internal else {key: value for key, value in error.metadata.items() if key != REQUEST_ID}
    if metadata:
        body["metadata"] = metadata
    if isinstance(error, InvalidArgument | DefenseBlocked):
        body["violations"] = [{"field": one.field, "description": one.description} for one in error.violations]
    headers = {}
    if error.code == "UNAUTHENTICATED":
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, Overloaded):
        seconds = max(0.0, error.retry_after.total_seconds())
        body["retryDelay"] = f"{seconds:g}s"
        headers["retry-after"] = str(math.ceil(seconds))
    return Problem(status, body, headers)


def problem_of_http(status: int, detail: str, request_id: str, headers: Mapping[str, str] | None = None) -> Problem:
    """Write what is wrong with a request as one of HTTP, before it is a call of the mesh."""
    phrase = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": phrase, "status": status, "detail": detail, "requestId": request_id}
    return Problem(status, body, dict(headers or {}))
