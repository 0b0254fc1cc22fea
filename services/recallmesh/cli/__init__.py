"""The command line: a face of the mesh, not a second implementation."""

from recallmesh.cli.entry import main

__all__ = ["main"]
