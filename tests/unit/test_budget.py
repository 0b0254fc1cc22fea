import pytest

from recallmesh.core.tuning import Budget, BudgetMode, RecallTuning
from recallmesh.recall.plan import RecallDefaults, budget_hits, resolve
from recallmesh.recall.settings import RecallSettings

OURS = RecallDefaults()
NOTHING = RecallTuning()


def in_mode(mode, **more):
    return resolve(RecallTuning(budget_mode=mode, **more), NOTHING, OURS)


@pytest.mark.parametrize(("budget", "hits"), [(Budget.LOW, 100), (Budget.MID, 300), (Budget.HIGH, 1000)])
def test_a_fixed_budget_does_not_depend_on_tokens(budget, hits):
    fixed = in_mode(BudgetMode.FIXED)
    assert budget_hits(budget, 4096, fixed) == budget_hits(budget, 0, fixed) == hits


@pytest.mark.parametrize(
    ("budget", "tokens", "hits"),
    [
        (Budget.LOW, 4096, 102),
        (Budget.MID, 4096, 307),
        (Budget.HIGH, 4096, 1024),
        (Budget.LOW, 0, 20),
        (Budget.HIGH, 1_000_000, 2000),
    ],
)
def test_an_adaptive_budget_is_a_clamped_share_of_the_tokens(budget, tokens, hits):
    assert budget_hits(budget, tokens, in_mode(BudgetMode.ADAPTIVE)) == hits


def test_a_budget_can_be_of_another_size():
    assert budget_hits(Budget.LOW, 4096, in_mode(BudgetMode.FIXED, budget_hits={Budget.LOW: 7})) == 7
    shares = {Budget.LOW: 0.5}
    assert budget_hits(Budget.LOW, 1000, in_mode(BudgetMode.ADAPTIVE, budget_shares=shares)) == 500
    assert budget_hits(Budget.LOW, 1000, in_mode(BudgetMode.ADAPTIVE, budget_shares=shares, budget_max=300)) == 300
    assert budget_hits(Budget.LOW, 10, in_mode(BudgetMode.ADAPTIVE, budget_min=1)) == 1


def test_where_the_bounds_of_two_levels_cross_the_lower_one_counts():
    both = in_mode(BudgetMode.ADAPTIVE, budget_min=50)
    bank = RecallTuning(budget_max=40)
    crossed = resolve(RecallTuning(budget_mode=BudgetMode.ADAPTIVE, budget_min=50), bank, OURS)
    assert budget_hits(Budget.LOW, 0, both) == budget_hits(Budget.LOW, 4096, crossed) == 50


def test_settings_without_anything_set_are_the_defaults():
    assert RecallSettings().defaults() == OURS


def test_a_part_of_a_table_can_be_set():
    settings = RecallSettings.model_validate({"budget_hits": {"low": 50}, "min_scores": {"final": 0.1}})
    assert settings.defaults().budget_hits == {Budget.LOW: 50, Budget.MID: 300, Budget.HIGH: 1000}
    assert settings.defaults().min_scores.final == 0.1
