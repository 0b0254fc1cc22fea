"""Asks services elsewhere whether they are ready."""

import asyncio
from collections.abc import Mapping

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import MeshError
from recallmesh.mesh import Part
from recallmesh.rpc import admin, arm, embedder, recaller, reranker, retainer
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.health import check_health

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


async def troubles_of(placed: Mapping[Part, str]) -> dict[Part, str]:
    """Ask every part at its address, at once; returns what is wrong with each, empty where it is ready."""
    return dict(zip(placed, await asyncio.gather(*(_trouble(*one) for one in placed.items())), strict=True))


async def _trouble(part: Part, address: str) -> str:
    try:
        async with open_channel(address) as channel:
            await check_health(channel, NAMES[part], timeout_s=ANSWERS_WITHIN_S)
    except MeshError as error:
        return error.message
    return ""
