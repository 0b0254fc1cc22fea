"""A conversation in several languages goes in, and its answers come out, however the mesh is run."""

import json
from datetime import datetime
from pathlib import Path

import pytest
import pytest_asyncio
from deployment import every

from recallmesh.core.arm import ArmName
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.recall import PartState
from recallmesh.core.retain import DeliveryState, RetainItem

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

LINES = Path(__file__).with_name("conversation.jsonl").read_text(encoding="utf-8").splitlines()
TURNS = [
    RetainItem(
        (turn["content"],),
        time=datetime.fromisoformat(turn["time"]),
        context=turn.get("context", ""),
        document_id=turn["document_id"],
    )
    for turn in map(json.loads, LINES)
]

ASKED = [
    ("What is Hanna allergic to?", "mohair", 1),
    ("PRT-77140", "PRT-77140", 1),
    ("Why was PRT-77140 refused?", "fire exit", 2),
    ("Which instrument does Elli play now?", "accordion", 3),
    ("Where does Mateus rent a kitchen?", "brewery", 2),
    ("What did the museum pay for the tapestry?", "8,400", 2),
    ("Wer hat die Webstuhlteile abgeholt?", "Lübeck", 1),
    ("¿Con qué tiñó la lana la cooperativa?", "cochinilla", 1),
    ("藍染め", "藍染め", 1),
    ("缂丝织机", "缂丝织机", 1),
    ("초대장", "초대장", 1),
    ("soie inondation", "rouleaux", 1),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def told(mesh):
    """A bank that has been told the whole conversation by the default extraction."""
    diary = await mesh.diary()
    answer = await diary.retain(*TURNS, mode=None)
    return diary, answer


async def test_retain_says_that_every_arm_has_it(told):
    _, answer = told
    assert [(one.arm, one.state) for one in answer.deliveries] == [(name, DeliveryState.STORED) for name in ArmName]
    assert len(answer.items) == len(TURNS)
    assert answer.memory_count >= 15
    assert len({one for item in answer.items for one in item.memory_ids}) == answer.memory_count


@pytest.mark.parametrize(("question", "wanted", "first"), ASKED, ids=[question for question, _, _ in ASKED])
async def test_a_question_finds_its_answer(told, question, wanted, first):
    diary, _ = told
    found = await diary.texts(question, reranking=None)
    assert any(wanted in text for text in found[:first]), found[:5]


async def test_a_time_in_the_question_asks_the_temporal_arm(told):
    diary, _ = told
    answer = await diary.ask("What happened in June?")
    assert answer.window is not None
    assert (answer.window.window.start.month, answer.window.window.end.month) == (6, 6)
    reports = {report.arm: report for report in answer.arms}
    assert reports[ArmName.TEMPORAL].state is PartState.OK
    assert reports[ArmName.TEMPORAL].hits > 0
    assert any("sold out" in one.memory.text for one in answer.memories[:5])


async def test_without_a_time_the_temporal_arm_is_not_asked(told):
    diary, _ = told
    states = {report.arm: report.state for report in (await diary.ask("Who is allergic to mohair?")).arms}
    assert states.pop(ArmName.TEMPORAL) is PartState.SKIPPED
    assert set(states.values()) == {PartState.OK}


async def test_a_relative_date_is_read_from_when_it_was_said(told):
    diary, _ = told
    answer = await diary.ask("Who won the school race?")
    won = next(one.memory for one in answer.memories if "1500" in one.memory.text)
    assert won.occurred is not None
    assert (won.occurred.window.start.month, won.occurred.window.start.day) == (3, 18)


async def test_the_trace_changes_nothing_and_accounts_for_every_memory(told):
    diary, _ = told
    plain = await diary.ask("What is Hanna allergic to?")
    traced = await diary.ask("What is Hanna allergic to?", trace=True)
    assert traced.memories == plain.memories
    assert {one.memory.id for one in plain.memories} <= {row.memory_id for row in traced.trace.candidates}
    assert {"arms", "fusion", "read", "rerank", "score", "pack"} <= {phase.name for phase in traced.trace.phases}


async def test_chunks_and_entities_come_with_the_memories(told):
    diary, _ = told
    answer = await diary.ask("PRT-77140", chunk_tokens=2000, include_entities=True)
    assert "PRT-77140" in answer.chunks[0].chunk.text
    assert any(mention.name.startswith("Mateus") for one in answer.memories[:2] for mention in one.memory.mentions)


async def test_the_counts_are_those_of_the_lists(told, mesh):
    diary, answer = told
    admin, ref = mesh.faces.admin, diary.ref
    stats = await admin.bank_stats(ref)
    memories = await every(lambda page: admin.list_memories(ref, MemoryFilter(), page), size=7)
    documents = await every(lambda page: admin.list_documents(ref, page), size=2)
    entities = await every(lambda page: admin.list_entities(ref, page), size=3)
    chunks = [
        chunk
        for document in documents
        for chunk in await every(lambda page, one=document.id: admin.list_chunks(ref, one, page), size=1)
    ]
    assert len(memories) == stats.memories == answer.memory_count
    assert sorted(document.id for document in documents) == ["abroad", "spring", "summer", "winter"]
    assert len(documents) == stats.documents
    assert len(entities) == stats.entities
    assert len(chunks) == stats.chunks
    assert stats.pending == 0
    for rows in (memories, documents, entities):
        ids = [row.id for row in rows]
        assert ids == sorted(set(ids))
    names = {entity.name for entity in entities}
    assert {"Hanna", "Mateus", "Ximena"} <= names
