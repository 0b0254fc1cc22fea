"""How a client calls: within the deadline in hand, under its request id, with mesh errors only."""

from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

import grpc.aio
from google.protobuf.message import Message

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import ArmTimeout, FieldViolation, InvalidArgument
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.request import outgoing_metadata
from recallmesh.rpc.status import error_from_rpc
from recallmesh.rpc.weighing import WeighedMethod, too_large

Req = TypeVar("Req", bound=Message)
Resp = TypeVar("Resp", bound=Message)

MARGIN_S = 0.05
"""Kept back from the deadline in hand, so that a late answer still leaves time for one without it."""
MARGIN_SHARE = 0.1


def time_left(timeout_s: float | None) -> float | None:
    """Return how long a call may take: its own timeout, within what the deadline in hand leaves less a margin.

    Raises:
        ArmTimeout: nothing is left.

    """
    left = remaining()
    if left is None:
        return timeout_s
    left -= min(MARGIN_S, left * MARGIN_SHARE)
    if left <= 0:
        raise ArmTimeout("no time is left to make the call")
    return left if timeout_s is None else min(timeout_s, left)


def built(build: Callable[[], Req]) -> Req:
    """Make a request.

    Raises:
        InvalidArgument: a text is not valid Unicode, a number too large for its field, or the whole above the limit.

    """
    request = made(build)
    size = request.ByteSize()
    if size > MESSAGE_BYTES:
        raise InvalidArgument(too_large(size))
    return request


def made(build: Callable[[], Req]) -> Req:
    """Make a request, whatever its size.

    Raises:
        InvalidArgument: a text is not valid Unicode, or a number too large for its field.

    """
    try:
        return build()
    except UnicodeEncodeError as error:
        raise InvalidArgument(FieldViolation("request", "holds text that is not valid Unicode")) from error
    except ValueError as error:
        raise InvalidArgument(FieldViolation("request", "holds a number that is too large for its field")) from error


async def unary(
    method: grpc.aio.UnaryUnaryMultiCallable[Req, Resp] | WeighedMethod[Req, Resp],
    build: Callable[[], Req],
    *,
    timeout_s: float | None,
    tenant: str = "",
) -> Resp:
    """Call and return the answer, or raise the mesh error that the server raised."""
    request = made(build) if isinstance(method, WeighedMethod) else built(build)
    try:
        return await method(request, timeout=time_left(timeout_s), metadata=outgoing_metadata(tenant))
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error


async def stream(
    method: grpc.aio.UnaryStreamMultiCallable[Req, Resp],
    build: Callable[[], Req],
    *,
    timeout_s: float | None,
    tenant: str = "",
) -> AsyncGenerator[Resp, None]:
    """Call and yield the answers; to close it, or to leave the loop early, cancels the call."""
    request = built(build)
    call = method(request, timeout=time_left(timeout_s), metadata=outgoing_metadata(tenant))
    try:
        async for response in call:
            yield response
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
    finally:
        call.cancel()
