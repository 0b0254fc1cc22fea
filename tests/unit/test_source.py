"""Chunks and source facts: which come, in which order, how much of them, and which are kept back."""

from dataclasses import replace

import pytest
from unit.recall_fakes import FakeArm, FakeLedger, K, WordTokens, memory, mesh, name, numbers

from recallmesh.core.document import Chunk
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode, TagNot
from recallmesh.recall import source

OPEN = TagLeaf(frozenset({"open"}), TagMode.ANY_STRICT)


def chunk(number: int, tokens: int = 10) -> Chunk:
    return Chunk(f"c{number}", "d", number, " ".join([f"word{number}"] * tokens), tokens)


def held(number: int, of: int, **fields):
    return memory(number, chunk_id=f"c{of}", **fields)


async def ids(ledger, ranking, limit, visible=EVERYTHING):
    found = await source.chunks(ledger, WordTokens(), "uid", ranking, limit, visible)
    return [(one.chunk.id, one.chunk.tokens, one.truncated) for one in found]


async def test_each_chunk_comes_once_in_the_order_of_its_best_memory():
    ranking = [held(1, 7), held(2, 3), held(3, 7), memory(4), held(5, 0), held(6, 3)]
    ledger = FakeLedger(*ranking, chunks=[chunk(number) for number in (0, 3, 7)])
    assert await ids(ledger, ranking, 100) == [("c7", 10, False), ("c3", 10, False), ("c0", 10, False)]


async def test_many_chunks_are_read_until_the_tokens_are_used_up():
    ranking = [held(number, number) for number in range(100)]
    ledger = FakeLedger(*ranking, chunks=[chunk(number) for number in range(100)])
    found = await ids(ledger, ranking, 705)
    assert [one for one, _, _ in found] == [f"c{number}" for number in range(71)]
    assert [(tokens, cut) for _, tokens, cut in found] == [(10, False)] * 70 + [(5, True)]


@pytest.mark.parametrize(("limit", "last"), [(25, ("c2", 5, True)), (30, ("c2", 10, False)), (21, ("c2", 1, True))])
async def test_the_last_chunk_is_cut_to_what_is_left_and_says_so(limit, last):
    ranking = [held(number, number) for number in range(4)]
    ledger = FakeLedger(*ranking, chunks=[chunk(number) for number in range(4)])
    found = await ids(ledger, ranking, limit)
    assert (len(found), found[-1]) == (3, last)
    assert [cut for _, _, cut in found[:-1]] == [False, False]


async def test_a_chunk_without_room_for_one_token_does_not_come():
    ranking = [held(1, 1), held(2, 2)]
    ledger = FakeLedger(*ranking, chunks=[chunk(1), chunk(2)])
    assert await ids(ledger, ranking, 10) == [("c1", 10, False)]
    assert await ids(ledger, ranking, 0) == []


@pytest.mark.parametrize(
    ("hidden", "test"),
    [
        ({"tags": ("secret",)}, OPEN),
        ({"tags": ()}, OPEN),
        ({"tags": ("open", "secret")}, TagNot(TagLeaf(frozenset({"secret"}), TagMode.ANY_STRICT))),
        ({"tags": ("open",), "state": MemoryState.INVALIDATED}, OPEN),
        ({"tags": ("open",), "state": MemoryState.INVALIDATED}, EVERYTHING),
    ],
    ids=["another tag", "no tag", "a tag too many", "invalidated", "invalidated and no test"],
)
async def test_a_chunk_that_one_of_its_memories_hides_makes_room_for_the_next(hidden, test):
    ranking = [held(1, 1, tags=("open",)), held(2, 2, tags=("open",))]
    ledger = FakeLedger(*ranking, held(3, 1, **hidden), chunks=[chunk(1), chunk(2)])
    assert await ids(ledger, ranking, 10, test) == [("c2", 10, False)]
    answer = await mesh(ledger=ledger, arms={K: FakeArm(1, 2)}).recall(tags=test, chunk_tokens=10)
    assert numbers(answer) == [1, 2]
    assert [one.chunk.id for one in answer.chunks] == ["c2"]


async def test_a_chunk_of_another_fact_type_hides_nothing():
    ranking = [held(1, 1)]
    ledger = FakeLedger(*ranking, held(2, 1, fact_type=FactType.EXPERIENCE), chunks=[chunk(1)])
    answer = await mesh(ledger=ledger, arms={K: FakeArm(1)}).recall(fact_types=(FactType.WORLD,), chunk_tokens=100)
    assert [one.chunk.id for one in answer.chunks] == ["c1"]


async def test_a_chunk_whose_memories_went_meanwhile_does_not_come():
    class Emptied(FakeLedger):
        async def outline_chunks(self, bank_uid, chunk_ids):  # noqa: ARG002 - the port's names
            return ()

    ranking = [held(1, 1)]
    assert await ids(Emptied(*ranking, chunks=[chunk(1)]), ranking, 100) == []
    assert await ids(FakeLedger(*ranking), ranking, 100) == []


async def test_an_outdated_chunk_makes_room_for_the_next():
    ranking = [held(1, 1), held(2, 2)]
    ledger = FakeLedger(*ranking, chunks=[replace(chunk(1), outdated=True), chunk(2)])
    assert await ids(ledger, ranking, 10) == [("c2", 10, False)]


async def test_a_retiring_memory_still_shows_its_chunk():
    ranking = [held(1, 1, state=MemoryState.RETIRING)]
    assert await ids(FakeLedger(*ranking, chunks=[chunk(1)]), ranking, 100) == [("c1", 10, False)]


async def test_chunks_come_of_what_is_too_long_to_be_packed():
    ledger = FakeLedger(held(1, 1), held(2, 2, tokens=5000), chunks=[chunk(1), chunk(2)])
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2)})
    answer = await here.recall(max_tokens=20, chunk_tokens=100)
    assert (numbers(answer), [one.chunk.id for one in answer.chunks]) == ([1], ["c1", "c2"])
    answer = await here.recall(max_tokens=0, chunk_tokens=100)
    assert (numbers(answer), answer.omitted, [one.chunk.id for one in answer.chunks]) == ([], 2, ["c1", "c2"])
    answer = await here.recall(limit=1, chunk_tokens=100)
    assert (numbers(answer), [one.chunk.id for one in answer.chunks]) == ([1], ["c1"])


def observation(number: int, *sources: int, **fields):
    return memory(number, fact_type=FactType.OBSERVATION, sources=tuple(name(each) for each in sources), **fields)


async def facts(ledger, shown, limit, visible=EVERYTHING):
    found = await source.source_facts(ledger, "uid", shown, limit, visible)
    return [one.id for one in found.memories]


async def test_source_facts_come_once_in_the_order_of_the_observations():
    shown = [observation(10, 3, 1), memory(5), observation(11, 2, 3)]
    ledger = FakeLedger(*(memory(number) for number in (1, 2, 3, 5)))
    assert await facts(ledger, shown, 100) == [name(number) for number in (3, 1, 2)]
    assert await facts(ledger, shown, 20) == [name(number) for number in (3, 1)]
    assert await facts(ledger, shown, 0) == []


async def test_source_facts_that_may_be_shown_and_do_not_fit_are_counted():
    ledger = FakeLedger(
        memory(1), memory(2, tokens=90), memory(3, state=MemoryState.INVALIDATED, tokens=90), memory(4), memory(5)
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(10)})
    here.ledger.memories[name(10)] = observation(10, 1, 2, 3, 4, 5, 6)
    for fields in ({}, {"trace": True}):
        answer = await here.recall(source_tokens=25, **fields)
        assert [one.id for one in answer.source_facts] == [name(1), name(4)]
        assert answer.source_facts_omitted == 2
        assert (await here.recall(**fields)).source_facts_omitted == 0


async def test_source_facts_that_may_not_be_shown_or_are_gone_do_not_come():
    known = [
        memory(1, tags=("open",)),
        memory(2, tags=("secret",)),
        memory(3),
        memory(4, tags=("open",), state=MemoryState.INVALIDATED),
        memory(5, tags=("open",), fact_type=FactType.EXPERIENCE),
    ]
    shown = [observation(10, 1, 2, 3, 4, 5, 6)]
    ledger = FakeLedger(*known)
    assert await facts(ledger, shown, 100, OPEN) == [name(1), name(5)]
    assert await facts(ledger, shown, 100) == [name(number) for number in (1, 2, 3, 5)]
    assert await facts(ledger, [replace(shown[0], fact_type=FactType.WORLD, sources=())], 100) == []
