"""What comes with memories, over the whole mesh, and none of it past the tags (SPEC R16, R19, R20; case 29)."""

import pytest
import pytest_asyncio
from deployment import NOW, every
from tagged import EVERY_MODE, marks, shown, write_marked

from recallmesh.core.arm import ArmName
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import NamedEntity
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecallTuning
from recallmesh.tokens.bpe import BpeTokenCounter

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

QUERY = "Where does the lantern hang?"
MUCH = {"max_tokens": 1_000_000, "chunk_tokens": 1_000_000, "source_tokens": 1_000_000, "include_entities": True}
ASH = TagLeaf(frozenset({"ash"}), TagMode.ANY_STRICT)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lanterns(mesh):
    """A bank of marked texts of every set of tags, written by the ledger and brought to the arms by the mesh."""
    diary = await mesh.diary()
    return diary, await write_marked(mesh.faces, mesh.ledger_url, diary.ref)


async def test_every_arm_alone_finds_what_passes_and_nothing_else(lanterns):
    diary, marked = lanterns
    for test in EVERY_MODE:
        for name in ArmName:
            window = Window(NOW.replace(hour=0), NOW) if name is ArmName.TEMPORAL else None
            answer = await diary.ask(QUERY, name, reranking=False, tags=test, window=window, max_tokens=1_000_000)
            assert shown(answer) == marked.shown(test), (name, test)


async def test_no_answer_holds_a_text_past_the_tags(lanterns):
    diary, marked = lanterns
    for test in EVERY_MODE:
        answer = await diary.ask(QUERY, reranking=False, tags=test, trace=True, **MUCH)
        assert shown(answer) == marked.shown(test), test
        assert marks(answer.chunks) == marked.shown_chunks(test, marked.shown(test))
        assert marks(answer) == marked.allowed(test)
        listed = await diary.memories(MemoryFilter(tags=test))
        assert marks(listed) == marked.told(marked.shown(test), test)


async def test_no_answer_of_a_stream_holds_a_text_past_the_tags(lanterns):
    diary, marked = lanterns
    request = RecallRequest(
        diary.ref, QUERY, query_time=NOW, tags=ASH, trace=True, tuning=RecallTuning(rerank_limit=5), **MUCH
    )
    told = [progress.answer async for progress in diary.faces.recaller.stream(request)]
    assert len(told) == 2
    for answer in told:
        assert shown(answer) == marked.shown(ASH)
        assert marks(answer) == marked.allowed(ASH)


async def test_an_observation_is_preferred_and_its_sources_places_are_filled(lanterns):
    diary, marked = lanterns
    plain, preferring = RecallTuning(), RecallTuning(prefer_observations=True)
    seen = {mark for mark, one in marked.memories.items() if one.fact_type is FactType.OBSERVATION}
    everything = shown(await diary.ask(QUERY, reranking=False, tuning=preferring, **MUCH))
    assert everything == marked.memories.keys() - marked.sources(seen)
    few = {"reranking": False, "limit": 20}
    assert len(shown(await diary.ask(QUERY, tuning=plain, **few))) == 20
    fewer = await diary.ask(QUERY, tuning=preferring, trace=True, **few)
    observed = seen & shown(fewer)
    assert len(shown(fewer)) == 20
    assert not shown(fewer) & marked.sources(observed)


async def test_source_facts_come_in_the_observations_order_and_fit(lanterns):
    diary, _ = lanterns
    asked = {"reranking": False, "fact_types": (FactType.OBSERVATION,), "limit": 3}
    answer = await diary.ask(QUERY, source_tokens=4096, **asked)
    wanted = [source for one in answer.memories for source in one.memory.sources]
    assert [one.id for one in answer.source_facts] == list(dict.fromkeys(wanted))
    size = answer.source_facts[0].tokens
    cut = await diary.ask(QUERY, source_tokens=2 * size + 1, **asked)
    assert cut.source_facts == answer.source_facts[:2]
    assert (await diary.ask(QUERY, **asked)).source_facts == ()


async def test_a_chunk_is_kept_back_while_one_of_its_memories_is_hidden(mesh, diary):
    text = "\n\n".join(f"Ines: I painted boat {name} on the slip." for name in ("Alca", "Bonxie", "Corvina"))
    await diary.keep(text, mode=None)
    memories = await diary.memories()
    assert (len(memories), len({memory.chunk_id for memory in memories})) == (3, 1)

    async def chunks(**request):
        answer = await diary.ask("Which boat did Ines paint?", chunk_tokens=1000, **request)
        return len(answer.memories), [one.chunk.text for one in answer.chunks]

    assert await chunks() == (3, [text])
    admin = mesh.faces.admin
    assert (await admin.invalidate_memory(diary.ref, memories[1].id)).state is MemoryState.INVALIDATED
    assert await chunks() == (2, [])
    await admin.restore_memory(diary.ref, memories[1].id)
    assert await chunks(max_tokens=0) == (0, [text])


async def test_a_chunk_no_longer_comes_when_one_of_its_memories_was_deleted(mesh, diary):
    await diary.keep("\n\n".join(f"Ines: I painted boat {name} on the slip." for name in ("Alca", "Bonxie")), mode=None)
    first, second = await diary.memories()
    await mesh.faces.admin.delete_memory(diary.ref, first.id)
    answer = await diary.ask("Which boat did Ines paint?", chunk_tokens=1000)
    assert ([one.memory.id for one in answer.memories], answer.chunks) == ([second.id], ())
    chunk = await mesh.faces.admin.get_chunk(diary.ref, second.chunk_id)
    assert (chunk.text, chunk.outdated) == ("", True)


async def test_chunks_come_once_best_first_before_the_cut_and_the_last_is_cut(diary):
    tokens = BpeTokenCounter()
    texts = [f"The lock keeper writes of lock {number}: " + "water and gates, " * 20 for number in range(6)]
    await diary.keep(*texts)
    whole = await diary.ask("lock keeper gates", max_tokens=0, chunk_tokens=100_000, reranking=False)
    order = await diary.texts("lock keeper gates", max_tokens=100_000)
    assert [one.chunk.text for one in whole.chunks] == order
    assert {one.truncated for one in whole.chunks} == {False}
    sizes = [one.chunk.tokens for one in whole.chunks]
    left = sizes[0] + sizes[1] + sizes[2] // 2
    cut = await diary.ask("lock keeper gates", max_tokens=sizes[0], chunk_tokens=left, reranking=False)
    assert len(cut.memories) == 1
    assert [one.truncated for one in cut.chunks] == [False, False, True]
    assert cut.chunks[:2] == whole.chunks[:2]
    assert order[2].startswith(cut.chunks[2].chunk.text)
    assert cut.chunks[2].chunk.tokens == tokens.count(cut.chunks[2].chunk.text) <= sizes[2] // 2


async def test_entities_come_when_they_are_asked_for(mesh, diary):
    await diary.keep(
        "Elke repaired the sluice.", entities=(NamedEntity("Elke", "person"), NamedEntity("sluice", "thing"))
    )
    asked = {"source_tokens": 100, "reranking": False}
    (without,) = (await diary.ask("sluice", **asked)).memories
    (within,) = (await diary.ask("sluice", include_entities=True, **asked)).memories
    assert without.memory.mentions == ()
    named = {mention.name: mention.entity_id for mention in within.memory.mentions}
    assert {"Elke", "sluice"} <= named.keys()
    known = await every(lambda page: mesh.faces.admin.list_entities(diary.ref, page))
    assert set(named.values()) <= {entity.id for entity in known}
