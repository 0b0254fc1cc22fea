import pytest

from recallmesh.core.tuning import Budget, BudgetMode
from recallmesh.recall.plan import RecallDefaults, budget_hits
from recallmesh.recall.settings import RecallSettings

OURS = RecallDefaults()


@pytest.mark.parametrize(("budget", "hits"), [(Budget.LOW, 100), (Budget.MID, 300), (Budget.HIGH, 1000)])
def test_a_fixed_budget_does_not_depend_on_tokens(budget, hits):
    assert budget_hits(budget, 4096, BudgetMode.FIXED, OURS) == budget_hits(budget, 0, BudgetMode.FIXED, OURS) == hits


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
    assert budget_hits(budget, tokens, BudgetMode.ADAPTIVE, OURS) == hits


def test_settings_without_anything_set_are_the_defaults():
    assert RecallSettings().defaults() == OURS


def test_a_part_of_a_table_can_be_set():
    settings = RecallSettings.model_validate({"budget_hits": {"low": 50}, "min_scores": {"final": 0.1}})
    assert settings.defaults().budget_hits == {Budget.LOW: 50, Budget.MID: 300, Budget.HIGH: 1000}
    assert settings.defaults().min_scores.final == 0.1
