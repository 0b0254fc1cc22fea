"""The ledger's contract: entities merged, split and named, and whom they are met with."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from alembic import command
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
    uid,
)
from sqlalchemy import text

from recallmesh.core.arm import ArmName
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import BankNotFound, EntityNotFound, NameTaken, NotReady
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.memory import MemoryState, Mention
from recallmesh.core.page import PageRequest
from recallmesh.ledger.database import backend_of
from recallmesh.ledger.migration import alembic_config
from recallmesh.ledger.upkeep import migrate_ledger

__all__ = ["backend", "bare", "bed"]

ALICE, BOB, CARO = entity("Alice Chen", "Ally"), entity("Bob Moe"), entity("Caro Vik")


async def names(bed: Bed) -> dict[str, str]:
    """The bank's entities: their ids by name."""
    return {one.name: one.id for one in (await bed.ledger.list_entities(bed.uid, PageRequest(100))).rows}


async def told(bed: Bed) -> dict[str, tuple[set[str], int]]:
    """What each memory mentions, and its version, by its text."""
    return {one.text: ({mention.name for mention in one.mentions}, one.version) for one in await bed.memories()}


async def three(bed: Bed) -> dict[str, str]:
    """Three entities on four memories, all of it delivered."""
    facts = (fact("a", ALICE), fact("b", BOB), fact("ab", ALICE, BOB), fact("c", CARO))
    await bed.write("doc", chunk("x", *facts), entities=[ALICE, BOB, CARO])
    await bed.deliver()
    return await names(bed)


def merge(bed: Bed, into: str, *gone: str):
    return bed.ledger.merge_entities(bed.uid, into, gone, ARMS, LATER)


def split(bed: Bed, one: str, name: str, memory_ids=(), aliases=()):
    return bed.ledger.split_entity(bed.uid, one, EntitySplit(name, tuple(memory_ids), tuple(aliases)), ARMS, LATER)


async def ids(bed: Bed, *texts: str) -> tuple[str, ...]:
    return tuple(one.id for one in await bed.memories() if one.text in texts)


async def test_a_merge_makes_one_of_several_and_tells_the_arms(bed: Bed):
    held = await three(bed)
    alice = await merge(bed, held["Alice Chen"], held["Bob Moe"])
    assert (alice.name, alice.aliases, alice.memory_count) == ("Alice Chen", ("Ally", "Bob Moe"), 3)
    assert await names(bed) == {name: held[name] for name in ("Alice Chen", "Caro Vik")}
    one = {"Alice Chen"}
    assert await told(bed) == {"a": (one, 2), "b": (one, 2), "ab": (one, 2), "c": ({"Caro Vik"}, 1)}
    [both] = [memory for memory in await bed.memories() if memory.text == "ab"]
    assert both.mentions == (Mention(alice.id, "Alice Chen", "person", ("Ally", "Bob Moe"), 2),)
    delivered = await bed.deliver()
    assert sorted(delivered) == sorted(
        ("index", memory_id, 2) for memory_id in await ids(bed, "a", "b", "ab") for _ in ARMS
    )
    listed = await bed.memories(entity_id=alice.id)
    assert {memory.text for memory in listed} == {"a", "b", "ab"}


async def test_a_merge_twice_is_as_once_and_a_stale_id_is_the_one_that_stays(bed: Bed):
    held = await three(bed)
    first = await merge(bed, held["Alice Chen"], held["Bob Moe"])
    await bed.deliver()
    assert await merge(bed, held["Alice Chen"], held["Bob Moe"]) == first
    assert await merge(bed, held["Bob Moe"], held["Alice Chen"]) == first
    assert await bed.deliver() == []
    assert await bed.ledger.get_entity(bed.uid, held["Bob Moe"]) == first
    assert len(await bed.memories(entity_id=held["Bob Moe"])) == 3
    # And on: what was merged before follows.
    last = await merge(bed, held["Caro Vik"], held["Alice Chen"])
    assert await bed.ledger.get_entity(bed.uid, held["Bob Moe"]) == last
    assert (last.name, last.memory_count) == ("Caro Vik", 4)


async def test_what_is_written_under_a_merged_name_or_id_lands_on_the_one_that_stays(bed: Bed):
    held = await three(bed)
    await merge(bed, held["Alice Chen"], held["Bob Moe"])
    by_name = fact("by name", BOB)
    by_id = fact("by id")
    by_id = replace(by_id, mentions=(Mention(held["Bob Moe"], "Bob Moe", "person"),))
    as_resolved = replace(BOB, id=held["Bob Moe"])
    resolved = replace(fact("resolved"), mentions=(Mention(as_resolved.id, "Bob Moe", "person"),))
    commit = await bed.write("later", chunk("x", by_name), chunk("y", by_id), entities=[BOB])
    commit_2 = await bed.write("later still", chunk("x", resolved), entities=[as_resolved])
    for memory in (*commit.added, *commit_2.added):
        assert [mention.entity_id for mention in memory.mentions] == [held["Alice Chen"]]
    assert set(await names(bed)) == {"Alice Chen", "Caro Vik"}
    assert [one.name for one in await bed.ledger.entities_like(bed.uid, ("bob moe",))] == ["Alice Chen"]


async def test_writes_while_merging_end_on_the_one_that_stays(bed: Bed):
    held = await three(bed)

    async def write(number: int) -> None:
        at = NOW + timedelta(seconds=number)
        await bed.write(f"d{number}", chunk("x", fact(f"w{number}", BOB)), entities=[BOB], at=at)

    merging = [merge(bed, held["Alice Chen"], held["Bob Moe"]) for _ in range(3)]
    writing = [write(number) for number in range(12)]
    await asyncio.gather(*(one for pair in zip(writing[::4], merging, strict=True) for one in pair), *writing[1::4],
                         *writing[2::4], *writing[3::4])  # fmt: skip
    alice = await bed.ledger.get_entity(bed.uid, held["Bob Moe"])
    assert (alice.id, alice.memory_count) == (held["Alice Chen"], 3 + 12)
    assert set(await names(bed)) == {"Alice Chen", "Caro Vik"}


async def test_a_merge_knows_the_kind_that_any_of_them_has(bed: Bed):
    unclear, clear = entity("Acme", kind="concept"), entity("Acme Labs", kind="organisation")
    await bed.write("doc", chunk("x", fact("a", unclear, clear)), entities=[unclear, clear])
    held = await names(bed)
    assert (await merge(bed, held["Acme"], held["Acme Labs"])).kind == "organisation"


async def test_a_hidden_memory_follows_and_stays_hidden(bed: Bed):
    held = await three(bed)
    [hidden] = await ids(bed, "b")
    await bed.ledger.set_state(bed.uid, hidden, MemoryState.INVALIDATED, ARMS, LATER)
    await bed.deliver()
    await merge(bed, held["Alice Chen"], held["Bob Moe"])
    assert ("remove", hidden, 3) in await bed.deliver()
    memory = await bed.memory(hidden)
    assert (memory.state, memory.mentions[0].name) == (MemoryState.INVALIDATED, "Alice Chen")


async def test_an_entity_without_memories_goes_with_its_names_and_what_was_merged_into_it(bed: Bed):
    held = await three(bed)
    await merge(bed, held["Alice Chen"], held["Bob Moe"])
    await bed.ledger.delete_document(bed.uid, "doc", ARMS, LATER)
    for entity_id in held.values():
        with pytest.raises(EntityNotFound):
            await bed.ledger.get_entity(bed.uid, entity_id)
    await bed.write("doc", chunk("x", fact("b", BOB)), entities=[BOB])
    assert set(await names(bed)) == {"Bob Moe"}


async def test_an_alias_is_one_entitys_alone(bed: Bed):
    held = await three(bed)
    alice = await bed.ledger.add_alias(bed.uid, held["Alice Chen"], "Lissy  Chen", ARMS, LATER)
    assert alice.aliases == ("Ally", "Lissy  Chen")
    assert len(await bed.deliver()) == 2 * len(ARMS)
    again = await bed.ledger.add_alias(bed.uid, held["Alice Chen"], "lissy chen", ARMS, LATER)
    assert (again.aliases, await bed.deliver()) == (alice.aliases, [])
    for taken in ("Bob Moe", "BOB MOE", "Ally"):
        if taken == "Ally":
            with pytest.raises(NameTaken) as caught:
                await bed.ledger.add_alias(bed.uid, held["Bob Moe"], taken, ARMS, LATER)
            assert caught.value.metadata == {"name": "Ally", "entity": held["Alice Chen"]}
        else:
            with pytest.raises(NameTaken):
                await bed.ledger.add_alias(bed.uid, held["Alice Chen"], taken, ARMS, LATER)
    named = fact("n", entity("Lissy Chen"))
    [memory] = (await bed.write("later", chunk("x", named), entities=[entity("Lissy Chen")])).added
    assert memory.mentions[0].entity_id == held["Alice Chen"]
    assert [one.id for one in await bed.ledger.entities_like(bed.uid, ("lissy",))] == [held["Alice Chen"]]


async def test_a_write_cannot_take_anothers_name_for_an_alias(bed: Bed):
    held = await three(bed)
    claims = replace(ALICE, aliases=("Bob Moe", "A. Chen"))
    await bed.write("later", chunk("x", fact("n", claims)), entities=[claims])
    assert (await bed.ledger.get_entity(bed.uid, held["Alice Chen"])).aliases == ("Ally", "A. Chen")
    assert (await bed.ledger.get_entity(bed.uid, held["Bob Moe"])).aliases == ()


async def test_a_split_moves_memories_and_aliases_and_tells_the_arms(bed: Bed):
    held = await three(bed)
    moved = await ids(bed, "ab")
    alice, ally = await split(bed, held["Alice Chen"], "Alicia Moe", moved, ("Ally",))
    assert (alice.name, alice.aliases, alice.memory_count) == ("Alice Chen", (), 1)
    assert (ally.name, ally.aliases, ally.memory_count, ally.kind) == ("Alicia Moe", ("Ally",), 1, "person")
    assert (alice.apart, ally.apart) == (("alicia moe", "ally"), ("alice chen",))
    assert await told(bed) == {
        "a": ({"Alice Chen"}, 2),
        "ab": ({"Alicia Moe", "Bob Moe"}, 2),
        "b": ({"Bob Moe"}, 1),
        "c": ({"Caro Vik"}, 1),
    }
    assert len(await bed.deliver()) == 2 * len(ARMS)
    spoken = entity("Ally")
    [memory] = (await bed.write("later", chunk("x", fact("n", spoken)), entities=[spoken])).added
    assert memory.mentions[0].entity_id == ally.id
    likely = await bed.ledger.entities_like(bed.uid, ("ally",))
    assert [one.id for one in likely] == [ally.id]


async def test_a_split_twice_is_as_once_and_may_go_on(bed: Bed):
    held = await three(bed)
    other = fact("a2", ALICE)
    await bed.write("more", chunk("x", other, fact("a3", ALICE)), entities=[ALICE])
    await bed.deliver()
    moved = await ids(bed, "ab")
    first = await split(bed, held["Alice Chen"], "Ally", moved)
    await bed.deliver()
    assert await split(bed, held["Alice Chen"], "Ally", moved) == first
    assert await bed.deliver() == []
    _, ally = await split(bed, held["Alice Chen"], "Ally", (*moved, other.id))
    assert (ally.id, ally.memory_count, ally.aliases) == (first[1].id, 2, ())


async def test_a_split_that_makes_no_sense_changes_nothing(bed: Bed):
    held = await three(bed)
    before = await told(bed)
    everything, foreign = await ids(bed, "a", "ab"), await ids(bed, "c")
    [one] = await ids(bed, "a")
    for error, arguments in (
        (NotReady, ("Ally", everything)),
        (NotReady, ("Ally", foreign)),
        (NotReady, ("Ally", (uid(),))),
        (NameTaken, ("Bob Moe", (one,))),
        (NameTaken, ("alice chen", (one,))),
        (NameTaken, ("Ally", (one,), ("Bob Moe",))),
        (NameTaken, ("Ally", (one,), ("Alice Chen",))),
    ):
        with pytest.raises(error):
            await split(bed, held["Alice Chen"], *arguments)
    assert (await told(bed), await names(bed), await bed.deliver()) == (before, held, [])


async def test_a_merge_undoes_a_split(bed: Bed):
    held = await three(bed)
    alice, ally = await split(bed, held["Alice Chen"], "Ally", await ids(bed, "ab"))
    one = await merge(bed, alice.id, ally.id)
    assert (one.aliases, one.apart, one.memory_count) == (("Ally",), (), 2)


async def test_labels_and_strangers_are_left_alone(bed: Bed):
    topic = entity("topic:work", kind="label")
    await bed.write("t", chunk("x", fact("t", topic, ALICE), fact("u", ALICE, topic)), entities=[topic, ALICE])
    held = await names(bed)
    [one, _] = await ids(bed, "t", "u")
    for call in (
        merge(bed, held["Alice Chen"], held["topic:work"]),
        merge(bed, held["topic:work"], held["Alice Chen"]),
        split(bed, held["topic:work"], "work", (one,)),
        bed.ledger.add_alias(bed.uid, held["topic:work"], "work", ARMS, LATER),
    ):
        with pytest.raises(NotReady, match="label"):
            await call
    for call in (
        merge(bed, uid(), held["Alice Chen"]),
        merge(bed, held["Alice Chen"], uid()),
        split(bed, uid(), "x", (one,)),
        bed.ledger.add_alias(bed.uid, uid(), "x", ARMS, LATER),
    ):
        with pytest.raises(EntityNotFound):
            await call
    with pytest.raises(BankNotFound):
        await bed.ledger.merge_entities(uid(), held["Alice Chen"], (uid(),), ARMS, LATER)
    assert await bed.ledger.met(bed.uid, ()) == {}


async def test_an_entity_is_met_with_those_of_its_fifty_newest_memories(bed: Bed):
    old = fact("old", ALICE, CARO, mentioned=NOW - timedelta(days=9))
    new = [fact(f"n{number}", ALICE, BOB, mentioned=NOW + timedelta(seconds=number)) for number in range(49)]
    await bed.write("doc", chunk("x", old, *new), entities=[ALICE, BOB, CARO])
    held = await names(bed)
    alice, bob, caro = held["Alice Chen"], held["Bob Moe"], held["Caro Vik"]
    assert await bed.ledger.met(bed.uid, (alice, caro)) == {alice: {bob, caro}, caro: {alice}}
    await bed.write("more", chunk("x", fact("one more", ALICE, mentioned=NOW)), entities=[ALICE])
    assert (await bed.ledger.met(bed.uid, (alice,)))[alice] == {bob}


async def test_what_a_memory_says_has_no_version_more_by_a_merge(bed: Bed):
    held = await three(bed)
    [edited] = await ids(bed, "b")
    await bed.ledger.edit_memory(bed.uid, edited, MemoryEdit(text="b2"), ARMS, NOW)
    await merge(bed, held["Alice Chen"], held["Bob Moe"])
    history = (await bed.ledger.memory_history(bed.uid, edited, PageRequest())).rows
    assert [(one.version, one.text) for one in history] == [(3, "b2"), (1, "b")]


async def test_a_large_merge_takes_its_time_once(bed: Bed):
    many = [fact(f"m{number}", ALICE if number % 2 else BOB) for number in range(2000)]
    await bed.write("doc", chunk("x", *many), entities=[ALICE, BOB])
    held = await names(bed)
    one = await merge(bed, held["Alice Chen"], held["Bob Moe"])
    assert one.memory_count == 2000
    rows = await bed.lease(ArmName.GRAPH, limit=3000)
    assert {(row.version, row.action.value) for row in rows} == {(2, "index")}
    assert len(rows) == 2000


async def test_a_ledger_of_the_first_schema_learns_whose_its_names_are(bare: Backend):
    engine = backend_of(bare.url).migrating_engine()
    with engine.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO banks VALUES ('u', 'default', 'bank', '', '{}', 1, 0)"))
        for name, aliases in (("Alice Chen", '["Dr. Chen","Door Dash"]'), ("DoorDash", '["Alice  CHEN"]')):
            row = {"id": name, "name": name, "key": name.casefold(), "aliases": aliases}
            entity_row = text("INSERT INTO entities VALUES ('u', :id, :name, :key, false, 'person', :aliases, 0)")
            connection.execute(entity_row, row)
            connection.execute(text("INSERT INTO memory_entities VALUES ('u', :id, 'm', 0)"), {"id": name})
    engine.dispose()
    assert (await migrate_ledger(bare.url)).before == "0001"
    async with bare.open() as ledger:
        assert {one.id for one in await ledger.entities_like("u", ("doordash",))} == {"Alice Chen", "DoorDash"}
        for name in ("Door Dash", "Dr. Chen", "Alice Chen"):
            with pytest.raises(NameTaken) as caught:
                await ledger.add_alias("u", "DoorDash", name, ARMS, LATER)
            assert caught.value.metadata["entity"] == "Alice Chen"
