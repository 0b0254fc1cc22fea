"""The schema of a Neo4j database, which all who share its server have in common: so these tests have their own."""

import asyncio
import random
import re
from contextlib import asynccontextmanager

import neo4j
import pytest

from recallmesh.core.arm import IndexEntry
from recallmesh.core.errors import NotReady
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.core.store import Migrated
from recallmesh.core.time import system_clock
from recallmesh.graph import neo4j_schema
from recallmesh.graph.neo4j import Neo4jDatabase, inspect_neo4j, migrate_neo4j, open_neo4j_graph_store
from recallmesh.graph.store import Node

pytestmark = [pytest.mark.stores, pytest.mark.timeout(600)]


@pytest.fixture
def database(own_servers):
    return Neo4jDatabase(own_servers.address("neo4j"))


@pytest.fixture
async def store(database):
    await migrate_neo4j(database, random=random.random)
    async with open_neo4j_graph_store(database, random=random.random) as opened:
        yield opened


@pytest.fixture
async def session(database):
    async with neo4j.AsyncGraphDatabase.driver(database.url) as driver, driver.session() as opened:
        yield opened


def node(memory_id):
    return Node(IndexEntry(memory_id, 1, "", FactType.WORLD))


@asynccontextmanager
async def another_version(session, version):
    """Let the database have another version of the schema, or none."""
    statement = "MATCH (s:RecallmeshSchema {part: 'graph'}) SET s.version = $version"
    await (await session.run(statement, version=version)).consume()
    try:
        yield
    finally:
        await (await session.run(statement, version=neo4j_schema.VERSION)).consume()


@pytest.mark.parametrize(
    ("version", "what"), [(None, "never set up"), (0, "older"), (2, "newer version of recallmesh")]
)
async def test_a_database_of_another_schema_is_not_ready_and_says_what_to_do(database, store, session, version, what):
    await store.check()  # so that it does not find out for itself in between
    async with another_version(session, version):
        with pytest.raises(NotReady, match=what):
            await store.check()
        with pytest.raises(NotReady, match=what):
            await store.put("b1", (node("m1"),))
        async with open_neo4j_graph_store(database, random=random.random) as other:
            with pytest.raises(NotReady, match=what):
                await other.scan("b1", PageRequest())
        (advice,) = (await inspect_neo4j(database, random=random.random, now=system_clock)).advice
        assert what in advice
    await store.check()


async def test_a_database_is_migrated_once_however_many_begin_at_once(database, store, session):
    async with another_version(session, None):
        done = await asyncio.gather(*(migrate_neo4j(database, random=random.random) for _ in range(3)))
        address = database.address
        assert done == [Migrated("neo4j", address, "", "1")] * 3
    again = await migrate_neo4j(database, random=random.random)
    assert again == Migrated("neo4j", address, "1", "1")
    async with another_version(session, 2):
        with pytest.raises(NotReady, match="newer"):
            await migrate_neo4j(database, random=random.random)
    await store.check()


async def test_a_database_says_how_it_stands(database, store):
    before = await inspect_neo4j(database, random=random.random, now=system_clock)
    await store.put("b1", (node("m1"), node("m2")))
    found = await inspect_neo4j(database, random=random.random, now=system_clock)
    assert re.fullmatch(r"\d+\.\d+\.\d+ community", found.version)
    assert (found.schema, found.wanted, found.advice) == ("1", "1", ())
    assert found.memories == before.memories + 2
    assert abs(found.skew_s) < 5
