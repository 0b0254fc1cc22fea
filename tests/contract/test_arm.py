"""What every arm must do, in this process and over the wire. A fifth arm joins ``ArmName`` and ``contract.arm_bed``."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import pytest
import pytest_asyncio
from contract.arm_bed import (
    BEA,
    DAY,
    FITTING,
    NOON,
    PLACES,
    SERVERS,
    STORES,
    WINDOW,
    Bed,
    ask,
    entry,
    mid,
    numbers,
    towards,
)

from recallmesh.core.arm import ArmName, Hit, Indexed
from recallmesh.core.deadline import within
from recallmesh.core.errors import ArmTimeout, EmbeddingMismatch, InvalidArgument, StoreUnavailable
from recallmesh.core.memory import ALL_FACT_TYPES, CausalLink, FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, passes
from recallmesh.core.time import Window

pytestmark = pytest.mark.asyncio(loop_scope="module")

BEDS = [pytest.param(pair, id="-".join(pair)) for pair in FITTING]
BEDS += [pytest.param(store, id="-".join(store), marks=pytest.mark.stores) for store in STORES]
FINDS_WITHOUT_A_VECTOR = (ArmName.KEYWORD, ArmName.GRAPH)
"""By words and by names; the semantic arm has nothing to compare, the temporal arm no relevance to choose by."""
INDEXES_WITHOUT_A_VECTOR = FINDS_WITHOUT_A_VECTOR
"""The vector index refuses an entry without the vector that it is for."""
LISTS = 30


@pytest_asyncio.fixture(params=BEDS, scope="module", loop_scope="module")
async def shared_bed(request, tmp_path_factory) -> AsyncIterator[Bed]:
    name, place = request.param
    async with (PLACES | SERVERS)[place](name, tmp_path_factory.mktemp("arm")) as opened:
        yield opened


@pytest.fixture
def bed(shared_bed: Bed) -> Bed:
    """Tests are kept apart by their banks."""
    return replace(shared_bed, bank=f"{shared_bed.bank}-{next(COUNT)}")


COUNT = itertools.count()


def in_order(hits: tuple[Hit, ...]) -> bool:
    return list(hits) == sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))


def each_once(found: list[int]) -> bool:
    return len(found) == len(set(found))


# Search


async def test_the_best_hits_come_first(bed: Bed) -> None:
    strengths = {1: 0.25, 2: 0.9, 3: 0.4, 4: 0.75, 5: 0.1, 6: 0.55}
    await bed.index(*(entry(number, strength) for number, strength in strengths.items()))
    hits = await bed.arm.search(ask(bed.bank))
    assert numbers(hits) == [2, 4, 6, 3, 1, 5]
    assert in_order(hits)


async def test_equal_scores_are_ordered_and_cut_by_memory_id_every_time(bed: Bed) -> None:
    for number in (9, 4, 7, 1, 8, 2, 6, 3, 5):
        await bed.index(entry(number))
    for _ in range(5):
        hits = await bed.arm.search(ask(bed.bank))
        # The temporal arm takes turns, so that no two hits of one stretch have the same score; their order is the same.
        assert len({hit.score for hit in hits}) == (9 if bed.name is ArmName.TEMPORAL else 1)
        assert numbers(hits) == list(range(1, 10))
        assert await bed.found(limit=4) == [1, 2, 3, 4]


async def test_the_limit_is_that_of_each_fact_type(bed: Bed) -> None:
    strong = {FactType.WORLD: 0.9, FactType.EXPERIENCE: 0.6, FactType.OBSERVATION: 0.3}
    await bed.index(
        *(
            entry(10 * place + number, strength - number / 50, fact_type=fact_type)
            for place, (fact_type, strength) in enumerate(strong.items(), 1)
            for number in range(5)
        )
    )
    assert sorted(await bed.found(limit=1)) == [10, 20, 30]
    assert sorted(await bed.found(limit=2)) == [10, 11, 20, 21, 30, 31]
    assert sorted(await bed.found(limit=2, fact_types=(FactType.OBSERVATION,))) == [30, 31]
    everything = await bed.arm.search(ask(bed.bank, limit=2000))
    assert len(everything) == 15
    assert in_order(everything)


async def test_only_asked_fact_types_come(bed: Bed) -> None:
    await bed.index(*(entry(number, fact_type=fact_type) for number, fact_type in enumerate(ALL_FACT_TYPES)))
    for number, fact_type in enumerate(ALL_FACT_TYPES):
        assert await bed.found(fact_types=(fact_type,)) == [number]
    assert sorted(await bed.found(fact_types=(FactType.OBSERVATION, FactType.WORLD))) == [0, 2]
    assert await bed.found(fact_types=()) == []


async def test_a_fact_type_that_is_asked_twice_is_as_once(bed: Bed) -> None:
    await bed.index(*(entry(number, number / 10) for number in range(1, 6)))
    twice = await bed.arm.search(ask(bed.bank, fact_types=(FactType.WORLD, FactType.WORLD), limit=3))
    assert twice == await bed.arm.search(ask(bed.bank, fact_types=(FactType.WORLD,), limit=3))
    assert len(twice) == 3


async def test_a_memory_that_is_reached_in_several_ways_comes_once(bed: Bed) -> None:
    many = tuple(Mention(f"e{number}", name) for number, name in enumerate(("Bea", "harbour", "Bea Stone")))
    await bed.index(
        *(
            entry(
                number,
                0.9,
                mentions=(BEA, *many),
                causes=() if number == 1 else (CausalLink(mid(number - 1), 1.0),),
                document_id="d",
                position=number,
                mentioned=NOON + timedelta(hours=number),
                context_vector=towards(0.8),
            )
            for number in range(1, 9)
        )
    )
    await bed.index(entry(3, 0.9, version=2))
    found = await bed.found()
    assert sorted(found) == list(range(1, 9))


async def test_the_floor_is_on_the_arms_own_score_and_inclusive(bed: Bed) -> None:
    await bed.index(*(entry(number, number / 10) for number in range(1, 9)))
    hits = await bed.arm.search(ask(bed.bank))
    assert len({hit.score for hit in hits}) == 8
    for place in (0, 3, 7):
        assert await bed.arm.search(ask(bed.bank, min_score=hits[place].score)) == hits[: place + 1]
    assert await bed.arm.search(ask(bed.bank, min_score=hits[0].score + 1e-3)) == ()
    assert await bed.arm.search(ask(bed.bank, min_score=-10.0)) == hits


async def test_hits_that_need_not_be_explained_are_the_same_and_say_nothing(bed: Bed) -> None:
    await bed.index(*(entry(number, number / 10) for number in range(1, 9)))
    explained = await bed.arm.search(ask(bed.bank))
    plain = await bed.arm.search(ask(bed.bank, explained=False))
    assert any(hit.because for hit in explained) or bed.name is ArmName.SEMANTIC
    assert plain == tuple(hit._replace(because="") for hit in explained)


async def test_a_query_without_a_vector_finds_what_can_be_found_without(bed: Bed) -> None:
    await bed.index(entry(1, 0.9), entry(2, 0.4))
    assert sorted(await bed.found(vector=None)) == ([1, 2] if bed.name in FINDS_WITHOUT_A_VECTOR else [])


async def test_a_window_is_for_the_temporal_arm(bed: Bed) -> None:
    moments = {
        1: DAY - timedelta(days=1, microseconds=1),
        2: DAY,
        3: WINDOW.end,
        4: WINDOW.end + timedelta(days=1, microseconds=1),
        5: None,
    }
    await bed.index(*(entry(number, mentioned=moment) for number, moment in moments.items()))
    temporal = bed.name is ArmName.TEMPORAL
    assert sorted(await bed.found()) == ([2, 3] if temporal else [1, 2, 3, 4, 5])
    assert sorted(await bed.found(window=None)) == ([] if temporal else [1, 2, 3, 4, 5])
    assert sorted(await bed.found(window=Window(DAY, DAY))) == ([2, 3] if temporal else [1, 2, 3, 4, 5])
    later = Window(WINDOW.end + timedelta(days=9), WINDOW.end + timedelta(days=10))
    assert sorted(await bed.found(window=later)) == ([] if temporal else [1, 2, 3, 4, 5])


async def test_an_unknown_strategy_is_refused_by_the_arm_that_has_several(bed: Bed) -> None:
    await bed.index(entry(1))
    for strategy in ("", "link_expansion", "bfs", "mpfp"):
        assert await bed.found(strategy=strategy) == [1]
    if bed.name is ArmName.GRAPH:
        with pytest.raises(InvalidArgument, match="strategy"):
            await bed.found(strategy="guess")
    else:  # the others have one way to search, and look at no name for it
        assert await bed.found(strategy="guess") == [1]


async def test_an_arm_over_the_wire_gives_what_the_arm_behind_it_gives(bed: Bed) -> None:
    await bed.index(
        *(
            entry(
                number,
                number / 40,
                fact_type=ALL_FACT_TYPES[number % 3],
                mentions=(BEA, Mention(f"e{number % 4}", f"Name{number % 4}")),
                causes=(CausalLink(mid(number + 1), 0.5),),
                document_id=f"d{number % 5}",
                position=number,
                mentioned=NOON + timedelta(hours=number),
                context_vector=towards(1 - number / 40),
                tags=("a",) if number % 2 else (),
            )
            for number in range(1, 40)
        )
    )
    strict = TagLeaf(frozenset({"a"}), TagMode.ALL_STRICT)
    for query in (ask(bed.bank), ask(bed.bank, limit=3), ask(bed.bank, tags=strict), ask(bed.bank, vector=None)):
        hits = await bed.arm.search(query)
        assert hits == await bed.behind.search(query)
        assert in_order(hits)
        assert each_once(numbers(hits))


# Tags

TAG_SETS = [frozenset(some) for size in range(3) for some in combinations(("a", "b"), size)]
LEAVES = [TagLeaf(tags, mode) for tags in [*TAG_SETS, frozenset({"a", "zz"})] for mode in TagMode]
STRICT_A = TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)
GROUPS = [
    TagOr(()),
    TagAnd(()),
    TagNot(STRICT_A),
    TagAnd((STRICT_A, TagNot(TagLeaf(frozenset({"b"}), TagMode.ANY_STRICT)))),
    TagOr((TagLeaf(frozenset({"a", "b"}), TagMode.EXACT), TagNot(TagOr(())))),
]


async def test_tag_tests_pass_just_what_the_reference_passes(bed: Bed) -> None:
    await bed.index(*(entry(number, tags=tuple(sorted(tags))) for number, tags in enumerate(TAG_SETS)))
    for test in [*LEAVES, *GROUPS]:
        wanted = [number for number, tags in enumerate(TAG_SETS) if passes(test, tags)]
        assert sorted(await bed.found(tags=test)) == wanted, test


async def test_tags_are_tested_before_the_limit(bed: Bed) -> None:
    await bed.index(
        *(entry(number, 0.9) for number in range(LISTS)), *(entry(n, 0.1, tags=("a",)) for n in (100, 101, 102))
    )
    assert await bed.found(tags=STRICT_A, limit=2) == [100, 101]


# Banks


async def test_banks_do_not_see_each_other_even_with_the_same_memory_ids(bed: Bed) -> None:
    other = f"{bed.bank}-other"
    await bed.index(entry(1), entry(2))
    await bed.index(entry(1), entry(3), bank=other)
    assert (await bed.found(), await bed.found(other)) == ([1, 2], [1, 3])
    await bed.remove((1, 5))
    assert (await bed.found(), await bed.found(other)) == ([2], [1, 3])
    await bed.drop(bed.bank)
    assert (await bed.found(), await bed.found(other)) == ([], [1, 3])
    assert (await bed.rows(), await bed.rows(other)) == ([], [Indexed(mid(1), 1), Indexed(mid(3), 1)])


async def test_an_unknown_bank_has_no_hits_and_no_rows_and_can_be_dropped(bed: Bed) -> None:
    assert await bed.arm.search(ask("nobody")) == ()
    await bed.remove((1, 1), bank="nobody")
    await bed.drop("nobody")
    assert await bed.rows("nobody") == []
    assert await bed.arm.search(ask("nobody")) == ()


# Writes


async def test_indexing_twice_is_as_once(bed: Bed) -> None:
    entries = tuple(entry(number, number / 10) for number in range(1, 6))
    await bed.index(*entries)
    once = await bed.arm.search(ask(bed.bank))
    await bed.index(*entries)
    await bed.index(entries[0], entries[0])
    assert await bed.arm.search(ask(bed.bank)) == once
    assert await bed.rows() == [Indexed(mid(number), 1) for number in range(1, 6)]


async def test_an_older_version_changes_nothing_and_a_newer_one_all(bed: Bed) -> None:
    await bed.index(entry(1, 0.9, version=3), entry(2, 0.5))
    before = await bed.arm.search(ask(bed.bank))
    await bed.index(entry(1, 0.1, version=2, fact_type=FactType.OBSERVATION, tags=("a",)))
    assert await bed.arm.search(ask(bed.bank)) == before
    await bed.index(entry(1, 0.1, version=4, fact_type=FactType.OBSERVATION, tags=("a",)))
    assert await bed.found() == [2, 1]
    assert await bed.found(tags=STRICT_A, fact_types=(FactType.OBSERVATION,)) == [1]
    assert await bed.found(fact_types=(FactType.WORLD,)) == [2]
    assert await bed.rows() == [Indexed(mid(1), 4), Indexed(mid(2), 1)]


async def test_the_newest_of_several_versions_in_one_call_stays(bed: Bed) -> None:
    await bed.index(entry(1, 0.9, version=2), entry(1, 0.1, version=1), entry(2, 0.5))
    assert await bed.found() == [1, 2]
    assert await bed.rows() == [Indexed(mid(1), 2), Indexed(mid(2), 1)]


async def test_a_removal_wins_over_an_equal_version_and_not_over_a_newer_one(bed: Bed) -> None:
    await bed.index(entry(1, version=2), entry(2))
    await bed.remove((1, 1))
    assert await bed.found() == [1, 2]
    await bed.remove((1, 2))
    assert (await bed.found(), await bed.rows()) == ([2], [Indexed(mid(2), 1)])
    for version in (1, 2):
        await bed.index(entry(1, version=version))
        assert (await bed.found(), await bed.rows()) == ([2], [Indexed(mid(2), 1)])
    await bed.index(entry(1, version=3))
    assert (await bed.found(), await bed.rows()) == ([1, 2], [Indexed(mid(1), 3), Indexed(mid(2), 1)])


async def test_a_removal_that_comes_before_its_memory_keeps_it_out(bed: Bed) -> None:
    await bed.remove((1, 2))
    await bed.index(entry(1, version=1), entry(2, version=1))
    assert await bed.found() == [2]
    await bed.remove((1, 2), (2, 1), (2, 1), (3, 1))
    assert (await bed.found(), await bed.rows()) == ([], [])


async def test_nothing_can_be_indexed_and_removed(bed: Bed) -> None:
    await bed.index()
    await bed.remove()
    assert await bed.rows() == []


async def test_every_write_is_found_by_the_next_search(bed: Bed) -> None:
    for number in range(1, 21):
        await bed.index(entry(number))
        assert await bed.found() == list(range(1, number + 1))
    for number in range(1, 21):
        await bed.remove((number, 1))
        assert await bed.found() == list(range(number + 1, 21))


async def test_an_arm_that_asks_for_no_vectors_indexes_entries_without(bed: Bed) -> None:
    entries = (entry(1, vector=None), entry(2, vector=None))
    if bed.name in INDEXES_WITHOUT_A_VECTOR:
        await bed.arm.index(bed.bank, entries)
        assert sorted(await bed.found(vector=None)) == [1, 2]
    else:
        await refused(EmbeddingMismatch, bed.index(*entries))
        assert await bed.rows() == []


async def test_eight_writers_and_eight_searches_at_once_do_not_disturb_one_another(bed: Bed) -> None:
    kept = list(range(10))
    await bed.index(*(entry(number, 0.9) for number in kept))

    async def write(writer: int) -> None:
        for part in range(3):
            first = 100 * (writer + 1) + 10 * part
            await bed.index(*(entry(number, 0.3) for number in range(first, first + 10)))
        await bed.remove(*((100 * (writer + 1) + number, 1) for number in range(10)))

    async def search() -> tuple[Hit, ...]:
        return await bed.arm.search(ask(bed.bank, limit=2000))

    *_, answers = await asyncio.gather(
        *(write(writer) for writer in range(8)), asyncio.gather(*(search() for _ in range(8)))
    )
    left = [100 * writer + number for writer in range(1, 9) for number in range(10, 30)]
    for hits in (*answers, await search()):
        found = numbers(hits)
        assert in_order(hits)
        assert each_once(found)
        assert set(kept) <= set(found) <= {*kept, *(100 * w + n for w in range(1, 9) for n in range(30))}
    assert sorted(await bed.found(limit=2000)) == [*kept, *left]
    assert [row.memory_id for row in await bed.rows()] == [mid(number) for number in (*kept, *left)]


# Scan and check


async def test_a_scan_pages_by_memory_id_without_gaps_or_repeats(bed: Bed) -> None:
    given = [17, 3, 11, 20, 5, 8, 1, 14, 2, 19, 7, 12]
    await bed.index(*(entry(number, version=number) for number in given))
    await bed.remove((11, 11))
    rows = [Indexed(mid(number), number) for number in sorted(given) if number != 11]
    for size in (1, 4, 11, 1000):
        assert await bed.rows(size=size) == rows
    assert (await bed.arm.scan(bed.bank, PageRequest(11))).next_after == ""
    assert len((await bed.arm.scan(bed.bank, PageRequest(10))).rows) == 10


async def test_a_scan_begins_after_any_id_and_goes_on_from_its_last(bed: Bed) -> None:
    await bed.index(*(entry(number) for number in (2, 4, 6, 8)))
    page = await bed.arm.scan(bed.bank, PageRequest(2, mid(3)))
    assert (page.rows, page.next_after) == ((Indexed(mid(4), 1), Indexed(mid(6), 1)), mid(6))
    assert (await bed.arm.scan(bed.bank, PageRequest(2, page.next_after))).rows == (Indexed(mid(8), 1),)
    assert (await bed.arm.scan(bed.bank, PageRequest(2, mid(9)))).rows == ()


async def test_an_arm_that_can_work_is_ready(bed: Bed) -> None:
    await bed.arm.check()


async def test_a_call_whose_deadline_has_passed_raises(bed: Bed) -> None:
    with within(0):
        await refused(ArmTimeout, bed.arm.search(ask(bed.bank)))
        await refused(ArmTimeout, bed.arm.scan(bed.bank, PageRequest()))
        if bed.arm is not bed.behind or bed.name is not ArmName.TEMPORAL:  # which is done at once, having no index
            await refused(ArmTimeout, bed.arm.index(bed.bank, (entry(1),)))
            await refused(ArmTimeout, bed.remove((1, 1)))
            await refused(ArmTimeout, bed.drop(bed.bank))


async def refused(error: type[Exception], call: Awaitable[object]) -> None:
    with pytest.raises(error):
        await call


# What is opened on a directory


@pytest.mark.parametrize(("name", "place"), FITTING)
async def test_what_was_written_is_there_after_opening_again(name: ArmName, place: str, tmp_path) -> None:
    async with PLACES[place](name, tmp_path) as bed:
        await bed.index(entry(1, 0.9, tags=("a",)), entry(2), entry(3, 0.2))
        await bed.remove((2, 7))
        hits = await bed.arm.search(ask(bed.bank))
    async with PLACES[place](name, tmp_path) as again:
        again.bank = bed.bank
        await again.index(entry(2, version=6))
        assert await again.arm.search(ask(bed.bank)) == hits
        assert numbers(hits) == [1, 3]
        assert await again.found(tags=STRICT_A) == [1]


@pytest.mark.parametrize(("name", "place"), FITTING)
async def test_an_arm_whose_store_is_gone_says_that_it_is_unavailable(name: ArmName, place: str, tmp_path) -> None:
    async with PLACES[place](name, tmp_path) as bed:
        await bed.index(entry(1))
        await bed.stores.aclose()
        await refused(StoreUnavailable, bed.arm.search(ask(bed.bank)))
        await refused(StoreUnavailable, bed.arm.scan(bed.bank, PageRequest()))
        if name is not ArmName.TEMPORAL:  # it has nothing to write to
            await refused(StoreUnavailable, bed.arm.index(bed.bank, (entry(2),)))
            await refused(StoreUnavailable, bed.remove((1, 1)))
            await refused(StoreUnavailable, bed.arm.drop(bed.bank))
        await until_unready(bed)


async def until_unready(bed: Bed) -> None:
    """Wait for the check to fail: over the wire it tells what the server last asked."""

    async def checks() -> None:
        while True:
            await bed.arm.check()
            await asyncio.sleep(0.02)

    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(checks(), 30)
