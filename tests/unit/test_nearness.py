"""What a memory's context adds to its own nearness."""

from math import exp

import pytest

from recallmesh.core.arm import ArmName, Hit
from recallmesh.recall.nearness import Nearness, nearness

OWN = {"a": 0.6, "b": 0.8, "c": 0.7, "d": 0.7}
CONTEXT = {"a": 0.7, "b": 0.7, "c": 0.7, "e": 0.9}


def test_the_prior_is_the_surplus_over_half_its_own_cosine_in_spreads():
    priors = Nearness(OWN, CONTEXT, 0.2).priors("abc", 4.0)
    # Surpluses 0.4, 0.3, 0.35: the median is c's.
    assert priors == pytest.approx({"a": exp(4 * 0.05 / 0.2), "b": exp(-4 * 0.05 / 0.2), "c": 1.0})


def test_what_has_not_both_cosines_is_left_alone_and_does_not_move_the_middle():
    known = Nearness(OWN, CONTEXT, 0.2)
    assert known.priors("abcdef", 4.0) == known.priors("abc", 4.0)


def test_only_those_read_make_the_middle():
    assert Nearness(OWN, CONTEXT, 0.2).priors("a", 4.0) == {"a": 1.0}


@pytest.mark.parametrize(("spread", "weight"), [(0.2, 0.0), (0.0, 4.0)])
def test_without_weight_or_spread_there_are_no_priors(spread, weight):
    assert Nearness(OWN, CONTEXT, spread).priors("abc", weight) == {}


def test_without_context_cosines_there_are_no_priors():
    assert Nearness(OWN, {}, 0.2).priors("abc", 4.0) == {}


def test_the_text_is_the_semantic_arms_and_the_context_anyones():
    found = nearness(
        {
            ArmName.SEMANTIC: (Hit("a", 0.6),),
            ArmName.KEYWORD: (Hit("a", 9.0), Hit("b", 8.0)),
            ArmName.GRAPH: (Hit("a", 3.7, "near", 0.65), Hit("b", 0.5, "like a")),
        },
        0.2,
    )
    assert found == Nearness({"a": 0.6}, {"a": 0.65}, 0.2)
