# ruff: noqa: ANN401 - the methods are generic in their messages, which only pass through here
"""A caller's channel: every call brings the caller's key, and every call has an end."""

from typing import Any, Self

import grpc.aio

from recallmesh.core.credential import check_key
from recallmesh.rpc.request import AUTHORIZATION_KEY


def caller_channel(channel: grpc.aio.Channel, *, key: str = "", stream_s: float) -> grpc.aio.Channel:
    """Return the channel as a caller with this key has it; ``stream_s`` bounds calls that bring no deadline, seconds.

    A key that a call bears already goes before this one.

    Raises:
        InvalidArgument: the key can be none.

    """
    check_key(key, "key")
    return _CallerChannel(channel, ((AUTHORIZATION_KEY, f"Bearer {key}"),) if key else (), stream_s)


class _Calling:
    """A method, one of grpc.aio's four kinds, as this caller calls it."""

    def __init__(self, call: Any, metadata: tuple[tuple[str, str], ...], stream_s: float) -> None:
        self._call = call
        self._metadata = metadata
        self._stream_s = stream_s

    def __call__(self, *given: Any, timeout: float | None = None, metadata: Any = None, **more: Any) -> Any:
        """Call it.

        Raises:
            RuntimeError: the channel is closed.

        """
        within = self._stream_s if timeout is None else timeout
        brought = tuple(metadata or ())
        borne = any(name == AUTHORIZATION_KEY for name, _ in brought)
        try:
            return self._call(*given, timeout=within, metadata=brought if borne else brought + self._metadata, **more)
        except grpc.aio.UsageError as error:
            raise RuntimeError("the client is closed") from error


class _CallerChannel(grpc.aio.Channel):
    """The other channel with something added to each call; not by interceptors, which take streams apart."""

    def __init__(self, channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...], stream_s: float) -> None:
        self._channel = channel
        self._metadata = metadata
        self._stream_s = stream_s

    def _calling(self, call: Any) -> Any:
        return _Calling(call, self._metadata, self._stream_s)

    def unary_unary(self, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.unary_unary(*given, **more))

    def unary_stream(self, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.unary_stream(*given, **more))

    def stream_unary(self, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.stream_unary(*given, **more))

    def stream_stream(self, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.stream_stream(*given, **more))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        await self._channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: FBT001, FBT002 - grpc's own
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._channel.channel_ready()
