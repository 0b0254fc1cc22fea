"""What a process's parts are built with: each once, and what it opened closed in the end."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

from recallmesh.identity.mesh_key import MeshKeys, own_key
from recallmesh.identity.opening import open_mesh_keys
from recallmesh.part import Part, Placed
from recallmesh.rpc.caller import peer_channel
from recallmesh.rpc.channel import Channel, open_channel
from recallmesh.rpc.tls import LiveTls, open_tls
from recallmesh.settings import Settings
from recallmesh.telemetry.metrics import Metrics

T = TypeVar("T")


@dataclass(slots=True)
class Building:
    """Where parts are built: the settings, which parts run here, and what was built already."""

    settings: Settings
    hosted: frozenset[Part]
    stack: AsyncExitStack
    metrics: Metrics = field(default_factory=Metrics)
    _built: dict[str, object] = field(default_factory=dict, kw_only=True)

    def address(self, part: Part) -> str | None:
        """Return where a part runs; nothing when it is this process."""
        return None if part in self.hosted else self._placed(part).address

    def _placed(self, part: Part) -> Placed:
        return cast("Placed", getattr(self.settings, part.value))

    async def _once(self, name: str, build: Callable[[], Awaitable[T]]) -> T:
        if name not in self._built:
            self._built[name] = await build()
        return cast("T", self._built[name])

    async def _enter(self, context: AbstractAsyncContextManager[T]) -> T:
        return await self.stack.enter_async_context(context)

    async def mesh_keys(self) -> Callable[[], MeshKeys]:
        """Return how to get the keys by which processes of the mesh know each other, as they are at the time."""
        return await self._once("mesh keys", lambda: self._enter(open_mesh_keys(self.settings.auth)))

    async def _channel(self, address: str) -> Channel:
        return await self._once(f"channel {address}", partial(self._open_channel, address))

    async def _open_channel(self, address: str) -> Channel:
        keys = own_key(await self.mesh_keys())
        return peer_channel(await self._enter(open_channel(address, tls=await self._tls())), keys)

    async def _tls(self) -> LiveTls | None:
        """Return what the calls of this process prove themselves with; nothing where they are not encrypted."""
        files = self.settings.tls.calling
        if files is None:
            return None
        told = self.metrics.observe_certificate
        return await self._once("tls", lambda: self._enter(open_tls(files, told=told)))
