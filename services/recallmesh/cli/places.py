"""Where the mesh is: at an address, or in this process on files."""

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from recallmesh.mesh import Faces, open_embedded, open_remote
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging


@asynccontextmanager
async def open_place(words: argparse.Namespace) -> AsyncIterator[Faces]:
    """Open the mesh that the command line names: ``--server``, else RECALLMESH_SERVER, else one in this process."""
    set_up_logging(level="warning")
    address = words.server or ("" if words.data else os.environ.get("RECALLMESH_SERVER", ""))
    if address:
        async with open_remote(address) as faces:
            yield faces
    else:
        async with open_embedded(load_settings(data=folder(words.data))) as faces:
            yield faces


def folder(name: str | None) -> Path | None:
    """Return the folder that a word names; nothing for no word."""
    return Path(name).expanduser() if name else None
