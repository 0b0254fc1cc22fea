"""The temporal arm and its spreading over a window."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
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
from recallmesh.temporal.spread import bucket_of, cut, spread, turn_score

DAY = datetime(2026, 8, 18, tzinfo=UTC)
MS, US, HOUR = timedelta(milliseconds=1), timedelta(microseconds=1), timedelta(hours=1)
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
        ]
        return tuple(sorted(found, key=lambda hit: (-hit.score, hit.memory_id))[: query.limit])

    async def upsert(self, *given):
        raise AssertionError(f"the temporal arm writes no vectors: {given}")

    delete = drop = upsert

    async def scan(self, bank_uid, page):
        return Page(rows=(), next_after=f"{bank_uid} {page.size}")

    async def check(self):
        self.batches.append(())


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
    assert bucket_of(instant(DAY), 12, Window(DAY - HOUR, DAY + HOUR)) == 0


def test_a_long_memory_is_in_the_bucket_of_the_middle_of_its_overlap() -> None:
    window = Window(DAY, DAY + 12 * HOUR - US)
    assert bucket_of(window, 12, Window(DAY - 900 * HOUR, DAY + 4 * HOUR)) == 2
    assert bucket_of(window, 12, Window(DAY - 900 * HOUR, DAY + 900 * HOUR)) == 5


def test_a_memory_known_in_another_time_zone_is_in_its_own_moment() -> None:
    window = Window(DAY, DAY + 12 * HOUR - US)
    moment = datetime(2026, 8, 18, 8, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert bucket_of(window, 12, instant(moment)) == 2


def test_every_bucket_gives_its_best_before_any_gives_its_second() -> None:
    crowd = [hit(f"a{n}", 0.9 - n / 100, DAY + n * MS) for n in range(5)]
    lonely = [hit("b", 0.2, DAY + 6 * HOUR), hit("c", 0.3, DAY + 20 * HOUR)]
    order = [(place.hit.memory_id, place.turn) for place in spread([*crowd, *lonely], YESTERDAY, 4)]
    assert order == [("a0", 0), ("c", 0), ("b", 0), ("a1", 1), ("a2", 2), ("a3", 3), ("a4", 4)]


def test_spreading_leaves_out_what_is_outside_undated_or_named_twice() -> None:
    inside = hit("in", 0.5, DAY)
    outside = hit("out", 0.9, DAY - US)
    undated = VectorHit("undated", 0.9, FactType.WORLD)
    assert [place.hit for place in spread([inside, outside, undated, inside], YESTERDAY, 3)] == [inside]


@given(st.lists(st.tuples(st.integers(0, 86_399), st.floats(-1, 1)), max_size=40), st.integers(1, 12))
def test_scores_never_rise_along_the_spread(items: list[tuple[int, float]], buckets: int) -> None:
    hits = [hit(f"{n:02}", score, DAY + timedelta(seconds=s)) for n, (s, score) in enumerate(items)]
    placed = spread(hits, YESTERDAY, buckets)
    scores = [turn_score(place.turn, place.hit.score) for place in placed]
    assert len(placed) == len(items)
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


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
    found = neighbours(candidates, seeds, YESTERDAY, 24 * HOUR)
    assert [(near.hit.memory_id, near.closeness, near.because) for near in found] == [
        ("6h", 0.75, "6 h before s1"),
        ("18h", 0.25, "18 h after s2"),
    ]
    assert neighbours(candidates, [], YESTERDAY, 24 * HOUR) == ()


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
