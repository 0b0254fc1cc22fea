# ruff: noqa: ANN401 - the methods are generic in their messages, which only pass through here
"""A channel that knows what its calls weigh: messages are written and read here, where their bytes are at hand."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import grpc.aio
from google.protobuf.message import DecodeError, Message

from recallmesh.core.errors import FieldViolation, InternalFault, InvalidArgument
from recallmesh.core.hop import load_in_hand
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.request import inside_s

Req = TypeVar("Req", bound=Message)
Resp = TypeVar("Resp", bound=Message)


def too_large(size: int) -> FieldViolation:
    """Say that a message is too large, and the limit."""
    return FieldViolation("request", f"is {size} bytes; a message is at most {MESSAGE_BYTES} bytes")


class WeighedMethod(Generic[Req, Resp]):
    """A method of one message each way.

    A message's own ``ByteSize`` writes all of it to tell how long that is; here it is written once.
    """

    def __init__(self, call: Any, write: Callable[[Req], bytes], read: Callable[[bytes], Resp]) -> None:
        """Call this method of bytes."""
        self._call = call
        self._write = write
        self._read = read

    async def __call__(
        self,
        request: Req,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - gRPC's own, whose methods these stand for
        metadata: Any = None,
    ) -> Resp:
        """Call, and tell the load in hand what went each way.

        Raises:
            InvalidArgument: the request is above the limit.
            InternalFault: the answer is none.

        """
        written = self._write(request)
        if len(written) > MESSAGE_BYTES:
            raise InvalidArgument(too_large(len(written)))
        load = load_in_hand()
        if load is not None:
            load.carry(len(written))
        call = self._call(written, timeout=timeout, metadata=metadata)
        answer = await call
        if load is not None:
            load.carried(len(answer), inside_s(await call.trailing_metadata()))
        try:
            return self._read(answer)
        except DecodeError as error:
            raise InternalFault("the answer is no message of this method") from error


class _Weighing:
    """The other channel; its methods of one message each way are weighed."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    def unary_unary(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        _registered_method: bool | None = False,  # noqa: FBT001, FBT002 - grpc's own
    ) -> Any:
        make: Any = self._channel.unary_unary
        call = make(method, _registered_method=_registered_method)
        return WeighedMethod(call, request_serializer, response_deserializer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)


def weighed(channel: grpc.aio.Channel) -> grpc.aio.Channel:
    """Return the channel as a stub of ours has it: what its calls weigh is told to the load in hand."""
    return cast("grpc.aio.Channel", _Weighing(channel))
