"""The mesh's settings for real stores: a database, a prefix and an address each, migrated and taken away afterwards."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import sqlalchemy
from deployment import COMMAND, Mesh, clean_environment, open_nine
from servers import address
from store_servers.__main__ import ROOT, SERVERS
from store_servers.fleet import Fleet


@asynccontextmanager
async def open_stores(where: Callable[[str], str] = address) -> AsyncIterator[Mapping[str, str]]:
    """Make room for one mesh in every server that can be had; gives the settings that name it.

    ``where`` says where a server is. The vectors are in Qdrant only where ``RECALLMESH_TEST_QDRANT`` names one, else
    embedded.
    """
    mark = f"test{uuid4().hex[:10]}"
    server = sqlalchemy.make_url(where("postgres")).set(drivername="postgresql+psycopg")
    environment = {
        "RECALLMESH_LEDGER__URL": server.set(database=mark).render_as_string(hide_password=False),
        "RECALLMESH_KEYWORD__OPENSEARCH_URL": where("opensearch"),
        "RECALLMESH_KEYWORD__OPENSEARCH_PREFIX": mark,
        "RECALLMESH_GRAPH__NEO4J_URL": where("neo4j"),
    }
    await asyncio.to_thread(_on, server, f"CREATE DATABASE {mark}")
    try:
        await migrate(environment)
        yield environment
    finally:
        with suppress(sqlalchemy.exc.OperationalError):  # a test may have left the server stopped: its own error tells
            await asyncio.to_thread(_on, server, f"DROP DATABASE IF EXISTS {mark} WITH (FORCE)")


@asynccontextmanager
async def open_nine_on_stores(folder: Path) -> AsyncIterator[Mesh]:
    """Start each part in a process of its own, on the real stores."""
    async with open_stores() as environment, open_nine(folder, environment) as mesh:
        yield replace(mesh, kind="real_stores", database=environment["RECALLMESH_LEDGER__URL"])


async def migrate(environment: Mapping[str, str]) -> str:
    """Migrate the stores as an operator does; returns what is printed."""
    running = await asyncio.create_subprocess_exec(
        COMMAND,
        "migrate",
        env=clean_environment(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await running.communicate()
    assert running.returncode == 0, printed.decode()
    return printed.decode()


def fleet() -> Fleet:
    """Return the servers that ``make servers`` started. Tests share them: only a run of its own takes one away."""
    return Fleet(ROOT, SERVERS, lambda _: None)


def _on(server: sqlalchemy.URL, statement: str) -> None:
    engine = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(statement))
    engine.dispose()
