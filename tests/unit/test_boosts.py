from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import BoostLevel
from recallmesh.recall.boosts import NUDGE, boosted, divisors, nudge
from recallmesh.recall.fusion import fuse
from recallmesh.recall.plan import RecallDefaults
from recallmesh.recall.score import SHARPNESS, lift

ARMS = tuple(ArmName)
LEVELS = RecallDefaults().boost_divisors
POOLS = st.lists(st.lists(st.integers(0, 60), unique=True, max_size=40), min_size=4, max_size=4)


def ranked(lists):
    return {arm: {f"{m:04}": rank for rank, m in enumerate(each, 1)} for arm, each in zip(ARMS, lists, strict=True)}


@given(POOLS)
def test_no_boosts_change_nothing_bit_for_bit(lists):
    ranks = ranked(lists)
    assert boosted(ranks, {}, 60) == fuse(ranks, k=60)


@given(POOLS, st.sampled_from(ARMS), st.sampled_from(BoostLevel))
def test_what_the_boosted_arm_did_not_find_keeps_its_order(lists, arm, level):
    ranks = ranked(lists)
    plain, favoured = fuse(ranks), boosted(ranks, divisors({arm: level}, LEVELS), 60)
    others = [memory for memory in plain.order if memory not in ranks[arm]]
    assert [memory for memory in favoured.order if memory not in ranks[arm]] == others


@given(st.lists(st.integers(0, 400), min_size=4, max_size=4), st.sampled_from(ARMS), st.integers(1, 300))
def test_no_boost_evicts_the_top_hits_of_the_other_arms(sizes, arm, cap):
    ranks = ranked([[1000 * place + hit for hit in range(size)] for place, size in enumerate(sizes)])
    kept = set(boosted(ranks, {arm: 8.0}, 60).order[:cap])
    for other in ARMS:
        if other is not arm:
            safe = cap // (8 + len(ARMS) - 1)
            assert set(list(ranks[other])[:safe]) <= kept


def test_a_high_boost_reaches_deeper_into_its_arm():
    ranks = ranked([list(range(400)), list(range(1000, 1400)), [], []])
    plain = fuse(ranks).order[:300]
    favoured = boosted(ranks, divisors({ArmName.SEMANTIC: BoostLevel.HIGH}, LEVELS), 60).order[:300]
    assert sum(memory < "1000" for memory in plain) == 150
    assert sum(memory < "1000" for memory in favoured) > 240


@given(POOLS, st.sampled_from(ARMS))
def test_the_nudge_stays_within_its_bound_and_is_one_for_the_rest(lists, arm):
    ranks = ranked(lists)
    plain, favoured = fuse(ranks), boosted(ranks, {arm: 8.0}, 60)
    for memory in plain.order:
        factor = nudge(plain.scores[memory], favoured.scores[memory])
        assert 1.0 <= factor < 1.0 + NUDGE
        assert memory in ranks[arm] or factor == 1.0


def test_a_nudge_cannot_lift_a_hit_over_clearly_better_ones():
    most = (1.0 + NUDGE) ** SHARPNESS
    assert lift(0.452, most) < 0.5 < lift(0.453, most)
    assert lift(0.881, most) < 0.9 < lift(0.883, most)
