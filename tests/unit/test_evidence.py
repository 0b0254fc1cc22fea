"""The yardsticks of the extraction bench, and the floor under names."""

import pytest

from bench.evidence import Found, Kept, average, find, turns_of
from bench.labelled import Tally, load_labelled, tally_names
from recallmesh.retain.extraction import FoundName
from recallmesh.retain.local import LocalExtractor
from recallmesh.when import GrammarTimeReader


def kept(**memories):
    return {name: Kept(text, tokens, frozenset(turns.split())) for name, (text, tokens, turns) in memories.items()}


def test_a_turn_is_found_by_any_of_its_facts_and_a_fact_costs_its_own_tokens():
    made = kept(a=("a long one", 1000, "t1"), b=("Ida left", 24, "t2"), c=("Ida came", 2000, "t2"))
    found = find(["a", "c", "b"], made, frozenset({"t1", "t2"}), "Ida left")
    assert found == (Found(1.0, 1.0), Found(1.0, 1.0), Found(1.0, 1.0))
    found = find(["c", "a"], made, frozenset({"t1", "t2"}), "Ida left")
    assert [one.evidence for one in found] == [0.5, 0.5, 1.0]
    assert [one.answer for one in found] == [0.0, 0.5, 0.5]


def test_a_fact_carries_the_turn_before_if_it_holds_most_of_its_words():
    before = ("t1", "Leo: What does a new oven cost?")
    assert turns_of("Leo: What does a new oven cost?\nNadia: 300.", "t2", before) == {"t1", "t2"}
    assert turns_of("Nadia: The new oven costs 300.", "t2", before) == {"t2"}
    assert turns_of("Nadia: 300.", "t2", None) == {"t2"}


def test_the_average_is_taken_by_pack():
    mean = average([(Found(1.0, 0.0),) * 3, (Found(0.0, 0.0),) * 3])
    assert mean["2048"] == {"evidence": 0.5, "answer": 0.0}


def test_marked_sentences_are_many_and_varied():
    sentences = load_labelled()
    registers = {one.register.partition(",")[0] for one in sentences}
    assert len(sentences) >= 150
    assert registers == {"chat", "notes", "mail", "news", "other languages"}
    assert sum(not one.names for one in sentences) >= 50
    assert all("{" not in one.text and "}" not in one.text for one in sentences)


def test_what_may_be_a_name_or_not_counts_for_nothing():
    (labelled,) = (one for one in load_labelled() if "NDA" in one.text)
    tally = Tally()
    tally.add(labelled, [FoundName("NDA"), FoundName("Palantir", "organisation")])
    assert (tally.right, tally.wrong, tally.missed, tally.kinds) == (1, 0, 0, 1)


@pytest.mark.parametrize("part", ["read", "held"])
async def test_the_names_found_in_marked_sentences_are_right_and_most(part):
    tallies = await tally_names(load_labelled(), LocalExtractor(GrammarTimeReader()))
    figures = tallies[part].figures()
    assert figures["precision"] >= 0.97
    assert figures["recall"] >= 0.90
