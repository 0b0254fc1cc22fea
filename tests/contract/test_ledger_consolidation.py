"""Consolidation's side of every ledger: marks, evidence, one transaction, what follows a change, and histories."""

from dataclasses import replace
from datetime import timedelta

import pytest
from contract.ledger_bed import ARMS, LATER, NOW, Backend, Bed, backend, bed, chunk, fact, open_bed, uid

from recallmesh.core.consolidation import ASKED, DUE, Consolidation, ObservationWrite
from recallmesh.core.errors import ConflictingWrite, MemoryNotFound
from recallmesh.core.event import EventFilter, EventKind
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.memory import FactType, Memory, MemoryState
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.write import ChunkWrite

__all__ = ["backend", "bed"]

SCOPE = "exactly []"
MINUTE = timedelta(minutes=1)


async def told(bed: Bed, *texts: str, document_id: str = "d", tags: tuple[str, ...] = ()) -> list[Memory]:
    commit = await bed.write(document_id, *(chunk(f"{document_id}-{text}", fact(text, tags=tags)) for text in texts))
    await bed.deliver()
    return list(commit.added)


def observation(*sources: Memory, text: str = "", base: Memory | None = None, **parts) -> ObservationWrite:
    made = base or Memory(uid(), "", FactType.OBSERVATION, NOW, version=0)
    said = text or sources[0].text
    ids = tuple(sorted(one.id for one in sources))
    main = frozenset(one.id for one in sources if one.text == said) or frozenset(ids)
    memory = replace(made, text=said, sources=ids, tokens=3, **parts)
    return ObservationWrite(memory, SCOPE, main, {one.id: one.text for one in sources}, "a reason")


async def consolidate(bed: Bed, *written: ObservationWrite, facts=(), done=(), removed=()) -> tuple[Memory, ...]:
    seen = {one.id: one.version for one in facts}
    change = Consolidation(bed.uid, ARMS, NOW, tuple(written), tuple(removed), seen, tuple(done))
    return (await bed.ledger.consolidate(change)).written


async def new(bed: Bed) -> set[str]:
    return {one.memory.text for one in await bed.ledger.new_facts(bed.uid, limit=100)}


async def test_new_facts_are_marked_by_the_write_itself_and_listed_by_pages(bed: Bed) -> None:
    await told(bed, "one", "two", "three")
    first = await bed.ledger.new_facts(bed.uid, limit=2)
    rest = await bed.ledger.new_facts(bed.uid, limit=2, after=first[-1].memory.id)
    assert sorted(one.memory.text for one in (*first, *rest)) == ["one", "three", "two"]
    assert await bed.ledger.new_facts(bed.uid, limit=9, again=True) == ()
    assert await bed.ledger.has_new_facts(bed.uid)


async def test_scopes_that_came_with_a_chunk_are_those_of_its_facts(bed: Bed) -> None:
    own = (("a",), ())
    written = chunk("x", "one")
    await bed.write("d", replace(written, scopes=own), chunk("y", "two"))
    found = {one.memory.text: one.scopes for one in await bed.ledger.new_facts(bed.uid, limit=9)}
    assert found == {"one": own, "two": ()}
    ids = tuple(memory.id for memory in await bed.memories())
    assert list((await bed.ledger.own_scopes(bed.uid, ids)).values()) == [own]
    assert isinstance(written, ChunkWrite)


async def test_an_observation_is_written_with_evidence_outbox_and_marks_in_one_transaction(bed: Bed) -> None:
    one, two, other = await told(bed, "one", "two", "other")
    (made,) = await consolidate(bed, observation(one, two), facts=(one, two), done=(one.id, two.id))
    assert (made.version, made.proof_count, made.text) == (1, 2, "one")
    assert await bed.memory(made.id) == made
    (held,) = await bed.ledger.observations_of(bed.uid, (two.id, other.id), ())
    assert (held.memory, held.scope, held.stale) == (made, SCOPE, False)
    assert held.evidence == {one.id: True, two.id: False}
    assert await new(bed) == {"other"}
    assert [row[:2] for row in await bed.deliver()] == [("index", made.id)] * len(ARMS)


async def test_what_changed_meanwhile_refuses_all_of_it(bed: Bed) -> None:
    one, two, three = await told(bed, "one", "two", "three")
    stale = observation(one, two)
    await bed.ledger.edit_memory(bed.uid, two.id, MemoryEdit(text="else"), ARMS, NOW)
    with pytest.raises(ConflictingWrite):
        await consolidate(bed, stale, facts=(one, two), done=(one.id,))
    assert await new(bed) == {"one", "else", "three"}
    (made,) = await consolidate(bed, observation(one, three), facts=(one, three))
    with pytest.raises(ConflictingWrite):
        await consolidate(bed, observation(one, three), facts=(one, three))
    (changed,) = await consolidate(bed, observation(three, one, base=made), facts=(one, three))
    assert (changed.version, changed.text) == (2, "three")
    with pytest.raises(ConflictingWrite):
        await consolidate(bed, observation(one, three, base=made), facts=(one, three))
    assert await bed.memory(made.id) == changed


async def test_a_mark_stays_where_the_fact_is_not_what_was_seen(bed: Bed) -> None:
    (one,) = await told(bed, "one")
    await bed.ledger.edit_memory(bed.uid, one.id, MemoryEdit(text="else"), ARMS, NOW)
    await consolidate(bed, facts=(one,), done=(one.id,))
    assert await new(bed) == {"else"}
    await consolidate(bed, facts=(await bed.memory(one.id),), done=(one.id,))
    assert await new(bed) == set()


async def test_merging_removes_the_other_and_takes_its_evidence(bed: Bed) -> None:
    facts = await told(bed, "one", "two", "three", "four")
    first, second = await consolidate(bed, observation(*facts[:2]), observation(*facts[2:]), facts=facts)
    left = next(one for one in (first, second) if facts[0].id in one.sources)
    gone = second if left is first else first
    (held,) = await bed.ledger.observations_of(bed.uid, (), (gone.id,))
    (merged,) = await consolidate(bed, observation(*facts, base=left), facts=facts, removed=(held,))
    assert merged.proof_count == 4
    assert await bed.ledger.read(bed.uid, (gone.id,)) == ()
    assert [one.memory.id for one in await bed.ledger.observations_of(bed.uid, tuple(one.id for one in facts), ())] == [
        left.id
    ]


async def test_lost_evidence_changes_what_rests_on_it_in_the_same_transaction(bed: Bed) -> None:
    one, two, three = await told(bed, "the long one", "two", "three")
    (made,) = await consolidate(bed, observation(one, two, three), facts=(one, two, three))
    await bed.deliver()
    await bed.ledger.delete_memories(bed.uid, (two.id,), ARMS, NOW)
    now = await bed.memory(made.id)
    assert (now.text, now.proof_count, now.version) == ("the long one", 2, 2)
    assert await bed.ledger.stale_observations(bed.uid, limit=9) == ()
    await bed.ledger.edit_memory(bed.uid, three.id, MemoryEdit(context="said"), ARMS, NOW)
    assert (await bed.memory(made.id)).proof_count == 2, "what a fact says is unchanged"
    (four,) = await told(bed, "four", document_id="e")
    await consolidate(
        bed, observation(one, await bed.memory(three.id), four, base=now), facts=(one, await bed.memory(three.id), four)
    )
    await bed.ledger.set_state(bed.uid, one.id, MemoryState.INVALIDATED, ARMS, NOW)
    now = await bed.memory(made.id)
    assert (now.text, now.proof_count) == ("three", 2)
    (stale,) = await bed.ledger.stale_observations(bed.uid, limit=9)
    assert stale.memory == now
    assert await bed.ledger.delete_document(bed.uid, "e", ARMS, NOW) == 1
    assert await bed.ledger.read(bed.uid, (made.id,)) == ()
    seen = await bed.deliver()
    assert {(action, memory_id) for action, memory_id, _ in seen} >= {("remove", made.id), ("remove", four.id)}
    assert (await bed.stats()).memories == 2


async def test_what_was_consolidated_and_is_shown_again_is_marked_to_be_looked_at(bed: Bed) -> None:
    one, two = await told(bed, "one", "two")
    await consolidate(bed, facts=(one,), done=(one.id,))
    for state in (MemoryState.INVALIDATED, MemoryState.ACTIVE):
        for memory in (one, two):
            await bed.ledger.set_state(bed.uid, memory.id, state, ARMS, NOW)
    await bed.deliver()
    assert await new(bed) == {"one", "two"}
    assert [each.memory.id for each in await bed.ledger.new_facts(bed.uid, limit=9, again=True)] == [one.id]
    assert await bed.ledger.start_consolidations(NOW) == 1


async def test_a_bank_that_is_due_gets_one_operation_at_a_time(bed: Bed) -> None:
    for digest in "abc":
        await bed.ledger.ask_again(bed.uid, NOW + MINUTE)
        await bed.write(digest, chunk(digest, digest))
    assert await bed.ledger.start_consolidations(NOW) == 0
    assert (await bed.ledger.consolidation_backlog(NOW + 3 * MINUTE)).facts == 3
    assert (await bed.ledger.consolidation_backlog(NOW + 3 * MINUTE)).age == 2 * MINUTE
    assert [await bed.ledger.start_consolidations(NOW + MINUTE) for _ in range(2)] == [1, 0]
    await bed.ledger.ask_again(bed.uid, NOW + MINUTE)
    assert await bed.ledger.start_consolidations(NOW + MINUTE) == 0, "the first has not ended"
    job = await bed.ledger.lease_job("w", (OperationKind.CONSOLIDATE,), lease=MINUTE, now=LATER)
    assert job.payload == DUE
    asked = await bed.ledger.ask_consolidation(bed.uid, NOW)
    assert await bed.ledger.ask_consolidation(bed.uid, NOW) == asked
    assert asked.state is OperationState.PENDING
    await bed.ledger.tell_consolidated(bed.uid, job.operation, 2, LATER)
    await bed.ledger.tell_consolidated(bed.uid, job.operation, 2, LATER)
    events = await bed.ledger.list_events(
        bed.uid, EventFilter(kinds=(EventKind.CONSOLIDATION_COMPLETED,)), PageRequest()
    )
    assert [(one.operation_id, one.memory_count) for one in events.rows] == [(job.operation.id, 2)]
    await bed.ledger.finish_job(job.operation.id, "w", at=LATER)
    job = await bed.ledger.lease_job("w", (OperationKind.CONSOLIDATE,), lease=MINUTE, now=LATER)
    assert (job.operation.id, job.payload) == (asked.id, ASKED)


async def test_a_due_operation_that_somebody_asks_for_is_for_all_that_is_new(bed: Bed) -> None:
    await bed.ledger.ask_again(bed.uid, NOW)
    await bed.ledger.start_consolidations(NOW)
    await bed.ledger.ask_consolidation(bed.uid, NOW)
    job = await bed.ledger.lease_job("w", (OperationKind.CONSOLIDATE,), lease=MINUTE, now=LATER)
    assert job.payload == ASKED


async def test_a_history_keeps_what_was_said_by_whom_and_forgets_what_is_deleted(bed: Bed) -> None:
    one, two, three = await told(bed, "one", "two", "three")
    (made,) = await consolidate(bed, observation(one, two), facts=(one, two))
    (made,) = await consolidate(bed, observation(three, one, two, base=made), facts=(one, two, three))
    page = await bed.ledger.memory_history(bed.uid, made.id, PageRequest(1))
    assert [(each.version, each.text, each.reason) for each in page.rows] == [(2, "three", "consolidate: a reason")]
    assert sorted(page.rows[0].quotes.values()) == ["one", "three", "two"]
    page = await bed.ledger.memory_history(bed.uid, made.id, PageRequest(1, page.next_after))
    assert [(each.version, each.text, sorted(each.quotes.values())) for each in page.rows] == [
        (1, "one", ["one", "two"])
    ]
    assert page.next_after == ""
    await bed.ledger.delete_memories(bed.uid, (three.id,), ARMS, NOW)
    whole = await bed.ledger.memory_history(bed.uid, made.id, PageRequest())
    assert "three" not in repr(whole)
    assert [each.version for each in whole.rows] == [3, 1]
    await bed.ledger.delete_memories(bed.uid, (made.id,), ARMS, NOW)
    with pytest.raises(MemoryNotFound):
        await bed.ledger.memory_history(bed.uid, made.id, PageRequest())


async def test_a_history_shows_no_version_whose_tags_or_evidence_fail_the_test(bed: Bed) -> None:
    (one,) = await told(bed, "one", tags=("b",))
    await bed.ledger.edit_memory(bed.uid, one.id, MemoryEdit(text="first", tags=("a",)), ARMS, NOW)
    await bed.ledger.edit_memory(bed.uid, one.id, MemoryEdit(text="second"), ARMS, NOW)
    a = TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)
    seen = await bed.ledger.memory_history(bed.uid, one.id, PageRequest(), tags=a)
    assert [(each.text, each.reason) for each in seen.rows] == [("second", "edit: text"), ("first", "edit: text, tags")]
    (two,) = await told(bed, "two", document_id="e", tags=("b",))
    one = await bed.memory(one.id)
    (made,) = await consolidate(bed, observation(one, two, tags=("a",)), facts=(one, two))
    with pytest.raises(MemoryNotFound):
        await bed.ledger.memory_history(bed.uid, made.id, PageRequest(), tags=a)


async def test_nothing_is_lost_with_the_process_and_nothing_stays_of_a_bank(backend: Backend) -> None:
    async with open_bed(backend) as first:
        one, two = await told(first, "one", "two")
        (made,) = await consolidate(first, observation(one, two), facts=(one, two), done=(one.id,))
        await first.ledger.ask_again(first.uid, NOW)
    async with backend.open() as ledger:
        bed = Bed(ledger, first.bank)
        assert await new(bed) == {"two"}
        (held,) = await ledger.observations_of(bed.uid, (one.id,), ())
        assert held.memory == made
        await ledger.delete_bank(bed.bank.ref, ARMS, NOW)
        assert await ledger.observations_of(bed.uid, (one.id,), (made.id,)) == ()
        assert await ledger.start_consolidations(LATER) == 0
        assert (await ledger.consolidation_backlog(LATER)).facts == 0


async def test_an_observation_that_comes_ready_made_loses_its_evidence_as_any_other(bed: Bed) -> None:
    one, two = await told(bed, "one", "two")
    made = replace(fact("both"), fact_type=FactType.OBSERVATION, sources=(one.id, two.id))
    await bed.write("moved", chunk("moved", made))
    await bed.ledger.delete_memories(bed.uid, (one.id,), ARMS, NOW)
    assert await bed.ledger.read(bed.uid, (made.id,)) == ()
