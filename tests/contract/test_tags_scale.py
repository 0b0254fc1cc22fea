"""Twenty thousand memories, one entity on all of them: what is rare still comes, whole (cases 26 and 28)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import pytest_asyncio

from bench.hashed import HashedEmbedder
from recallmesh.core.arm import Arm, ArmName, ArmQuery, Vector
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.deadline import within
from recallmesh.core.document import Chunk, Document
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.ledger import Ledger
from recallmesh.core.memory import FactType, Memory, Mention
from recallmesh.core.recall import PartState, Recaller, RecallRequest
from recallmesh.core.retain import UpdateMode
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.time import Window
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.core.write import ChunkWrite, DocumentWrite, NewEntity, Write
from recallmesh.mesh import open_assembly
from recallmesh.retain.delivery import entry_of
from recallmesh.settings import load_settings

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

REF = BankRef("pilots")
NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
WHOLE = Window(NOW - timedelta(days=60), NOW)
SIZE, BATCH = 20_000, 1000
HUB = NewEntity("new:user", "User", "user", "person")
QUERY = "What did User note about tide and crane in the harbour?"
RARE = {number: number // 1333 for number in range(700, SIZE, 1333)}
"""The places of the fifteen memories of the rare tag, from one end of the bank to the other."""
TOLD = range(13, SIZE, 3999)
"""The places of the few of a rare type."""
TAGGED = TagLeaf(frozenset({"quince"}), TagMode.ANY_STRICT)


def memory(number: int) -> Memory:
    """Return one of the many, all of them near the query; one of the rare tag, far from it; or one of the rare type."""
    text = f"User note {number} about tide and crane {number % 97} in the harbour."
    tags: tuple[str, ...] = ("pilot",)
    if number in RARE:
        text, tags = f"Quince jelly, spoon {RARE[number]}, kept by User under lavender.", ("kitchen", "quince")
    return Memory(
        id=str(UUID(int=number)),
        text=text,
        fact_type=FactType.EXPERIENCE if number in TOLD else FactType.WORLD,
        created=NOW,
        mentioned=NOW - timedelta(minutes=number),
        tags=tags,
        mentions=(Mention(HUB.id, HUB.name, HUB.kind),),
        tokens=12,
    )


def write(bank_uid: str, begin: int) -> Write:
    """Return a document of a thousand memories, in chunks of twenty; what indexes them is told otherwise."""
    chunks = []
    for first in range(begin, begin + BATCH, 20):
        held = tuple(memory(number) for number in range(first, first + 20))
        text = "\n".join(one.text for one in held)
        chunks.append(ChunkWrite(Chunk(str(UUID(int=first)), "", 0, text, 240, digest=str(first)), held))
    document = DocumentWrite(Document(f"d{begin}", NOW, NOW), UpdateMode.REPLACE, tuple(chunks))
    return Write(bank_uid, (document,), (HUB,), (), NOW)


@dataclass(frozen=True, repr=False)
class Large:
    """The bank, its arms, and a recaller over them."""

    uid: str
    arms: dict[ArmName, Arm]
    recaller: Recaller
    vector: Vector

    async def found(self, name: ArmName, **more) -> list[int]:
        asked = {"vector": self.vector, "window": WHOLE, "limit": 300} | more
        hits = await self.arms[name].search(ArmQuery(self.uid, QUERY, **asked))
        return [UUID(hit.memory_id).int for hit in hits]


async def fill(ledger: Ledger, arms: dict[ArmName, Arm], embedder: HashedEmbedder) -> str:
    """Write the bank and index it; the graph without vectors: its links of likeness are what would take long."""
    bank = await ledger.create_bank(Bank(REF, "pilots-uid", NOW))
    for begin in range(0, SIZE, BATCH):
        added = (await ledger.commit(write(bank.uid, begin))).added
        plain = tuple(entry_of(one) for one in added)
        vectors = await embedder.embed(tuple(one.text for one in added), EmbedKind.PASSAGE)
        await arms[ArmName.GRAPH].index(bank.uid, plain)
        await arms[ArmName.KEYWORD].index(bank.uid, plain)
        entries = tuple(replace(one, vector=vector) for one, vector in zip(plain, vectors, strict=True))
        await arms[ArmName.SEMANTIC].index(bank.uid, entries)
    return bank.uid


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def large(tmp_path_factory) -> AsyncIterator[Large]:
    settings = load_settings(data=tmp_path_factory.mktemp("pilots"), reranker={"backend": "none"})
    embedder = HashedEmbedder()
    async with open_assembly(settings, frozenset(), embedder=embedder) as assembly:
        arms = await assembly.arms()
        uid = await fill(await assembly.ledger(), arms, embedder)
        (vector,) = await embedder.embed((QUERY,), EmbedKind.QUERY)
        yield Large(uid, arms, await assembly.recaller(), vector)


@pytest.mark.parametrize("name", ArmName)
async def test_all_fifteen_of_a_rare_tag_far_from_the_query_come(large, name):
    assert sorted(await large.found(name, tags=TAGGED)) == sorted(RARE)
    # They are far: without the tag none of them is among the best.
    assert not set(RARE) & set(await large.found(name))


async def test_all_fifteen_of_a_rare_tag_are_recalled(large):
    request = RecallRequest(REF, QUERY, Budget.LOW, tags=TAGGED, query_time=NOW, window=WHOLE)
    answer = await large.recaller.recall(request)
    assert {report.arm: (report.state, report.hits) for report in answer.arms} == dict.fromkeys(
        ArmName, (PartState.OK, len(RARE))
    )
    assert sorted(UUID(one.memory.id).int for one in answer.memories) == sorted(RARE)


@pytest.mark.parametrize("name", ArmName)
async def test_a_rare_type_on_the_hub_is_found_beside_the_many(large, name):
    assert sorted(await large.found(name, fact_types=(FactType.EXPERIENCE,))) == sorted(TOLD)
    both = await large.found(name)
    assert set(TOLD) <= set(both)
    assert len(both) == 300 + len(TOLD)


@pytest.mark.parametrize("strategy", ["link_expansion", "bfs", "mpfp"])
async def test_a_recall_that_names_the_hub_is_answered_by_every_arm_in_its_time(large, strategy):
    request = RecallRequest(
        REF,
        QUERY,
        Budget.HIGH,
        max_tokens=100_000,
        query_time=NOW,
        window=WHOLE,
        tuning=RecallTuning(graph_strategy=strategy),
    )
    with within(20.0):
        answer = await large.recaller.recall(request)
    states = {report.arm: (report.state, report.hits) for report in answer.arms}
    assert states == dict.fromkeys(ArmName, (PartState.OK, 1000 + len(TOLD)))
    shown = {UUID(one.memory.id).int for one in answer.memories}
    assert set(TOLD) <= shown
