"""What was read around a candidate in its document."""

import pytest
from unit.recall_fakes import memory

from recallmesh.recall.surroundings import REACH, Surroundings


def facts(*positions, document="d1"):
    return [memory(number, document_id=document, position=at) for number, at in enumerate(positions)]


def test_a_voice_counts_for_those_around_it_less_with_every_position_and_not_for_itself():
    around = Surroundings(facts(4, 5, 7, 2))
    around.add(0, 6.0)
    assert [around.factor(place, 1.0) for place in range(4)] == [1.0, 7.0, 3.0, 4.0]
    around.add(2, 1.0)
    assert around.factor(1, 1.0) == 7.5
    assert around.factor(0, 0.5) == pytest.approx((4 / 3) ** 0.5)


def test_nothing_beyond_its_reach_or_in_another_document_counts():
    around = Surroundings([*facts(0, REACH, REACH + 1), *facts(1, document="d2")])
    around.add(0, 5.0)
    assert [around.factor(place, 1.0) for place in range(4)] == [1.0, 1.0 + 5.0 / REACH, 1.0, 1.0]


def test_what_has_no_document_has_no_surroundings():
    around = Surroundings(facts(0, 1, document=""))
    around.add(0, 5.0)
    assert around.factor(1, 1.0) == 1.0


def test_two_at_one_position_both_hear_and_are_no_neighbours():
    around = Surroundings(facts(0, 1, 1))
    around.add(0, 2.0)
    around.add(1, 4.0)
    assert [around.factor(place, 1.0) for place in range(3)] == [5.0, 3.0, 3.0]


def test_a_weight_of_nothing_is_no_factor():
    around = Surroundings(facts(0, 1))
    around.add(0, 5.0)
    assert around.factor(1, 0.0) == 1.0
