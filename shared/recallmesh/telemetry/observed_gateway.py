"""The guard around a gateway."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractContextManager, aclosing

from recallmesh.core.gateway import Asked, Caller, Gateway, Method
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics


class ObservedGateway:
    """A gateway whose calls are counted and traced, and out of which only mesh errors come.

    It bounds no call: the gateway does, by what the caller has said.
    """

    def __init__(self, gateway: Gateway, *, metrics: Metrics) -> None:
        """Guard this gateway."""
        self._gateway = gateway
        self._guard = Guard("gateway", timeout_s=None, metrics=metrics)

    @property
    def methods(self) -> Mapping[str, Method]:
        """What is offered, by name."""
        return self._gateway.methods

    def description(self) -> bytes:
        """Return the OpenAPI document of what is offered."""
        return self._gateway.description()

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Read who asks off the headers."""
        return self._gateway.caller(headers)

    def place(self, method: Method) -> AbstractContextManager[None]:
        """Hold a place for one call."""
        return self._gateway.place(method)

    async def call(self, method: Method, asked: AsyncIterator[Asked], caller: Caller) -> AsyncGenerator[bytes, None]:
        """Ask, and yield each answer."""
        answers = self._gateway.call(method, asked, caller)
        name = method.name.rpartition("/")[2]
        async with aclosing(self._guard.stream(name, answers, part_of=caller.trace)) as guarded:
            async for answer in guarded:
                yield answer

    async def check(self) -> None:
        """Return if every public service is ready."""
        await self._guard.bounded(self._gateway.check())
