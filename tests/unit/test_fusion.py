from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.arm import ArmName, Hit
from recallmesh.core.interleaving import interleave, ranks_of
from recallmesh.recall.fusion import fuse

S, K, G, T = ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH, ArmName.TEMPORAL
LISTS = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True), min_size=4, max_size=4)


def ranked(*lists):
    return {
        arm: {memory: rank for rank, memory in enumerate(each, 1)}
        for arm, each in zip((S, K, G, T), lists, strict=False)
    }


def test_first_and_fifth_give_the_reference_score():
    fused = fuse({S: {"a": 1}, K: {"a": 5}})
    assert fused.scores["a"] == 1 / 61 + 1 / 65
    # SPEC R9 writes 0.0317775; the sum is 0.03177806, so the reference holds to six places.
    assert abs(fused.scores["a"] - 0.0317775) < 1e-6


def test_first_alone_gives_the_reference_score():
    assert round(fuse({S: {"a": 1}}).scores["a"], 7) == 0.0163934


def test_a_memory_of_two_lists_passes_the_first_of_one():
    fused = fuse(ranked(["a", "b"], ["b"]), k=60)
    assert fused.order == ["b", "a"]
    assert fused.scores == {"b": 1 / 62 + 1 / 61, "a": 1 / 61}


def test_equal_sums_are_ordered_by_the_best_single_rank():
    # 1/(0 + 2) + 1/(0 + 2) = 1/(0 + 1)
    fused = fuse({S: {"a": 2, "z": 1}, K: {"a": 2}}, k=0)
    assert fused.scores["a"] == fused.scores["z"]
    assert fused.order == ["z", "a"]


def test_equal_ranks_are_ordered_by_memory_id():
    assert fuse({S: {"b": 1}, K: {"a": 1}}).order == ["a", "b"]


def test_the_same_ranks_in_other_arms_are_a_tie():
    # 1/64 + 1/72 + 1/61 differs in its last bit with the order of adding.
    fused = fuse({S: {"b": 4, "a": 12, "c": 1}, K: {"b": 12, "a": 1, "c": 4}, G: {"b": 1, "a": 4, "c": 12}})
    assert len(set(fused.scores.values())) == 1
    assert fused.order == ["a", "b", "c"]


def test_a_repeated_hit_counts_at_its_first_place_and_ranks_have_no_gap():
    assert ranks_of([Hit("a", 3.0), Hit("a", 2.0), Hit("b", 1.0)]) == {"a": 1, "b": 2}


def test_a_cap_keeps_the_first_hits():
    assert ranks_of([Hit("a", 3.0), Hit("b", 2.0), Hit("c", 1.0)], cap=2) == {"a": 1, "b": 2}


@given(LISTS)
def test_the_order_is_that_of_scores_and_holds_everything_once(lists):
    fused = fuse(ranked(*lists))
    scores = [fused.scores[memory] for memory in fused.order]
    assert scores == sorted(scores, reverse=True)
    assert sorted(fused.order) == sorted({memory for each in lists for memory in each})


@given(LISTS, st.permutations([S, K, G, T]))
def test_which_arm_said_what_does_not_matter(lists, arms):
    given_so = ranked(*lists)
    otherwise = dict(zip(arms, given_so.values(), strict=False))
    assert fuse(given_so) == fuse(otherwise)


def naively_interleaved(lists):
    mixed = []
    for place in range(10):
        for each in lists:
            if place < len(each) and each[place] not in mixed:
                mixed.append(each[place])
    return mixed


@given(LISTS)
def test_interleaving_takes_every_first_then_every_second(lists):
    assert interleave(ranked(*lists)) == naively_interleaved(lists)


@given(LISTS, st.sampled_from([S, K, G, T]), st.sampled_from([2.0, 4.0, 8.0]))
def test_a_favoured_arm_puts_in_so_many_in_each_round(lists, arm, divisor):
    ranks = ranked(*lists)
    mixed = interleave(ranks, {arm: divisor})
    assert sorted(mixed) == sorted(interleave(ranks))
    place = {memory: at for at, memory in enumerate(mixed)}
    # What another arm has at rank r comes after no more than r of each other arm, and r times the divisor of this one.
    for other, held in ranks.items():
        for memory, rank in held.items():
            before = rank * (len(ranks) - 1 + divisor) if other is not arm else rank * len(ranks)
            assert place[memory] < before


def test_interleaving_skips_what_was_taken():
    assert interleave(ranked(["a", "b", "c"], ["b", "d"])) == ["a", "b", "d", "c"]
