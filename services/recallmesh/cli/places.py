"""Where the mesh is: at an address, or in this process on files."""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from recallmesh.core.admin import Admin
from recallmesh.core.recall import Recaller
from recallmesh.core.retain import Retainer
from recallmesh.mesh import Faces, open_embedded, open_remote
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

__all__ = ["Admin", "Faces", "Recaller", "Retainer", "open_place"]


@asynccontextmanager
async def open_place(words: argparse.Namespace) -> AsyncIterator[Faces]:
    """Open the mesh that the command line names: ``--server``, else RECALLMESH_SERVER, else one in this process."""
    set_up_logging(level="warning")
    address = words.server or ("" if words.data else os.environ.get("RECALLMESH_SERVER", ""))
    if address:
        async with open_remote(address) as faces:
            yield faces
    else:
        data = Path(words.data).expanduser() if words.data else None
        async with open_embedded(load_settings(data=data)) as faces:
            yield faces
