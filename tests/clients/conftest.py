"""The mesh that the clients of every language are run against."""

import pytest_asyncio
from deployment import Process, open_processes


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def served(tmp_path_factory):
    """The address of a whole mesh in a process of its own, which describes itself."""
    folder = tmp_path_factory.mktemp("served")
    process = Process(("all",), folder / "data", folder / "all.log", {"RECALLMESH_SERVE__REFLECTION": "true"})
    async with open_processes({"all": process}):
        yield process.address
