"""Where the mesh is: at an address, or in this process on files."""

import argparse
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

from recallmesh.cli.address import KEY, address_of, check_address, folder, key_of_caller, tls_of
from recallmesh.client import Client, open_client
from recallmesh.core.credential import bearing
from recallmesh.mesh import open_embedded
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging


@asynccontextmanager
async def open_place(words: argparse.Namespace) -> AsyncIterator[Client]:
    """Open the mesh that the command line names: ``--server``, else RECALLMESH_SERVER, else one in this process."""
    set_up_logging(level="warning")
    address = address_of(words)
    if address:
        check_address(address, words)
        async with open_client(address, tls=tls_of(words)) as faces:
            with own_key(words):
                yield faces
    else:
        async with open_embedded(load_settings(data=folder(words.data))) as faces:
            with own_key(words):
                yield faces


def own_key(words: argparse.Namespace) -> AbstractContextManager[None]:
    """Let calls bear RECALLMESH_KEY. Of services that the settings name, without it, the mesh's own key."""
    key = key_of_caller()
    return bearing(key, KEY) if key or address_of(words) else nullcontext()
