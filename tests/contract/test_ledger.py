"""The ledger's contract: one write is one transaction, whatever comes at the same time."""

import asyncio
import random
from dataclasses import fields, replace
from datetime import timedelta

import pytest
from contract.ledger_bed import (
    ARMS,
    LATER,
    NOW,
    Backend,
    Bed,
    backend,
    bare,
    bed,
    chunk,
    entity,
    fact,
    new_bank,
    open_bed,
    uid,
)

from recallmesh.core.document import Document
from recallmesh.core.errors import BankNotFound, ConflictingWrite, RequestIdReused
from recallmesh.core.memory import CausalLink, FactType, Memory, MemoryState, Mention, Outline
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import UpdateMode
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.write import DocumentWrite, RequestRecord, Write
from recallmesh.ledger.upkeep import migrate_ledger

__all__ = ["backend", "bare", "bed"]


async def test_a_memory_is_read_back_as_it_was_written(bed: Bed):
    mira = entity("Mira", "Mimi")
    cause = fact("It rained")
    written = Memory(
        id=uid(),
        text="Mira stayed at home ☔ 雨",
        fact_type=FactType.EXPERIENCE,
        created=NOW,
        occurred=Occurrence(Window(NOW - timedelta(days=1), NOW + timedelta(microseconds=1)), Precision.RANGE),
        mentioned=NOW - timedelta(days=40_000),
        context="Mira speaking",
        tags=("user:1", "home"),
        metadata={"source": "chat", "n": "1"},
        mentions=(Mention(mira.id, "Mira", "person"),),
        causes=(CausalLink(cause.id, 0.75),),
        sources=("a", "b"),
        attachments=("sha256:1",),
        proof_count=3,
        tokens=5,
    )
    one = chunk("c1", cause, written)
    commit = await bed.write("doc", one, entities=[mira])
    [stored] = (await bed.ledger.list_entities(bed.uid, PageRequest())).rows
    expected = replace(
        written,
        document_id="doc",
        chunk_id=one.chunk.id,
        position=1,
        previous_id=cause.id,
        mentions=(Mention(stored.id, "Mira", "person", ("Mimi",)),),
    )
    assert await bed.memory(written.id) == expected
    assert commit.added[1] == expected
    assert stored.id != mira.id
    assert commit.documents[0].memory_ids == ((cause.id, written.id),)


async def test_ids_may_be_longer_than_our_own_as_those_of_an_import_are(bed: Bed):
    long = replace(fact("told elsewhere"), id="elsewhere-" * 10)
    await bed.write("doc", chunk("a", long))
    assert (await bed.memory(long.id)).text == "told elsewhere"
    assert {row.memory_id for row in await bed.lease()} == {long.id}


async def test_reading_skips_unknown_and_foreign_memories(bed: Bed):
    other = Bed(bed.ledger, await new_bank(bed.ledger, "other"))
    mine = (await bed.write("doc", chunk("a", "mine"))).added[0]
    foreign = (await other.write("doc", chunk("a", "foreign"))).added[0]
    found = await bed.ledger.read(bed.uid, (mine.id, foreign.id, uid(), "no uuid"))
    assert [memory.id for memory in found] == [mine.id]
    assert await bed.ledger.read(bed.uid, ()) == ()


async def test_two_thousand_memories_are_read_at_once(bed: Bed):
    written = await bed.write("doc", chunk("a", *(f"fact {n}" for n in range(2000))))
    ids = tuple(memory.id for memory in written.added)
    assert {memory.id for memory in await bed.ledger.read(bed.uid, ids)} == set(ids)
    assert {outline.id for outline in await bed.ledger.outline(bed.uid, ids)} == set(ids)


async def test_an_outline_says_the_same_as_the_memory(bed: Bed):
    plain = fact("one")
    built = replace(fact("two words", tags=("a", "ü"), sources=(plain.id, uid())), fact_type=FactType.OBSERVATION)
    hidden, gone = fact("hidden"), fact("retires")
    await bed.write("doc", chunk("a", plain, built, hidden), chunk("b", gone))
    await bed.ledger.set_state(bed.uid, hidden.id, MemoryState.INVALIDATED, ARMS, NOW)
    await bed.write("doc", chunk("a", known=True), at=LATER)
    ids = tuple(memory.id for memory in (plain, built, hidden, gone))
    names = [part.name for part in fields(Outline)]
    outlines = {one.id: one for one in await bed.ledger.outline(bed.uid, ids)}
    assert outlines.keys() == set(ids)
    for memory in await bed.ledger.read(bed.uid, ids):
        assert outlines[memory.id] == Outline(**{name: getattr(memory, name) for name in names})
    assert outlines[built.id].sources == built.sources
    assert {one.state for one in outlines.values()} == set(MemoryState)


async def test_outlining_skips_unknown_and_foreign_memories(bed: Bed):
    other = Bed(bed.ledger, await new_bank(bed.ledger, "other"))
    mine = (await bed.write("doc", chunk("a", "mine"))).added[0]
    foreign = (await other.write("doc", chunk("a", "foreign"))).added[0]
    found = await bed.ledger.outline(bed.uid, (mine.id, foreign.id, uid(), "no uuid"))
    assert [outline.id for outline in found] == [mine.id]
    assert await bed.ledger.outline(bed.uid, ()) == ()


async def test_memories_may_be_read_without_their_mentions(bed: Bed):
    mira = entity("Mira")
    [written] = (await bed.write("doc", chunk("a", fact("one", mira)), entities=[mira])).added
    [whole] = await bed.ledger.read(bed.uid, (written.id,))
    assert whole.mentions
    assert await bed.ledger.read(bed.uid, (written.id,), mentions=False) == (replace(whole, mentions=()),)


async def test_replace_keeps_chunks_of_the_same_digest_and_retires_the_others(bed: Bed):
    first = await bed.write("doc", chunk("a", "a1", "a2"), chunk("b", "b1"), chunk("c", "c1"))
    a1, a2, b1, c1 = first.added
    await bed.deliver()
    second = await bed.write("doc", chunk("new", "n1"), chunk("c", "dropped"), chunk("a"), at=LATER)
    [n1] = second.added
    assert second.documents[0].memory_ids == ((n1.id,), (c1.id,), (a1.id, a2.id))
    assert second.retiring == (b1.id,)
    assert (await bed.memory(b1.id)).state is MemoryState.RETIRING
    live = [memory for memory in await bed.memories() if memory.state is MemoryState.ACTIVE]
    assert [(m.id, m.position, m.previous_id) for m in live] == [
        (n1.id, 0, ""),
        (c1.id, 1, n1.id),
        (a1.id, 2, c1.id),
        (a2.id, 3, a1.id),
    ]
    assert {memory.version for memory in live} == {1}
    assert {row.memory_id for row in await bed.ledger.own_outbox(second.write_id)} == {n1.id}
    chunks = (await bed.ledger.list_chunks(bed.uid, "doc", PageRequest())).rows
    assert [(one.number, one.digest) for one in chunks] == [(0, "new"), (1, "c"), (2, "a")]
    document = await bed.ledger.get_document(bed.uid, "doc")
    counts = (document.version, document.chunk_count, document.memory_count, document.tokens)
    assert counts == (2, 3, 4, 30)
    assert (document.created, document.updated) == (NOW, LATER)


async def test_the_same_digest_twice_is_two_chunks(bed: Bed):
    first = await bed.write("doc", chunk("a", "one"), chunk("a", "two"))
    second = await bed.write("doc", chunk("a"), chunk("b", "b"), chunk("a"))
    assert second.retiring == ()
    kept = second.documents[0].memory_ids
    assert (kept[0], kept[2]) == ((first.added[0].id,), (first.added[1].id,))
    third = await bed.write("doc", chunk("a"))
    assert set(third.retiring) == {first.added[1].id, second.added[0].id}


async def test_the_same_content_again_changes_nothing(bed: Bed):
    first = await bed.write("doc", chunk("a", "a1"), chunk("b"))
    await bed.deliver()
    again = await bed.write("doc", chunk("a", "other id"), chunk("b"), at=LATER)
    assert again.documents[0].unchanged
    assert again.documents[0].memory_ids == first.documents[0].memory_ids
    assert (again.added, again.retiring) == ((), ())
    assert await bed.ledger.own_outbox(again.write_id) == ()
    assert (await bed.ledger.get_document(bed.uid, "doc")).version == 1
    assert not first.documents[0].unchanged


async def test_a_known_chunk_that_is_gone_is_a_conflict_not_a_loss(bed: Bed):
    await bed.write("doc", chunk("a", "a1"))
    assert await bed.ledger.known_digests(bed.uid, "doc") == {"a"}
    await bed.write("doc", chunk("b", "b1"))
    with pytest.raises(ConflictingWrite):
        await bed.write("doc", chunk("a", known=True))
    assert await bed.ledger.known_digests(bed.uid, "doc") == {"b"}
    assert [memory.text for memory in await bed.memories(states=(MemoryState.ACTIVE,))] == ["b1"]


async def test_retire_deletes_what_a_write_left_and_tells_the_arms(bed: Bed):
    only_b = entity("Bo")
    first = await bed.write("doc", chunk("a", "a1"), chunk("b", fact("b1", only_b)), entities=[only_b])
    await bed.deliver()
    b1 = first.added[1]
    second = await bed.write("doc", chunk("a"), at=NOW)
    assert await bed.ledger.unretired(NOW) == ()
    assert await bed.ledger.unretired(LATER) == ((bed.uid, second.write_id),)
    old_chunk = await bed.ledger.read_chunks(bed.uid, (b1.chunk_id,))
    assert [one.digest for one in old_chunk] == ["b"]
    assert await bed.ledger.retire(bed.uid, second.write_id, ARMS, NOW) == 1
    assert await bed.ledger.retire(bed.uid, second.write_id, ARMS, NOW) == 0
    assert await bed.ledger.unretired(LATER) == ()
    assert await bed.ledger.read(bed.uid, (b1.id,)) == ()
    assert await bed.ledger.read_chunks(bed.uid, (b1.chunk_id,)) == ()
    assert await bed.deliver() == [("remove", b1.id, 2)] * 2
    assert (await bed.stats()).entities == 0


async def test_an_invalidated_memory_retires_without_being_shown_again(bed: Bed):
    [hidden] = (await bed.write("doc", chunk("a", "hidden"))).added
    await bed.ledger.set_state(bed.uid, hidden.id, MemoryState.INVALIDATED, ARMS, NOW)
    second = await bed.write("doc", chunk("b"))
    assert (await bed.memory(hidden.id)).state is MemoryState.INVALIDATED
    restored = await bed.ledger.set_state(bed.uid, hidden.id, MemoryState.ACTIVE, ARMS, NOW)
    assert restored.state is MemoryState.RETIRING
    assert await bed.ledger.retire(bed.uid, second.write_id, ARMS, NOW) == 1


async def test_append_follows_what_is_there(bed: Bed):
    tagged = DocumentWrite(
        Document("doc", NOW, NOW, tags=("x",), metadata={"a": "1"}), UpdateMode.APPEND, (chunk("a", "a1"),)
    )
    first = await bed.ledger.commit(Write(bed.uid, (tagged,), (), ARMS, NOW))
    second = await bed.append("doc", chunk("a", "again"), chunk("none"), chunk("b", "b1"))
    assert second.retiring == ()
    assert [(m.text, m.position) for m in await bed.memories()] == [("a1", 0), ("again", 1), ("b1", 2)]
    assert second.added[0].previous_id == first.added[0].id
    document = await bed.ledger.get_document(bed.uid, "doc")
    assert (document.version, document.chunk_count, document.memory_count, document.tokens) == (2, 4, 3, 40)
    assert (document.tags, dict(document.metadata)) == (("x",), {"a": "1"})


async def test_eight_appends_at_once_are_all_there(bed: Bed):
    await asyncio.gather(*(bed.append("doc", chunk(f"d{n}", f"f{n}", f"g{n}")) for n in range(8)))
    chunks = (await bed.ledger.list_chunks(bed.uid, "doc", PageRequest())).rows
    assert [one.number for one in chunks] == list(range(8))
    memories = await bed.memories()
    assert [memory.position for memory in memories] == list(range(16))
    assert [memory.previous_id for memory in memories] == ["", *(memory.id for memory in memories[:-1])]
    assert (await bed.ledger.get_document(bed.uid, "doc")).version == 8


async def test_a_request_id_five_times_at_once_is_one_write_and_four_replays(bed: Bed):
    request = RequestRecord("r1", "hash")
    commits = await asyncio.gather(
        *(bed.append("doc", chunk("a", f"fact {n}"), request=request) for n in range(5)),
    )
    assert sorted(commit.replayed for commit in commits) == [False] + [True] * 4
    assert len({(commit.write_id, commit.documents) for commit in commits}) == 1
    assert (await bed.stats()).memories == 1
    found = await bed.ledger.find_request(bed.uid, request)
    assert found is not None
    assert found.documents == commits[0].documents
    assert await bed.ledger.find_request(bed.uid, RequestRecord("r2", "hash")) is None


async def test_a_request_id_with_other_content_is_refused(bed: Bed):
    await bed.write("doc", chunk("a", "a"), request=RequestRecord("r", "one"))
    other = RequestRecord("r", "two")
    with pytest.raises(RequestIdReused):
        await bed.write("doc", chunk("b", "b"), request=other)
    with pytest.raises(RequestIdReused):
        await bed.ledger.find_request(bed.uid, other)
    elsewhere = Bed(bed.ledger, await new_bank(bed.ledger, "elsewhere"))
    assert not (await elsewhere.write("doc", chunk("b", "b"), request=other)).replayed


async def test_thirty_two_writes_at_once_make_six_entities(bed: Bed):
    names = ["Ada", "Bo", "Cy", "Di", "Ed", "Flo"]

    async def write(number: int) -> None:
        shuffled = [entity(name) for name in random.Random(number).sample(names, 6)]
        await bed.write(f"doc{number}", chunk("a", fact("all", *shuffled)), entities=shuffled)

    await asyncio.gather(*(write(number) for number in range(32)))
    entities = (await bed.ledger.list_entities(bed.uid, PageRequest())).rows
    assert sorted((one.name, one.memory_count) for one in entities) == [(name, 32) for name in names]


async def test_a_failed_write_leaves_nothing(bed: Bed):
    mira = entity("Mira")
    twice = fact("one id", mira)
    with pytest.raises(ConflictingWrite):
        await bed.write("doc", chunk("a", twice, twice), entities=[mira], request=RequestRecord("r", "h"))
    stats = await bed.stats()
    assert (stats.memories, stats.documents, stats.chunks, stats.entities, stats.pending) == (0, 0, 0, 0, 0)
    assert not (await bed.write("doc", chunk("a", "a"), request=RequestRecord("r", "h"))).replayed


async def test_a_mention_of_an_entity_that_is_gone_is_a_conflict(bed: Bed):
    gone = Mention(uid(), "Gone")
    with pytest.raises(ConflictingWrite):
        await bed.write("doc", chunk("a", replace(fact("x"), mentions=(gone,))))


async def test_a_write_to_an_unknown_bank_is_refused(bed: Bed):
    with pytest.raises(BankNotFound):
        await Bed(bed.ledger, replace(bed.bank, uid=uid())).write("doc", chunk("a", "a"))


async def test_what_was_written_survives_closing(backend: Backend):
    async with open_bed(backend) as first:
        [memory] = (await first.write("doc", chunk("a", "kept"), request=RequestRecord("r", "h"))).added
        bank = first.bank
    async with backend.open() as ledger:
        again = Bed(ledger, bank)
        assert await again.memory(memory.id) == memory
        assert await ledger.get_bank(bank.ref) == bank
        assert (await again.write("doc", chunk("b", "b"), request=RequestRecord("r", "h"))).replayed
        assert len(await again.deliver()) == len(ARMS)


async def test_two_open_at_once_write_and_read_the_same(backend: Backend):
    async with backend.open() as one, backend.open() as two:
        bank = await new_bank(one)
        beds = [Bed(one, bank), Bed(two, bank)]
        await asyncio.gather(*(beds[n % 2].append("doc", chunk(f"d{n}", f"f{n}")) for n in range(20)))
        for each in beds:
            assert [memory.position for memory in await each.memories()] == list(range(20))


async def test_a_new_database_may_be_opened_by_many_at_once(bare: Backend):
    async def use(number: int) -> None:
        await migrate_ledger(bare.url)
        async with bare.open() as ledger:
            await ledger.check()
            await new_bank(ledger, f"bank{number}")

    await asyncio.gather(*(use(number) for number in range(5)))
    async with bare.open() as ledger:
        assert len((await ledger.list_banks("default", PageRequest())).rows) == 5
