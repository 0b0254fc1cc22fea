"""The statements for Neo4j and the values they are given, without a server."""

from recallmesh.core.arm import IndexEntry
from recallmesh.core.memory import ALL_FACT_TYPES, FactType, Mention
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot, TagOr
from recallmesh.graph import neo4j_schema
from recallmesh.graph.neo4j_reads import edges_statement
from recallmesh.graph.neo4j_tags import condition
from recallmesh.graph.neo4j_writes import KEY_BYTES, entity_rows
from recallmesh.graph.store import LinkKind, Scope


def entry(memory_id, *mentions):
    return IndexEntry(memory_id, 1, "", FactType.WORLD, mentions=mentions)


def test_tags_travel_as_values_and_never_as_text():
    odd = "a' OR true //"
    text, values = condition(TagAnd((TagLeaf(frozenset({odd}), TagMode.ANY), TagNot(TagLeaf(frozenset({"b"}))))))
    assert odd not in text
    assert values == {"tags0": [odd], "tags1": ["b"]}


def test_tests_of_one_shape_have_one_text():
    def text(*tags):
        return condition(TagOr((TagLeaf(frozenset(tags), TagMode.EXACT), EVERYTHING)))[0]

    assert text("a") == text("b", "c")


def test_only_links_of_the_kinds_asked_for_are_in_the_statement():
    text, _ = edges_statement(Scope("b1", ALL_FACT_TYPES), (LinkKind.CAUSAL,))
    assert "CAUSES" in text
    assert "SEMANTIC" not in text
    assert "position" not in text


def test_entities_of_a_batch_are_in_order_each_once_with_the_names_of_its_newest_mentions():
    rows = entity_rows(
        [
            entry("m1", Mention("e2", "Bob", "person", ("Bobby",)), Mention("e1", "Rome", "place")),
            entry("m2", Mention("e2", "Robert", "person", ("Bob",), 2), Mention("e2", "Bobby", "person", (), 1)),
            entry("m3", Mention("e2", "Rob", "person", (), 2)),
        ]
    )
    assert [(row["id"], row["name"], row["version"], row["keys"]) for row in rows] == [
        ("e1", "Rome", 1, ["rome"]),
        ("e2", "Rob", 2, ["bob", "rob", "robert"]),
    ]


def test_a_key_that_no_index_has_room_for_is_left_out():
    (row,) = entity_rows([entry("m1", Mention("e1", "x" * (KEY_BYTES + 1), "concept", ("short",)))])
    assert row["keys"] == ["short"]


def test_every_version_of_the_schema_can_be_made_again():
    assert sorted(neo4j_schema.MIGRATIONS) == list(range(1, neo4j_schema.VERSION + 1))
    statements = [statement for version in neo4j_schema.MIGRATIONS.values() for statement in version]
    assert all("IF NOT EXISTS" in statement for statement in statements)
