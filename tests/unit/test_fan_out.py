import asyncio

import pytest
from unit.retain_fakes import REF, open_bench

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import BankNotFound, InvalidArgument, NotReady, RequestIdReused, StoreUnavailable
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import DeliveryState, NamedEntity, RetainItem, RetainRequest, UpdateMode

APPEND = UpdateMode.APPEND


async def test_what_is_told_is_in_the_ledger_and_in_every_arm(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Ida keeps bees.", tags=("farm",))

        assert answer.memory_count == 1
        assert await bench.texts() == ["Ida keeps bees."]
        assert all(arm.texts == ["Ida keeps bees."] for arm in bench.arms.values())
        assert [(d.arm, d.state) for d in answer.deliveries] == [
            (name, DeliveryState.STORED)
            for name in (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH, ArmName.TEMPORAL)
        ]
        assert await bench.ledger.outbox_lag(bench.clock()) == ()


async def test_vectors_go_to_the_arms_that_need_them_and_the_context_holds_the_memory_before(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("One.", "Then two.", document_id="d")

        first, second = sorted(bench.arms[ArmName.SEMANTIC].entries.values(), key=lambda entry: entry.position)
        assert first.context_vector == first.vector == (4.0, 1.0)
        assert second.vector == (9.0, 1.0)
        assert second.context_vector == (float(len("One.\nThen two.")), 1.0)
        assert {entry.vector for entry in bench.arms[ArmName.KEYWORD].entries.values()} == {None}
        assert sorted(bench.embedder.asked) == ["One.", "One.\nThen two.", "Then two."]


async def contexts(bench):
    """Return what each memory's context was embedded from, in order; the fake vector holds the text's length."""
    entries = sorted(bench.arms[ArmName.GRAPH].entries.values(), key=lambda entry: entry.position)
    by_length = {float(len(text)): text for text in bench.embedder.asked}
    return [by_length[entry.context_vector[0]].removesuffix(entry.text).rstrip("\n") for entry in entries]


ASKED = "Leo: The bakery burnt down in the spring, with the whole shop. What does a new one cost?"
TOLD = ASKED.partition(" What")[0]
ANSWER = (
    "Nadia: The insurance pays for half of a new oven, so they told me in the end. Nobody was hurt in the fire at all."
)


async def test_the_context_of_a_fact_holds_all_that_was_said_before_even_what_no_fact_says(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep(ASKED, ANSWER, mode=ExtractionMode.CONCISE, document_id="d")

        first, second, third = await bench.texts()
        assert (first, f"{second} {third.removeprefix('Nadia: ')}") == (TOLD, ANSWER)
        assert await contexts(bench) == ["", ASKED, second]
        assert len(bench.embedder.asked) == 5


async def test_the_context_of_a_fact_names_who_spoke_before_as_its_fact_does(tmp_path):
    async with open_bench(tmp_path) as bench:
        said = ASKED.removeprefix("Leo: ")
        await bench.keep(said, ANSWER, mode=ExtractionMode.CONCISE, document_id="d", context="Leo is speaking to Nadia")

        assert (await contexts(bench))[1] == ASKED


async def test_the_context_of_a_fact_tells_nothing_of_a_chunk_that_is_withheld(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep(ASKED, mode=ExtractionMode.CONCISE, document_id="d")
        (first,) = await bench.memories()
        edited = "Leo: The bakery is gone."
        await bench.ledger.edit_memory(
            bench.bank.uid, first.id, MemoryEdit(text=edited), (ArmName.GRAPH,), bench.clock()
        )
        await bench.keep(ANSWER, mode=ExtractionMode.CONCISE, document_id="d", update_mode=APPEND)

        assert (await contexts(bench))[1] == edited


async def test_an_append_takes_its_context_from_the_last_memory_there(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("One.", document_id="d")
        await bench.keep("Then two.", document_id="d", update_mode=APPEND)

        entry = next(e for e in bench.arms[ArmName.GRAPH].entries.values() if e.text == "Then two.")
        assert entry.context_vector == (float(len("One.\nThen two.")), 1.0)


async def test_the_items_of_one_document_come_back_in_their_places(tmp_path):
    async with open_bench(tmp_path) as bench:
        items = [RetainItem((text,), document_id=name) for text, name in (("a", "x"), ("b", ""), ("c", "x"), ("d", ""))]
        answer = await bench.retainer.retain(RetainRequest(REF, tuple(items), mode=ExtractionMode.CHUNKS))

        by_id = {memory.id: memory for memory in await bench.memories()}
        assert [by_id[item.memory_ids[0]].text for item in answer.items] == ["a", "b", "c", "d"]
        assert answer.items[0].document_id == answer.items[2].document_id == "x"
        assert len({item.document_id for item in answer.items}) == 3


async def test_a_request_id_five_times_at_once_makes_one_memory(tmp_path):
    async with open_bench(tmp_path) as bench:
        answers = await asyncio.gather(*(bench.keep("Ida keeps bees.", request_id="r1") for _ in range(5)))
        again = await bench.keep("Ida keeps bees.", request_id="r1")

        assert len({answer.items for answer in [*answers, again]}) == 1
        assert sum(not answer.replayed for answer in answers) == 1
        assert again.replayed
        assert await bench.texts() == ["Ida keeps bees."]
        assert all(arm.texts == ["Ida keeps bees."] for arm in bench.arms.values())
        with pytest.raises(RequestIdReused):
            await bench.keep("Ida keeps sheep.", request_id="r1")


async def test_a_repeated_request_delivers_what_the_first_call_could_not(tmp_path):
    async with open_bench(tmp_path) as bench:
        bench.arms[ArmName.GRAPH].down = True
        first = await bench.keep("Ida keeps bees.", request_id="r1")
        bench.arms[ArmName.GRAPH].down = False
        again = await bench.keep("Ida keeps bees.", request_id="r1")

        assert {d.arm for d in first.deliveries if d.state is DeliveryState.PENDING} == {ArmName.GRAPH}
        assert {d.state for d in again.deliveries} == {DeliveryState.STORED}
        assert bench.arms[ArmName.GRAPH].texts == ["Ida keeps bees."]


async def test_a_new_version_drops_what_it_no_longer_says_and_the_same_again_changes_nothing(tmp_path):
    async with open_bench(tmp_path, chunk_tokens=4) as bench:
        await bench.keep("Paragraph number one.\n\nParagraph number two.\n\nParagraph number three.", document_id="d")
        before = {memory.text: memory.id for memory in await bench.memories()}
        bench.embedder.asked.clear()
        second = await bench.keep("Paragraph number one.\n\nParagraph number two.", document_id="d")
        third = await bench.keep("Paragraph number one.\n\nParagraph number two.", document_id="d")

        assert {memory.text: memory.id for memory in await bench.memories()} == {
            text: one for text, one in before.items() if "three" not in text
        }
        assert bench.embedder.asked == []
        assert all(arm.texts == ["Paragraph number one.", "Paragraph number two."] for arm in bench.arms.values())
        assert not second.items[0].unchanged
        assert third.items[0].unchanged
        assert third.items[0].memory_ids == second.items[0].memory_ids


async def test_the_old_version_stays_while_no_arm_has_the_new_one(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("The door is green.", document_id="d")
        for arm in bench.arms.values():
            arm.down = True
        await bench.keep("The door is red.", document_id="d")
        assert sorted(memory.text for memory in await bench.memories()) == ["The door is green.", "The door is red."]

        for arm in bench.arms.values():
            arm.down = False
        bench.clock.forward(120)
        for name in bench.arms:
            await bench.outbox.drain(name)
        await bench.outbox.retire()
        for name in bench.arms:
            await bench.outbox.drain(name)

        assert [memory.text for memory in await bench.memories()] == ["The door is red."]
        assert all(arm.texts == ["The door is red."] for arm in bench.arms.values())


async def test_one_of_the_two_versions_is_in_the_arm_at_every_moment(tmp_path):
    async with open_bench(tmp_path) as bench:
        seen = []
        arm = bench.arms[ArmName.KEYWORD]
        plain_index, plain_remove = arm.index, arm.remove

        async def index(uid, entries):
            await plain_index(uid, entries)
            seen.append(tuple(arm.texts))

        async def remove(uid, removals):
            await plain_remove(uid, removals)
            seen.append(tuple(arm.texts))

        arm.index, arm.remove = index, remove
        await bench.keep("The door is green.", document_id="d")
        await bench.keep("The door is red.", document_id="d")

        assert seen == [
            ("The door is green.",),
            ("The door is green.", "The door is red."),
            ("The door is red.",),
        ]


async def test_ninety_thousand_characters_keep_all_their_markers(tmp_path):
    filler = "The quick survey of the northern fields went on for a while. " * 48
    text = " ".join(f"{filler}Marker {number:02} is zq{number:02}x." for number in range(30))
    async with open_bench(tmp_path, chunk_tokens=256) as bench:
        assert len(text) > 88_000
        await bench.keep(text, document_id="d")

        kept = "\n".join(await bench.texts())
        assert all(f"Marker {number:02} is zq{number:02}x." in kept for number in range(30))
        chunks = (await bench.ledger.list_chunks(bench.bank.uid, "d", PageRequest(1000))).rows
        assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
        assert max(chunk.tokens for chunk in chunks) <= 256


async def test_eight_appends_at_once_are_all_there(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("Line start.", document_id="d")
        lines = [f"Line {number}." for number in range(8)]
        await asyncio.gather(*(bench.keep(line, document_id="d", update_mode=APPEND) for line in lines))

        assert sorted(await bench.texts()) == sorted(["Line start.", *lines])
        assert [memory.position for memory in await bench.memories()] == list(range(9))
        assert all(len(arm.entries) == 9 for arm in bench.arms.values())


async def test_an_embedder_that_returns_too_few_vectors_leaves_nothing_behind(tmp_path):
    async with open_bench(tmp_path) as bench:
        bench.embedder.short_by = 1
        with pytest.raises(StoreUnavailable):
            await bench.keep("One.", "Two.", document_id="d", request_id="r")
        assert await bench.texts() == []
        assert all(arm.stored == [] for arm in bench.arms.values())

        bench.embedder.short_by = 0
        assert not (await bench.keep("One.", "Two.", document_id="d", request_id="r")).replayed
        assert await bench.texts() == ["One.", "Two."]


async def test_without_the_embedder_nothing_is_written(tmp_path):
    async with open_bench(tmp_path) as bench:
        bench.embedder.down = True
        with pytest.raises(StoreUnavailable):
            await bench.keep("One.")
        assert await bench.texts() == []


async def test_a_slow_arm_costs_its_own_share_alone(tmp_path):
    async with open_bench(tmp_path) as bench:
        never = asyncio.Event()

        async def index(_uid, _entries):
            await never.wait()

        bench.arms[ArmName.GRAPH].index = index
        answer = await bench.keep("One.")

        states = {delivery.arm: delivery.state for delivery in answer.deliveries}
        assert states.pop(ArmName.GRAPH) is DeliveryState.PENDING
        assert set(states.values()) == {DeliveryState.STORED}


async def test_nothing_worth_keeping_is_a_success_that_says_so(tmp_path):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep("Hi there!", mode=ExtractionMode.CONCISE, document_id="d")

        assert answer.memory_count == 0
        assert answer.items[0].document_id == "d"
        assert {delivery.state for delivery in answer.deliveries} == {DeliveryState.STORED}
        assert (await bench.ledger.get_document(bench.bank.uid, "d")).chunk_count == 1


@pytest.mark.parametrize("text", ["👩‍🚀🎉", "<|endoftext|> marker", "w" * 40_000 + " kvassberg"])
async def test_odd_texts_are_kept(tmp_path, text):
    async with open_bench(tmp_path) as bench:
        answer = await bench.keep(text, mode=ExtractionMode.CONCISE)

        assert answer.memory_count >= 1
        assert "".join("".join(await bench.texts()).split()) == "".join(text.split())
        assert all(memory.tokens > 0 for memory in await bench.memories())


async def test_a_nul_is_not_kept(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("be\x00es")
        assert await bench.texts() == ["bees"]


async def test_an_entity_written_otherwise_is_the_same_in_the_bank(tmp_path):
    async with open_bench(tmp_path) as bench:
        for name in ("Alice Chen", "alice  chen", "ALICE\tCHEN", "Alice\nChen", "Alice C."):
            await bench.keep("Something.", entities=(NamedEntity(name, "person"),))

        (entity,) = (await bench.ledger.list_entities(bench.bank.uid, PageRequest())).rows
        assert entity.name == "Alice Chen"
        assert entity.memory_count == 5


async def test_a_name_not_to_be_resolved_is_taken_as_it_stands(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("Something.", entities=(NamedEntity("Alice Chen", "person"),))
        await bench.keep("Something.", entities=(NamedEntity("Alice C.", "person", resolve=False),))

        assert len((await bench.ledger.list_entities(bench.bank.uid, PageRequest())).rows) == 2


async def test_a_mode_that_needs_an_llm_is_refused_before_anything_is_queued(tmp_path):
    async with open_bench(tmp_path) as bench:
        with pytest.raises(NotReady):
            await bench.keep("One.", mode=ExtractionMode.CUSTOM, wait=False)
        assert (await bench.ledger.list_operations(bench.bank.uid, PageRequest())).rows == ()


async def test_an_unknown_bank_and_a_blank_item_are_refused(tmp_path):
    async with open_bench(tmp_path) as bench:
        with pytest.raises(BankNotFound):
            await bench.retainer.retain(RetainRequest(BankRef("nowhere"), (RetainItem(("One.",)),)))
        with pytest.raises(InvalidArgument):
            await bench.keep("One.", " ")
        assert await bench.texts() == []


async def test_thirty_two_calls_at_once_with_the_same_names_make_them_once(tmp_path):
    names = ["Ida Kvass", "Rune Iversen", "Rune Iversrud", "Room 101", "Room 102", "Acme"]
    async with open_bench(tmp_path) as bench:
        orders = [names[shift % 6 :] + names[: shift % 6] for shift in range(32)]
        calls = (bench.keep("Met.", entities=tuple(NamedEntity(name) for name in order)) for order in orders)
        await asyncio.gather(*calls)

        page = await bench.ledger.list_entities(bench.bank.uid, PageRequest())
        assert sorted(entity.name for entity in page.rows) == sorted(names)
        assert {entity.memory_count for entity in page.rows} == {32}
