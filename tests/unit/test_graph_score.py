"""The numbers of the graph arm."""

import pytest

from recallmesh.graph.score import (
    entity_score,
    graph_score,
    is_hub,
    link_threshold,
    rarity,
    semantic_weight,
)


@pytest.mark.parametrize(("shared", "score"), [(0, 0.0), (1, 0.46211716), (2, 0.76159416), (3, 0.90514825)])
def test_shared_entities_saturate_as_the_reference_says(shared, score):
    assert entity_score(shared) == pytest.approx(score, abs=1e-6)


def test_the_three_ties_add_up_and_end_at_three():
    assert graph_score(1, 0.8, 0.5) == pytest.approx(1.76211716, abs=1e-6)
    assert graph_score(10_000, 1.0, 1.0) == 3.0
    assert graph_score(0) == 0.0


def test_a_link_begins_above_what_unrelated_texts_reach():
    assert link_threshold(0.81) == pytest.approx(0.873333, abs=1e-6)
    assert 0.6 < link_threshold(0.6) < 1


@pytest.mark.parametrize(("cosine", "weight"), [(0.8, 0.7), (0.9, 0.85), (1.0, 1.0), (1.0001, 1.0), (0.79, 0.7)])
def test_likeness_is_mapped_linearly_from_the_threshold(cosine, weight):
    assert semantic_weight(cosine, 0.8) == pytest.approx(weight, abs=1e-9)


def test_a_threshold_of_one_leaves_only_equal_texts():
    assert semantic_weight(1.0, 1.0) == 1.0


def test_an_entity_on_every_memory_says_nothing_and_one_on_one_says_all():
    assert rarity(1000, 1000) == 0.0
    assert rarity(1, 1000) == 1.0
    assert rarity(1, 1) == 1.0
    assert rarity(10, 1000) == pytest.approx(2 / 3)
    assert rarity(1001, 1000) == 0.0


def test_a_hub_is_on_a_share_of_the_bank_and_on_more_than_are_followed():
    assert is_hub(101, 1000, share=0.1, recent=50)
    assert not is_hub(100, 1000, share=0.1, recent=50)
    assert not is_hub(20, 20, share=0.1, recent=50)
