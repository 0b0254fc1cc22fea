"""Who is who: what becomes one, what stays two, and how merging, splitting and naming reach every arm."""

import asyncio
import random

import pytest
from deployment import NOW, every, until

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, LabelKey
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import InvalidArgument, NameTaken
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.resolution import EntityQuestion
from recallmesh.core.retain import NamedEntity
from recallmesh.core.tags import TagLeaf, TagMode

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

NEVER = (
    ("Rune Iversen", "Rune Iversrud"),
    ("Room 101", "Room 102"),
    ("UA123", "UA124"),
    ("Mira", "Samira"),
    ("2023 Tax Return", "2024 Tax Return"),
)
FRIENDS = ("Bo Dahl", "Ida Moe", "Leo Vik")


def people(*names):
    return tuple(NamedEntity(name, "person") for name in names)


async def known(diary):
    """The bank's entities by name."""
    entities = await every(lambda page: diary.faces.admin.list_entities(diary.ref, page))
    return {entity.name: entity for entity in entities}


async def delivered(diary):
    """Wait until every arm has everything."""

    async def nothing_is_pending():
        return (await diary.faces.admin.bank_stats(diary.ref)).pending == 0

    await until(nothing_is_pending)


async def words(diary, query):
    return set(await diary.words(query))


async def test_names_that_must_stay_two_do_over_many_batches_with_the_same_neighbours(diary):
    pairs = list(NEVER)
    for turn in range(3):
        random.Random(turn).shuffle(pairs)
        for first, second in pairs:
            for name in (first, second) if turn % 2 else (second, first):
                await diary.keep(f"{name} was there, {turn}.", entities=people(name, *FRIENDS))
    assert {name: entity.memory_count for name, entity in (await known(diary)).items()} == {
        **dict.fromkeys(FRIENDS, 30),
        **{name: 3 for pair in NEVER for name in pair},
    }


async def test_one_name_in_other_dress_is_one_entity(diary):
    dresses = ("Alice Chen", "ALICE CHEN", "alice  chen", "Alice\tChen", "Alice\nChen", "Dr. Alice Chen", "Alice C.")
    for number, name in enumerate(dresses):
        await diary.keep(f"She sang, {number}.", entities=people(name))
    for number, name in enumerate(("Door Dash", "DoorDash", "door-dash")):
        await diary.keep(f"It came late, {number}.", entities=(NamedEntity(name),))
    held = await known(diary)
    assert {name: entity.memory_count for name, entity in held.items()} == {"Alice Chen": 7, "Door Dash": 3}
    assert held["Alice Chen"].aliases == ("Alice C.",)


async def test_thirty_two_retains_at_once_with_the_same_six_make_six(diary):
    six = ("Ann Lee", "Bo Dahl", "Caro Vik", "Dan Moe", "Eli Ruud", "Fay Holm")

    async def keep(number):
        await diary.keep(f"All six met, {number}.", entities=people(*random.Random(number).sample(six, 6)))

    await asyncio.gather(*map(keep, range(32)))
    assert {name: entity.memory_count for name, entity in (await known(diary)).items()} == dict.fromkeys(six, 32)


async def test_a_merge_makes_one_of_two_in_every_arm_and_twice_is_as_once(diary):
    admin = diary.faces.admin
    await diary.keep("The boat was sold.", entities=people("Alice Chen", "Bo Dahl"))
    await diary.keep("The harbour froze.", entities=people("Lissy Wong"))
    held = await known(diary)
    into, gone = held["Alice Chen"].id, held["Lissy Wong"].id
    assert await words(diary, "Lissy") == {"The harbour froze."}
    one = await admin.merge_entities(diary.ref, into, (gone,))
    assert await admin.merge_entities(diary.ref, into, (gone,)) == one
    assert (one.memory_count, one.aliases) == (2, ("Lissy Wong",))
    assert await admin.get_entity(diary.ref, gone) == one
    assert {memory.version for memory in await diary.memories(MemoryFilter(entity_id=gone))} == {2}
    await delivered(diary)
    both = {"The boat was sold.", "The harbour froze."}
    assert await words(diary, "Lissy") == both
    assert await words(diary, "Alice Chen") == both
    assert set(await diary.texts("What about Lissy Wong?", ArmName.GRAPH)) == both
    # What comes under the name that went is the one that stayed.
    await diary.keep("The ice broke.", entities=people("lissy wong"))
    assert (await known(diary))["Alice Chen"].memory_count == 3


async def test_retains_while_merging_end_on_the_one_that_stays(diary):
    admin = diary.faces.admin
    await diary.keep("First.", entities=people("Alice Chen", "Lissy Wong"))
    held = await known(diary)
    into, gone = held["Alice Chen"].id, held["Lissy Wong"].id

    async def keep(number):
        await diary.keep(f"Again, {number}.", entities=people("Lissy Wong", "Bo Dahl"))

    await asyncio.gather(*map(keep, range(6)), admin.merge_entities(diary.ref, into, (gone,)), *map(keep, range(6, 12)))
    assert {name: entity.memory_count for name, entity in (await known(diary)).items()} == {
        "Alice Chen": 13,
        "Bo Dahl": 12,
    }
    await delivered(diary)
    assert len(await words(diary, "Alice Chen")) == 13


async def test_a_split_parts_memories_and_names_and_they_do_not_flow_together_again(diary):
    admin = diary.faces.admin
    (first,) = await diary.keep("The boat was sold.", entities=people("Alice Chen", "Bo Dahl"))
    await diary.keep("The harbour froze.", entities=people("Alice C.", "Bo Dahl"))
    alice = (await known(diary))["Alice Chen"]
    assert alice.aliases == ("Alice C.",)
    one, new = await admin.split_entity(diary.ref, alice.id, EntitySplit("Alice C.", (first,)))
    assert (one.memory_count, new.memory_count, one.aliases) == (1, 1, ())
    await delivered(diary)
    # "alice c" is a name of the one alone, "chen" of the other.
    assert await words(diary, "Chen") == {"The harbour froze."}
    for number, name in enumerate(("Alice C.", "Alice Chen", "alice c", "ALICE CHEN")):
        await diary.keep(f"Later, {number}.", entities=people(name, "Bo Dahl"))
    assert {name: entity.memory_count for name, entity in (await known(diary)).items()} == {
        "Alice C.": 3,
        "Alice Chen": 3,
        "Bo Dahl": 6,
    }


async def test_an_alias_finds_and_is_one_entitys_alone(diary):
    admin = diary.faces.admin
    await diary.keep("The boat was sold.", entities=people("Alice Chen"))
    await diary.keep("The harbour froze.", entities=people("Bo Dahl"))
    held = await known(diary)
    for _ in range(2):
        assert (await admin.add_entity_alias(diary.ref, held["Alice Chen"].id, "Lissy")).aliases == ("Lissy",)
    with pytest.raises(NameTaken):
        await admin.add_entity_alias(diary.ref, held["Bo Dahl"].id, "LISSY")
    await delivered(diary)
    assert await words(diary, "Lissy") == {"The boat was sold."}
    assert (await diary.texts("What about Lissy?", ArmName.GRAPH))[0] == "The boat was sold."


async def test_what_a_name_would_mean_is_what_it_means(diary):
    admin = diary.faces.admin
    await diary.keep("The boat was sold.", entities=people("Alice Chen", "Bo Dahl"))
    await diary.keep("The harbour froze.", entities=people("Alice Cole", "Ida Moe"))
    for neighbours, meant in ((("Bo Dahl",), "Alice Chen"), (("Ida Moe",), "Alice Cole"), ((), None)):
        question = EntityQuestion("Alice C.", "person", neighbours, NOW)
        explained = await admin.explain_entity(diary.ref, question)
        assert (explained.entity.name if explained.entity else None) == meant
        assert {one.name for one in explained.verdict.comparisons} == {"Alice Chen", "Alice Cole"}
    (kept,) = await diary.keep("The ice broke.", entities=people("Alice C.", "Ida Moe"))
    memory = await admin.get_memory(diary.ref, kept)
    assert [mention.name for mention in memory.mentions] == ["Alice Cole", "Ida Moe"]


async def test_labels_match_exactly_and_are_tags_where_the_bank_says_so(mesh):
    vocabulary = (LabelKey("priority", ("high", "low"), write_tags=True), LabelKey("team", ("north",)))
    diary = await mesh.diary(BankConfig(labels=vocabulary))
    await diary.keep("The ticket is priority:high, says Nadia.", mode=None)
    await diary.keep(
        "The pump failed.", entities=(NamedEntity("priority:low", "label"), NamedEntity("team:north", "label"))
    )
    with pytest.raises(InvalidArgument, match=r"entities\[0\].name: has a value that 'team' may not have"):
        await diary.keep("The pump failed.", entities=(NamedEntity("team:nort", "label"),))
    labels = {name: entity.kind for name, entity in (await known(diary)).items() if ":" in name}
    assert labels == dict.fromkeys(("priority:high", "priority:low", "team:north"), "label")
    low = TagLeaf(frozenset({"priority:low"}), TagMode.ALL_STRICT)
    assert await diary.texts("What failed?", tags=low) == ["The pump failed."]
    config = (await diary.faces.admin.get_bank(diary.ref)).config
    assert config.labels == vocabulary
