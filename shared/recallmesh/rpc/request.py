"""The call in hand as the wire knows it: its request id, its tenant and what is passed on with further calls."""

import re
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

import grpc.aio

from recallmesh.core.bank import DEFAULT_TENANT
from recallmesh.core.credential import KEY, current_key
from recallmesh.core.errors import Unauthenticated
from recallmesh.core.principal import current_principal
from recallmesh.core.trace_context import TraceContext, current_trace, enter_trace, trace_context

REQUEST_ID_KEY = "x-request-id"
TENANT_KEY = "x-recallmesh-tenant"
AUTHORIZATION_KEY = "authorization"
BEARER = "bearer"
TRACE_KEY = "traceparent"
TRACE_STATE_KEY = "tracestate"
INSIDE_KEY = "x-recallmesh-inside-us"
"""How many microseconds a part worked on a call, told behind its answer; to the mesh's own processes alone."""
PLAIN = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
"""What a request id may be: it goes into logs and headers as it stands."""

_request_id: ContextVar[str] = ContextVar("recallmesh_request_id", default="")

Metadata = Iterable[tuple[str, str | bytes]]


def current_request_id() -> str:
    """Return the request id of the call in hand; empty outside of one."""
    return _request_id.get()


def enter_request(metadata: Metadata) -> str:
    """Take the caller's request id, or make one, and its trace, for everything this task does from now on."""
    given = _value(metadata, REQUEST_ID_KEY)
    request_id = given if PLAIN.fullmatch(given) else uuid4().hex
    _request_id.set(request_id)
    enter_trace(trace_context(_value(metadata, TRACE_KEY), _value(metadata, TRACE_STATE_KEY)))
    return request_id


def outgoing_metadata(tenant: str = "") -> tuple[tuple[str, str], ...]:
    """Return what a further call carries: its request id and trace, the tenant the caller believes to be, its key.

    The default tenant is not named: whose a caller is that says nothing, its credential tells.
    """
    request_id, key = current_request_id() or uuid4().hex, current_key()
    return (
        (REQUEST_ID_KEY, request_id),
        *traced(current_trace()),
        *(((TENANT_KEY, tenant),) if tenant not in ("", DEFAULT_TENANT) else ()),
        *(((AUTHORIZATION_KEY, f"Bearer {key}"),) if key else ()),
    )


def traced(context: TraceContext) -> tuple[tuple[str, str], ...]:
    """Return what a call carries of a trace."""
    if not context.parent:
        return ()
    return ((TRACE_KEY, context.parent), *(((TRACE_STATE_KEY, context.state),) if context.state else ()))


def inside_s(trailing: Metadata | None) -> float | None:
    """Return how many seconds a part says that it worked on a call; nothing where it does not say."""
    told = _value(trailing or (), INSIDE_KEY)
    return int(told) / 1_000_000 if told.isascii() and told.isdigit() else None


def tenant_of(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Return the tenant whose credential the call carries; without authentication there is one.

    A caller may say which tenant it takes itself for, so that a mistake is an error and never another's bank.

    Raises:
        Forbidden: it takes itself for another than the credential's.

    """
    return current_principal().tenant_for(_value(context.invocation_metadata() or (), TENANT_KEY))


def credential_in(metadata: Metadata) -> str:
    """Return the credential that a call bears.

    Raises:
        Unauthenticated: none, several, or something else than a bearer's.

    """
    found = [value for key, value in metadata if key == AUTHORIZATION_KEY and isinstance(value, str)]
    if not found:
        raise Unauthenticated("the call bears no credential: authorization: Bearer KEY")
    scheme, _, credential = found[0].partition(" ")
    credential = credential.strip()
    if len(found) > 1 or scheme.lower() != BEARER or not KEY.fullmatch(credential):
        raise Unauthenticated('the credential must be one "authorization: Bearer KEY"')
    return credential


def _value(metadata: Metadata, wanted: str) -> str:
    return next((value for key, value in metadata if key == wanted and isinstance(value, str)), "")
