"""The embedded graph store: what outlives it, and how much work a hub makes."""

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from recallmesh.core.arm import ArmQuery, IndexEntry, Removal
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import ALL_FACT_TYPES, FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.graph import reads, schema, writes
from recallmesh.graph.arm import GraphArm
from recallmesh.graph.embedded import EmbeddedGraphStore, open_embedded_graph_store
from recallmesh.graph.store import Alike, Node, Scope

START = datetime(2026, 8, 1, tzinfo=UTC)
BANK = Scope("b1", ALL_FACT_TYPES)


def node(memory_id, *names, version=1, alike=(), **fields):
    fields.setdefault("fact_type", FactType.WORLD)
    mentions = tuple(Mention(f"e-{name.lower()}", name, "person") for name in names)
    return Node(IndexEntry(memory_id, version, "text", mentions=mentions, **fields), alike)


async def test_what_was_written_and_what_was_removed_outlive_the_store(tmp_path):
    path = tmp_path / "new" / "graph.db"
    async with open_embedded_graph_store(path) as store:
        await store.put("b1", (node("m1", "Alice", alike=(Alike("m2", 0.8),), tags=("t",)), node("m2"), node("m3")))
        await store.delete("b1", (Removal("m3", 1),))
    async with open_embedded_graph_store(path) as store:
        assert [s.memory_id for s in await store.read(lambda reads: reads.mentioning(BANK, ("e-alice",), 5))] == ["m1"]
        assert [e.target_id for e in await store.read(lambda reads: reads.edges(BANK, ("m1",), 5))] == ["m2"]
        await store.put("b1", (node("m3"),))
        assert [row.memory_id for row in (await store.scan("b1", PageRequest())).rows] == ["m1", "m2"]


async def test_two_stores_on_one_file_see_one_another(tmp_path):
    path = tmp_path / "graph.db"
    async with open_embedded_graph_store(path) as one, open_embedded_graph_store(path) as two:
        await asyncio.gather(
            *(
                store.put("b1", (node(f"{name}{i}", "Alice"),))
                for i in range(10)
                for name, store in (("a", one), ("b", two))
            )
        )
        for store in (one, two):
            assert len((await store.scan("b1", PageRequest())).rows) == 20
            assert (await store.read(lambda reads: reads.names("b1", ("alice",), ()))).entities[0].memories == 20


async def test_a_file_that_is_no_graph_store_is_said_to_be_unavailable(tmp_path):
    path = tmp_path / "graph.db"
    path.write_bytes(b"this is no database at all, and long enough to be taken for one" * 20)
    with pytest.raises(StoreUnavailable, match="damaged files; restore them from a backup"):
        async with open_embedded_graph_store(path):
            pass
    with pytest.raises(StoreUnavailable):
        async with open_embedded_graph_store(path / "below"):
            pass


async def test_a_driver_error_is_translated_and_kept_as_the_cause(tmp_path):
    path = tmp_path / "graph.db"
    async with open_embedded_graph_store(path) as store:
        with schema.connect(path) as other:
            other.execute("DROP TABLE memory")
        other.close()
        with pytest.raises(StoreUnavailable) as caught:
            await store.check()
        assert isinstance(caught.value.__cause__, sqlite3.Error)
        assert "memory" not in caught.value.message


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path):
    connection = schema.connect(tmp_path / "graph.db")
    schema.create(connection)
    bad = node("m2", "Bob", tags=(object(),))
    with pytest.raises(sqlite3.Error):
        writes.put(connection, "b1", (node("m1", "Alice"), bad))
    assert reads.scan(connection, "b1", PageRequest()).rows == ()
    writes.put(connection, "b1", (node("m1", "Alice"),))
    assert len(reads.scan(connection, "b1", PageRequest()).rows) == 1
    connection.close()


def test_nothing_is_left_of_what_was_deleted_but_the_memory_of_it(tmp_path):
    connection = schema.connect(tmp_path / "graph.db")
    schema.create(connection)
    writes.put(connection, "b1", (node("m1", "Alice", tags=("t",), alike=(Alike("m2", 0.8),)), node("m2", "Alice")))
    writes.delete(connection, "b1", (Removal("m1", 1), Removal("m2", 1)))
    left = {t: connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in _tables(connection)}  # noqa: S608
    assert left == {"bank": 1, "memory": 2, "tag": 0, "entity": 0, "name": 0, "mention": 0, "link": 0}
    assert reads.complete(reads.SqliteReads(connection).names("b1", (), ())).memories == 0
    writes.drop(connection, "b1")
    left = {t: connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in _tables(connection)}  # noqa: S608
    assert set(left.values()) == {0}
    connection.close()


class Counted:
    """Runs reads on one connection and counts the steps of SQLite's machine, in tens."""

    def __init__(self, connection):
        self.connection = connection
        self.steps = 0
        connection.set_progress_handler(self._count, 10)

    def _count(self):
        self.steps += 1

    async def run(self, work, *args):
        return work(self.connection, *args)


@pytest.mark.parametrize("strategy", ["link_expansion", "bfs", "mpfp"])
async def test_a_search_that_names_a_hub_does_not_cost_more_the_more_memories_it_is_on(tmp_path, strategy):
    connection = schema.connect(tmp_path / "graph.db")
    schema.create(connection)
    connections = Counted(connection)
    arm = GraphArm(EmbeddedGraphStore(connections, connections), None, cosine_mean=0.67, cosine_high=0.81)
    writes.put(connection, "b1", (node("rare", "User", "Rome", fact_type=FactType.OBSERVATION),))
    steps, count = {}, 0
    for size in (400, 4000):
        nodes = [
            node(
                f"m{i:05}",
                "User",
                f"Thing{i}",
                mentioned=START + timedelta(minutes=i),
                document_id="d",
                position=i,
            )
            for i in range(count, size)
        ]
        writes.put(connection, "b1", tuple(nodes))
        count = size
        connections.steps = 0
        hits = await arm.search(ArmQuery("b1", "what does User do", strategy=strategy))
        steps[size] = connections.steps
        assert "rare" in {hit.memory_id for hit in hits}
    connection.close()
    assert steps[400] > 0
    assert steps[4000] < 1.5 * steps[400]


def _tables(connection):
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


async def test_a_store_of_an_earlier_version_gets_what_it_lacks(tmp_path):
    path = tmp_path / "graph.db"
    async with open_embedded_graph_store(path) as store:
        await store.put("b1", (node("m1", "Alice"),))
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE entity DROP COLUMN version")
    connection.close()
    async with open_embedded_graph_store(path) as store:
        await store.put("b1", (node("m2", "Alice"),))
        found = await store.read(lambda reads: reads.names("b1", ("alice",), ()))
    assert [entity.memories for entity in found.entities] == [2]
