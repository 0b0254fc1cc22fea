"""The Neo4j server that tests run against: migrated once, and opened for each test."""

import random
from contextlib import asynccontextmanager
from functools import cache

import servers

from recallmesh.graph.neo4j import Neo4jDatabase, migrate_neo4j, open_neo4j_graph_store


def database():
    """Return where it is: on loopback, and open to everybody."""
    return Neo4jDatabase(servers.address("neo4j"))


@asynccontextmanager
async def open_migrated():
    where = database()
    if where not in _migrated():
        await migrate_neo4j(where, random=random.random)
        _migrated().add(where)
    async with open_neo4j_graph_store(where, random=random.random) as store:
        yield store


@cache
def _migrated():
    return set()
