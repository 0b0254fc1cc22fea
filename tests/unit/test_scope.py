"""Which scopes a fact is in, by its tags and by what its bank or its item names."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.bank import BankConfig, ConsolidationTuning, ObservationScope
from recallmesh.core.limits import SCOPES
from recallmesh.core.scope import Meeting, Scope, scope_of, scopes_of
from recallmesh.core.tags import passes
from recallmesh.core.tunable import consolidation_violations
from recallmesh.ledger.config import config_from_plain, config_to_plain

TAGS = st.lists(st.sampled_from("abcdefg"), max_size=7)


def keys(tags, scope, own=(), custom=()):
    return [one.key for one in scopes_of(tags, ConsolidationTuning(scope=scope, custom_scopes=custom), own)]


@pytest.mark.parametrize(
    ("scope", "tagged", "untagged"),
    [
        (ObservationScope.COMBINED, ['exactly ["a", "b"]'], ["exactly []"]),
        (ObservationScope.SHARED, ["all []"], ["all []"]),
        (ObservationScope.PER_TAG, ['with ["a"]', 'with ["b"]'], ["exactly []"]),
        (ObservationScope.ALL_COMBINATIONS, ['with ["a"]', 'with ["b"]', 'with ["a", "b"]'], ["exactly []"]),
        (ObservationScope.CUSTOM, ['with ["b"]'], ["exactly []"]),
    ],
)
def test_each_scope_of_a_bank(scope, tagged, untagged):
    custom = (("b",), ("c", "a"), (), ("b", "b"))
    assert keys(("b", "a", "b"), scope, custom=custom) == tagged
    assert keys((), scope, custom=custom) == untagged


def test_what_an_item_names_takes_the_place_of_the_banks():
    assert keys(("a", "b"), ObservationScope.SHARED, own=(("b", "a"), ("c",))) == ['with ["a", "b"]']
    assert keys(("a",), ObservationScope.SHARED, own=((),)) == []
    assert keys((), ObservationScope.SHARED, own=((),)) == ["exactly []"]


@given(TAGS, st.sampled_from(ObservationScope), st.lists(TAGS.map(tuple), max_size=3).map(tuple))
def test_a_fact_passes_the_test_of_each_of_its_scopes_and_they_are_bounded(tags, scope, own):
    found = scopes_of(tags, ConsolidationTuning(scope=scope, custom_scopes=own), ())
    assert len(found) == len(set(found)) <= SCOPES
    assert all(passes(one.test, tags) for one in found)
    assert [scope_of(one.key) for one in found] == list(found)


def test_smaller_sets_come_first_where_there_are_too_many():
    found = scopes_of("abcdefgh", ConsolidationTuning(scope=ObservationScope.ALL_COMBINATIONS))
    sizes = [len(one.tags) for one in found]
    assert sizes == [1] * 8 + [2] * 24
    assert {one.tags for one in found[:8]} == set(combinations("abcdefgh", 1))


def test_a_key_of_no_scope_is_none():
    assert scope_of("of 123") is None
    assert scope_of(Scope(Meeting.WITH, ("ä b", '"')).key) == Scope(Meeting.WITH, ("ä b", '"'))


def test_a_bank_keeps_its_scopes_and_is_told_what_is_wrong_with_them():
    tuning = ConsolidationTuning(enabled=False, scope=ObservationScope.CUSTOM, custom_scopes=(("a", "b"), ()))
    assert config_from_plain(config_to_plain(BankConfig(consolidation=tuning))).consolidation == tuning
    bad = ConsolidationTuning(custom_scopes=(("",), *[("a",)] * SCOPES))
    assert [one.field for one in consolidation_violations(bad, "config.consolidation")] == [
        "config.consolidation.custom_scopes[0][0]",
        "config.consolidation.custom_scopes",
    ]
