"""The ledger's contract: banks, memories, documents, entities and tags read, listed, changed and deleted."""

from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
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
    uid,
)
from sqlalchemy import text

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, BankRef, BankStats, ExtractionMode, RetainTuning
from recallmesh.core.errors import (
    BankExists,
    BankNotFound,
    ConflictingWrite,
    DocumentNotFound,
    EntityNotFound,
    InvalidArgument,
    MemoryNotFound,
    NotReady,
    StoreUnavailable,
)
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import CausalLink, FactType, MemoryState
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning
from recallmesh.ledger.config import config_from_plain, config_to_plain
from recallmesh.ledger.migration import alembic_config
from recallmesh.ledger.schema import HEAD, metadata
from recallmesh.ledger.upkeep import migrate_ledger

__all__ = ["backend", "bare", "bed"]

CONFIG = BankConfig(
    recall=RecallTuning(
        arms=frozenset({ArmName.GRAPH, ArmName.KEYWORD}),
        reranking=False,
        boosts={ArmName.GRAPH: BoostLevel.HIGH},
        min_scores=MinScores(keyword=1.0),
        recency_alpha=0.5,
        graph_strategy="bfs",
    ),
    retain=RetainTuning(mode=ExtractionMode.CHUNKS, agent_names=("bot",), language="de"),
)


async def test_banks_belong_to_their_tenant(bed: Bed):
    with pytest.raises(BankExists):
        await new_bank(bed.ledger, "bank")
    foreign = await new_bank(bed.ledger, "bank", tenant="other")
    assert await bed.ledger.get_bank(BankRef("bank", "other")) == foreign
    assert (await bed.ledger.list_banks("other", PageRequest())).rows == (foreign,)
    with pytest.raises(BankNotFound):
        await bed.ledger.get_bank(BankRef("bank", "third"))


async def test_a_bank_is_changed_under_its_version(bed: Bed):
    ref = bed.bank.ref
    changed = await bed.ledger.update_bank(ref, name="New", config=CONFIG, version=1)
    assert (changed.name, changed.config, changed.version) == ("New", CONFIG, 2)
    with pytest.raises(ConflictingWrite):
        await bed.ledger.update_bank(ref, name="Late", config=None, version=1)
    kept = await bed.ledger.update_bank(ref, name=None, config=None, version=0)
    assert kept == replace(changed, version=3)
    assert await bed.ledger.get_bank(ref) == kept


def test_a_configuration_survives_plain_values_and_unknown_ones_are_ignored():
    plain = config_to_plain(CONFIG)
    assert config_from_plain(plain | {"later": {"x": 1}}) == CONFIG
    assert config_from_plain({"recall": {"recency_alpha": 1, "later": 2}}).recall == RecallTuning(recency_alpha=1.0)
    assert config_from_plain({}) == BankConfig()


async def test_a_deleted_bank_may_be_made_again_and_knows_nothing(bed: Bed):
    mira = entity("Mira")
    await bed.write("doc", chunk("a", fact("a1", mira, tags=("t",))), entities=[mira])
    await bed.ledger.delete_bank(bed.bank.ref, ARMS, NOW)
    with pytest.raises(BankNotFound):
        await bed.ledger.delete_bank(bed.bank.ref, ARMS, NOW)
    with pytest.raises(BankNotFound):
        await bed.stats()
    with pytest.raises(BankNotFound):
        await bed.write("late", chunk("a", "a1"))
    again = Bed(bed.ledger, await new_bank(bed.ledger))
    assert await again.stats() == BankStats()
    assert await bed.memories() == ()


async def test_deleting_all_memories_leaves_every_count_at_zero(bed: Bed):
    mira, topic = entity("Mira", "Mimi"), entity("topic:work", kind="label")
    facts = [fact(f"f{n}", mira, topic, tags=("x", f"t{n}")) for n in range(3)]
    commit = await bed.write("doc", chunk("a", *facts), chunk("b", "b1"), entities=[mira, topic])
    before = await bed.stats()
    assert (before.memories, before.memories_by_type, before.entities, before.tags) == (4, (("world", 4),), 2, 4)
    assert (before.documents, before.chunks, before.pending) == (1, 2, 8)
    ids = tuple(memory.id for memory in commit.added)
    assert await bed.ledger.delete_memories(bed.uid, ids[:1], ARMS, NOW) == 1
    assert (await bed.ledger.get_document(bed.uid, "doc")).memory_count == 3
    assert {one.memory_count for one in (await bed.ledger.list_entities(bed.uid, PageRequest())).rows} == {2}
    assert (await bed.memory(ids[1])).previous_id == ""
    assert (await bed.memory(ids[2])).previous_id == ids[1]
    await bed.ledger.delete_memories(bed.uid, ids, ARMS, NOW)
    await bed.deliver()
    assert await bed.stats() == BankStats(documents=1, chunks=2)
    assert await bed.ledger.entities_like(bed.uid, ("mira", "mimi", "topic:work")) == ()
    assert (await bed.ledger.get_document(bed.uid, "doc")).memory_count == 0
    assert await bed.ledger.delete_document(bed.uid, "doc", ARMS, NOW) == 0
    assert await bed.stats() == BankStats()


async def test_a_deleted_document_takes_everything_derived_from_it(bed: Bed):
    mira, bo = entity("Mira"), entity("Bo")
    [kept] = (await bed.write("kept", chunk("a", fact("k", mira)), entities=[mira])).added
    await bed.write("doc", chunk("a", fact("d1", mira, bo)), chunk("b", "d2"), entities=[mira, bo])
    await bed.write("doc", chunk("c", "d3"))
    assert await bed.ledger.delete_document(bed.uid, "doc", ARMS, NOW) == 3
    with pytest.raises(DocumentNotFound):
        await bed.ledger.get_document(bed.uid, "doc")
    with pytest.raises(DocumentNotFound):
        await bed.ledger.delete_document(bed.uid, "doc", ARMS, NOW)
    assert [memory.id for memory in await bed.memories()] == [kept.id]
    assert [one.name for one in (await bed.ledger.list_entities(bed.uid, PageRequest())).rows] == ["Mira"]
    assert (await bed.stats()).chunks == 1


async def test_a_causal_link_to_a_deleted_memory_vanishes(bed: Bed):
    cause, other = fact("cause"), fact("other")
    effect = fact("effect", causes=(CausalLink(cause.id, 1.0), CausalLink(other.id, 0.5)))
    await bed.write("doc", chunk("a", cause, other, effect))
    await bed.ledger.delete_memories(bed.uid, (cause.id,), ARMS, NOW)
    assert (await bed.memory(effect.id)).causes == (CausalLink(other.id, 0.5),)


async def test_memories_are_listed_by_what_is_asked(bed: Bed):
    mira = entity("Mira")
    agents = replace(fact("own"), fact_type=FactType.EXPERIENCE)
    commit = await bed.write("one", chunk("a", fact("m", mira), agents), entities=[mira])
    await bed.write("two", chunk("a", "hidden"))
    hidden = (await bed.memories(document_id="two"))[0]
    await bed.ledger.set_state(bed.uid, hidden.id, MemoryState.INVALIDATED, ARMS, NOW)
    [named] = (await bed.ledger.list_entities(bed.uid, PageRequest())).rows

    async def texts(**parts) -> list[str]:
        return sorted(memory.text for memory in await bed.memories(**parts))

    assert await texts() == ["hidden", "m", "own"]
    assert await texts(fact_types=(FactType.EXPERIENCE,)) == ["own"]
    assert await texts(states=(MemoryState.INVALIDATED,)) == ["hidden"]
    assert await texts(document_id="one") == ["m", "own"]
    assert await texts(entity_id=named.id) == ["m"]
    assert await texts(entity_id=named.id, fact_types=(FactType.EXPERIENCE,)) == []
    assert commit.added[0].mentions[0].entity_id == named.id


async def test_pages_are_full_even_when_a_tag_test_passes_few(bed: Bed):
    facts = [fact(f"f{n}", tags=("rare",) if n % 50 == 0 else ("common",)) for n in range(600)]
    await bed.write("doc", chunk("a", *facts))
    wanted = MemoryFilter(tags=TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT))
    page, seen, sizes = PageRequest(5), [], []
    while True:
        found = await bed.ledger.list_memories(bed.uid, wanted, page)
        seen.extend(memory.id for memory in found.rows)
        sizes.append(len(found.rows))
        if not found.next_after:
            break
        page = PageRequest(5, found.next_after)
    assert sizes == [5, 5, 2]
    assert seen == sorted(memory.id for memory in facts if memory.tags == ("rare",))


async def test_every_list_pages_by_its_key(bed: Bed):
    for number in range(3):
        await new_bank(bed.ledger, f"z{number}")
        one = entity(f"e{number}")
        await bed.append("doc", chunk(f"c{number}", fact("f", one, tags=(f"t{number}",))), entities=[one])
        await bed.write(f"doc{number}", chunk("a"))

    async def keys(ask, key):
        found, page = [], PageRequest(2)
        while True:
            got = await ask(page)
            assert len(got.rows) <= 2
            found.extend(key(row) for row in got.rows)
            if not got.next_after:
                return found
            page = PageRequest(2, got.next_after)

    ledger, uid_ = bed.ledger, bed.uid
    assert await keys(lambda p: ledger.list_banks("default", p), lambda b: b.ref.bank_id) == ["bank", "z0", "z1", "z2"]
    documents = await keys(lambda p: ledger.list_documents(uid_, p), lambda d: (d.id, d.memory_count))
    assert documents == [("doc", 3), ("doc0", 0), ("doc1", 0), ("doc2", 0)]
    assert await keys(lambda p: ledger.list_chunks(uid_, "doc", p), lambda c: c.digest) == ["c0", "c1", "c2"]
    assert await keys(lambda p: ledger.list_tags(uid_, p), lambda t: t.tag) == ["t0", "t1", "t2"]
    names = await keys(lambda p: ledger.list_entities(uid_, p), lambda e: e.id)
    assert (len(names), names) == (3, sorted(names))
    with pytest.raises(InvalidArgument):
        await ledger.list_chunks(uid_, "doc", PageRequest(2, "x"))


async def test_an_edit_of_tags_moves_the_counts(bed: Bed):
    [one, two] = (await bed.write("doc", chunk("a", fact("a", tags=("x", "y", "x")), fact("b", tags=("x",))))).added

    async def tags() -> dict[str, int]:
        return {t.tag: t.memory_count for t in (await bed.ledger.list_tags(bed.uid, PageRequest())).rows}

    assert await tags() == {"x": 2, "y": 1}
    edited = await bed.ledger.edit_memory(bed.uid, one.id, MemoryEdit(tags=("z",), context="c"), ARMS, NOW)
    assert (edited.tags, edited.context, edited.text) == (("z",), "c", "a")
    assert await tags() == {"x": 1, "z": 1}
    await bed.ledger.set_state(bed.uid, two.id, MemoryState.INVALIDATED, ARMS, NOW)
    assert await tags() == {"z": 1}
    with pytest.raises(MemoryNotFound):
        await bed.ledger.edit_memory(bed.uid, uid(), MemoryEdit(text="x"), ARMS, NOW)
    with pytest.raises(MemoryNotFound):
        await bed.ledger.set_state(bed.uid, uid(), MemoryState.ACTIVE, ARMS, NOW)


async def test_an_entity_collects_aliases_and_memories_show_them(bed: Bed):
    first = entity("Alice Chen", "Ally")
    [memory] = (await bed.write("one", chunk("a", fact("a", first)), entities=[first])).added
    second = replace(entity("ALICE CHEN", "Dr. Chen", "Ally"), id="other")
    spoken = replace(fact("b", second, mentioned=LATER))
    await bed.write("two", chunk("a", spoken), entities=[second])
    [alice] = (await bed.ledger.list_entities(bed.uid, PageRequest())).rows
    assert (alice.name, alice.aliases, alice.memory_count) == ("Alice Chen", ("Ally", "Dr. Chen"), 2)
    assert (alice.created, alice.last_mentioned) == (NOW, LATER)
    assert (await bed.memory(memory.id)).mentions[0].aliases == ("Ally", "Dr. Chen")
    assert await bed.ledger.get_entity(bed.uid, alice.id) == alice
    with pytest.raises(EntityNotFound):
        await bed.ledger.get_entity(bed.uid, uid())


async def test_a_label_and_a_name_of_one_key_are_two_entities(bed: Bed):
    name, label = entity("Work"), replace(entity("Work", kind="label"), id="label")
    [memory] = (await bed.write("doc", chunk("a", fact("a", name, label)), entities=[name, label])).added
    assert sorted(mention.kind for mention in memory.mentions) == ["label", "person"]
    assert (await bed.stats()).entities == 2


async def test_an_entity_nobody_mentions_is_not_made(bed: Bed):
    await bed.write("doc", chunk("a", "a1"), entities=[entity("Nobody")])
    assert (await bed.stats()).entities == 0


async def test_candidates_share_a_folded_word_or_are_the_key(bed: Bed):
    named = [
        entity("Alice Chen"),
        entity("Chen Wei"),
        entity("José Ortega", "Pepe"),
        entity("Zed"),
        entity("++"),
        entity("mood:zed", kind="label"),
    ]
    await bed.write("doc", chunk("a", fact("all", *named)), entities=named)

    async def like(*keys: str) -> list[str]:
        return sorted(one.name for one in await bed.ledger.entities_like(bed.uid, keys))

    assert await like("alice chen") == ["Alice Chen", "Chen Wei"]
    assert await like("jose") == ["José Ortega"]
    assert await like("pepe", "nobody") == ["José Ortega"]
    assert await like("ali") == []
    assert await like("++") == ["++"]
    assert await like("mood:zed") == ["Zed", "mood:zed"]
    assert await like() == []


async def test_candidates_are_bounded_but_the_named_one_is_among_them(bed: Bed):
    crowd = [entity(f"Smith {n:04}") for n in range(300)] + [entity("Smith")]
    await bed.write("doc", chunk("a", fact("all", *crowd)), entities=crowd)
    found = await bed.ledger.entities_like(bed.uid, ("smith",))
    assert len(found) <= 201
    assert "Smith" in {one.name for one in found}


async def test_a_database_without_its_schema_is_not_ready(bare: Backend):
    with pytest.raises(NotReady, match="recallmesh migrate"):
        async with bare.open(migrate=False) as ledger:
            await ledger.check()
    await migrate_ledger(bare.url)
    async with bare.open(migrate=False) as ledger:
        await ledger.check()


async def test_a_database_of_a_newer_version_is_not_touched(bare: Backend):
    await migrate_ledger(bare.url)
    with bare.connect() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NotReady, match="newer"):
        await migrate_ledger(bare.url)


async def test_what_is_no_database_is_unavailable(tmp_path):
    (tmp_path / "broken.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreUnavailable):
        async with Backend(f"sqlite:///{tmp_path}/broken.db").open():
            pass


async def test_a_closed_ledger_is_unavailable(backend: Backend):
    async with backend.open() as ledger:
        pass
    with pytest.raises(StoreUnavailable):
        await ledger.check()


async def test_the_migrations_make_the_schema_that_the_code_uses(bare: Backend):
    first = await migrate_ledger(bare.url)
    again = await migrate_ledger(bare.url)
    assert [(one.before, one.after) for one in (first, again)] == [("", HEAD), (HEAD, HEAD)]
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [HEAD]
    with bare.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
