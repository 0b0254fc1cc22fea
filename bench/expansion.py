"""What a search of the graph costs as its bank grows: the arm over a store of its own, with links to all sides.

The question it answers: is a search's work bounded by what it asks for (SPEC R6), on the embedded store and on Neo4j?
Made-up seeds take the vectors' place, so that the graph alone is timed. Every memory names ten others that it is like;
all are about one entity, a fifth of them about each of some others, and each about one that few are about.

CPU time is this process's: a server's own is not in it.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from uuid import UUID, uuid4

from bench.clock import Clock
from bench.results import write_result
from bench.table import print_figures
from recallmesh.core.arm import ArmQuery, IndexEntry
from recallmesh.core.memory import FactType, Mention
from recallmesh.core.vectors import VectorHit, VectorQuery
from recallmesh.graph.arm import GraphArm
from recallmesh.graph.embedded import open_embedded_graph_store
from recallmesh.graph.neo4j import Neo4jDatabase, migrate_neo4j, open_neo4j_graph_store
from recallmesh.graph.store import Alike, GraphStore, Node

SIZES = (1_000, 10_000, 100_000)
LINKS = 10
"""Semantic links that each memory names: at 100,000 memories a million. Texts of conversations have about two."""
REACH = 500
"""How far back the memories lie that one is like: so that links cluster, as they do between texts."""
BATCH = 200
WARM_UP = 20
START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (*[FactType.WORLD] * 8, FactType.EXPERIENCE, FactType.OBSERVATION)
ROOMS = tuple(f"Room{letter}" for letter in "ABCDE")
QUESTIONS = {
    "names nothing": "what was decided about the new harbour",
    "names a few": "what did Visitor{} decide about the harbour",
    "names a hub": "what did Alice decide about the new harbour",
}


class Seeds:
    """Stands in for the vectors: memories of each type, the same for one round's questions."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = random.Random(size)
        self._hits: dict[FactType, tuple[VectorHit, ...]] = {}

    def draw(self, limit: int) -> None:
        """Choose which memories are near the next question."""
        for fact_type in FactType:
            places = [place for place, of in enumerate(TYPES) if of is fact_type]
            pool = self._size // len(TYPES) * len(places)
            chosen = self._random.sample(range(pool), min(limit, pool))
            self._hits[fact_type] = tuple(
                VectorHit(mid(n // len(places) * len(TYPES) + places[n % len(places)]), 0.9 - rank / 2000, fact_type)
                for rank, n in enumerate(chosen)
            )

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer with what was drawn."""
        return tuple(self._hits[query.fact_types[0]] for query in queries)


def mid(number: int) -> str:
    """Return a memory's id; ids in no order, as they are."""
    return str(UUID(int=random.Random(number).getrandbits(128), version=4))


def node(number: int, links: int) -> Node:
    """Make a memory of the bank."""
    chance = random.Random(-number - 1)
    names = ("Alice", ROOMS[number % len(ROOMS)], f"Visitor{number // 20}")
    entry = IndexEntry(
        mid(number),
        1,
        "",
        TYPES[number % len(TYPES)],
        mentions=tuple(Mention(str(UUID(int=_code(name))), name, "person") for name in names),
        mentioned=START + timedelta(minutes=number),
        document_id=f"document-{number // 20}",
        position=number % 20,
    )
    others = {chance.randrange(max(0, number - REACH), number) for _ in range(links)} if number else set()
    return Node(entry, tuple(Alike(mid(other), 0.7 + chance.random() * 0.3) for other in sorted(others)))


def _code(name: str) -> int:
    return random.Random(name).getrandbits(128)


async def fill(store: GraphStore, bank: str, first: int, after: int, links: int) -> float:
    """Store the memories of these numbers; returns memories a second."""
    began = perf_counter()
    for begin in range(first, after, BATCH):
        await store.put(bank, tuple(node(number, links) for number in range(begin, min(after, begin + BATCH))))
    return (after - first) / (perf_counter() - began)


async def measure(store: GraphStore, bank: str, size: int, calls: int, limit: int) -> dict[str, float]:
    """Time searches of each kind in a bank of this size."""
    seeds = Seeds(size)
    arm = GraphArm(store, seeds, cosine_mean=0.67, cosine_high=0.81)  # type: ignore[arg-type]
    figures: dict[str, float] = {}
    for kind, question in QUESTIONS.items():
        clock = Clock()
        for call in range(WARM_UP + calls):
            seeds.draw(limit)
            query = ArmQuery(bank, question.format(call % (size // 20)), vector=(1.0,), limit=limit)
            if call < WARM_UP:
                await arm.search(query)
                continue
            with clock.taking():
                hits = await arm.search(query)
            assert len(hits) >= min(limit, size // 20)
        figures |= {f"{kind}, p50 ms": clock.p50, f"{kind}, p95 ms": clock.p95, f"{kind}, CPU ms": clock.cpu_each}
    return figures


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncIterator[GraphStore]:
    """Open the store: a server's, or the embedded one without an address."""
    if not url:
        async with open_embedded_graph_store(folder / "graph.db") as embedded:
            yield embedded
        return
    database = Neo4jDatabase(url)
    await migrate_neo4j(database, random=random.random)
    async with open_neo4j_graph_store(database, random=random.random) as store:
        await store.check()
        yield store


async def run(url: str, sizes: Sequence[int], calls: int, limit: int, links: int) -> None:
    """Fill one bank step by step and search it at each size."""
    bank, found = uuid4().hex, {}
    with tempfile.TemporaryDirectory() as folder:
        async with opened(url, Path(folder)) as store:
            try:
                for known, size in zip((0, *sizes), sizes, strict=False):
                    rate = await fill(store, bank, known, size, links)
                    found[str(size)] = {"memories/s": rate, **await measure(store, bank, size, calls, limit)}
                    sys.stderr.write(f"{size:,} memories measured\n")
            finally:
                await store.drop(bank)
    print_figures(
        ("", *(f"{size:,}" for size in sizes)),
        [(figure, *(f"{row[figure]:.1f}" for row in found.values())) for figure in found[str(sizes[0])]],
    )
    name = "expansion-neo4j" if url else "expansion"
    write_result(
        name, {"store": "neo4j" if url else "embedded", "calls": calls, "limit": limit, "links": links, "sizes": found}
    )


def main() -> None:
    """Run the bench from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neo4j", default="", metavar="URL", help="a Neo4j server; default: the embedded store")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="memories, ascending")
    parser.add_argument("--calls", type=int, default=100, metavar="N", help="timed searches of each kind")
    parser.add_argument("--limit", type=int, default=300, metavar="N", help="hits asked for of each type")
    parser.add_argument("--links", type=int, default=LINKS, metavar="N", help="semantic links that a memory names")
    given = parser.parse_args()
    asyncio.run(run(given.neo4j, given.sizes, given.calls, given.limit, given.links))


if __name__ == "__main__":
    main()
