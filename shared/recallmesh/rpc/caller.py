# ruff: noqa: ANN401 - the methods are generic in their messages, which only pass through here
"""A caller's channel: every call brings the caller's key, and a client's has an end."""

from collections.abc import Callable
from typing import Any, Self

import grpc.aio

from recallmesh.core.credential import check_key, is_bearing
from recallmesh.rpc.request import AUTHORIZATION_KEY
from recallmesh.rpc.right import is_internal

Metadata = tuple[tuple[str, str], ...]
Added = Callable[[str, Metadata], Metadata]
"""Returns what goes with a call: by the method and what it brings itself."""


def caller_channel(channel: grpc.aio.Channel, *, key: str = "", stream_s: float) -> grpc.aio.Channel:
    """Return the channel as a caller with this key has it; ``stream_s`` bounds calls that bring no deadline, seconds.

    A key that a call bears already goes before this one.

    Raises:
        InvalidArgument: the key can be none.

    """
    check_key(key, "key")
    metadata = _bearing(key)

    def with_own(_method: str, brought: Metadata) -> Metadata:
        return brought if _is_borne(brought) else brought + metadata

    return _CallerChannel(channel, with_own, stream_s)


def peer_channel(channel: grpc.aio.Channel, key: Callable[[], str]) -> grpc.aio.Channel:
    """Return the channel as a process of the mesh has it, which proves itself by this key; an empty one is none.

    What is the mesh's own is called with that key, whatever the call bears: a caller's credential goes no further than
    to the process that it called. A public service is called with what the call bears, be it nothing, if that was said.
    """

    def with_ours(method: str, brought: Metadata) -> Metadata:
        if is_internal(method):
            return (*(one for one in brought if one[0] != AUTHORIZATION_KEY), *_bearing(key()))
        return brought if is_bearing() else brought + _bearing(key())

    return _CallerChannel(channel, with_ours, None)


def _bearing(key: str) -> Metadata:
    return ((AUTHORIZATION_KEY, f"Bearer {key}"),) if key else ()


def _is_borne(metadata: Metadata) -> bool:
    return any(name == AUTHORIZATION_KEY for name, _ in metadata)


class _Calling:
    """A method, one of grpc.aio's four kinds, as this caller calls it."""

    def __init__(self, call: Any, method: str, added: Added, stream_s: float | None) -> None:
        self._call = call
        self._method = method
        self._added = added
        self._stream_s = stream_s

    def __call__(self, *given: Any, timeout: float | None = None, metadata: Any = None, **more: Any) -> Any:
        """Call it.

        Raises:
            RuntimeError: the channel is closed.

        """
        within = self._stream_s if timeout is None else timeout
        try:
            told = self._added(self._method, tuple(metadata or ()))
            return self._call(*given, timeout=within, metadata=told, **more)
        except grpc.aio.UsageError as error:
            raise RuntimeError("the client is closed") from error


class _CallerChannel(grpc.aio.Channel):
    """The other channel with something added to each call; not by interceptors, which take streams apart."""

    def __init__(self, channel: grpc.aio.Channel, added: Added, stream_s: float | None) -> None:
        self._channel = channel
        self._added = added
        self._stream_s = stream_s

    def _calling(self, call: Any, method: str) -> Any:
        return _Calling(call, method, self._added, self._stream_s)

    def unary_unary(self, method: str, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.unary_unary(method, *given, **more), method)

    def unary_stream(self, method: str, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.unary_stream(method, *given, **more), method)

    def stream_unary(self, method: str, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.stream_unary(method, *given, **more), method)

    def stream_stream(self, method: str, *given: Any, **more: Any) -> Any:
        return self._calling(self._channel.stream_stream(method, *given, **more), method)

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
