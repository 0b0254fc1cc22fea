"""Consolidation end to end but for the models: what becomes an observation, and what becomes of it."""

import asyncio
import json
from datetime import timedelta

import pytest
from unit.consolidation_fakes import open_desk
from unit.retain_fakes import NOW, REF

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ObservationScope
from recallmesh.core.consolidation import ASKED
from recallmesh.core.errors import MemoryNotFound, StoreUnavailable
from recallmesh.core.job import Job
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagLeaf, TagMode, TagNot
from recallmesh.retain.observation import Draft

SHORT = "Mira moved to Bergen."
LONG = "Mira moved to Bergen in May for a new job."


async def test_facts_that_say_the_same_become_one_observation_with_its_evidence(tmp_path):
    async with open_desk(tmp_path) as desk:
        ids = await desk.keep(SHORT, LONG, "Leo adopted a dog.")
        operation = await desk.asked()
        (made,) = await desk.observations()
        assert (operation.state, operation.memory_ids) == (OperationState.SUCCEEDED, (made.id,))
        assert (made.text, made.sources, made.proof_count) == (LONG, tuple(sorted(ids[:2])), 2)
        assert (made.document_id, made.chunk_id, made.tokens) == ("", "", 10)
        for name in ArmName:
            if name is not ArmName.TEMPORAL:
                assert desk.indexed(name) == [LONG]


async def test_twice_is_as_once(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, LONG)
        await desk.asked()
        before = await desk.observations()
        assert (await desk.asked()).memory_ids == ()
        assert await desk.observations() == before


async def test_a_new_fact_joins_the_observation_and_its_history_tells_why(tmp_path):
    async with open_desk(tmp_path) as desk:
        first = await desk.keep(SHORT, SHORT)
        await desk.asked()
        (made,) = await desk.observations()
        more = await desk.keep(LONG)
        await desk.asked()
        (now,) = await desk.observations()
        assert (now.id, now.text, now.proof_count, now.version) == (made.id, LONG, 3, 2)
        page = await desk.admin.memory_history(REF, made.id, PageRequest())
        assert [(one.version, one.text, one.reason) for one in page.rows] == [
            (2, LONG, "consolidate: supported by 1 more"),
            (1, SHORT, "consolidate"),
        ]
        assert page.rows[0].quotes == dict.fromkeys(first, SHORT) | dict.fromkeys(more, LONG)
        assert page.rows[1].quotes == dict.fromkeys(first, SHORT)


async def test_two_facts_that_add_different_things_do_not_hide_each_other(tmp_path):
    async with open_desk(tmp_path) as desk:
        camper = "Mira moved to Bergen with her camper and the cat."
        ids = await desk.keep(SHORT, LONG, camper)
        await desk.asked()
        (made,) = await desk.observations()
        kept = {LONG: ids[1], camper: ids[2]}
        assert set(made.sources) == {ids[0], kept[made.text]}


async def test_a_denial_keeps_the_story_with_its_days(tmp_path):
    async with open_desk(tmp_path) as desk:
        old = await desk.keep("Mira drinks coffee.", time=NOW - timedelta(days=30))
        new = await desk.keep("Mira no longer drinks coffee.", time=NOW)
        await desk.asked()
        (made,) = await desk.observations()
        assert made.text == "Mira no longer drinks coffee. (2026-08-19) Earlier: Mira drinks coffee. (2026-07-20)"
        assert made.sources == tuple(sorted((*old, *new)))
        again = await desk.keep("Mira drinks coffee.", time=NOW + timedelta(days=30))
        await desk.asked()
        (made,) = await desk.observations()
        assert made.text == "Mira drinks coffee. (2026-09-18) Earlier: Mira no longer drinks coffee. (2026-08-19)"
        assert set(again) < set(made.sources)


async def test_other_numbers_and_names_stay_apart(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(
            "The meeting is in room 101.",
            "The meeting is in room 102.",
            "Mira lives in Bergen.",
            "Samira lives in Bergen.",
            "Ana owes Ben money.",
            "Ben owes Ana money.",
        )
        assert (await desk.asked()).memory_ids == ()
        assert await desk.observations() == []


async def test_the_marks_of_what_is_consolidated_are_gone_and_new_ones_survive(tmp_path):
    async with open_desk(tmp_path, batch=2) as desk:
        uid = desk.bench.bank.uid
        await desk.keep(*(f"Fact {number} stands alone." for number in range(5)))
        assert await desk.bench.ledger.has_new_facts(uid)
        done = await desk.asked()
        assert (done.done, done.total) == (5, 5)
        assert not await desk.bench.ledger.has_new_facts(uid)
        await desk.keep("Another one.")
        assert len(await desk.bench.ledger.new_facts(uid, limit=10)) == 1


class Died(BaseException):
    """The worker's process is gone: nothing of it runs any more."""


class Dying:
    """A part whose process dies with one of its calls, the effect of which may or may not have come to be."""

    def __init__(self, part, after, *, done):
        self.part, self.after, self.done = part, after, done

    def __getattr__(self, name):
        call = getattr(self.part, name)

        async def once(*said, **more):
            self.after -= 1
            if self.after == 0 and not self.done:
                raise Died
            answer = await call(*said, **more)
            if self.after == 0:
                raise Died
            return answer

        return once


async def go_on(*_said):
    await asyncio.sleep(0)


async def worked(desk, payload=ASKED):
    bank = await desk.bench.ledger.get_bank(REF)
    operation = Operation("o", OperationKind.CONSOLIDATE, OperationState.RUNNING, NOW, NOW)
    return await desk.consolidator.work(Job(operation, bank, payload), go_on)


@pytest.mark.parametrize("done", [True, False])
async def test_a_worker_that_dies_at_any_step_leaves_nothing_doubled_and_nothing_lost(tmp_path, done):
    async with open_desk(tmp_path, batch=2) as desk:
        deaths = 0
        for step in range(1, 14):
            await desk.keep(*[f"Mira counts {step} gulls at the harbour."] * 3)
            desk.revive(Dying(desk.bench.ledger, step, done=done))
            try:
                await worked(desk)
            except Died:
                deaths += 1
            made = await desk.observations()
            sources = [source for one in made for source in one.sources]
            assert len(sources) == len(set(sources))
        assert deaths > 8
        desk.revive(desk.bench.ledger)
        await worked(desk)
        assert [one.proof_count for one in await desk.observations()] == [3] * 13
        desk.bench.clock.forward(120)
        await desk.deliver()
        assert desk.indexed() == await desk.said()


async def test_several_workers_at_once_make_no_fact_evidence_twice(tmp_path):
    async with open_desk(tmp_path, batch=3) as desk:
        await desk.keep(*(f"Mira counts {n % 4} gulls at the harbour." for n in range(24)))
        await asyncio.gather(*(worked(desk) for _ in range(3)))
        made = await desk.observations()
        sources = [source for one in made for source in one.sources]
        assert (len(sources), len(set(sources))) == (24, 24)
        assert [one.proof_count for one in made] == [6] * 4


async def test_a_bank_is_due_once_however_many_retains_there_were(tmp_path):
    async with open_desk(tmp_path) as desk:
        for _ in range(5):
            await desk.keep(SHORT)
        assert await desk.due() == 1
        assert await desk.said() == [SHORT]
        assert await desk.due() == 0


async def test_a_bank_that_is_off_is_consolidated_only_when_somebody_asks(tmp_path):
    async with open_desk(tmp_path, by_itself=False) as desk:
        await desk.keep(SHORT, LONG)
        assert await desk.due() == 0
        await desk.asked()
        assert await desk.said() == [LONG]
        await desk.tune(enabled=True)
        await desk.keep("Leo adopted a dog.", "Leo adopted a dog.")
        assert await desk.due() == 1
        assert await desk.said() == ["Leo adopted a dog.", LONG]


async def test_what_an_arm_has_not_indexed_yet_waits_for_it(tmp_path):
    async with open_desk(tmp_path) as desk:
        desk.bench.arms[ArmName.SEMANTIC].down = True
        await desk.keep(SHORT, LONG)
        assert await desk.due() == 1
        assert await desk.said() == []
        desk.bench.arms[ArmName.SEMANTIC].down = False
        while await desk.bench.outbox.drain(ArmName.SEMANTIC):
            pass
        assert await desk.due() == 1
        assert await desk.said() == [LONG]


async def test_an_arm_that_is_down_makes_the_operation_wait_and_nothing_is_half_done(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, LONG)
        desk.bench.arms[ArmName.KEYWORD].down = True
        operation = await desk.asked()
        assert (operation.state, operation.error) == (OperationState.PENDING, "the arm does not answer")
        desk.bench.arms[ArmName.KEYWORD].down = False
        desk.bench.clock.forward(60)
        assert await desk.jobs.step()
        assert await desk.said() == [LONG]


async def test_an_arm_that_is_down_for_longer_than_an_operation_lives_is_waited_for(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, LONG)
        desk.bench.arms[ArmName.KEYWORD].down = True
        for _ in range(12):
            await desk.due()
        failed = await desk.admin.list_operations(REF, PageRequest(), (OperationState.FAILED,))
        assert len(failed.rows) > 0
        desk.bench.arms[ArmName.KEYWORD].down = False
        assert await desk.due() > 0
        assert await desk.said() == [LONG]


async def test_deleting_evidence_changes_the_observation_at_once_and_then_ends_it(tmp_path):
    async with open_desk(tmp_path) as desk:
        short, other, long = await desk.keep(SHORT, SHORT, LONG)
        await desk.asked()
        (made,) = await desk.observations()
        await desk.admin.delete_memory(REF, long)
        (now,) = await desk.observations()
        assert (now.id, now.text, now.sources) == (made.id, SHORT, tuple(sorted((short, other))))
        history = await desk.admin.memory_history(REF, made.id, PageRequest())
        assert LONG not in repr(history), "what was deleted is in no former version either"
        await desk.due()
        (now,) = await desk.observations()
        assert (now.text, now.proof_count) == (SHORT, 2)
        await desk.admin.delete_memory(REF, short)
        assert await desk.observations() == []
        with pytest.raises(MemoryNotFound):
            await desk.admin.memory_history(REF, made.id, PageRequest())
        await desk.deliver()
        assert desk.indexed() == []


async def test_what_is_invalidated_is_no_evidence_and_comes_back_when_it_is_restored(tmp_path):
    async with open_desk(tmp_path, by_itself=False) as desk:
        _, _, long = await desk.keep(SHORT, SHORT, LONG)
        await desk.asked()
        await desk.admin.invalidate_memory(REF, long)
        (now,) = await desk.observations()
        assert (now.text, now.proof_count) == (SHORT, 2)
        await desk.due()
        await desk.admin.restore_memory(REF, long)
        # Of the bank that is off only what was consolidated before is consolidated again.
        await desk.keep("Leo adopted a dog.", "Leo adopted a dog.")
        await desk.deliver()
        assert await desk.due() == 1
        (now,) = await desk.observations()
        assert (now.text, now.proof_count) == (LONG, 3)


async def test_an_edited_fact_is_evidence_for_what_it_says_now(tmp_path):
    async with open_desk(tmp_path) as desk:
        ids = await desk.keep(SHORT, SHORT, SHORT, "Leo adopted a dog.")
        await desk.asked()
        await desk.admin.edit_memory(REF, ids[0], MemoryEdit(text="Leo adopted a dog."))
        (now,) = await desk.observations()
        assert now.sources == tuple(sorted(ids[1:3]))
        await desk.deliver()
        await desk.due()
        assert await desk.said() == ["Leo adopted a dog.", SHORT]
        page = await desk.admin.memory_history(REF, ids[0], PageRequest())
        assert [(one.version, one.text, one.reason) for one in page.rows] == [
            (2, "Leo adopted a dog.", "edit: text"),
            (1, SHORT, "retain"),
        ]


async def test_replacing_and_deleting_a_document_takes_its_evidence_along(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, document_id="a")
        await desk.keep(SHORT, document_id="b")
        await desk.keep(LONG, document_id="c")
        await desk.asked()
        assert await desk.said() == [LONG]
        await desk.keep("Nothing of that any more.", document_id="c")
        (now,) = await desk.observations()
        assert (now.text, now.proof_count) == (SHORT, 2)
        await desk.admin.delete_document(REF, "b")
        assert await desk.observations() == []


SCOPES = {
    ObservationScope.COMBINED: {(("a",), 2), (("a", "b"), 2)},
    ObservationScope.SHARED: {((), 5)},
    ObservationScope.PER_TAG: {(("a",), 4), (("b",), 2)},
    ObservationScope.ALL_COMBINATIONS: {(("a",), 4), (("b",), 2), (("a", "b"), 2)},
    ObservationScope.CUSTOM: {(("b",), 2)},
}


@pytest.mark.parametrize("scope", SCOPES)
async def test_facts_meet_as_the_banks_scope_says(tmp_path, scope):
    async with open_desk(tmp_path) as desk:
        await desk.tune(scope=scope, custom_scopes=(("b",), ("z",)))
        for tags in (("a",), ("a",), ("a", "b"), ("b", "a"), ()):
            await desk.keep(SHORT, tags=tags)
        await desk.asked()
        assert {(one.tags, one.proof_count) for one in await desk.observations()} == SCOPES[scope]


async def test_an_item_may_name_its_own_scopes(tmp_path):
    async with open_desk(tmp_path) as desk:
        for _ in range(2):
            await desk.keep(SHORT, tags=("a", "b"), observation_scopes=(("b",), ("a", "b"), ("c",)))
        await desk.keep(SHORT, tags=("a", "b"), observation_scopes=((),))
        await desk.asked()
        assert {(one.tags, one.proof_count) for one in await desk.observations()} == {(("b",), 2), (("a", "b"), 2)}


@pytest.mark.parametrize("scope", [ObservationScope.SHARED, ObservationScope.PER_TAG])
async def test_an_observation_is_never_seen_by_who_may_not_see_its_evidence(tmp_path, scope):
    async with open_desk(tmp_path) as desk:
        await desk.tune(scope=scope)
        await desk.keep(SHORT, tags=("a",))
        await desk.keep(LONG, tags=("a", "b"))
        await desk.asked()
        (made,) = await desk.observations()
        a, b = frozenset({"a"}), frozenset({"b"})
        without_b = TagNot(TagLeaf(b, TagMode.ANY_STRICT))
        hidden = (TagLeaf(a, TagMode.EXACT), without_b, TagLeaf(b), TagLeaf(b, TagMode.ALL))
        for test in hidden:
            with pytest.raises(MemoryNotFound):
                await desk.admin.get_memory(REF, made.id, visible=test)
            with pytest.raises(MemoryNotFound):
                await desk.admin.memory_history(REF, made.id, PageRequest(), visible=test)
        assert await desk.admin.get_memory(REF, made.id, visible=TagLeaf(a)) == made


async def test_an_observation_that_its_owner_hid_stays_hidden_when_more_says_so(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, SHORT)
        await desk.asked()
        (made,) = await desk.observations()
        await desk.admin.invalidate_memory(REF, made.id)
        await desk.keep(LONG)
        await desk.asked()
        (now,) = await desk.observations()
        assert (now.state, now.text, now.proof_count) == (MemoryState.INVALIDATED, LONG, 3)
        await desk.deliver()
        assert desk.indexed() == []


class Chronicler:
    """A writer that judges by itself what belongs together."""

    by_meaning = True

    def __init__(self, *, down=False):
        self.down = down

    async def write(self, facts):
        if self.down:
            raise StoreUnavailable("the model does not answer")
        kept = tuple(fact.id for fact in facts if "Leo" not in fact.text)
        return Draft("All in all: " + " ".join(sorted(fact.text for fact in facts)), kept[0], frozenset(kept), kept)


async def test_a_writer_by_meaning_is_given_what_is_near_and_says_what_belongs(tmp_path):
    async with open_desk(tmp_path, writer=Chronicler()) as desk:
        one, other, _ = await desk.keep(
            "Mira has moved over to Bergen.", "Mira moved across to Bergen.", "Leo moved over to Bergen."
        )
        await desk.asked()
        (made,) = await desk.observations()
        assert made.text.startswith("All in all: ")
        assert made.sources == tuple(sorted((one, other)))
        # Its text rests on all of them: none may go without it.
        await desk.keep("Mira moved over to Bergen.")
        await desk.asked()
        await desk.admin.delete_memory(REF, other)
        (now,) = await desk.observations()
        assert now.text == "Mira has moved over to Bergen."
        await desk.due()
        (now,) = await desk.observations()
        assert now.text == "All in all: Mira has moved over to Bergen. Mira moved over to Bergen."


async def test_a_writer_that_is_down_leaves_all_as_it_was(tmp_path):
    async with open_desk(tmp_path, writer=Chronicler(down=True)) as desk:
        await desk.keep(SHORT, LONG)
        assert (await desk.asked()).error == "the model does not answer"
        assert await desk.observations() == []
        assert await desk.bench.ledger.has_new_facts(desk.bench.bank.uid)


async def test_what_gave_way_while_a_bank_was_moved_is_missed_by_nobody(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, SHORT, LONG)
        await desk.asked()
        (made,) = await desk.observations()
        lost = made.sources[0]
        told = b"".join([piece async for piece in desk.admin.export_bank(REF)]).splitlines(keepends=True)
        kept = [
            json.loads(line)
            for line in told
            if f'"id":"{lost}"'.encode() not in line and lost.encode() not in line[:60]
        ]
        alone = {"id": "nobody", "name": "Olav", "key": "olav", "kind": "person", "created": "2026-08-19T10:00:00Z"}
        place = next(number for number, line in enumerate(kept) if "memory" in line)
        kept[-1]["end"] = len(kept) - 1
        kept.insert(place, {"entity": alone})

        async def pieces():
            for line in kept:
                yield json.dumps(line).encode() + b"\n"

        copy = BankRef("copy")
        await desk.admin.create_bank(copy)
        await desk.admin.import_bank(copy, pieces())
        (moved,) = (
            await desk.admin.list_memories(copy, MemoryFilter(fact_types=(FactType.OBSERVATION,)), PageRequest())
        ).rows
        assert moved.sources == tuple(one for one in made.sources if one != lost)
        assert moved.proof_count == 2
        (version,) = (await desk.admin.memory_history(copy, moved.id, PageRequest())).rows
        assert set(version.quotes) == set(moved.sources)
        nobody = next(one for one in (await desk.admin.list_entities(copy, PageRequest())).rows if one.name == "Olav")
        assert (nobody.memory_count, nobody.last_mentioned) == (0, None)


async def test_a_bank_that_was_moved_keeps_its_observations_and_they_stay_true(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.keep(SHORT, SHORT, LONG, tags=("a",))
        await desk.asked()
        (made,) = await desk.observations()
        copy = BankRef("copy")
        moved = await desk.admin.create_bank(copy)
        await desk.admin.import_bank(copy, desk.admin.export_bank(REF))

        async def observed():
            found = await desk.admin.list_memories(
                copy, MemoryFilter(fact_types=(FactType.OBSERVATION,)), PageRequest()
            )
            return [(one.text, one.tags, one.proof_count) for one in found.rows]

        await desk.deliver()
        assert await observed() == [(LONG, ("a",), 3)]
        asked = await desk.admin.consolidate(copy)
        assert await desk.jobs.step()
        assert (await desk.admin.get_operation(copy, asked.id)).memory_ids == ()
        assert await observed() == [(LONG, ("a",), 3)]
        page = await desk.admin.list_memories(copy, MemoryFilter(fact_types=(FactType.WORLD,)), PageRequest())
        told = next(one for one in page.rows if one.text == LONG)
        await desk.admin.delete_memory(copy, told.id)
        assert await observed() == [(SHORT, ("a",), 2)]
        assert moved.uid != desk.bench.bank.uid
        assert (await desk.observations()) == [made]
