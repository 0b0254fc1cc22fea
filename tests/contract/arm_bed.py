"""What the arms' contract tests stand on: every arm on its own stores, in this process and behind a loopback server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from at_opensearch import forget_opensearch, open_at_opensearch, prefix_of
from loopback import open_loopback, until_ready
from neo4j_bed import open_migrated
from qdrant_bed import open_on_local_mode

from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector
from recallmesh.core.memory import FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorIndex
from recallmesh.graph.arm import GraphArm
from recallmesh.graph.embedded import open_embedded_graph_store
from recallmesh.keyword.arm import KeywordArm
from recallmesh.keyword.embedded import open_embedded_keyword_store
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.vectors import RemoteVectors, host_vectors
from recallmesh.semantic.arm import SemanticArm
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedArm
from recallmesh.temporal.arm import TemporalArm
from recallmesh.vectors.embedded import open_embedded_vectors

SIZE = 8
NORTH: Vector = (1.0, *([0.0] * (SIZE - 1)))
DAY = datetime(2026, 8, 18, tzinfo=UTC)
WINDOW = Window(DAY, DAY + timedelta(days=1) - timedelta(microseconds=1))
NOON = DAY + timedelta(hours=12)
WORDS = 20
BEA = Mention("e-bea", "Bea", "person")
TEXT = "What does Bea say of the harbour?"
READERS = (ArmName.GRAPH, ArmName.TEMPORAL)
"""The arms that find what the semantic arm's vectors hold: the graph arm begins there, the temporal arm has no index of
its own. What is written for them is written through the semantic arm too, as in the mesh."""
BACKGROUND = 0.1
"""The cosine of unrelated texts, for the graph arm: all the same, so that names and links lift no hit past another and
the strength alone makes the order. How far they lift is the arm's own affair (tests/unit/test_graph_score.py)."""


def mid(number: int) -> str:
    return str(UUID(int=number))


def towards(strength: float) -> Vector:
    """Return a unit vector that has this cosine to NORTH."""
    return (strength, (1 - strength * strength) ** 0.5, *([0.0] * (SIZE - 2)))


def entry(number: int, strength: float = 0.5, **more) -> IndexEntry:
    """Return a memory that answers ``ask`` as strongly as is said, in (0, 1], to every arm in its own way."""
    said = max(1, round(strength * WORDS))
    given = {
        "version": 1,
        "text": " ".join(["harbour"] * said + ["stone"] * (WORDS - said)),
        "fact_type": FactType.WORLD,
        "mentions": (BEA,),
        "mentioned": NOON,
        "vector": towards(strength),
    } | more
    return IndexEntry(memory_id=mid(number), **given)


def ask(bank: str, **more) -> ArmQuery:
    return ArmQuery(bank, **({"text": TEXT, "vector": NORTH, "window": WINDOW} | more))


def numbers(hits: tuple[Hit, ...]) -> list[int]:
    return [UUID(hit.memory_id).int for hit in hits]


@dataclass
class Bed:
    """An arm, and a bank of the test's own. ``behind`` is the arm itself where ``arm`` reaches it over the wire."""

    name: ArmName
    arm: Arm
    behind: Arm
    writers: tuple[Arm, ...]
    stores: AsyncExitStack
    bank: str = field(default_factory=lambda: uuid4().hex)

    async def index(self, *entries: IndexEntry, bank: str = "") -> None:
        for arm in self.writers:
            await arm.index(bank or self.bank, entries)

    async def remove(self, *removals: tuple[int, int], bank: str = "") -> None:
        for arm in self.writers:
            await arm.remove(bank or self.bank, tuple(Removal(mid(number), version) for number, version in removals))

    async def drop(self, bank: str) -> None:
        for arm in self.writers:
            await arm.drop(bank)

    async def found(self, bank: str = "", **more) -> list[int]:
        return numbers(await self.arm.search(ask(bank or self.bank, **more)))

    async def rows(self, bank: str = "", *, size: int = 1000) -> list[Indexed]:
        """List all that is indexed; the key to go on from is the arm's own affair, over the wire an opaque token."""
        rows, after = [], ""
        while True:
            page = await self.arm.scan(bank or self.bank, PageRequest(size, after))
            assert len(page.rows) <= size
            rows, after = [*rows, *page.rows], page.next_after
            if not after:
                return rows


async def _here(name: ArmName, folder: Path, vectors: VectorIndex, stores: AsyncExitStack) -> Arm:
    match name:
        case ArmName.SEMANTIC:
            return SemanticArm(vectors)
        case ArmName.KEYWORD:
            return KeywordArm(await stores.enter_async_context(open_embedded_keyword_store(folder / "keyword.db")))
        case ArmName.GRAPH:
            store = await stores.enter_async_context(open_embedded_graph_store(folder / "graph.db"))
            return GraphArm(store, vectors, cosine_mean=BACKGROUND, cosine_high=BACKGROUND)
        case ArmName.TEMPORAL:
            return TemporalArm(vectors)


def _observed(name: ArmName, arm: Arm) -> Arm:
    # As the composition root gives arms to whoever calls them: deadlines hold in process as over the wire.
    return ObservedArm(arm, name=name, timeout_s=None, metrics=Metrics())


async def _vectors(folder: Path, stores: AsyncExitStack) -> VectorIndex:
    opened = open_embedded_vectors(folder / "vectors", fingerprint="model-a", dimensions=SIZE)
    return await stores.enter_async_context(opened)


@asynccontextmanager
async def open_local(name: ArmName, folder: Path) -> AsyncIterator[Bed]:
    async with AsyncExitStack() as stores:
        vectors = await _vectors(folder, stores)
        arm = _observed(name, await _here(name, folder, vectors, stores))
        yield Bed(name, arm, arm, (SemanticArm(vectors), arm) if name in READERS else (arm,), stores)


@asynccontextmanager
async def open_at_server(name: ArmName, folder: Path) -> AsyncIterator[Bed]:
    """Open an arm whose store is a server."""
    prefix = prefix_of(folder)
    async with AsyncExitStack() as stores:
        stores.push_async_callback(forget_opensearch, prefix)
        arm = _observed(name, KeywordArm(await stores.enter_async_context(open_at_opensearch(prefix))))
        yield Bed(name, arm, arm, (arm,), stores)


@asynccontextmanager
async def open_at_neo4j(name: ArmName, folder: Path) -> AsyncIterator[Bed]:
    """Open the graph arm on a Neo4j server; its vectors are embedded."""
    async with AsyncExitStack() as stores:
        vectors = await _vectors(folder, stores)
        store = await stores.enter_async_context(open_migrated())
        arm = _observed(name, GraphArm(store, vectors, cosine_mean=BACKGROUND, cosine_high=BACKGROUND))
        yield Bed(name, arm, arm, (SemanticArm(vectors), arm), stores)


@asynccontextmanager
async def open_remote(name: ArmName, folder: Path) -> AsyncIterator[Bed]:
    """Serve the arm; one that reads vectors reads them over the wire too, from where the semantic arm is served."""
    async with AsyncExitStack() as stores, AsyncExitStack() as wires:
        vectors = await _vectors(folder, stores)
        semantic = await wires.enter_async_context(
            open_loopback(host_arms({ArmName.SEMANTIC: SemanticArm(vectors)}), host_vectors(vectors))
        )
        read = RemoteVectors(semantic) if name in READERS else vectors
        behind = _observed(name, await _here(name, folder, read, stores))
        channel = await wires.enter_async_context(open_loopback(host_arms({name: behind})))
        arm = _observed(name, RemoteArm(name, channel))
        writers = (RemoteArm(ArmName.SEMANTIC, semantic), arm) if name in READERS else (arm,)
        await asyncio.gather(*(until_ready(writer) for writer in writers))
        yield Bed(name, arm, behind, writers, stores)


@asynccontextmanager
async def open_on_qdrant(name: ArmName, folder: Path) -> AsyncIterator[Bed]:
    """Give the arm, and the semantic one that writes for it, a Qdrant client each, as in their processes."""
    async with AsyncExitStack() as stores:
        written, read = [
            await stores.enter_async_context(open_on_local_mode(folder, fingerprint="model-a", dimensions=SIZE))
            for _ in range(2)
        ]
        arm = _observed(name, await _here(name, folder, read, stores))
        yield Bed(name, arm, arm, (SemanticArm(written), arm) if name in READERS else (arm,), stores)


Opener = Callable[[ArmName, Path], AbstractAsyncContextManager[Bed]]
PLACES: dict[str, Opener] = {"local": open_local, "remote": open_remote, "qdrant": open_on_qdrant}
FITTING = [(name, place) for name in ArmName for place in PLACES if (name, place) != (ArmName.KEYWORD, "qdrant")]
"""Each arm in each place where it can be; the keyword arm has no vectors."""
SERVERS: dict[str, Opener] = {"opensearch": open_at_server, "neo4j": open_at_neo4j}
STORES = [(ArmName.KEYWORD, "opensearch"), (ArmName.GRAPH, "neo4j")]
"""The arms whose store may be a server, with the server's name."""
