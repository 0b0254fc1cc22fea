"""The readiness of a process and of each part it hosts, as the standard health service tells it."""

import asyncio
from collections.abc import Mapping

import grpc.aio
import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health_aio

from recallmesh.core.errors import MeshError, StoreUnavailable
from recallmesh.rpc.channel import STAYING
from recallmesh.rpc.hosted import Check

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
PROCESS = ""
"""The health name of the whole process."""

_log = structlog.get_logger("recallmesh.readiness")


class Health(health_aio.HealthServicer):
    """The standard health service, with watches that end: a server that stops would wait for them."""

    def __init__(self) -> None:
        """Begin with nothing that is known."""
        super().__init__()
        self._ended = asyncio.Event()

    async def Watch(  # noqa: N802 - the protocol's name
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.aio.ServicerContext[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse],
    ) -> None:
        """Tell of every change until the caller or the server has enough of it."""
        both = (asyncio.create_task(super().Watch(request, context)), asyncio.create_task(self._ended.wait()))
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    def end(self) -> None:
        """End every watch, also those to come."""
        self._ended.set()


class Readiness:
    """Keeps the health service true: a part is SERVING after its check returned, the process when all are.

    That the process answers at all says that it lives; what it answers says whether it is ready. Under the name
    ``STAYING`` it is SERVING from the start until it leaves, ready or not: what its clients watch.
    """

    def __init__(self, *, interval_s: float, timeout_s: float) -> None:
        """Ask every ``interval_s`` seconds (four times as often until all are ready), each for ``timeout_s``."""
        self.servicer = Health()
        self._checks: Mapping[str, Check] | None = None
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._states: dict[str, bool] = {}
        self._told = False

    @property
    def ready(self) -> bool:
        """Whether it is known what is hosted, and every part was ready when it was last asked."""
        return self._checks is not None and set(self._states) == set(self._checks) and all(self._states.values())

    @property
    def unready(self) -> int:
        """How many of the hosted services were not ready when they were last asked; 1 while it is not known which."""
        if self._checks is None:
            return 1
        return sum(not self._states.get(name, False) for name in self._checks)

    async def announce(self) -> None:
        """Say that nothing is ready yet, and that the process means to stay."""
        await self.servicer.set(PROCESS, NOT_SERVING)
        await self.servicer.set(STAYING, SERVING)

    async def take(self, checks: Mapping[str, Check]) -> None:
        """Take what is hosted, and ask it for the first time with the next ``ask``."""
        for name in checks:
            await self.servicer.set(name, NOT_SERVING)
        self._checks = checks

    async def watch(self) -> None:
        """Ask for ever; should that end by a bug, the process is not ready."""
        try:
            while True:
                await self.ask()
                await asyncio.sleep(self._interval_s if self.ready else self._interval_s / 4)
        finally:
            await self.servicer.set(PROCESS, NOT_SERVING)

    async def ask(self) -> None:
        """Ask every part once, all at a time, and tell the health service."""
        checks = self._checks or {}
        states = await asyncio.gather(*(self._state(name, check) for name, check in checks.items()))
        for name, state in zip(checks, states, strict=True):
            self._states[name] = state
            await self.servicer.set(name, SERVING if state else NOT_SERVING)
        await self.servicer.set(PROCESS, SERVING if self.ready else NOT_SERVING)
        if self.ready and not self._told:
            _log.info("ready", parts=len(checks))
        self._told = self.ready

    async def _state(self, name: str, check: Check) -> bool:
        before = self._states.get(name)
        try:
            async with asyncio.timeout(self._timeout_s):
                await check()
        except (MeshError, TimeoutError) as error:
            told = error if isinstance(error, MeshError) else StoreUnavailable("the check did not return in time")
            if before is not False:
                _log.warning("part not ready", part=name, reason=told.reason, detail=told.message)
            return False
        if not before:
            _log.debug("part ready", part=name)
        return True

    async def leave(self) -> None:
        """Say for good that nothing is ready any more."""
        await self.servicer.enter_graceful_shutdown()
