"""Nine parts of a mesh, each process at its own address, on real stores that are reached by wires of their own."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deployment import SERVING, clean_environment, health, until
from faults.mesh import relay
from faults.mesh.hosting import PORT, Member, Nursery, inherited
from faults.mesh.network import Network, Place, open_network
from store_servers.fleet import Fleet
from stores import open_stores

from recallmesh.client import Client
from recallmesh.core.bank import DEFAULT_TENANT
from recallmesh.core.principal import Right
from recallmesh.core.time import system_clock
from recallmesh.identity.api_key import KeyRow, hash_of, new_key, new_mesh_key
from recallmesh.identity.key_file import KeyFile, write_keys
from recallmesh.mesh import Part
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.caller import caller_channel
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.retainer import RemoteRetainer

TWICE = (Part.RECALL, Part.RETAIN)
"""Whoever else is away costs its contribution; who calls the others is there twice, behind one name."""
STORES = {
    "opensearch": "RECALLMESH_KEYWORD__OPENSEARCH_URL",
    "neo4j": "RECALLMESH_GRAPH__NEO4J_URL",
    "postgres": "RECALLMESH_LEDGER__URL",
}
READY_S = 300.0
FOUND_S = 2.5
"""After which a channel has tried again to reach who was away, seconds."""


@dataclass
class Mesh:
    """A running mesh: its processes, the places of all that it consists of, and its faces."""

    members: Mapping[str, Member]
    places: Mapping[str, Place]
    servers: Fleet
    faces: Client

    async def is_back(self, name: str) -> None:
        """Wait until a process is ready, and those who call it have had time to find it."""
        if name in self.members:
            await _ready(self.members[name])
            await asyncio.sleep(FOUND_S)


@asynccontextmanager
async def open_mesh(folder: Path, servers: Fleet) -> AsyncIterator[Mesh]:
    """Start the mesh on these servers, wait until all of it is ready, and end it."""
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(open_network())
        stores = await _wired(network, await stack.enter_async_context(open_stores(servers.address)), stack)
        names = {f"{part}{copy}": part for part in Part for copy in (("", "-2") if part in TWICE else ("",))}
        places = {name: await network.place(name) for name in names}
        targets = {
            part: "ipv4:" + ",".join(f"{places[name].host}:{PORT}" for name, of in names.items() if of is part)
            for part in Part
        }
        addresses = {f"RECALLMESH_{part.upper()}__ADDRESS": target for part, target in targets.items()}
        key, known = _authenticated(folder)
        environment = addresses | stores | known
        environment |= {"RECALLMESH_LOG_LEVEL": "warning", "RECALLMESH_DATA": str(folder / "data")}
        nursery = Nursery()
        stack.push_async_callback(nursery.close)
        members = {
            name: Member(part, places[name], nursery, environment, folder / f"{name}.log")
            for name, part in names.items()
        }
        for member in members.values():
            await member.start()
            stack.callback(member.signal, signal.SIGKILL)
        await asyncio.gather(*(_ready(member) for member in members.values()))

        async def channel(part: Part):
            return caller_channel(await stack.enter_async_context(open_channel(targets[part])), key=key, stream_s=600)

        faces = Client(
            RemoteRecaller(await channel(Part.RECALL)),
            RemoteRetainer(await channel(Part.RETAIN)),
            RemoteAdmin(await channel(Part.BANK)),
        )
        yield Mesh(members, network.places, servers, faces)


def _authenticated(folder: Path) -> tuple[str, dict[str, str]]:
    """Make a key for whoever asks, and one of the mesh's own; returns the first, and the settings that know them."""
    key_id, key = new_key()
    row = KeyRow(key_id, "chaos", DEFAULT_TENANT, frozenset(Right), hash_of(key), system_clock())
    file = folder / "keys.json"
    file.write_bytes(write_keys(KeyFile({key_id: row})))
    own = {"MODE": "on", "KEYS": str(file), "MESH_KEY": new_mesh_key()}
    return key, {f"RECALLMESH_AUTH__{name}": value for name, value in own.items()}


async def _wired(network: Network, stores: Mapping[str, str], stack: AsyncExitStack) -> dict[str, str]:
    """Give each store a place, with a wire to where it is; returns the settings that name them there."""
    found, wires = dict(stores), {}
    for store, setting in STORES.items():
        place = await network.place(store)
        here = urlsplit(stores[setting])
        found[setting] = here._replace(netloc=here.netloc.replace(here.hostname, place.host)).geturl()
        wires[store] = relay.wire(place, here.port, here.port)
    passing = await relay.start(wires, clean_environment(os.environ | inherited()))
    stack.callback(passing.kill)
    return found


async def _ready(member: Member) -> None:
    async def serves() -> bool:
        return await health(member.address) == SERVING

    try:
        await until(serves, READY_S)
    except TimeoutError:
        told = member.log.read_text(encoding="utf-8") if member.log.exists() else ""
        raise AssertionError(f"{member.part} did not become ready:\n{told[-3000:]}") from None
