"""Facts become observations over the whole mesh, which follow what their facts become (SPEC T11, R16, R20)."""

import asyncio

import pytest
import pytest_asyncio
from deployment import until

from recallmesh.core.bank import BankConfig, ConsolidationTuning, ObservationScope
from recallmesh.core.errors import MemoryNotFound
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.tuning import RecallTuning

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

SHORT = "Mira moved to Bergen."
LONG = "Mira moved to Bergen in May for a new job."
OBSERVATIONS = MemoryFilter(fact_types=(FactType.OBSERVATION,))
PREFERRED = RecallTuning(prefer_observations=True)


@pytest_asyncio.fixture(loop_scope="session")
async def consolidated(mesh, diary):
    """A bank with three facts of one observation and one beside it."""
    ids = await diary.keep(SHORT, SHORT, LONG, "Leo keeps bees on the roof.")
    await carried_out(mesh, diary)
    return ids


async def carried_out(mesh, diary):
    asked = await mesh.faces.admin.consolidate(diary.ref)
    async with asyncio.timeout(60):
        last = [seen async for seen in mesh.faces.admin.watch_operation(diary.ref, asked.id)][-1]
    assert (last.kind, last.state, last.error) == (OperationKind.CONSOLIDATE, OperationState.SUCCEEDED, "")
    return last


async def only(diary):
    (made,) = await diary.memories(OBSERVATIONS)
    return made


async def test_an_observation_is_recalled_with_its_evidence_and_takes_its_place(mesh, diary, consolidated):
    made = await only(diary)
    assert (made.text, made.sources, made.proof_count) == (LONG, tuple(sorted(consolidated[:3])), 3)
    told = await diary.ask("Where did Mira move?", reranking=False, source_tokens=1000)
    assert made.id in [one.memory.id for one in told.memories]
    assert sorted(one.text for one in told.source_facts) == sorted([SHORT, SHORT, LONG])
    preferred = await diary.ask("Where did Mira move?", reranking=False, tuning=PREFERRED)
    assert [one.memory.id for one in preferred.memories if "Mira" in one.memory.text] == [made.id]
    assert (await carried_out(mesh, diary)).memory_ids == ()
    assert await only(diary) == made


async def test_its_history_tells_what_it_said_before_and_by_whose_words(mesh, diary, consolidated):
    longer = f"{LONG[:-1]} at the harbour."
    (more,) = await diary.keep(longer)
    await carried_out(mesh, diary)
    made = await only(diary)
    page = await mesh.faces.admin.memory_history(diary.ref, made.id, PageRequest(1))
    assert [(one.version, one.text) for one in page.rows] == [(2, longer)]
    assert page.rows[0].quotes[more] == longer
    rest = await mesh.faces.admin.memory_history(diary.ref, made.id, PageRequest(1, page.next_after))
    assert [(one.version, one.text, one.reason) for one in rest.rows] == [(1, LONG, "consolidate")]
    assert sorted(rest.rows[0].quotes) == sorted(consolidated[:3])
    assert rest.next_after == ""


async def test_an_edit_is_in_the_history_of_a_fact(mesh, diary, consolidated):
    bees = consolidated[3]
    await mesh.faces.admin.edit_memory(diary.ref, bees, MemoryEdit(text="Leo keeps bees in the yard.", tags=("a",)))
    page = await mesh.faces.admin.memory_history(diary.ref, bees, PageRequest())
    assert [(one.text, one.reason, one.tags) for one in page.rows] == [
        ("Leo keeps bees in the yard.", "edit: text, tags", ("a",)),
        ("Leo keeps bees on the roof.", "retain", ()),
    ]
    seen = await mesh.faces.admin.memory_history(
        diary.ref, bees, PageRequest(), visible=TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)
    )
    assert [one.text for one in seen.rows] == ["Leo keeps bees in the yard."]
    with pytest.raises(MemoryNotFound):
        await mesh.faces.admin.memory_history(diary.ref, "no-such", PageRequest())


async def test_no_recall_shows_what_lost_its_evidence(mesh, diary, consolidated):
    first, second, long, _ = consolidated
    made = await only(diary)
    await mesh.faces.admin.delete_memory(diary.ref, long)
    assert LONG not in await diary.texts("Where did Mira move?")
    assert (await only(diary)).text == SHORT
    await mesh.faces.admin.invalidate_memory(diary.ref, first)
    assert [one.text for one in await diary.memories(OBSERVATIONS)] == []
    answer = await diary.ask("Where did Mira move?", reranking=False)
    assert made.id not in [one.memory.id for one in answer.memories]
    await mesh.faces.admin.restore_memory(diary.ref, first)

    async def back():
        found = await diary.memories(OBSERVATIONS)
        return found and found[0].sources == tuple(sorted((first, second)))

    # What was consolidated is consolidated again by itself, whether or not the bank is.
    assert await until(back, 60)
    assert (await only(diary)).state is MemoryState.ACTIVE


async def test_a_bank_that_is_on_is_consolidated_after_retain_by_itself(mesh):
    diary = await mesh.diary(BankConfig(consolidation=ConsolidationTuning(enabled=True)))
    await diary.keep(SHORT, LONG)

    async def made():
        return await diary.memories(OBSERVATIONS)

    assert [one.text for one in await until(made, 60)] == [LONG]


async def test_an_observation_of_a_tag_is_seen_only_by_who_may_see_all_of_its_facts(mesh):
    tuning = ConsolidationTuning(scope=ObservationScope.PER_TAG)
    diary = await mesh.diary(BankConfig(consolidation=tuning))
    await diary.keep(SHORT, tags=("ash",))
    await diary.keep(LONG, tags=("ash", "birch"))
    await carried_out(mesh, diary)
    made = await only(diary)
    assert made.tags == ("ash",)
    ash = frozenset({"ash"})
    strict, exact = TagLeaf(ash, TagMode.ANY_STRICT), TagLeaf(ash, TagMode.EXACT)
    for test, seen in ((strict, True), (exact, False)):
        answer = await diary.ask("Where did Mira move?", reranking=False, tags=test)
        assert (made.id in [one.memory.id for one in answer.memories]) is seen
        listed = await diary.memories(MemoryFilter(tags=test))
        assert (made.id in [one.id for one in listed]) is seen
    with pytest.raises(MemoryNotFound):
        await mesh.faces.admin.get_memory(diary.ref, made.id, visible=exact)
