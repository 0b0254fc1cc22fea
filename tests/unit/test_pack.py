from hypothesis import given
from hypothesis import strategies as st
from unit.recall_fakes import memory, name

from recallmesh.core.memory import FactType
from recallmesh.recall.pack import pack


def packed(sizes, max_tokens, **options):
    return pack([memory(number) for number in range(len(sizes))], sizes, max_tokens=max_tokens, **options)


def test_one_too_long_is_skipped_and_packing_goes_on():
    assert packed([150, 40, 40], 100).places == (1, 2)


def test_when_nothing_fits_the_best_comes_whole_and_flagged():
    only = packed([150, 40, 40], 10)
    assert (only.places, only.oversized, only.tokens) == ((0,), True, 150)


def test_no_tokens_no_memories():
    assert packed([150, 40, 40], 0).places == ()
    assert packed([], 100).places == ()


def test_a_limit_bounds_the_number():
    assert packed([1, 1, 1], 100, limit=2).places == (0, 1)


def observation(number, *sources):
    return memory(number, fact_type=FactType.OBSERVATION, sources=tuple(name(source) for source in sources))


def test_an_observation_replaces_its_sources_and_their_places_are_refilled():
    ranking = [memory(1), memory(2), observation(3, 1, 2), memory(4), memory(5)]
    result = pack(ranking, [40, 40, 40, 40, 40], max_tokens=120, observations=True)
    assert result.places == (2, 3, 4)
    assert result.superseded == {0, 1}
    assert result.tokens == 120


def test_without_the_preference_sources_stay():
    ranking = [memory(1), observation(3, 1)]
    assert pack(ranking, [40, 40], max_tokens=120).places == (0, 1)


def test_an_observation_that_does_not_come_replaces_nothing():
    ranking = [memory(1), observation(3, 1)]
    result = pack(ranking, [40, 130], max_tokens=120, observations=True)
    assert (result.places, result.superseded) == ((0,), frozenset())


def test_an_earlier_skipped_memory_gets_the_freed_room():
    ranking = [memory(1), memory(2), observation(3, 1)]
    result = pack(ranking, [80, 90, 10], max_tokens=100, observations=True)
    assert result.places == (1, 2)


def test_a_source_below_its_observation_does_not_come():
    ranking = [observation(3, 1), memory(1), memory(2)]
    assert pack(ranking, [10, 10, 10], max_tokens=100, observations=True).places == (0, 2)


def test_with_a_limit_the_observation_takes_its_sources_place():
    ranking = [memory(1), observation(3, 1), memory(2)]
    assert pack(ranking, [10, 10, 10], max_tokens=100, limit=1, observations=True).places == (1,)


SIZES = st.lists(st.integers(1, 60), max_size=30)


@given(SIZES, st.integers(1, 300), st.integers(0, 10))
def test_nothing_is_left_out_that_would_still_fit(sizes, max_tokens, limit):
    result = packed(sizes, max_tokens, limit=limit)
    if result.oversized:
        assert min(sizes) > max_tokens
        return
    assert result.tokens == sum(sizes[place] for place in result.places) <= max_tokens
    if not limit or len(result.places) < limit:
        left = max_tokens - result.tokens
        assert all(size > left for place, size in enumerate(sizes) if place not in result.places)


@given(st.data(), SIZES, st.integers(1, 300), st.integers(0, 10))
def test_with_observations_every_superseded_fact_has_had_its_observation_packed(data, sizes, max_tokens, limit):
    count = len(sizes)
    ranking = []
    for number in range(count):
        sources = data.draw(st.lists(st.integers(0, count - 1), max_size=3)) if number % 3 == 0 else []
        ranking.append(observation(number, *sources) if sources else memory(number))
    result = pack(ranking, sizes, max_tokens=max_tokens, limit=limit, observations=True)
    chosen = {ranking[place].id for place in result.places}
    assert result.superseded.isdisjoint(result.places)
    assert result.oversized or result.tokens == sum(sizes[place] for place in result.places) <= max_tokens
    assert not limit or len(result.places) <= limit
    gone = {ranking[place].id for place in result.superseded}
    built = {source for each in ranking if each.id in chosen | gone for source in each.sources}
    assert gone <= built
