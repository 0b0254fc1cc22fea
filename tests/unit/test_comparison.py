"""Indexes against the ledger: what differs is told, what is on its way or only looked like it is not."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from unit.retain_fakes import Bench, open_bench

from recallmesh.core.arm import ArmName, Indexed
from recallmesh.core.comparison import IndexComparison, compare, compare_span
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import MemoryState
from recallmesh.core.page import Page, PageRequest

KEYWORD, GRAPH = ArmName.KEYWORD, ArmName.GRAPH


@dataclass
class Index:
    """What an arm holds, by id and version; ``before`` runs ahead of each look at it."""

    held: dict[str, int] = field(default_factory=dict)
    down: bool = False
    before: Callable[[], None] = lambda: None

    async def scan(self, _bank_uid, page):
        if self.down:
            raise StoreUnavailable("the index does not answer")
        self.before()
        rows = [Indexed(*pair) for pair in sorted(self.held.items()) if pair[0] > page.after]
        shown = tuple(rows[: page.size])
        return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")


@pytest.fixture
async def bench(tmp_path):
    async with open_bench(tmp_path) as bench:
        yield bench


async def kept(bench: Bench, count: int) -> Index:
    """Retain so many memories, and return an index that holds them."""
    await bench.keep(*(f"Fact {number}." for number in range(count)))
    return Index({memory.id: memory.version for memory in await bench.memories()})


async def compared(bench: Bench, index: Index, **more) -> IndexComparison:
    (found,) = await compare(bench.ledger, {KEYWORD: index}, bench.bank.uid, **more)
    return found


async def test_an_index_that_holds_what_the_ledger_shows_is_equal(bench):
    found = await compared(bench, await kept(bench, 7))
    assert (found.shown, found.indexed, found.is_equal) == (7, 7, True)


async def test_missing_stale_and_extra_are_told_with_their_ids(bench):
    index = await kept(bench, 6)
    missing, stale, *_ = index.held
    del index.held[missing]
    index.held |= {stale: 9, "zzz": 1, "000": 3}
    found = await compared(bench, index)
    assert (found.shown, found.indexed, found.missing, found.stale, found.extra) == (6, 7, 1, 1, 2)
    assert set(found.examples) == {missing, stale, "zzz", "000"}
    assert not found.is_equal


async def test_what_the_ledger_hides_is_extra(bench):
    index = await kept(bench, 3)
    hidden = next(iter(index.held))
    await bench.ledger.set_state(bench.bank.uid, hidden, MemoryState.INVALIDATED, (), bench.clock())
    assert (await compared(bench, index)).extra == 1


async def test_what_waits_in_the_outbox_is_pending_for_its_arm_alone(bench):
    bench.arms[KEYWORD].down = True
    await bench.keep("Ida keeps bees.")
    nothing = Index()
    found = await compare(bench.ledger, {KEYWORD: nothing, GRAPH: nothing}, bench.bank.uid)
    assert [(one.arm, one.pending, one.missing) for one in found] == [(KEYWORD, 1, 0), (GRAPH, 0, 1)]


@pytest.mark.parametrize("size", [1, 2, 3, 50])
async def test_pages_of_any_size_find_the_same(bench, size):
    index = await kept(bench, 12)
    lost = sorted(index.held)[::3]
    for one in lost:
        del index.held[one]
    index.held |= dict.fromkeys([f"{digit}-extra" for digit in "0369bf"], 1)
    wrong, shown, page = [], 0, PageRequest(size)
    while True:
        span = await compare_span(bench.ledger, {KEYWORD: index}, bench.bank.uid, page)
        wrong += [one.memory_id for one in span.indexes[0].differences]
        shown += span.shown
        if not span.end:
            break
        page = PageRequest(size, span.end)
    assert shown == 12
    assert sorted(wrong) == wrong
    assert set(wrong) == {*lost, *(f"{digit}-extra" for digit in "0369bf")}


async def test_an_index_far_larger_than_the_ledger_is_looked_at_in_pages(bench):
    index = await kept(bench, 2)
    index.held |= {f"x{number:05}": 1 for number in range(1_700)}
    found = await compared(bench, index)
    assert (found.indexed, found.extra, found.missing, len(found.examples)) == (1_702, 1_700, 0, 100)


async def test_a_memory_that_arrives_between_two_looks_is_no_difference(bench):
    index = await kept(bench, 5)
    late = dict([next(iter(index.held.items()))])
    held, looks = dict(index.held), []
    del index.held[next(iter(late))]

    def arrive():
        if looks:
            index.held = held
        looks.append(len(index.held))

    index.before = arrive
    assert (await compared(bench, index)).is_equal
    assert looks == [4, 5]


async def test_an_index_that_does_not_answer_costs_its_own_comparison_alone(bench):
    index = await kept(bench, 3)
    one, other = await compare(bench.ledger, {KEYWORD: Index(down=True), GRAPH: index}, bench.bank.uid)
    assert (one.error, one.is_equal) == ("the index does not answer", False)
    assert (other.shown, other.is_equal) == (3, True)


async def test_a_glance_looks_at_a_sample(bench):
    index = await kept(bench, 250)
    index.held.clear()
    found = await compared(bench, index, glance=True)
    assert (found.shown, found.missing) == (200, 200)


async def test_an_empty_bank_is_equal_to_empty_indexes(bench):
    assert (await compared(bench, Index())).is_equal
