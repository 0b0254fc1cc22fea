"""The embedded graph store as an operator sees it from outside."""

from pathlib import Path

from recallmesh.core.store import Inspection
from recallmesh.sqlite.inspection import inspect_file

STORE = "sqlite"
COUNT = "SELECT COUNT(*) FROM memory WHERE live"


async def inspect_embedded_graph_store(path: Path) -> Inspection:
    """Tell how many memories the store's file holds."""
    return await inspect_file(STORE, path, COUNT)
