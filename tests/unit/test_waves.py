from dataclasses import replace
from math import log

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from unit.recall_fakes import memory

from recallmesh.core.memory import FactType
from recallmesh.core.tuning import MinScores
from recallmesh.recall.pack import pack
from recallmesh.recall.score import reading
from recallmesh.recall.waves import Goal, stop

ALL = Goal(wave=2, places=0, margin=0.0, max_tokens=4096)
HEAD = replace(ALL, places=2)


def facts(*tokens):
    return [memory(number, tokens=size) for number, size in enumerate(tokens)]


def even(count):
    return [0.0] * count


def test_nothing_stops_while_every_candidate_has_a_place():
    assert stop([5.0, 4.0, -9.0, -9.5], even(9), facts(*[10] * 9), ALL) == ""


def test_the_head_is_sure_when_the_last_wave_was_worse_than_its_last():
    assert stop([5.0, 4.0, 3.0, 2.0], even(6), facts(*[10] * 6), HEAD).startswith("sure after 4: ")
    assert stop([5.0, 4.0, 3.0, 4.0], even(6), facts(*[10] * 6), HEAD) == ""  # the next might be as good


def test_the_pack_is_sure_when_it_is_full_of_better_ones():
    tight = replace(ALL, max_tokens=20)
    assert stop([5.0, 4.0, 3.0, 2.0], even(6), facts(*[10] * 6), tight)
    assert stop([5.0, 4.0, 3.0, 2.0], even(6), facts(*[10] * 6), replace(tight, max_tokens=40)) == ""
    assert stop([5.0, 4.0, 3.0, 2.0], even(6), facts(*[10] * 6), replace(ALL, limit=2))


def test_one_that_is_too_long_and_comes_for_want_of_another_settles_nothing():
    memories = facts(90, 90, 90, 90, 10)
    assert stop([5.0, 4.0, 3.0, 2.0], even(5), memories, replace(ALL, max_tokens=20)) == ""
    assert stop([5.0, 4.0, 3.0, 2.0], even(5), memories, replace(HEAD, places=1, max_tokens=20)) == ""


def test_a_superseded_fact_leaves_no_one_outside():
    memories = facts(10, 10, 10, 10)
    memories[1] = replace(memories[1], fact_type=FactType.OBSERVATION, sources=(memories[0].id,))
    goal = replace(ALL, wave=1, max_tokens=20, observations=True)
    assert stop([5.0, 4.0, 3.0], even(4), memories, goal) == ""
    assert stop([5.0, 4.0, 3.0], even(4), memories, replace(goal, observations=False))


def test_a_margin_is_what_a_later_wave_may_be_better_by():
    assert stop([5.0, 4.0, 3.0, 2.0], even(6), facts(*[10] * 6), replace(HEAD, margin=0.9))
    assert stop([5.0, 4.0, 3.0, 2.0], even(6), facts(*[10] * 6), replace(HEAD, margin=1.0)) == ""


def test_what_else_is_known_of_the_next_counts():
    read, memories = [5.0, 4.0, 3.0, 2.0], facts(*[10] * 6)
    assert stop(read, [0.0] * 4 + [-0.5, 0.4], memories, HEAD)
    assert stop(read, [0.0] * 4 + [-0.5, 0.5], memories, HEAD) == ""


def test_nothing_below_a_floor_can_come_up():
    read, memories = [-5.0, -6.0, -7.0, -8.0], facts(*[10] * 6)
    assert stop(read, even(6), memories, ALL) == ""
    assert stop(read, even(6), memories, replace(ALL, floors=MinScores(reranker=0.01)))
    assert stop(read, even(6), memories, replace(ALL, floors=MinScores(final=0.23)))
    assert stop(read, even(6), memories, replace(ALL, floors=MinScores(final=0.22))) == ""
    # The reranker's floor is on its score alone, whatever else counts.
    assert stop(read, [0.0] * 4 + [9.0] * 2, memories, replace(ALL, floors=MinScores(reranker=0.01)))
    assert stop(read, [0.0] * 4 + [9.0] * 2, memories, replace(ALL, floors=MinScores(final=0.23))) == ""


def test_where_chunks_come_too_only_the_limit_and_the_head_are_places():
    read, memories = [5.0, 4.0, 3.0, 2.0], facts(*[10] * 6)
    assert stop(read, even(6), memories, replace(ALL, max_tokens=None)) == ""
    assert stop(read, even(6), memories, replace(ALL, max_tokens=None, limit=2))
    assert stop(read, even(6), memories, replace(HEAD, max_tokens=None))


@pytest.mark.parametrize("read", [[], [1.0] * 4, [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]])
def test_nothing_read_equal_scores_or_all_read_give_no_reason(read):
    assert stop(read, even(6), facts(*[10] * 6), HEAD) == ""


GOALS = st.builds(
    Goal,
    wave=st.integers(1, 8),
    places=st.integers(0, 6),
    margin=st.sampled_from([0.0, 0.5, 2.0]),
    max_tokens=st.integers(1, 120),
    limit=st.integers(0, 6),
)
# The first read are better, as they are in life, or nothing would ever be sure; what is read later is anything.
CANDIDATES = st.tuples(
    st.lists(st.floats(-4, 9), min_size=3, max_size=12).map(lambda odds: sorted(odds, reverse=True)),
    st.lists(st.floats(-9, 9), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(-0.5, 0.5), st.integers(1, 30)), min_size=24, max_size=24),
)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(CANDIDATES, GOALS)
def test_what_was_sure_stays_if_no_later_reading_is_better_than_is_plausible(candidates, goal):
    read, later, rest = candidates
    count = len(read) + len(later)
    known, sizes = [each for each, _ in rest[:count]], [size for _, size in rest[:count]]
    memories = facts(*sizes)
    assume(stop(read, known, memories, goal))
    reach = max(read[-goal.wave :]) + goal.margin
    standings = [
        log(reading(odds)) + weight
        for odds, weight in zip([*read, *(min(each, reach) for each in later)], known, strict=True)
    ]

    def packed(among):
        order = sorted(range(among), key=lambda place: (-standings[place], place))
        ranking = [memories[place] for place in order]
        found = pack(ranking, [each.tokens for each in ranking], max_tokens=goal.max_tokens, limit=goal.limit)
        return [order[place] for place in found.places]

    before, after = packed(len(read)), packed(count)
    settled = before[: goal.places] if goal.places and len(before) >= goal.places else before
    # What was not read may take the room that is left behind it, and no more.
    assert after[: len(settled)] == settled
