"""An entity on every one of very many memories: a search reads no more of them, and finds what is rare among them."""

from datetime import UTC, datetime, timedelta

import pytest

from recallmesh.core.arm import ArmQuery, IndexEntry
from recallmesh.core.memory import ALL_FACT_TYPES, FactType, Mention
from recallmesh.core.vectors import VectorHit
from recallmesh.graph import schema, writes
from recallmesh.graph.arm import STRATEGIES, GraphArm
from recallmesh.graph.embedded import EmbeddedGraphStore
from recallmesh.graph.store import Alike, Node

START = datetime(2026, 8, 1, tzinfo=UTC)
FEW, MANY = 2_000, 20_000
"""Case 26 has 20,000."""
NEAR = 100


def node(number, *names, **fields):
    fields.setdefault("fact_type", FactType.WORLD)
    mentions = tuple(Mention(f"e-{name.lower()}", name, "person") for name in names)
    given = {"mentioned": START + timedelta(minutes=number), "document_id": f"d{number // 20}", "position": number % 20}
    entry = IndexEntry(mid(number), 1, "text", mentions=mentions, **(given | fields))
    alike = (Alike(mid(number - 1), 0.8),) if number % 4 else ()
    return Node(entry, alike)


def mid(number):
    return f"m{number:05}"


class Nearest:
    """Vectors that find the newest memories of the commonest type nearest, and none of the others."""

    def __init__(self, size):
        self.size = size

    async def search(self, queries):
        return tuple(
            tuple(
                VectorHit(mid(self.size - n), 0.9 - n / 1000, FactType.WORLD)
                for n in range(1, min(NEAR, query.limit) + 1)
            )
            if query.fact_types == (FactType.WORLD,)
            else ()
            for query in queries
        )


class Counted:
    """Runs reads on one connection; counts the statements, and the steps of SQLite's machine in tens."""

    def __init__(self, connection):
        self.connection = connection
        self.statements = self.steps = 0
        connection.set_progress_handler(self._step, 10)
        connection.set_trace_callback(self._statement)

    def _step(self):
        self.steps += 1

    def _statement(self, _):
        self.statements += 1

    async def run(self, work, *args):
        return work(self.connection, *args)


def fill(connection, first, after):
    # User is on all, Rome on every fifth: two hubs, of which a search that names neither must not read either.
    names = {
        number: ("User", f"Thing{number}", *(("Rome",) if number % 5 == 0 else ())) for number in range(first, after)
    }
    for begin in range(first, after, 1000):
        writes.put(connection, "b1", tuple(node(n, *names[n]) for n in range(begin, min(begin + 1000, after))))


@pytest.fixture(scope="module")
def banks(tmp_path_factory):
    """Two banks, alike but for their size; the rare fact is the oldest of all."""
    found = {}
    for size in (FEW, MANY):
        connection = schema.connect(tmp_path_factory.mktemp("graph") / "graph.db")
        connection.execute("PRAGMA synchronous = OFF")
        schema.create(connection)
        writes.put(connection, "b1", (node(0, "User", "Rome", fact_type=FactType.OBSERVATION),))
        fill(connection, 1, size)
        found[size] = connection
    yield found
    for connection in found.values():
        connection.close()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", ["what does User do in Rome", "what do they do there"])
@pytest.mark.parametrize("vector", [(1.0, 0.0), None], ids=["vector", "no vector"])
async def test_what_a_search_reads_does_not_grow_with_the_memories_of_a_hub(banks, strategy, text, vector):
    steps, statements = {}, {}
    for size, connection in banks.items():
        counted = Counted(connection)
        arm = GraphArm(EmbeddedGraphStore(counted, counted), Nearest(size), cosine_mean=0.67, cosine_high=0.81)
        hits = await arm.search(ArmQuery("b1", text, vector=vector, strategy=strategy))
        steps[size], statements[size] = counted.steps, counted.statements
        assert len(hits) <= 300 * len(ALL_FACT_TYPES)
        if "User" in text:
            assert mid(0) in {hit.memory_id for hit in hits}
    assert statements[MANY] == statements[FEW] <= 10
    assert 0 < steps[MANY] < 1.2 * steps[FEW]


async def test_a_hub_does_not_crowd_out_what_is_near_and_what_is_rare(banks):
    counted = Counted(banks[MANY])
    arm = GraphArm(EmbeddedGraphStore(counted, counted), Nearest(MANY), cosine_mean=0.67, cosine_high=0.81)
    hits = await arm.search(ArmQuery("b1", "does User have Thing77", vector=(1.0, 0.0), limit=50))
    world = [hit.memory_id for hit in hits if hit.memory_id != mid(0)]
    assert world[0] == mid(77)
    assert len(world) == 50
    assert {mid(MANY - n) for n in range(1, 30)} <= set(world)
    assert mid(0) in {hit.memory_id for hit in hits}
