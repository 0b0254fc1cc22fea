"""What every graph store does, whatever it is made of."""

import asyncio
import itertools
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from neo4j_bed import open_migrated
from tagged import name_of

from recallmesh.core.arm import IndexEntry, Removal
from recallmesh.core.memory import ALL_FACT_TYPES, CausalLink, FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot, TagOr, passes
from recallmesh.graph.embedded import open_embedded_graph_store
from recallmesh.graph.store import Alike, LinkKind, Node, Scope

START = datetime(2026, 8, 1, tzinfo=UTC)
BANK = Scope("b1", ALL_FACT_TYPES)


class Asked:
    """The store, with each way to read it as a call of its own, and its banks the test's own: a server has others'."""

    def __init__(self, store):
        self._store = store
        self._mark = uuid4().hex
        self.banks = set()

    def __getattr__(self, name):
        if name in {"names", "mentioning", "subjects", "ties", "edges"}:
            return lambda first, *given: self.read(lambda reads: getattr(reads, name)(first, *given))
        return lambda first, *given: getattr(self._store, name)(self._own(first), *given)

    async def read(self, work):
        return await self._store.read(lambda reads: work(Owned(reads, self._own)))

    def _own(self, bank):
        if isinstance(bank, Scope):
            return replace(bank, bank_uid=self._own(bank.bank_uid))
        self.banks.add(bank)
        return f"{bank}-{self._mark}"


class Owned:
    """Readings of the test's own banks."""

    def __init__(self, reads, own):
        self._reads = reads
        self._own = own
        self.together = reads.together

    def __getattr__(self, name):
        return lambda first, *given: getattr(self._reads, name)(self._own(first), *given)


STORES = {"embedded": lambda path: open_embedded_graph_store(path / "graph.db"), "neo4j": lambda _: open_migrated()}
"""How each store is opened; banks of other tests may be on a server."""


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.stores)])
async def store(request, tmp_path):
    async with STORES[request.param](tmp_path) as opened:
        asked = Asked(opened)
        yield asked
        for bank in tuple(asked.banks):
            await asked.drop(bank)


async def test_a_read_gives_back_what_its_work_makes_of_several_readings(store):
    await store.put("b1", (node("m1", "Alice"), node("m2", "Alice", "Bob")))

    async def both(reads):
        found = [s.memory_id for s in await reads.mentioning(BANK, ("e-bob",), 5)]
        return found, len(await reads.subjects("b1", tuple(found)))

    assert await store.read(both) == (["m2"], 2)


def entity(name, kind="person", aliases=()):
    return Mention(f"e-{name.lower()}", name, kind, aliases)


def node(memory_id, *names, version=1, alike=(), **fields):
    fields.setdefault("fact_type", FactType.WORLD)
    mentions = fields.pop("mentions", tuple(entity(name) for name in names))
    return Node(IndexEntry(memory_id, version, f"text of {memory_id}", mentions=mentions, **fields), alike)


async def ids(store, bank="b1"):
    return [row.memory_id for row in (await store.scan(bank, PageRequest(size=1000))).rows]


async def who(store, *entity_ids, scope=BANK, limit=50):
    return [s.memory_id for s in await store.mentioning(scope, entity_ids, limit)]


async def links(store, *memory_ids, scope=BANK, limit=20):
    return {(e.source_id, e.target_id, e.kind, round(e.weight, 6)) for e in await store.edges(scope, memory_ids, limit)}


async def test_a_memory_is_found_by_the_entities_it_mentions(store):
    await store.put("b1", (node("m1", "Alice", "Google"), node("m2", "Alice")))
    assert sorted(await who(store, "e-alice")) == ["m1", "m2"]
    assert await who(store, "e-google") == ["m1"]
    assert await who(store, "e-nobody") == []


async def test_entities_are_found_by_name_alias_and_beginning(store):
    await store.put("b1", (node("m1", mentions=(entity("Alice Chen", aliases=("Alice C.", "Chén,  Alice")),)),))
    for key in ("alice chen", "alice c", "chen alice"):
        found = await store.names("b1", (key,), ())
        assert [e.entity_id for e in found.entities] == ["e-alice chen"], key
        assert found.memories == 1
    found = await store.names("b1", ("chen, alice",), ("alice c",))
    assert [e.key for e in found.entities] == ["alice c", "alice chen", "chen, alice"]
    await store.put("b1", (node("m2", mentions=(entity("Alice Springs", kind="place"),)),))
    assert (await store.names("b1", ("springs, alice",), ())).entities == ()
    assert (await store.names("b1", ("alice",), ("bo",))).entities == ()


async def test_names_of_an_entity_add_up_over_its_mentions(store):
    await store.put("b1", (node("m1", mentions=(Mention("e1", "Bob", "person", ("Bobby",)),)),))
    await store.put("b1", (node("m2", mentions=(Mention("e1", "Bob", "person", ("Robert",)),)),))
    found = await store.names("b1", ("bob", "bobby", "robert"), ())
    assert [(e.key, e.memories) for e in found.entities] == [("bob", 2), ("bobby", 2), ("robert", 2)]


async def test_an_entity_is_called_as_its_newest_mention_calls_it(store):
    def called(memory_id, *names, version, of=1):
        return node(memory_id, version=of, mentions=(Mention("e1", names[0], "person", names[1:], version),))

    async def keys():
        found = await store.names("b1", ("bob", "bobby", "robert"), ())
        return {(entity.key, entity.name) for entity in found.entities}

    await store.put("b1", (called("m1", "Bob", "Bobby", version=1), called("m2", "Bob", "Bobby", version=1)))
    # Bobby is another's from now on; of the two memories one is told that later, and one late and out of turn.
    await store.put("b1", (called("m1", "Robert", "Bob", version=2, of=2),))
    assert await keys() == {("bob", "Robert"), ("robert", "Robert")}
    await store.put("b1", (called("m3", "Bob", "Bobby", version=1),))
    assert await keys() == {("bob", "Robert"), ("robert", "Robert")}
    assert {s.memory_id for s in await store.mentioning(BANK, ("e1",), 5)} == {"m1", "m2", "m3"}


async def test_putting_the_same_again_changes_nothing(store):
    one = node("m1", "Alice", alike=(Alike("m2", 0.8),), causes=(CausalLink("m2", 0.5),), tags=("t", "t"))
    await store.put("b1", (one, node("m2")))
    before = (await links(store, "m1", "m2"), await store.subjects("b1", ("m1",)))
    await store.put("b1", (one, one))
    assert (await links(store, "m1", "m2"), await store.subjects("b1", ("m1",))) == before
    assert before[1][0].memories == 1


async def test_a_newer_version_replaces_and_an_older_one_changes_nothing(store):
    await store.put("b1", (node("m1", "Alice", version=2),))
    await store.put("b1", (node("m1", "Bob", version=1),))
    assert await who(store, "e-alice", "e-bob") == ["m1"]
    await store.put("b1", (node("m1", "Bob", version=3, fact_type=FactType.EXPERIENCE),))
    assert await who(store, "e-alice") == []
    assert await who(store, "e-bob", scope=Scope("b1", (FactType.EXPERIENCE,))) == ["m1"]
    assert (await store.scan("b1", PageRequest())).rows[0].version == 3
    assert (await store.names("b1", ("alice",), ())).entities == ()


async def test_a_removal_outlives_late_deliveries_of_what_it_removed(store):
    await store.put("b1", (node("m1", "Alice", version=2), node("m2", "Alice")))
    await store.delete("b1", (Removal("m1", 1),))
    assert await ids(store) == ["m1", "m2"]
    await store.delete("b1", (Removal("m1", 2), Removal("unknown", 4)))
    await store.put("b1", (node("m1", "Alice", version=1), node("m1", "Alice", version=2), node("unknown", version=3)))
    assert await ids(store) == ["m2"]
    assert await who(store, "e-alice") == ["m2"]
    assert (await store.names("b1", ("alice",), ())).memories == 1
    await store.put("b1", (node("m1", "Alice", version=3),))
    assert await ids(store) == ["m1", "m2"]


async def test_semantic_links_hold_from_both_ends_and_the_stronger_counts(store):
    await store.put("b1", (node("m1", alike=(Alike("m2", 0.8),)), node("m2", alike=(Alike("m1", 0.9),))))
    assert await links(store, "m1", "m2") == {
        ("m1", "m2", LinkKind.SEMANTIC, 0.9),
        ("m2", "m1", LinkKind.SEMANTIC, 0.9),
    }


async def test_a_link_waits_for_the_memory_it_names(store):
    await store.put("b1", (node("m1", alike=(Alike("m2", 0.8),), causes=(CausalLink("m3", 0.6),)),))
    assert await links(store, "m1") == set()
    assert await ids(store) == ["m1"]
    await store.put("b1", (node("m2"), node("m3")))
    assert await links(store, "m1") == {("m1", "m2", LinkKind.SEMANTIC, 0.8), ("m1", "m3", LinkKind.CAUSAL, 0.6)}


async def test_causal_links_know_which_end_is_the_cause(store):
    await store.put("b1", (node("effect", causes=(CausalLink("cause", 0.6),)), node("cause")))
    found = await store.edges(BANK, ("effect", "cause"), 20)
    assert [(e.source_id, e.from_cause) for e in found] == [("effect", False), ("cause", True)]


async def test_a_new_version_sheds_links_to_its_old_text_but_keeps_being_a_cause(store):
    await store.put("b1", (node("m1"), node("m2", alike=(Alike("m1", 0.8),), causes=(CausalLink("m1", 0.5),))))
    await store.put("b1", (node("m1", version=2),))
    assert await links(store, "m1") == {("m1", "m2", LinkKind.CAUSAL, 0.5)}
    assert await links(store, "m2") == {("m2", "m1", LinkKind.CAUSAL, 0.5)}


async def test_new_versions_of_one_batch_keep_the_links_between_them(store):
    await store.put("b1", (node("m1"), node("m2")))
    await store.put("b1", (node("m1", version=2, alike=(Alike("m2", 0.8),)), node("m2", version=2)))
    assert await links(store, "m2") == {("m2", "m1", LinkKind.SEMANTIC, 0.8)}


async def test_of_one_memory_that_comes_twice_in_a_batch_the_newer_counts(store):
    await store.put("b1", (node("m1", "Bob", version=2), node("m1", "Alice", version=1)))
    assert await who(store, "e-alice", "e-bob") == ["m1"]
    assert (await store.scan("b1", PageRequest())).rows[0].version == 2
    assert [s.name for s in await store.subjects("b1", ("m1",))] == ["Bob"]


async def test_removed_memories_are_linked_to_nothing(store):
    await store.put("b1", (node("m1", alike=(Alike("m2", 0.8),)), node("m2", causes=(CausalLink("m1", 0.5),))))
    await store.delete("b1", (Removal("m1", 1),))
    assert await links(store, "m1", "m2") == set()
    await store.put("b1", (node("m1", version=2),))
    assert await links(store, "m1") == {("m1", "m2", LinkKind.CAUSAL, 0.5)}


async def test_a_removal_of_what_is_only_named_so_far_takes_what_its_text_was_like(store):
    await store.put("b1", (node("m1", alike=(Alike("m2", 0.8),), causes=(CausalLink("m2", 0.5),)),))
    await store.delete("b1", (Removal("m2", 1),))
    await store.put("b1", (node("m2", version=2),))
    assert await links(store, "m1") == {("m1", "m2", LinkKind.CAUSAL, 0.5)}


async def test_only_the_strongest_links_of_each_kind_are_followed(store):
    near = tuple(Alike(f"n{i}", 0.7 + i / 100) for i in range(10))
    await store.put("b1", (node("m1", alike=near), *(node(f"n{i}") for i in range(10))))
    assert {target for _, target, _, _ in await links(store, "m1", limit=2)} == {"n9", "n8"}


async def test_the_neighbours_in_a_document_are_the_nearest_that_are_there(store):
    await store.put("b1", tuple(node(f"m{i}", document_id="d", position=i) for i in (0, 1, 4, 6)))
    await store.put("b1", (node("other", document_id="d2", position=3), node("alone", position=3)))
    assert await links(store, "m4") == {
        ("m4", "m1", LinkKind.TEMPORAL, 1.0),
        ("m4", "m6", LinkKind.TEMPORAL, 1.0),
    }
    assert await links(store, "alone") == set()
    await store.delete("b1", (Removal("m1", 1),))
    assert ("m4", "m0", LinkKind.TEMPORAL, 1.0) in await links(store, "m4")


async def test_the_most_recent_memories_of_an_entity_come_first_and_bound_the_rest(store):
    order = list(range(30))
    random.Random(7).shuffle(order)
    await store.put("b1", tuple(node(f"m{i:02}", "Alice", mentioned=START + timedelta(days=i)) for i in order))
    await store.put("b1", (node("undated", "Alice"),))
    assert await who(store, "e-alice", limit=3) == ["m29", "m28", "m27"]


async def test_a_rare_fact_type_of_a_hub_is_found(store):
    await store.put("b1", (node("rare", "User", fact_type=FactType.OBSERVATION),))
    await store.put("b1", tuple(node(f"m{i:03}", "User", mentioned=START) for i in range(200)))
    assert "rare" in await who(store, "e-user", limit=5)
    assert len(await who(store, "e-user", limit=5)) == 6


async def test_five_entities_make_ten_pairs_whatever_the_order(store):
    names = ["Ada", "Ben", "Cem", "Dee", "Eva"]
    for place, order in enumerate(itertools.permutations(names)):
        if place % 17 == 0:
            await store.put("b1", (node(f"m{place}", *order),))
            found = await store.subjects("b1", (f"m{place}",))
            pairs = set(itertools.combinations(sorted(s.entity_id for s in found), 2))
            assert pairs == set(itertools.combinations(sorted(f"e-{n.lower()}" for n in names), 2))
            assert len(pairs) == 10


async def test_which_memories_mention_which_entities(store):
    await store.put("b1", (node("m1", "Alice", "Google"), node("m2", "Alice"), node("m3", "Bob")))
    found = await store.ties("b1", ("m1", "m2", "m3", "m9"), ("e-alice", "e-google", "e-none"))
    assert sorted(found) == [("m1", "e-alice"), ("m1", "e-google"), ("m2", "e-alice")]
    assert await store.ties("b1", ("m1",), ()) == ()
    assert await store.ties("b1", (), ("e-alice",)) == ()
    assert await store.ties("b2", ("m1",), ("e-alice",)) == ()


async def test_two_readings_at_once_answer_as_one_after_the_other(store):
    await store.put("b1", (node("m1", "Alice", "Bob", alike=(Alike("m2", 0.8),)), node("m2", "Alice")))

    async def stepwise(reads, scope):
        found = await reads.mentioning(scope, ("e-alice",), 5)
        return await reads.ties("b1", tuple(s.memory_id for s in found), ("e-bob",))

    async def work(reads):
        edges = await reads.together(reads.edges(BANK, ("m1",), 5), reads.subjects("b1", ("m2",)))
        limits = await reads.together(reads.mentioning(BANK, ("e-alice",), 1), reads.mentioning(BANK, ("e-alice",), 5))
        steps = await reads.together(stepwise(reads, BANK), reads.mentioning(BANK, (), 5))
        return edges, tuple(map(len, limits)), steps

    (edges, subjects), counts, steps = await store.read(work)
    assert [edge.target_id for edge in edges] == ["m2"]
    assert [subject.name for subject in subjects] == ["Alice"]
    assert counts == (1, 2)
    assert steps == ((("m1", "e-bob"),), ())


async def test_banks_do_not_see_one_another(store):
    await store.put("b1", (node("m1", "Alice", alike=(Alike("m2", 0.8),), document_id="d"), node("m2")))
    await store.put("b2", (node("m1", "Bob"), node("m2", "Alice", document_id="d", position=1)))
    assert await who(store, "e-alice", "e-bob") == ["m1"]
    assert await links(store, "m2", scope=Scope("b2", ALL_FACT_TYPES)) == set()
    assert [s.name for s in await store.subjects("b2", ("m1",))] == ["Bob"]
    await store.drop("b1")
    await store.drop("never there")
    assert (await ids(store, "b1"), await ids(store, "b2")) == ([], ["m1", "m2"])
    assert (await store.names("b1", ("alice",), ("a",))).entities == ()
    assert (await store.names("b2", ("alice",), ())).memories == 2
    await store.put("b1", (node("m1", "Cem"),))
    assert [s.name for s in await store.subjects("b1", ("m1",))] == ["Cem"]


async def test_an_unknown_bank_reads_as_an_empty_one(store):
    scope = Scope("none", ALL_FACT_TYPES)
    assert await store.names("none", ("a",), ("a",)) == await store.names("none", (), ())
    assert await store.mentioning(scope, ("e",), 5) == ()
    assert await store.edges(scope, ("m",), 5) == ()
    assert await store.subjects("none", ("m",)) == ()
    assert await ids(store, "none") == []


async def test_a_scan_pages_through_every_memory_once(store):
    await store.put("b1", tuple(node(f"m{i}", version=i + 1, alike=(Alike("ghost", 0.8),)) for i in range(7)))
    await store.delete("b1", (Removal("m3", 9),))
    seen, after = [], ""
    while True:
        page = await store.scan("b1", PageRequest(size=2, after=after))
        seen.extend((row.memory_id, row.version) for row in page.rows)
        after = page.next_after
        if not after:
            break
    assert seen == [(f"m{i}", i + 1) for i in range(7) if i != 3]


LEAVES = [
    TagLeaf(frozenset(tags), mode) for tags in ((), ("a",), ("a", "b"), ("a", "b", "c"), ("'; --",)) for mode in TagMode
]
GROUPS = [
    TagAnd(()),
    TagOr(()),
    TagNot(TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)),
    TagAnd((TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT), TagNot(TagLeaf(frozenset({"b"}), TagMode.ALL_STRICT)))),
    TagOr((TagLeaf(frozenset({"c"}), TagMode.EXACT), TagAnd((EVERYTHING, TagLeaf(frozenset({"b"}), TagMode.ALL))))),
]
TAGGED = {
    "none": (),
    "a": ("a",),
    "ab": ("a", "b"),
    "abc": ("a", "b", "c"),
    "bc": ("b", "c"),
    "c": ("c",),
    "odd": ("'; --", "a"),
}


@pytest.mark.parametrize("test", [*LEAVES, *GROUPS], ids=name_of)
async def test_every_way_in_keeps_to_the_tag_test(store, test):
    near = tuple(Alike(name, 0.8) for name in TAGGED)
    await store.put("b1", tuple(node(name, "Hub", tags=tags) for name, tags in TAGGED.items()))
    await store.put("b1", (node("start", alike=near, document_id="d", position=1),))
    await store.put("b1", (node("beside", document_id="d", position=2, tags=("a",)),))
    scope = Scope("b1", ALL_FACT_TYPES, test)
    allowed = {name for name, tags in TAGGED.items() if passes(test, tags)}
    assert set(await who(store, "e-hub", scope=scope)) == allowed
    beside = {"beside"} if passes(test, ("a",)) else set()
    assert {target for _, target, _, _ in await links(store, "start", scope=scope)} == allowed | beside


async def test_fifteen_tagged_memories_of_a_hub_all_come(store):
    tagged = {f"t{i:02}" for i in range(15)}
    await store.put("b1", tuple(node(name, "User", tags=("rare",), mentioned=START) for name in sorted(tagged)))
    later = START + timedelta(days=1)
    await store.put("b1", tuple(node(f"m{i}", "User", tags=("other",), mentioned=later) for i in range(500)))
    scope = Scope("b1", ALL_FACT_TYPES, TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT))
    assert set(await who(store, "e-user", scope=scope, limit=50)) == tagged


async def test_links_lead_only_to_the_fact_types_asked_for(store):
    await store.put("b1", (node("m1", alike=(Alike("m2", 0.8), Alike("m3", 0.8))), node("m2")))
    await store.put("b1", (node("m3", fact_type=FactType.OBSERVATION),))
    found = await links(store, "m1", scope=Scope("b1", (FactType.OBSERVATION,)))
    assert {target for _, target, _, _ in found} == {"m3"}


async def test_writers_at_once_lose_nothing_and_make_no_second_entity(store):
    names = ["Ada", "Ben", "Cem", "Dee", "Eva", "Fay"]

    async def write(i):
        shuffled = random.Random(i).sample(names, 6)
        await store.put("b1", (node(f"m{i:02}", *shuffled), node(f"m{i:02}x", "Ada", version=1)))
        return await store.mentioning(BANK, ("e-ada",), 100)

    seen = await asyncio.gather(*(write(i) for i in range(32)))
    for i, sightings in enumerate(seen):
        assert f"m{i:02}" in {s.memory_id for s in sightings}
    found = await store.names("b1", tuple(n.lower() for n in names), ())
    assert [(e.entity_id, e.memories) for e in found.entities] == [
        (f"e-{n.lower()}", 64 if n == "Ada" else 32) for n in names
    ]
    assert found.memories == 64


async def test_odd_text_is_kept_as_it_is(store):
    odd = "a'); DROP TABLE memory; -- \t\n \U0001f469"
    await store.put("b1", (node(odd, mentions=(Mention(odd, odd),), tags=(odd,), document_id=odd),))
    assert await who(store, odd) == [odd]
    assert await ids(store) == [odd]


async def test_only_links_of_the_kinds_asked_for_are_followed(store):
    beside = {"document_id": "d1"}
    await store.put(
        "b1",
        (
            node("m1", alike=(Alike("m2", 0.8),), causes=(CausalLink("m3", 0.6),), position=0, **beside),
            node("m2", position=1, **beside),
            node("m3"),
        ),
    )
    for kind, target in ((LinkKind.SEMANTIC, "m2"), (LinkKind.CAUSAL, "m3"), (LinkKind.TEMPORAL, "m2")):
        found = await store.edges(BANK, ("m1",), 20, (kind,))
        assert [(edge.kind, edge.target_id) for edge in found] == [(kind, target)]
