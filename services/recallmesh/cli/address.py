"""Which mesh the command line names; light, so that an error can be explained without loading one."""

import argparse
import os
from pathlib import Path

SERVER = "RECALLMESH_SERVER"


def address_of(words: argparse.Namespace) -> str:
    """Return ``--server``, else RECALLMESH_SERVER unless ``--data`` was given; empty: the mesh is in this process."""
    if getattr(words, "server", None):
        return str(words.server)
    return "" if getattr(words, "data", None) or not hasattr(words, "server") else os.environ.get(SERVER, "")


def folder(name: str | None) -> Path | None:
    """Return the folder that a word names; nothing for no word."""
    return Path(name).expanduser() if name else None
