"""Banks in memory beside a worker: what is read when, what is let go, and that every write is seen."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import pytest
from contract.test_vectors import EAST, NORTH, SIZE, ask, entry, found, mid, towards

from recallmesh.core.arm import Removal
from recallmesh.core.errors import EmbeddingMismatch, StoreUnavailable
from recallmesh.vectors import near as near_module
from recallmesh.vectors.near import open_near_vectors
from recallmesh.vectors.residence import ASKED_AGAIN


@asynccontextmanager
async def opened(path, **more):
    async with open_near_vectors(path, fingerprint="model-a", dimensions=SIZE, **more) as near:
        yield near


async def read(near, *banks):
    for bank in banks:
        await found(near, ask(bank))
    await asyncio.gather(*near._loading.values())


def held(near):
    return [bank_uid for bank_uid, stay in near._residence._stays.items() if stay.whole]


@asynccontextmanager
async def stopped(near):
    """Nothing is answered meanwhile but out of memory."""
    process = near._there._process
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)


async def kill(near):
    there = near._there
    process, reading = there._process, there._reading
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    await asyncio.wait([reading])


async def test_a_bank_that_was_searched_is_searched_without_the_worker(tmp_path):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1), entry(2, towards(0.5))))
        await read(near, "b1")
        async with stopped(near):
            assert await found(near, ask()) == [1, 2]


async def test_a_call_about_several_banks_is_answered_in_its_order(tmp_path):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1), entry(2, EAST)))
        await near.upsert("b2", (entry(3),))
        await read(near, "b1")
        answers = await near.search((ask(limit=1), ask("b2"), ask("none"), ask(vector=EAST, limit=1), *[ask()] * 40))
        assert [[UUID(hit.memory_id).int for hit in hits] for hits in answers[:5]] == [[1], [3], [], [2], [1, 2]]
        assert len(set(answers[4:])) == 1


async def test_every_write_is_seen_by_the_next_search(tmp_path):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1), entry(2)))
        await read(near, "b1")
        await near.upsert("b1", tuple(entry(n, towards(0.9), version=2) for n in range(2, 200)))
        await near.upsert("b1", (entry(3, version=1), entry(4, version=3), entry(4, EAST, version=2)))
        await near.delete("b1", (Removal(mid(2), 2), Removal(mid(5), 1), Removal(mid(900), 1)))
        await near.upsert("b1", (entry(2, version=2),))
        assert held(near) == ["b1"]
        async with stopped(near):
            assert await found(near, ask(limit=1000)) == [1, 4, 3, *range(5, 200)]
        await near.drop("b1")
        assert held(near) == []
        assert await found(near, ask()) == []


async def test_a_small_bank_is_answered_out_of_memory_from_its_first_search_on(tmp_path):
    # Else its second answer could differ from the first in the last digit of a score.
    async with opened(tmp_path) as near:
        await near.upsert("b1", tuple(entry(n) for n in range(600)))
        answers = await asyncio.gather(*(found(near, ask(limit=1000)) for _ in range(3)))
        assert held(near) == ["b1"]
        assert answers == [list(range(600))] * 3


async def test_a_large_bank_is_answered_by_the_worker_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(near_module, "WAITED_FOR", 100)
    async with opened(tmp_path) as near:
        await near.upsert("b1", tuple(entry(n) for n in range(600)))
        assert await found(near, ask(limit=1000)) == list(range(600))
        assert held(near) == []
        await asyncio.gather(*near._loading.values())
        assert held(near) == ["b1"]


async def test_writes_while_a_bank_is_read_are_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(near_module, "WAITED_FOR", 100)
    async with opened(tmp_path) as near:
        await near.upsert("b1", tuple(entry(n) for n in range(1, 600)))
        await found(near, ask())
        for n in range(1, 60, 2):
            await near.upsert("b1", (entry(n, EAST, version=2), entry(600 + n)))
            await near.delete("b1", (Removal(mid(n + 1), 2),))
        await asyncio.gather(*near._loading.values())
        async with stopped(near):
            news = [600 + n for n in range(1, 60, 2)]
            assert await found(near, ask(limit=1000)) == [*range(61, 600), *news, *range(1, 60, 2)]


async def test_a_bank_that_is_dropped_while_it_is_read_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(near_module, "WAITED_FOR", 100)
    async with opened(tmp_path) as near:
        await near.upsert("b1", tuple(entry(n) for n in range(600)))
        await found(near, ask())
        await near.drop("b1")
        await asyncio.gather(*near._loading.values())
        assert held(near) == []
        assert await found(near, ask()) == []


async def test_a_worker_that_was_killed_is_asked_anew_and_nothing_lost(tmp_path):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1),))
        await read(near, "b1")
        await kill(near)
        near._residence.bank("b1").discard([mid(1)])  # what was known before is not what is answered
        assert await found(near, ask()) == [1]
        await read(near, "b1")
        await near.upsert("b1", (entry(2),))
        async with stopped(near):
            assert await found(near, ask()) == [1, 2]


async def test_after_a_write_that_failed_or_was_abandoned_the_bank_is_read_anew(tmp_path):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1),))
        for abandon in (True, False):
            await read(near, "b1")
            assert held(near) == ["b1"]
            async with stopped(near):
                write = asyncio.create_task(near.upsert("b1", (entry(2, version=1 + abandon),)))
                await asyncio.sleep(0.05)
                if abandon:
                    write.cancel()
                else:
                    os.kill(near._there._process.pid, signal.SIGKILL)
                with pytest.raises(asyncio.CancelledError if abandon else StoreUnavailable):
                    await write
                assert held(near) == []
            if abandon:
                assert await found(near, ask()) == [1, 2]


async def test_no_more_memories_are_held_than_may_be(tmp_path):
    async with opened(tmp_path, resident_memories=10) as near:
        for n in range(1, 5):
            await near.upsert(f"b{n}", tuple(entry(m) for m in range(4)))
        await read(near, "b1", "b2", "b3")
        assert held(near) == ["b1", "b2"]
        for _ in range(ASKED_AGAIN):
            await found(near, ask("b2"))
            await read(near, "b3")
        assert held(near) == ["b2", "b3"]
        await near.upsert("b3", tuple(entry(m) for m in range(8)))
        assert held(near) == ["b3"]
        await near.upsert("b3", tuple(entry(m) for m in range(12)))
        assert held(near) == []
        assert len(await found(near, ask("b3"))) == 12


async def test_a_bank_that_cannot_be_read_is_still_searched(tmp_path, monkeypatch):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1),))

        async def fail(*_):
            raise StoreUnavailable("the disk has gone")

        monkeypatch.setattr(near._there, "rows", fail)
        await read(near, "b1")
        assert held(near) == []
        assert await found(near, ask()) == [1]


async def test_another_size_is_refused_also_where_the_bank_is_in_memory(tmp_path):
    async with opened(tmp_path) as near:
        await near.upsert("b1", (entry(1),))
        await read(near, "b1")
        with pytest.raises(EmbeddingMismatch):
            await near.search((ask(vector=(1.0, 0.0)),))
        with pytest.raises(EmbeddingMismatch):
            await near.upsert("b1", (entry(2), entry(3, (1.0, 0.0))))
        assert await found(near, ask()) == [1]


async def test_none_are_held_where_none_may_be(tmp_path):
    async with opened(tmp_path, resident_memories=0) as near:
        await near.upsert("b1", (entry(1, NORTH),))
        assert await found(near, ask()) == [1]
        assert not hasattr(near, "_residence")


async def test_a_closed_index_answers_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(near_module, "WAITED_FOR", 100)
    async with opened(tmp_path) as near:
        await near.upsert("b1", tuple(entry(n) for n in range(600)))
        await found(near, ask())  # and it is closed while it reads the bank
    with pytest.raises(StoreUnavailable):
        await found(near, ask())
