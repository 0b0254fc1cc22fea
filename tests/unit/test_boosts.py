from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import BoostLevel
from recallmesh.recall.boosts import NUDGE, boosted, divisors, nudge, seated
from recallmesh.recall.fusion import fuse
from recallmesh.recall.plan import RecallDefaults

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


BOOSTS = st.dictionaries(st.sampled_from(ARMS), st.sampled_from([1.0, 2.0, 4.0, 8.0, 1000.0]))


@given(st.lists(st.integers(0, 200), min_size=4, max_size=4), BOOSTS, st.integers(1, 300))
def test_among_what_one_arm_alone_found_each_keeps_a_share_as_large_as_its_divisor(sizes, by, cap):
    ranks = ranked([[1000 * place + hit for hit in range(size)] for place, size in enumerate(sizes)])
    kept = set(boosted(ranks, by, 60).order[:cap])
    whole = sum(by.get(arm, 1.0) for arm in ARMS)
    for arm in ARMS:
        safe = int(cap * by.get(arm, 1.0) / whole)
        assert set(list(ranks[arm])[:safe]) <= kept


@given(POOLS, BOOSTS, st.integers(1, 60))
def test_no_boost_evicts_the_top_hits_of_any_arm(lists, by, cap):
    ranks = ranked(lists)
    plain, favoured = fuse(ranks).order, boosted(ranks, by, 60).order
    order = seated(favoured, plain, ranks, cap)
    assert sorted(order) == sorted(plain)
    for arm in ARMS:
        top = list(ranks[arm])[: cap // len(ARMS)]
        assert set(top) & set(plain[:cap]) <= set(order[:cap])


def test_boosts_alone_would_evict_what_several_arms_pass():
    several = list(range(40))
    ranks = ranked([several, several[::-1], [900], []])
    plain, favoured = fuse(ranks).order, boosted(ranks, {ArmName.SEMANTIC: 8.0}, 60).order
    assert "0900" not in favoured[:40]
    padded = ranked([several, [], [900], several[30:]])
    plain, favoured = fuse(padded).order, boosted(padded, {ArmName.SEMANTIC: 8.0}, 60).order
    assert "0900" in plain[:12]
    assert "0900" not in favoured[:12]
    assert seated(favoured, plain, padded, 12)[11] == "0900"


@given(POOLS, BOOSTS, st.integers(0, 60))
def test_to_keep_seats_moves_nothing_else(lists, by, cap):
    ranks = ranked(lists)
    plain, favoured = fuse(ranks).order, boosted(ranks, by, 60).order
    order = seated(favoured, plain, ranks, cap)
    came = set(order[:cap]) - set(favoured[:cap])
    left = set(favoured[:cap]) - set(order[:cap])
    for moved in (came, left):
        rest = [memory for memory in favoured if memory not in came | left]
        assert [memory for memory in order if memory not in came | left] == rest
        assert [memory for memory in order if memory in moved] == [memory for memory in favoured if memory in moved]


@given(POOLS, st.integers(0, 60))
def test_without_boosts_there_is_nothing_to_seat(lists, cap):
    ranks = ranked(lists)
    plain = fuse(ranks).order
    assert seated(plain, plain, ranks, cap) == plain


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
    def nudged(final):
        odds = final / (1 - final) * (1.0 + NUDGE)
        return odds / (1 + odds)

    assert nudged(0.476) < 0.5 < nudged(0.477)
    assert nudged(0.891) < 0.9 < nudged(0.892)
