"""The temporal arm and its spreading over a window."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recallmesh.core.arm import ArmQuery, IndexEntry
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import TagLeaf, TagMode, passes
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit, VectorQuery
from recallmesh.temporal.arm import TemporalArm
from recallmesh.temporal.neighbour import neighbours, sides
from recallmesh.temporal.settings import TemporalSettings
from recallmesh.temporal.spread import (
    OUTSIDE,
    Placed,
    bucket_finder,
    cut,
    cut_by_age,
    cut_for,
    numbers_of,
    spread,
    turn_score,
)

DAY = datetime(2026, 8, 18, tzinfo=UTC)
MS, US, HOUR, DAYS = (timedelta(**{unit: 1}) for unit in ("milliseconds", "microseconds", "hours", "days"))
YESTERDAY = Window(DAY, DAY + 24 * HOUR - US)
DECEMBER = Window(datetime(2025, 12, 1, tzinfo=UTC), datetime(2025, 12, 13, tzinfo=UTC) - US)
NORTH = (1.0, 0.0)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 -- hypothesis adds the zone


def instant(moment: datetime) -> Window:
    return Window(moment, moment)


def hit(name: str, score: float, moment: datetime, end: datetime | None = None) -> VectorHit:
    return VectorHit(name, score, FactType.WORLD, Window(moment, end or moment))


class ListedVectors:
    """A vector index over a list of hits, that keeps the batches it was asked."""

    def __init__(self, *hits: VectorHit, tags: dict[str, tuple[str, ...]] | None = None) -> None:
        self.hits = hits
        self.tags = tags or {}
        self.batches: list[tuple[VectorQuery, ...]] = []

    async def search(self, queries):
        self.batches.append(queries)
        return tuple(self._answer(query) for query in queries)

    def _answer(self, query: VectorQuery) -> tuple[VectorHit, ...]:
        found = [
            hit
            for hit in self.hits
            if hit.fact_type in query.fact_types
            and passes(query.tags, self.tags.get(hit.memory_id, ()))
            and (query.window is None or (hit.time is not None and hit.time.overlaps(query.window)))
            and not (query.begins and hit.time.start < query.window.start)
        ]
        return tuple(sorted(found, key=lambda hit: (-hit.score, hit.memory_id))[: query.limit])

    async def upsert(self, *given):
        raise AssertionError(f"the temporal arm writes no vectors: {given}")

    delete = drop = upsert

    async def scan(self, bank_uid, page):
        return Page(rows=(), next_after=f"{bank_uid} {page.size}")

    async def check(self):
        self.batches.append(())


def bucket_of(window: Window, buckets: int, time: Window) -> int:
    return bucket_finder(cut(window, buckets))(time)


def placed(hits: list[VectorHit], window: Window, buckets: int) -> list[Placed]:
    best_first = sorted({hit.memory_id: hit for hit in hits}.values(), key=lambda hit: (-hit.score, hit.memory_id))
    return spread(best_first, numbers_of(best_first, bucket_finder(cut(window, buckets))), len(best_first))


def asked(window: Window | None = DECEMBER, **more) -> ArmQuery:
    return ArmQuery(bank_uid="b1", text="what", **({"vector": NORTH, "window": window} | more))


async def names(vectors: ListedVectors, query: ArmQuery, **more) -> list[str]:
    return [found.memory_id for found in await TemporalArm(vectors, **more).search(query)]


# The window and its buckets


@given(moments, st.integers(0, 10**14), st.integers(1, 30))
def test_buckets_cover_the_window_without_sharing_a_moment(start: datetime, length: int, buckets: int) -> None:
    window = Window(start, start + length * US)
    parts = cut(window, buckets)
    assert len(parts) == min(buckets, length + 1)
    assert (parts[0].start, parts[-1].end) == (window.start, window.end)
    assert all(one.end + US == other.start for one, other in pairwise(parts))
    for number, part in enumerate(parts):
        assert bucket_of(window, buckets, instant(part.start)) == number
        assert bucket_of(window, buckets, instant(part.end)) == number


def test_an_instant_is_a_window_of_one_bucket() -> None:
    assert cut(instant(DAY), 12) == (instant(DAY),)
    assert bucket_of(instant(DAY), 12, instant(DAY)) == 0
    assert bucket_of(instant(DAY), 12, instant(DAY + US)) == OUTSIDE
    assert bucket_of(instant(DAY), 12, Window(DAY - HOUR, DAY + HOUR)) == 1


def test_a_long_memory_is_in_the_bucket_of_the_middle_of_its_overlap() -> None:
    window = Window(DAY, DAY + 12 * HOUR - US)
    assert bucket_of(window, 12, Window(DAY - 3 * HOUR, DAY + 4 * HOUR)) == 2
    assert bucket_of(window, 12, Window(DAY, DAY + 12 * HOUR - US)) == 5
    assert bucket_of(window, 12, Window(DAY + HOUR, DAY + 22 * HOUR)) == 6


def test_what_lies_mostly_outside_is_in_a_bucket_of_its_own() -> None:
    window = Window(DAY, DAY + 12 * HOUR - US)
    assert bucket_of(window, 12, Window(DAY - 5 * HOUR, DAY + 4 * HOUR)) == 12
    assert bucket_of(window, 12, Window(DAY - 900 * HOUR, DAY + 900 * HOUR)) == 12
    assert bucket_of(window, 12, Window(DAY - 900 * HOUR, DAY - US)) == OUTSIDE


def test_an_open_ended_window_is_cut_where_the_memories_are() -> None:
    century = Window(datetime(1900, 1, 1, tzinfo=UTC), DAY)
    times = [instant(DAY - 30 * DAYS), instant(DAY - 10 * DAYS), Window(DAY - 900 * DAYS, DAY + HOUR)]
    parts = cut_for(century, 12, times, complete=True)
    assert (parts[0].start, parts[-1].end) == (century.start, century.end)
    assert all(one.end + US == other.start for one, other in pairwise(parts))
    assert len(parts) == 12
    assert [parts[1].start, parts[-2].end] == [times[0].start, times[1].end]
    assert [bucket_finder(parts)(time) for time in times] == [1, 10, 0]
    assert cut_for(century, 12, [], complete=True) == cut(century, 12)
    assert cut_for(century, 2, times, complete=True) == cut(century, 2)
    assert cut_for(DECEMBER, 12, [instant(DECEMBER.start)], complete=True) == cut(DECEMBER, 12)
    ends = [instant(century.start), instant(century.end)]
    assert cut_for(century, 12, ends, complete=True) == cut(century, 12)


@given(moments, st.integers(3653 * 86_400 * 10**6 + 1, 10**17), st.integers(3, 30))
def test_an_open_ended_window_of_which_not_all_is_known_is_cut_by_age(
    start: datetime, length: int, buckets: int
) -> None:
    window = Window(start, start + length * US)
    parts = cut_for(window, buckets, [instant(start)], complete=False)
    assert parts == cut_by_age(window, buckets)
    assert len(parts) == buckets
    assert (parts[0].start, parts[-1].end) == (window.start, window.end)
    assert all(one.end + US == other.start for one, other in pairwise(parts))
    assert all(one.days > other.days for one, other in pairwise(parts[:-1]))
    assert parts[-1].days == pytest.approx(1)


def test_a_memory_known_in_another_time_zone_is_in_its_own_moment() -> None:
    window = Window(DAY, DAY + 12 * HOUR - US)
    moment = datetime(2026, 8, 18, 8, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert bucket_of(window, 12, instant(moment)) == 2


def test_every_bucket_gives_its_best_before_any_gives_its_second() -> None:
    crowd = [hit(f"a{n}", 0.9 - n / 100, DAY + n * MS) for n in range(5)]
    lonely = [hit("b", 0.2, DAY + 6 * HOUR), hit("c", 0.3, DAY + 20 * HOUR)]
    order = [(place.hit.memory_id, place.turn) for place in placed([*crowd, *lonely], YESTERDAY, 4)]
    assert order == [("a0", 0), ("c", 0), ("b", 0), ("a1", 1), ("a2", 2), ("a3", 3), ("a4", 4)]


def test_spreading_leaves_out_what_is_outside_undated_or_named_twice() -> None:
    inside = hit("in", 0.5, DAY)
    outside = hit("out", 0.9, DAY - US)
    undated = VectorHit("undated", 0.9, FactType.WORLD)
    assert [place.hit for place in placed([inside, outside, undated, inside], YESTERDAY, 3)] == [inside]


@given(st.lists(st.tuples(st.integers(0, 86_399), st.floats(-1, 1)), max_size=40), st.integers(1, 12))
def test_scores_never_rise_along_the_spread(items: list[tuple[int, float]], buckets: int) -> None:
    hits = [hit(f"{n:02}", score, DAY + timedelta(seconds=s)) for n, (s, score) in enumerate(items)]
    order = placed(hits, YESTERDAY, buckets)
    scores = [turn_score(place.turn, place.hit.score) for place in order]
    assert len(order) == len(items)
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


stretches = st.builds(
    lambda start, length: Window(DECEMBER.start + start * HOUR, DECEMBER.start + (start + length) * HOUR),
    st.integers(-100, 400),
    st.just(0) | st.integers(0, 300) | st.just(9000),
)


@given(
    st.lists(st.tuples(stretches, st.floats(-1, 1), st.sampled_from(list(FactType))), max_size=60),
    st.integers(1, 12),
    st.integers(1, 20),
)
@settings(max_examples=60)
async def test_each_populated_buckets_best_comes_before_any_buckets_second(items, buckets: int, limit: int) -> None:
    hits = [VectorHit(f"m{n:02}", score, fact_type, time) for n, (time, score, fact_type) in enumerate(items)]
    answer = await TemporalArm(ListedVectors(*hits), buckets=buckets).search(asked(limit=limit))
    assert list(answer) == sorted(answer, key=lambda found: (-found.score, found.memory_id))
    found = [found.memory_id for found in answer]
    assert len(found) == len(set(found))
    bucket = bucket_finder(cut(DECEMBER, buckets))
    known = {hit.memory_id: hit for hit in hits}
    for fact_type in FactType:
        listed = [known[name] for name in found if known[name].fact_type is fact_type]
        inside = [hit for hit in listed if bucket(hit.time) != OUTSIDE]
        assert listed[: len(inside)] == inside  # what lies beside the window comes after all in it
        assert len(listed) <= limit
        there = [hit for hit in hits if hit.fact_type is fact_type and bucket(hit.time) != OUTSIDE]
        assert len(inside) == min(limit, len(there))
        taken = [0] * (buckets + 1)
        for place, hit in enumerate(inside):
            taken[bucket(hit.time)] += 1
            turn = taken[bucket(hit.time)]
            full = [sum(bucket(one.time) == number for one in there) for number in range(buckets + 1)]
            if len(there) <= 2 * limit:  # else those beyond are only sampled
                assert all(held >= min(turn - 1, whole) for held, whole in zip(taken, full, strict=True)), place
        for number in range(buckets + 1):
            scores = [hit.score for hit in inside if bucket(hit.time) == number]
            assert scores == sorted(scores, reverse=True)


# Neighbours


def test_the_sides_touch_the_window_and_stop_at_the_ends_of_the_calendar() -> None:
    before, after = sides(YESTERDAY, 24 * HOUR)
    assert (before.start, before.end) == (DAY - 24 * HOUR, DAY - US)
    assert (after.start, after.end) == (DAY + 24 * HOUR, DAY + 48 * HOUR - US)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert sides(Window(first, last), 24 * HOUR) == ()
    assert sides(Window(first + HOUR, last), 24 * HOUR) == (Window(first, first + HOUR - US),)


def test_neighbours_are_weighed_by_their_closeness_to_the_closest_seed() -> None:
    seeds = [hit("s1", 0.9, DAY + HOUR), hit("s2", 0.8, DAY + 20 * HOUR)]
    candidates = [
        hit("6h", 0.1, DAY - 5 * HOUR),
        hit("18h", 0.9, DAY + 38 * HOUR),
        hit("24h", 0.9, DAY - 23 * HOUR),
        hit("inside", 0.9, DAY + 2 * HOUR),
    ]
    found = neighbours(candidates, seeds, YESTERDAY, 24 * HOUR, 9)
    assert [(near.hit.memory_id, near.closeness, near.because) for near in found] == [
        ("6h", 0.75, "6 h before s1"),
        ("18h", 0.25, "18 h after s2"),
    ]
    assert neighbours(candidates, seeds, YESTERDAY, 24 * HOUR, 1) == found[:1]
    assert neighbours(candidates, [], YESTERDAY, 24 * HOUR, 9) == []


@given(st.lists(stretches, max_size=12), st.lists(stretches, max_size=6))
def test_a_neighbour_is_linked_to_the_seed_that_no_other_is_closer_than(
    times: list[Window], starts: list[Window]
) -> None:
    seeds = [VectorHit(f"s{n}", 0.9, FactType.WORLD, time) for n, time in enumerate(starts) if time.overlaps(DECEMBER)]
    candidates = [VectorHit(f"c{n:02}", 0.5, FactType.WORLD, time) for n, time in enumerate(times)]

    def gap(one: Window, other: Window) -> timedelta:
        return max(timedelta(0), one.start - other.end, other.start - one.end)

    expected = {}
    for one in candidates:
        near = min(((gap(one.time, seed.time), seed.memory_id) for seed in seeds), default=(999 * HOUR, ""))
        if not one.time.overlaps(DECEMBER) and near[0] < 24 * HOUR:
            expected[one.memory_id] = (pytest.approx(1 - near[0] / (24 * HOUR)), near[1])
    found = neighbours(candidates, seeds, DECEMBER, 24 * HOUR, 99)
    assert {one.hit.memory_id: (one.closeness, one.because.split()[-1]) for one in found} == expected
    assert [one.closeness for one in found] == sorted((one.closeness for one in found), reverse=True)


# The arm


async def test_yesterday_holds_both_its_ends_and_nothing_beyond() -> None:
    # Case 7: the middle two are in the window; the outer two are only their neighbours.
    vectors = ListedVectors(
        hit("17th", 0.9, DAY - MS),
        hit("first", 0.2, DAY),
        hit("last", 0.3, DAY + 24 * HOUR - MS),
        hit("19th", 0.9, DAY + 24 * HOUR),
    )
    hits = await TemporalArm(vectors).search(asked(YESTERDAY))
    assert [found.memory_id for found in hits] == ["last", "first", "17th", "19th"]
    assert [found.because for found in hits[:2]] == ["in the window, 12 of 12", "in the window, 1 of 12"]
    assert [found.because.split()[-2:] for found in hits[2:]] == [["before", "first"], ["after", "last"]]


async def test_relevance_chooses_within_a_bucket_and_recency_does_not() -> None:
    vectors = ListedVectors(hit("late", 0.3, DAY + 2 * HOUR), hit("early", 0.7, DAY + HOUR))
    assert await names(vectors, asked(YESTERDAY), buckets=1) == ["early", "late"]


async def test_a_crowded_window_is_asked_bucket_by_bucket_so_that_quiet_parts_are_heard() -> None:
    crowd = [hit(f"crowd{n:03}", 0.9 - n / 1000, DECEMBER.start + n * MS) for n in range(100)]
    quiet = hit("quiet", -0.5, DECEMBER.end)
    vectors = ListedVectors(*crowd, quiet)
    found = await names(vectors, asked(limit=10))
    assert found[:2] == ["crowd000", "quiet"]
    assert len(found) == 10
    assert len(vectors.batches) == 2


async def test_never_more_than_two_batches_and_the_limit_of_each_type() -> None:
    world = [hit(f"w{n:02}", 0.5, DECEMBER.start + n * HOUR) for n in range(40)]
    lived = [VectorHit(f"e{n}", 0.4, FactType.EXPERIENCE, instant(DECEMBER.start + (n - 2) * HOUR)) for n in range(4)]
    vectors = ListedVectors(*world, *lived)
    found = await names(vectors, asked(limit=12))
    assert len(vectors.batches) == 2
    assert len([name for name in found if name.startswith("w")]) == 12
    assert sorted(name for name in found if name.startswith("e")) == ["e0", "e1", "e2", "e3"]
    assert len(set(found)) == len(found)


async def test_only_the_parts_of_a_crowded_window_that_lack_their_share_are_asked_again() -> None:
    parts = cut(DECEMBER, 4)
    crowd = [hit(f"p{part}n{n}", 0.9 - n / 100, parts[part].start + n * MS) for part in (0, 1, 3) for n in range(9)]
    vectors = ListedVectors(*crowd, hit("quiet", -0.5, parts[2].start))
    assert "quiet" in await names(vectors, asked(limit=8), buckets=4)
    assert [question.window for question in vectors.batches[1]] == [parts[2]]


async def test_a_window_whose_parts_all_have_their_share_is_asked_once() -> None:
    crowd = [hit(f"p{n}", 0.9 - n / 100, part.start + n * MS) for n in range(9) for part in cut(DECEMBER, 4)]
    vectors = ListedVectors(*[found._replace(memory_id=f"{found.memory_id}-{n}") for n, found in enumerate(crowd)])
    assert len(await names(vectors, asked(limit=8), buckets=4)) == 8
    assert len(vectors.batches) == 1


async def test_facts_known_to_the_year_do_not_crowd_out_exact_ones() -> None:
    year = Window(datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC) - US)
    vague = [VectorHit(f"v{n:03}", 0.95 - n / 10_000, FactType.WORLD, year) for n in range(300)]
    exact = [hit(f"e{n}", 0.1 + n / 100, DECEMBER.start + n * 30 * HOUR) for n in range(5)]
    vectors = ListedVectors(*vague, *exact)
    for limit in (6, 10, 300):
        found = await TemporalArm(vectors).search(asked(limit=limit))
        assert len(found) == limit
        assert [one.memory_id for one in found[:6]] == ["v000", "e4", "e3", "e2", "e1", "e0"]
        assert found[0].because == "some time around the window"
        assert found[1].because == "in the window, 6 of 12"
    together = ListedVectors(*vague, *(hit(f"e{n}", 0.1, DECEMBER.start + n * HOUR) for n in range(5)))
    assert sum(name.startswith("e") for name in await names(together, asked(limit=10))) == 5


async def test_a_fact_known_to_the_month_or_year_is_found_in_its_month_or_year_and_at_any_moment_of_it() -> None:
    # Case 10: it is not the first of January.
    year = Window(datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC) - US)
    month = Window(datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC) - US)
    vectors = ListedVectors(hit("year", 0.9, year.start, year.end), hit("month", 0.8, month.start, month.end))
    assert await names(vectors, asked(year)) == ["year", "month"]
    assert await names(vectors, asked(month)) == ["year", "month"]
    assert await names(vectors, asked(instant(month.end))) == ["year", "month"]
    new_year = Window(year.start, year.start + 24 * HOUR)
    assert await names(vectors, asked(new_year)) == ["year"]
    assert await names(vectors, asked(Window(year.end + US, year.end + HOUR))) == []


async def test_before_and_since_spread_over_the_time_that_there_are_memories_of() -> None:
    before = Window(datetime(1900, 1, 1, tzinfo=UTC), DAY)
    crowd = [hit(f"crowd{n:03}", 0.9 - n / 1000, DAY - n * HOUR) for n in range(1, 100)]
    early = [hit(f"early{n}", 0.2, DAY - (100 + 200 * n) * DAYS) for n in range(3)]
    found = await names(ListedVectors(*crowd, *early), asked(before, limit=300))
    assert set(found[:4]) == {"crowd001", "early0", "early1", "early2"}
    # Asked for less than there is, it knows only of the crowd at first; what lies before that is asked for as well.
    found = await names(ListedVectors(*crowd, *early), asked(before, limit=24))
    assert {"early0", "early1", "early2"} <= set(found[:12])


async def test_an_instant_finds_what_was_then_and_what_went_on_then() -> None:
    vectors = ListedVectors(
        hit("then", 0.2, DAY),
        hit("day", 0.9, DAY - HOUR, DAY + HOUR),
        hit("later", 0.9, DAY + US),
        hit("then2", 0.1, DAY),
    )
    assert await names(vectors, asked(instant(DAY))) == ["day", "then", "then2", "later"]


async def test_memories_without_any_time_are_never_in_a_window() -> None:
    vectors = ListedVectors(VectorHit("undated", 0.9, FactType.WORLD), hit("in", 0.1, DAY))
    century = Window(datetime(1900, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    assert await names(vectors, asked(century)) == ["in"]


async def test_hits_come_by_score_and_neighbours_below_all_in_the_window() -> None:
    inside = [hit(f"in{n:02}", n / 50, DAY + n * HOUR / 2) for n in range(48)]
    vectors = ListedVectors(*inside, hit("near", 1.0, DAY - US), hit("far", 1.0, DAY - 23 * HOUR))
    hits = await TemporalArm(vectors).search(asked(YESTERDAY))
    scores = [found.score for found in hits]
    assert scores == sorted(scores, reverse=True)
    assert [found.memory_id for found in hits[-2:]] == ["near", "far"]
    assert scores[-1] > 0


async def test_the_limit_cuts_neighbours_first() -> None:
    vectors = ListedVectors(hit("in", 0.1, DAY), hit("near", 0.9, DAY - US), hit("next", 0.9, DAY - HOUR))
    assert await names(vectors, asked(YESTERDAY, limit=2)) == ["in", "near"]


async def test_an_empty_window_has_no_neighbours() -> None:
    vectors = ListedVectors(hit("near", 0.9, DAY - US))
    assert await names(vectors, asked(YESTERDAY)) == []
    assert len(vectors.batches) == 1


@pytest.mark.parametrize("missing", [{"window": None}, {"vector": None}, {"fact_types": ()}])
async def test_without_a_window_a_vector_or_a_type_nothing_is_asked(missing: dict[str, object]) -> None:
    vectors = ListedVectors(hit("in", 0.5, DECEMBER.start))
    assert await names(vectors, asked(**missing)) == []
    assert vectors.batches == []


async def test_tags_and_bank_go_to_the_index_with_every_question() -> None:
    mine = TagLeaf(frozenset({"mine"}), TagMode.ALL_STRICT)
    vectors = ListedVectors(
        hit("in", 0.5, DAY), hit("foreign", 0.9, DAY), hit("beside", 0.9, DAY - US), tags={"in": ("mine",)}
    )
    assert await names(vectors, asked(YESTERDAY, tags=mine)) == ["in"]
    assert {(question.bank_uid, question.tags) for batch in vectors.batches for question in batch} == {("b1", mine)}


async def test_the_floor_is_on_the_arms_own_score() -> None:
    vectors = ListedVectors(hit("in", 0.5, DAY), hit("near", 0.9, DAY - 12 * HOUR))
    assert await names(vectors, asked(YESTERDAY, min_score=0.5)) == ["in"]


async def test_writing_is_left_to_the_semantic_arm_and_reading_the_list_goes_through() -> None:
    vectors = ListedVectors()
    arm = TemporalArm(vectors)
    await arm.index("b1", (IndexEntry("m", 1, "t", FactType.WORLD),))
    await arm.remove("b1", ())
    await arm.drop("b1")
    assert vectors.batches == []
    assert (await arm.scan("b1", PageRequest(size=7))).next_after == "b1 7"
    await arm.check()
    assert vectors.batches == [()]


def test_the_settings_defaults_are_the_arms() -> None:
    assert (TemporalSettings().buckets, TemporalSettings().link_hours) == (12, 24.0)
