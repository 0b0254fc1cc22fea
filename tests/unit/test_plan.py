"""What a recall works with: the request over the bank over the service, each value by itself."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.tuning_values import refused, sayings, tuning_of

from recallmesh.bank.config import check_config
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, ConsolidationTuning, RetainTuning
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.tunable import (
    CONSOLIDATION_TUNABLES,
    RETAIN_TUNABLES,
    TUNABLES,
    Kind,
    tuning_violations,
    value_at,
    with_value,
)
from recallmesh.core.tuning import BoostLevel, Budget, MinScores, RecallTuning, TuningOrigin
from recallmesh.recall.effective import effective
from recallmesh.recall.plan import RecallDefaults, resolve
from recallmesh.recall.settings import RecallSettings

NOTHING = RecallTuning()
OURS = RecallDefaults()
BOUNDED = [(one, value) for one in TUNABLES for value in refused(one)]
NAMES = [f"{one.path} {value}" for one, value in BOUNDED]


def test_whatever_may_be_set_is_in_the_table():
    for noun, tunables in (
        (RecallTuning, TUNABLES),
        (RetainTuning, RETAIN_TUNABLES),
        (ConsolidationTuning, CONSOLIDATION_TUNABLES),
    ):
        paths = [one.path for one in tunables]
        assert len(paths) == len(set(paths))
        assert {path.partition(".")[0] for path in paths} == {one.name for one in fields(noun)}
    entries = {one.path.partition(".")[2] for one in TUNABLES if one.path.startswith("min_scores.")}
    assert entries == {one.name for one in fields(MinScores)}


def test_what_can_be_set_of_recall_is_a_setting_of_the_service_too():
    assert {one.name for one in fields(RecallTuning)} <= {one.name for one in fields(RecallDefaults)}
    assert {one.name for one in fields(RecallTuning)} <= set(RecallSettings.model_fields)


@given(sayings(), sayings(), sayings())
def test_the_request_wins_over_the_bank_and_the_bank_over_the_service(request, bank, service):
    defaults = replace(
        OURS,
        **{one.name: getattr(resolve(tuning_of(service), NOTHING, OURS), one.name) for one in fields(RecallTuning)},
    )
    shown = effective(tuning_of(request), tuning_of(bank), defaults)
    assert resolve(tuning_of(request), tuning_of(bank), defaults).as_tuning() == shown.tuning
    for one in TUNABLES:
        value, origin = value_at(shown.tuning, one.path), shown.origins[one.path]
        if one.path in request:
            assert (value, origin) == (request[one.path], TuningOrigin.REQUEST)
        elif one.path in bank:
            assert (value, origin) == (bank[one.path], TuningOrigin.BANK)
        else:
            assert (value, origin) == (value_at(defaults, one.path), TuningOrigin.SERVICE)


@given(sayings())
def test_a_tuning_in_force_leaves_nothing_open_but_floors(bank):
    shown = effective(NOTHING, tuning_of(bank), OURS)
    assert shown.origins.keys() == {one.path for one in TUNABLES}
    open_still = {one.path for one in TUNABLES if value_at(shown.tuning, one.path) is None}
    assert open_still <= {one.path for one in TUNABLES if one.path.startswith("min_scores.")}


NONE = {
    "arms": frozenset(),
    "boosts": {},
    "cap_per_arm": 0,
    "rerank_limit": 0,
    "graph_strategy": "",
    "reranking": False,
    "prefer_observations": False,
    "recency_alpha": 0.0,
    "fusion_weight": 0.0,
    "min_scores.semantic": -1.0,
    "min_scores.final": 0.0,
}
SOME = {
    "arms": frozenset({ArmName.KEYWORD}),
    "boosts": {ArmName.GRAPH: BoostLevel.HIGH},
    "cap_per_arm": 9,
    "rerank_limit": 9,
    "graph_strategy": "bfs",
    "reranking": True,
    "prefer_observations": True,
    "recency_alpha": 0.9,
    "fusion_weight": 2.0,
    "min_scores.semantic": 0.5,
    "min_scores.final": 0.5,
}


@pytest.mark.parametrize("path", NONE)
def test_to_say_none_is_not_to_say_nothing(path):
    bank = with_value(NOTHING, path, SOME[path])
    asked = with_value(NOTHING, path, NONE[path])
    assert value_at(resolve(NOTHING, bank, OURS).as_tuning(), path) == SOME[path]
    assert value_at(resolve(asked, bank, OURS).as_tuning(), path) == NONE[path]
    assert effective(asked, bank, OURS).origins[path] is TuningOrigin.REQUEST


def test_of_a_table_each_entry_is_said_by_itself_and_boosts_are_said_whole():
    bank = RecallTuning(
        budget_hits={Budget.LOW: 5, Budget.HIGH: 50}, boosts={ArmName.GRAPH: BoostLevel.LOW}, boost_divisors={}
    )
    asked = RecallTuning(budget_hits={Budget.HIGH: 60}, boosts={ArmName.KEYWORD: BoostLevel.HIGH})
    resolved = resolve(asked, bank, OURS)
    assert resolved.budget_hits == {Budget.LOW: 5, Budget.MID: 300, Budget.HIGH: 60}
    assert resolved.boosts == {ArmName.KEYWORD: BoostLevel.HIGH}
    assert resolved.boost_divisors == OURS.boost_divisors


@given(sayings(), st.data())
def test_what_is_unsaid_again_was_never_said(said, data):
    one = data.draw(st.sampled_from(TUNABLES))
    without = {path: value for path, value in said.items() if path != one.path}
    assert with_value(tuning_of(said), one.path, None) == tuning_of(without)


@given(sayings())
def test_what_is_in_its_range_is_not_refused(said):
    assert tuning_violations(tuning_of(said), "tuning") == []
    check_config(BankConfig(tuning_of(said)))


@pytest.mark.parametrize(("one", "value"), BOUNDED, ids=NAMES)
def test_a_value_out_of_its_range_is_refused_by_its_whole_name(one, value):
    bad = with_value(NOTHING, one.path, value)
    with pytest.raises(InvalidArgument) as of_bank:
        check_config(BankConfig(bad))
    with pytest.raises(InvalidArgument) as of_request:
        effective(bad, NOTHING, OURS)
    [told], [asked] = of_bank.value.violations, of_request.value.violations
    assert (told.field, asked.field) == (f"config.recall.{one.path}", f"tuning.{one.path}")
    assert one.range in told.description


@pytest.mark.parametrize(("one", "value"), BOUNDED, ids=NAMES)
def test_a_service_cannot_be_set_to_what_a_bank_could_not(one, value):
    name, _, entry = one.path.partition(".")
    with pytest.raises(ValueError, match=r"validation error"):
        RecallSettings.model_validate({name: {entry: value} if entry else value})


def test_the_fewest_hits_of_a_budget_are_not_above_the_most():
    [told] = tuning_violations(RecallTuning(budget_min=30, budget_max=20), "tuning")
    assert told.field == "tuning.budget_min"


def test_all_that_is_wrong_is_said_at_once():
    bad = BankConfig(RecallTuning(rrf_k=0, budget_hits={Budget.LOW: 0}), RetainTuning(chunk_tokens=1))
    with pytest.raises(InvalidArgument) as caught:
        check_config(bad)
    fields_ = [violation.field for violation in caught.value.violations]
    assert fields_ == ["config.recall.rrf_k", "config.recall.budget_hits.low", "config.retain.chunk_tokens"]


def test_every_number_has_a_range_and_every_choice_its_words():
    for one in (*TUNABLES, *RETAIN_TUNABLES, *CONSOLIDATION_TUNABLES):
        assert (one.least is not None) is (one.kind in {Kind.NUMBER, Kind.WHOLE})
        assert bool(one.words) is (one.kind in {Kind.SWITCH, Kind.CHOICE, Kind.ARMS, Kind.BOOSTS})
        assert one.about
        assert one.row
