"""The graph stores agree: after the same writes the same searches give the same hits, embedded and on Neo4j."""

import random
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from neo4j_bed import open_migrated

from recallmesh.core.arm import ArmQuery, IndexEntry, Removal
from recallmesh.core.memory import CausalLink, FactType, Mention
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.vectors import VectorHit
from recallmesh.graph.arm import STRATEGIES, GraphArm
from recallmesh.graph.embedded import open_embedded_graph_store
from recallmesh.graph.store import Alike, Node

pytestmark = pytest.mark.stores

SIZE = 300
START = datetime(2026, 8, 1, tzinfo=UTC)
TYPES = (*[FactType.WORLD] * 6, FactType.EXPERIENCE, FactType.OBSERVATION)
PEOPLE = ("Ada Lovelace", "Ben", "Cem", "Dee", "Eva Marie Brandt", "Fay")
QUESTIONS = (
    "what was decided about the harbour",
    "what did Ada Lovelace say",
    "Thing17 and Brandt",
    "what does User do",
)


class Seeds:
    """Finds some memories of each type near, the same ones whoever asks."""

    def __init__(self, seed):
        self._seed = seed

    async def search(self, queries):
        return tuple(self._near(query.fact_types[0], query.limit) for query in queries)

    def _near(self, fact_type, limit):
        chance = random.Random(f"{self._seed} {fact_type}")
        pool = [number for number in range(SIZE) if TYPES[number % len(TYPES)] is fact_type]
        chosen = chance.sample(pool, min(20, limit, len(pool)))
        return tuple(VectorHit(mid(n), 0.9 - place / 100, fact_type) for place, n in enumerate(chosen))


def mid(number):
    return f"m{number:04}"


def node(number, chance, version=1):
    """Make a memory. No two times and no two weights are equal: what is, each store may put as it likes."""
    names = ["User", f"Thing{number // 3}", *chance.sample(PEOPLE, 2)]
    others = chance.sample([n for n in range(SIZE) if n != number], 5)
    entry = IndexEntry(
        mid(number),
        version,
        "",
        TYPES[number % len(TYPES)],
        tags=tuple(chance.sample("abc", chance.randrange(3))),
        mentions=tuple(Mention(f"e-{name.lower()}", name, "person") for name in names),
        causes=(CausalLink(mid(others[4]), chance.random()),) if number % 3 == 0 else (),
        mentioned=START + timedelta(seconds=number * 10 + version),
        document_id=f"d{number // 20}" if number % 7 else "",
        position=number % 20,
    )
    return Node(entry, tuple(Alike(mid(other), 0.7 + 0.3 * chance.random()) for other in others[:4]))


async def write(store, bank):
    chance = random.Random(7)
    for begin in range(0, SIZE, 50):
        await store.put(bank, tuple(node(number, chance) for number in range(begin, begin + 50)))
    await store.put(bank, tuple(node(number, chance, 2) for number in range(0, SIZE, 11)))
    await store.delete(bank, tuple(Removal(mid(number), 1) for number in range(0, SIZE, 9)))
    await store.put(bank, tuple(node(number, chance, 3) for number in range(0, SIZE, 27)))


@pytest.fixture
async def stores(tmp_path):
    bank = uuid4().hex
    async with open_embedded_graph_store(tmp_path / "graph.db") as embedded, open_migrated() as neo4j:
        await write(embedded, bank)
        await write(neo4j, bank)
        yield bank, embedded, neo4j
        await neo4j.drop(bank)


async def test_the_same_searches_give_the_same_hits(stores):
    bank, *both = stores
    tags = TagLeaf(frozenset("ab"), TagMode.ANY)
    found = 0
    for seed, strategy in enumerate(STRATEGIES):
        for question in QUESTIONS:
            for given in ({}, {"tags": tags}, {"limit": 7}, {"fact_types": (FactType.OBSERVATION,)}, {"vector": None}):
                query = ArmQuery(bank, question, **({"vector": (1.0,), "strategy": strategy} | given))
                embedded, neo4j = [
                    await GraphArm(store, Seeds(seed), cosine_mean=0.67, cosine_high=0.81).search(query)
                    for store in both
                ]
                assert [(h.memory_id, h.because) for h in neo4j] == [(h.memory_id, h.because) for h in embedded]
                assert [h.score for h in neo4j] == pytest.approx([h.score for h in embedded], abs=1e-12)
                found += len(neo4j)
    assert found > 1000
