"""Asks services elsewhere whether they are ready."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import MeshError
from recallmesh.core.tls import Tls
from recallmesh.mesh import Part
from recallmesh.rpc import admin, arm, embedder, recaller, reranker, retainer
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.health import check_health
from recallmesh.rpc.tls import open_tls

ANSWERS_WITHIN_S = 3.0
NAMES: Mapping[Part, str] = {
    **{Part(name.value): f"{arm.SERVICE}/{name}" for name in ArmName},
    Part.RECALL: recaller.SERVICE,
    Part.RERANKER: reranker.SERVICE,
    Part.EMBEDDER: embedder.SERVICE,
    Part.RETAIN: retainer.SERVICE,
    Part.BANK: admin.SERVICES[0],
}
"""What the health service calls each part."""


async def troubles_of(placed: Mapping[Part, str], tls: Tls | None = None) -> dict[Part, str]:
    """Ask every part at its address, at once; returns what is wrong with each, empty where it is ready."""
    troubles = await asyncio.gather(*(_trouble(part, address, tls) for part, address in placed.items()))
    return dict(zip(placed, troubles, strict=True))


async def _trouble(part: Part, address: str, tls: Tls | None) -> str:
    try:
        async with AsyncExitStack() as stack:
            live = None if tls is None else await stack.enter_async_context(open_tls(tls))
            channel = await stack.enter_async_context(open_channel(address, tls=live))
            await check_health(channel, NAMES[part], timeout_s=ANSWERS_WITHIN_S)
    except MeshError as error:
        return error.message
    return ""
