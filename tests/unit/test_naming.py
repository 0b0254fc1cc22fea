"""Which memories mention what the query names."""

import pytest
from unit.recall_fakes import memory, name

from recallmesh.core.memory import Mention
from recallmesh.recall.naming import unnamed


def about(number, *mentions):
    return memory(number, mentions=tuple(mentions))


def person(name, *aliases):
    return Mention(f"e-{name}", name, "person", aliases)


MIRA, NOOR = person("Mira"), person("Noor")


def left_out(query, *memories):
    return sorted(int(one.id[-4:], 16) for one in memories if one.id in unnamed(query, memories))


def test_a_memory_that_mentions_none_of_the_named_is_left_out():
    memories = (about(1, MIRA), about(2, NOOR), about(3, MIRA, NOOR), about(4))
    assert left_out("What did Mira paint?", *memories) == [2, 4]
    assert left_out("What did Mira and Noor paint?", *memories) == [4]


def test_where_the_query_names_nothing_known_none_is_left_out():
    memories = (about(1, MIRA), about(2, NOOR), about(3))
    assert unnamed("What did Samira paint?", memories) == frozenset()
    assert unnamed("who paints?", memories) == frozenset()
    assert unnamed("What did Mira paint?", ()) == frozenset()


@pytest.mark.parametrize(
    "query", ["Where is Mira's car?", "where is mira", "MIRA?", "Míra’s car", "¿Dónde está Mira?", "ask (Mira), please"]
)
def test_case_accents_possessives_and_punctuation_do_not_hide_a_name(query):
    assert left_out(query, about(1, MIRA), about(2, NOOR)) == [2]


def test_aliases_and_the_given_or_last_name_of_a_person_stand_for_the_person():
    alice = person("Alice van Chen", "Lissy")
    for query in ("What of Alice?", "What of Chen?", "what of lissy", "Alice van Chen, where is she?"):
        assert left_out(query, about(1, alice), about(2, NOOR)) == [2]
    assert left_out("a van came", about(1, alice), about(2, NOOR)) == []


def test_one_word_of_a_thing_does_not_stand_for_the_thing():
    board = Mention("e-board", "Harbour Board", "organisation")
    assert left_out("Who sits on the board?", about(1, board), about(2)) == []
    assert left_out("Who sits on the Harbour Board?", about(1, board), about(2)) == [2]


def test_a_label_is_no_name():
    label = Mention("e-mood", "calm", "label")
    assert left_out("When was it calm?", about(1, label), about(2)) == []


def test_an_auxiliary_is_a_name_only_when_written_as_one():
    will = person("Will")
    assert left_out("Will it rain?", about(1, will), about(2)) == []
    assert left_out("what will it be", about(1, will), about(2)) == []
    assert left_out("What did Will say?", about(1, will), about(2)) == [2]


def test_names_without_spaces_around_them_are_found():
    tanaka = person("田中")
    assert left_out("田中さんは何を描きましたか", about(1, tanaka), about(2, NOOR)) == [2]


def test_a_name_of_no_letters_names_nothing():
    assert left_out("Why?", about(1, person("?!")), about(2)) == []


def test_ids_are_those_of_the_memories():
    assert unnamed("Mira?", (about(1, MIRA), about(2, NOOR))) == {name(2)}
