# ruff: noqa: ANN401 - the methods are generic in their messages, which only pass through here
"""A channel that is made anew when its credentials are, and loses no call by it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import grpc
import grpc.aio

NO_WAY = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)


@asynccontextmanager
async def open_renewing(
    make: Callable[[], grpc.aio.Channel], hearers: set[Callable[[], None]]
) -> AsyncIterator[grpc.aio.Channel]:
    """Open a channel that goes over to a new one whenever its hearer is told to; ``make`` takes what is in force.

    New calls go on through the old channel until the new one has reached its server, or the old one cannot any more.
    Calls in hand end where they began, and the old channel is closed with the last of them.
    """
    async with _RenewingChannel(make) as channel:
        hearers.add(channel.renew)
        try:
            yield channel
        finally:
            hearers.discard(channel.renew)


class _RenewingChannel(grpc.aio.Channel):
    """A channel in front of the newest that has reached its server."""

    def __init__(self, make: Callable[[], grpc.aio.Channel]) -> None:
        self._make = make
        self.line = _Line(make())
        self._exchanging: asyncio.Task[None] | None = None
        self._draining: set[asyncio.Task[None]] = set()

    def renew(self) -> None:
        """Begin to go over to a new channel."""
        if self._exchanging is not None:
            self._exchanging.cancel()
        self._exchanging = asyncio.create_task(self._exchange(_Line(self._make())))

    async def _exchange(self, fresh: "_Line") -> None:
        either = (
            asyncio.create_task(fresh.channel.channel_ready()),
            asyncio.create_task(_without_way(self.line.channel)),
        )
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await fresh.channel.close()
            raise
        finally:
            for one in either:
                one.cancel()
            await asyncio.gather(*either, return_exceptions=True)
        old, self.line = self.line, fresh
        draining = asyncio.create_task(old.drain())
        self._draining.add(draining)
        draining.add_done_callback(self._draining.discard)

    def unary_unary(self, *given: Any, **more: Any) -> Any:
        return _Method(self, "unary_unary", given, more)

    def unary_stream(self, *given: Any, **more: Any) -> Any:
        return _Method(self, "unary_stream", given, more)

    def stream_unary(self, *given: Any, **more: Any) -> Any:
        return _Method(self, "stream_unary", given, more)

    def stream_stream(self, *given: Any, **more: Any) -> Any:
        return _Method(self, "stream_stream", given, more)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        ending = [*self._draining, *((self._exchanging,) if self._exchanging is not None else ())]
        for one in ending:
            one.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await self.line.channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: FBT001, FBT002 - grpc's own
        return self.line.channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self.line.channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self.line.channel.channel_ready()


class _Line:
    """One channel, and how many calls are on it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self._calls = 0
        self._silent = asyncio.Event()
        self._silent.set()

    def carry(self, call: Any) -> None:
        """Count a call until it ends."""
        self._calls += 1
        self._silent.clear()
        call.add_done_callback(self._ended)

    def _ended(self, _call: Any) -> None:
        self._calls -= 1
        if not self._calls:
            self._silent.set()

    async def drain(self) -> None:
        """Close once no call is left."""
        try:
            await self._silent.wait()
        finally:
            await self.channel.close()


class _Method:
    """A method, one of grpc.aio's four kinds, by the channel that is the newest when it is called."""

    def __init__(self, owner: _RenewingChannel, kind: str, given: tuple[Any, ...], more: dict[str, Any]) -> None:
        self._owner = owner
        self._words = (kind, given, more)
        self._line = owner.line
        self._call = self._of(owner.line)

    def _of(self, line: _Line) -> Any:
        kind, given, more = self._words
        return getattr(line.channel, kind)(*given, **more)

    def __call__(self, *given: Any, **more: Any) -> Any:
        line = self._owner.line
        if line is not self._line:
            self._line, self._call = line, self._of(line)
        call = self._call(*given, **more)
        line.carry(call)
        return call


async def _without_way(channel: grpc.aio.Channel) -> None:
    """Return when a channel cannot reach its server; one that has not been asked to is left alone."""
    while (state := channel.get_state()) not in NO_WAY:
        await channel.wait_for_state_change(state)
