"""What every vector index must do. Another implementation joins by an entry in ``INDEXES``."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import combinations
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio
from loopback import open_loopback, until_ready
from qdrant_bed import forget_server, open_on_local_mode, open_on_server

from recallmesh.core.arm import IndexEntry, Removal, Vector
from recallmesh.core.errors import EmbeddingMismatch, StoreUnavailable
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest, passes
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.vectors import VectorField, VectorHit, VectorIndex, VectorQuery
from recallmesh.rpc.vectors import RemoteVectors, host_vectors
from recallmesh.vectors import embedded
from recallmesh.vectors.embedded import CALLS_AT_ONCE, open_embedded_vectors
from recallmesh.vectors.near import NearVectorIndex, open_near_vectors
from recallmesh.vectors.shelf import shelf_name

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIZE = 8
Opener = Callable[..., AbstractAsyncContextManager[VectorIndex]]


class WrittenWhereItLies:
    """An index that is read over the wire and written in the process that has it: only the semantic arm writes it.

    That ``RemoteVectors`` itself refuses to write is tested with it (test_rpc_models.py).
    """

    def __init__(self, remote: RemoteVectors, index: VectorIndex) -> None:
        self.search, self.scan, self.check = remote.search, remote.scan, remote.check
        self.upsert, self.delete, self.drop = index.upsert, index.delete, index.drop


@asynccontextmanager
async def open_remote(path: Path, **parts) -> AsyncIterator[VectorIndex]:
    async with open_embedded_vectors(path, **parts) as index, open_loopback(host_vectors(index)) as channel:
        remote = RemoteVectors(channel)
        await until_ready(remote)
        yield WrittenWhereItLies(remote, index)


class ReadBefore:
    """An index near whoever asks whose answers are those of the memory, where the bank has a place there."""

    def __init__(self, near: NearVectorIndex) -> None:
        self._near = near
        self.upsert, self.delete, self.drop, self.scan, self.check = (
            near.upsert,
            near.delete,
            near.drop,
            near.scan,
            near.check,
        )

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        await self._near.search(queries)
        await asyncio.gather(*self._near._loading.values())
        return await self._near.search(queries)


@asynccontextmanager
async def open_resident(path: Path, **parts) -> AsyncIterator[VectorIndex]:
    async with open_near_vectors(path, **parts) as near:
        yield ReadBefore(near)


INDEXES: dict[str, Opener] = {
    "embedded": open_embedded_vectors,
    "resident": open_resident,
    "resident-few": partial(open_resident, resident_memories=2),
    "remote": open_remote,
    "qdrant-local": open_on_local_mode,
    "qdrant": open_on_server,
}
"""``resident-few`` has no room for most banks, and lets those go that grow.

``qdrant-local`` is the adapter over the wire, with the client's local mode behind it (tests/qdrant_server.py says
what that cannot show), ``qdrant`` the adapter and a real server, where RECALLMESH_TEST_QDRANT names one."""
DURABLE: dict[str, Opener] = {name: opener for name, opener in INDEXES.items() if name != "remote"}
"""Those that are opened on a directory, or as if they were, so that opening again must find what was stored."""
STORES = [
    pytest.param(name, marks=pytest.mark.stores) if name == "qdrant" else name
    for name in INDEXES
    if name != "qdrant" or os.environ.get("RECALLMESH_TEST_QDRANT")
]
"""That a server is wanted and missing, the last test of test_qdrant.py says, once."""

DAY = datetime(2026, 8, 18, tzinfo=UTC)
NORTH: Vector = (1.0, *([0.0] * (SIZE - 1)))
EAST: Vector = (0.0, 1.0, *([0.0] * (SIZE - 2)))


def mid(number: int) -> str:
    return str(UUID(int=number))


def towards(cosine: float) -> Vector:
    """Return a unit vector that has this cosine to NORTH."""
    return (cosine, (1 - cosine * cosine) ** 0.5, *([0.0] * (SIZE - 2)))


def entry(number: int, vector: Vector = NORTH, **more) -> IndexEntry:
    given = {"version": 1, "text": f"memory {number}", "fact_type": FactType.WORLD} | more
    return IndexEntry(memory_id=mid(number), vector=vector, **given)


def ask(bank: str = "b1", vector: Vector = NORTH, **more) -> VectorQuery:
    return VectorQuery(bank, vector, **more)


async def found(index: VectorIndex, query: VectorQuery) -> list[int]:
    (hits,) = await index.search((query,))
    return [UUID(hit.memory_id).int for hit in hits]


@pytest_asyncio.fixture(params=STORES, scope="module", loop_scope="module")
async def shared_index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[VectorIndex]:
    path = tmp_path_factory.mktemp("vectors")
    async with INDEXES[request.param](path, fingerprint="model-a", dimensions=SIZE) as opened:
        yield opened
    if request.param == "qdrant":
        await forget_server(path)


@pytest_asyncio.fixture(loop_scope="module")
async def index(shared_index: VectorIndex) -> AsyncIterator[VectorIndex]:
    yield shared_index
    await shared_index.drop("b1")
    await shared_index.drop("b2")


@pytest_asyncio.fixture(params=[one for one in STORES if one != "remote"], loop_scope="module")
async def opener(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    yield DURABLE[request.param]
    if request.param == "qdrant":
        await forget_server(tmp_path)


# Nearness


async def test_the_nearest_come_first_with_their_cosine_type_and_time(index: VectorIndex) -> None:
    away = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2026, 8, 18, 9, 30, 0, 1, tzinfo=away)
    await index.upsert(
        "b1",
        (
            entry(1, towards(0.2)),
            entry(2, towards(0.9), fact_type=FactType.EXPERIENCE, mentioned=moment),
            entry(3, towards(-0.5)),
        ),
    )
    ((first, second, third),) = await index.search((ask(),))
    assert [first.memory_id, second.memory_id, third.memory_id] == [mid(2), mid(1), mid(3)]
    assert [first.score, second.score, third.score] == pytest.approx([0.9, 0.2, -0.5], abs=1e-5)
    assert (first.fact_type, second.fact_type) == (FactType.EXPERIENCE, FactType.WORLD)
    assert first.time == Window(moment, moment)
    assert second.time is None


async def test_a_batch_is_answered_in_its_order(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, NORTH), entry(2, EAST)))
    answers = await index.search((ask(vector=EAST, limit=1), ask(bank="none"), ask(limit=1)))
    assert [[hit.memory_id for hit in answer] for answer in answers] == [[mid(2)], [], [mid(1)]]
    assert await index.search(()) == ()
    many = await index.search(tuple(ask(vector=NORTH if n % 3 else EAST, limit=1) for n in range(50)))
    assert [hit.memory_id for (hit,) in many] == [mid(1) if n % 3 else mid(2) for n in range(50)]


async def test_an_unknown_bank_has_no_hits_and_can_be_dropped(index: VectorIndex) -> None:
    assert await found(index, ask(bank="nobody")) == []
    await index.drop("nobody")
    await index.delete("nobody", (Removal(mid(1), 1),))
    assert (await index.scan("nobody", PageRequest())).rows == ()


async def test_the_context_vector_is_searched_by_its_own_name_and_is_the_text_where_absent(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, EAST, context_vector=NORTH), entry(2, towards(0.5))))
    assert await found(index, ask(field=VectorField.CONTEXT)) == [1, 2]
    assert await found(index, ask(field=VectorField.TEXT)) == [2, 1]


async def test_the_floor_is_inclusive(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, NORTH), entry(2, towards(0.5)), entry(3, towards(0.49))))
    assert await found(index, ask(min_score=1.0)) == [1]
    assert await found(index, ask(min_score=0.5)) == [1, 2]


async def test_excluded_ids_do_not_come_and_take_no_place(index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(n, towards(1 - n / 10)) for n in range(1, 6)))
    assert await found(index, ask(exclude=(mid(1), mid(3)), limit=2)) == [2, 4]


async def test_fact_types_are_filtered(index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(n, fact_type=t) for n, t in enumerate(FactType)))
    assert await found(index, ask(fact_types=(FactType.WORLD, FactType.OBSERVATION))) == [0, 2]
    assert await found(index, ask(fact_types=())) == [0, 1, 2]


async def test_equal_vectors_are_ordered_and_cut_by_memory_id_every_time(index: VectorIndex) -> None:
    numbers = list(range(1, 51))
    random.Random(7).shuffle(numbers)
    await index.upsert("b1", tuple(entry(n) for n in numbers))
    await index.upsert("b1", (entry(60, EAST),))
    for _ in range(20):
        assert await found(index, ask()) == [*range(1, 51), 60]
        assert await found(index, ask(limit=7)) == list(range(1, 8))


async def test_a_vector_of_another_size_is_refused(index: VectorIndex) -> None:
    with pytest.raises(EmbeddingMismatch):
        await index.upsert("b1", (entry(1, (1.0, 0.0)),))
    with pytest.raises(EmbeddingMismatch):
        await index.search((ask(vector=(1.0, 0.0)),))
    assert await found(index, ask()) == []


# Banks


async def test_banks_do_not_see_each_other_even_with_the_same_memory_ids(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1), entry(2)))
    await index.upsert("b2", (entry(1), entry(3)))
    assert await found(index, ask(bank="b1")) == [1, 2]
    assert await found(index, ask(bank="b2")) == [1, 3]
    await index.delete("b1", (Removal(mid(1), 5),))
    assert await found(index, ask(bank="b2")) == [1, 3]
    await index.drop("b1")
    assert await found(index, ask(bank="b1")) == []
    assert await found(index, ask(bank="b2")) == [1, 3]
    assert (await index.scan("b1", PageRequest())).rows == ()


# Versions


async def test_an_older_version_changes_nothing(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, NORTH, version=3),))
    await index.upsert("b1", (entry(1, EAST, version=2),))
    ((hit,),) = await index.search((ask(),))
    assert hit.score == pytest.approx(1.0)
    await index.upsert("b1", (entry(1, EAST, version=4),))
    ((hit,),) = await index.search((ask(),))
    assert hit.score == pytest.approx(0.0)
    assert [row.version for row in (await index.scan("b1", PageRequest())).rows] == [4]


async def test_the_newest_of_several_versions_in_one_call_stays(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, EAST, version=2), entry(1, NORTH, version=1)))
    ((hit,),) = await index.search((ask(vector=EAST),))
    assert hit.score == pytest.approx(1.0)


async def test_a_removal_outlives_older_writes_but_not_newer_ones(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, version=2),))
    await index.delete("b1", (Removal(mid(1), 1),))
    assert await found(index, ask()) == [1]
    await index.delete("b1", (Removal(mid(1), 3),))
    assert await found(index, ask()) == []
    assert (await index.scan("b1", PageRequest())).rows == ()
    await index.upsert("b1", (entry(1, version=2),))
    assert await found(index, ask()) == []
    await index.upsert("b1", (entry(1, version=4),))
    assert await found(index, ask()) == [1]


async def test_a_removal_that_comes_before_its_memory_keeps_it_out(index: VectorIndex) -> None:
    await index.delete("b1", (Removal(mid(1), 2),))
    await index.upsert("b1", (entry(1, version=1), entry(2, version=1)))
    assert await found(index, ask()) == [2]


# Tags

TAG_SETS = [frozenset(some) for size in range(4) for some in combinations(("a", "b", "c:d"), size)]
LEAVES = [TagLeaf(tags, mode) for tags in [*TAG_SETS, frozenset({"a", "zz"})] for mode in TagMode]


def groups() -> list[TagTest]:
    rng = random.Random(3)

    def grown(depth: int) -> TagTest:
        if depth == 0:
            return rng.choice(LEAVES)
        kind = rng.randrange(4)
        parts = tuple(grown(depth - 1) for _ in range(rng.randrange(4)))
        return TagAnd(parts) if kind == 0 else TagOr(parts) if kind == 1 else TagNot(grown(depth - 1))

    return [grown(1 + n % 3) for n in range(120)]


async def test_tag_tests_pass_just_what_the_reference_passes(index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(n, tags=tuple(sorted(tags))) for n, tags in enumerate(TAG_SETS)))
    tests = [*LEAVES, *groups(), TagOr(()), TagAnd(()), TagNot(TagOr(())), TagNot(TagAnd(()))]
    answers = await index.search(tuple(ask(tags=test) for test in tests))
    for test, hits in zip(tests, answers, strict=True):
        wanted = [mid(n) for n, tags in enumerate(TAG_SETS) if passes(test, tags)]
        assert [hit.memory_id for hit in hits] == wanted, test


async def test_tags_named_twice_count_once_and_untagging_is_seen(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, tags=("a", "a")),))
    exactly_a, untagged = TagLeaf(frozenset({"a"}), TagMode.EXACT), TagLeaf(frozenset(), TagMode.EXACT)
    assert await found(index, ask(tags=exactly_a)) == [1]
    await index.upsert("b1", (entry(1, tags=(), version=2),))
    assert await found(index, ask(tags=exactly_a)) == []
    assert await found(index, ask(tags=untagged)) == [1]


async def test_all_of_a_rare_tag_far_from_the_query_come(index: VectorIndex) -> None:
    # Case 28, with 20,000 memories.
    rng = random.Random(1)
    rare = set(range(700, 20_000, 1_287))
    assert len(rare) == 15
    for first in range(0, 20_000, 2_000):
        await index.upsert(
            "b1",
            tuple(
                entry(n, towards(-0.9), tags=("rare",)) if n in rare else entry(n, towards(rng.uniform(0.3, 1)))
                for n in range(first, first + 2_000)
            ),
        )
    strict = TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT)
    assert await found(index, ask(tags=strict, limit=100)) == sorted(rare)


# Time


async def test_a_window_keeps_what_overlaps_it_with_both_ends_included(index: VectorIndex) -> None:
    # Case 7, and the same at the microsecond.
    moments = {
        1: DAY - timedelta(milliseconds=1),
        2: DAY,
        3: DAY + timedelta(days=1) - timedelta(milliseconds=1),
        4: DAY + timedelta(days=1),
        5: DAY - timedelta(microseconds=1),
        6: DAY + timedelta(days=1) - timedelta(microseconds=1),
    }
    year = Occurrence(Window(DAY.replace(month=1, day=1), DAY.replace(month=12, day=31)), Precision.YEAR)
    await index.upsert(
        "b1",
        (
            *(entry(n, mentioned=moment) for n, moment in moments.items()),
            entry(7),
            entry(8, occurred=year, mentioned=DAY - timedelta(days=900)),
        ),
    )
    day = Window(DAY, DAY + timedelta(days=1) - timedelta(microseconds=1))
    assert await found(index, ask(window=day)) == [2, 3, 6, 8]
    assert await found(index, ask(window=Window(DAY, DAY))) == [2, 8]
    assert await found(index, ask(window=Window(moments[5], moments[5]))) == [5, 8]
    # Only what begins there: of two windows beside one another each memory is in one.
    assert await found(index, ask(window=day, begins=True)) == [2, 3, 6]
    january = Window(year.window.start, year.window.start + timedelta(days=30))
    assert await found(index, ask(window=january, begins=True)) == [8]


async def test_open_windows_reach_from_the_first_to_the_last_moment(index: VectorIndex) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    old = datetime(1066, 10, 14, tzinfo=UTC)
    await index.upsert("b1", (entry(1, mentioned=old), entry(2, mentioned=DAY), entry(3)))
    assert await found(index, ask(window=Window(first, last))) == [1, 2]
    assert await found(index, ask(window=Window(first, DAY - timedelta(days=1)))) == [1]
    assert await found(index, ask(window=Window(DAY, last))) == [2]
    ((hit, _),) = await index.search((ask(window=Window(first, last)),))
    assert hit.time == Window(old, old)


# Lists, and many at once


async def test_a_scan_pages_by_memory_id_without_gaps_or_repeats(index: VectorIndex) -> None:
    numbers = list(range(1, 24))
    random.Random(2).shuffle(numbers)
    await index.upsert("b1", tuple(entry(n, version=n) for n in numbers))
    rows, after, pages = [], "", 0
    while True:
        page = await index.scan("b1", PageRequest(size=5, after=after))
        rows, after, pages = [*rows, *page.rows], page.next_after, pages + 1
        if not after:
            break
    assert [(row.memory_id, row.version) for row in rows] == [(mid(n), n) for n in range(1, 24)]
    assert pages == 5
    assert (await index.scan("b1", PageRequest(size=23))).next_after == ""


async def test_many_searches_during_writes_answer_whole(index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(n) for n in range(50)))

    async def write() -> None:
        for n in range(100, 400, 50):
            await index.upsert("b1", tuple(entry(m, towards(0.5)) for m in range(n, n + 50)))

    async def search() -> list[int]:
        return await found(index, ask(limit=50))

    writing = asyncio.create_task(write())
    answers = await asyncio.gather(*(search() for _ in range(32)))
    await writing
    assert answers == [list(range(50))] * 32
    assert len(await found(index, ask(limit=1000))) == 350


async def test_an_abandoned_search_does_not_disturb_the_next(index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1),))
    tasks = [asyncio.create_task(found(index, ask())) for _ in range(10)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await found(index, ask()) == [1]


# What is opened on a directory


async def test_what_was_stored_is_there_after_opening_again(opener: Opener, tmp_path: Path) -> None:
    async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b1", (entry(1, tags=("a",), mentioned=DAY), entry(2)))
        await index.delete("b1", (Removal(mid(2), 7),))
    async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b1", (entry(2, version=6),))
        assert await found(index, ask(window=Window(DAY, DAY), tags=TagLeaf(frozenset({"a"})))) == [1]
        assert await found(index, ask()) == [1]


WRITER = """
import asyncio, os, sys
from pathlib import Path
from uuid import UUID
from recallmesh.core.arm import IndexEntry
from recallmesh.core.memory import FactType
from recallmesh.vectors.embedded import open_embedded_vectors

async def main():
    async with open_embedded_vectors(Path(sys.argv[1]), fingerprint="model-a", dimensions=8) as index:
        for n in range(1, 301):
            entry = IndexEntry(str(UUID(int=n)), 1, "t", FactType.WORLD, vector=(1.0, *[0.0] * 7))
            await index.upsert("b1", (entry,))
            if n in (150, 300):
                print(n, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_what_was_stored_is_there_after_a_kill(tmp_path: Path) -> None:
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    assert await writer.stdout.readline() == b"150\n"
    assert await writer.stdout.readline() == b"300\n"
    writer.kill()
    await writer.wait()
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        assert await found(index, ask()) == list(range(1, 301))


async def test_a_second_opener_is_told_that_another_process_has_it(tmp_path: Path) -> None:
    # Of a server's index there may be many openers: tests/contract/test_qdrant.py.
    opener = open_embedded_vectors
    async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b1", (entry(1),))
        with pytest.raises(StoreUnavailable, match="another process has the vector index open"):
            async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE, lock_wait_s=0.1):
                pytest.fail("it was opened twice")
        assert await found(index, ask()) == [1]


async def test_another_vector_size_is_refused_and_nothing_wiped(opener: Opener, tmp_path: Path) -> None:
    # Case 44.
    async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b1", (entry(1),))
    with pytest.raises(EmbeddingMismatch):
        async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE + 1):
            pytest.fail("it was opened")
    async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        assert await found(index, ask()) == [1]


async def test_another_model_has_vectors_of_its_own_beside_the_old_ones(opener: Opener, tmp_path: Path) -> None:
    async with opener(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b1", (entry(1),))
        async with opener(tmp_path, fingerprint="model-b", dimensions=3) as other:
            assert await found(other, ask(vector=(1.0, 0.0, 0.0))) == []
        assert await found(index, ask()) == [1]


# The embedded one's worker process


async def test_a_worker_that_was_killed_is_replaced_and_nothing_lost(tmp_path: Path) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b1", (entry(1),))
        process = index._process
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        await asyncio.wait([index._reading])
        assert await found(index, ask()) == [1]
        assert index._process is not process


async def test_calls_in_hand_are_told_when_the_worker_is_killed(tmp_path: Path) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        os.kill(index._process.pid, signal.SIGSTOP)
        waiting = asyncio.create_task(index.check())
        await asyncio.sleep(0.05)
        os.kill(index._process.pid, signal.SIGKILL)
        with pytest.raises(StoreUnavailable):
            await waiting
        await index.check()


async def test_a_small_search_does_not_wait_behind_a_large_one_or_a_large_write(tmp_path: Path) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        await index.upsert("b2", (entry(1),))
        write = asyncio.create_task(index.upsert("b1", tuple(entry(n) for n in range(2_000))))
        large = asyncio.create_task(index.search((ask(),) * 400))
        await asyncio.sleep(0.01)
        assert await found(index, ask(bank="b2")) == [1]
        assert not large.done()
        assert not write.done()
        assert len(await large) == 400
        await write


async def test_the_rest_of_a_large_search_is_not_sent_once_its_caller_has_gone(tmp_path: Path) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        large = asyncio.create_task(index.search((ask(),) * 1_600))
        await asyncio.sleep(0.01)
        large.cancel()
        await asyncio.gather(large, return_exceptions=True)
        sent = next(index._numbers)
        assert await found(index, ask()) == []
        await asyncio.sleep(0.05)
        assert next(index._numbers) == sent + 2 < 100


async def test_abandoned_calls_keep_their_turn_until_the_worker_is_done_with_them(tmp_path: Path) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        os.kill(index._process.pid, signal.SIGSTOP)
        tasks = [asyncio.create_task(found(index, ask())) for _ in range(20)]
        for task in tasks:
            await asyncio.sleep(0.005)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert next(index._numbers) == CALLS_AT_ONCE + 1
        os.kill(index._process.pid, signal.SIGCONT)
        assert await found(index, ask()) == []


async def test_a_busy_worker_is_not_down_but_one_that_stands_still_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE) as index:
        os.kill(index._process.pid, signal.SIGSTOP)
        tasks = [asyncio.create_task(index.search((ask(),) * 40)) for _ in range(5)]
        await asyncio.sleep(0.01)
        await asyncio.wait_for(index.check(), 30)
        monkeypatch.setattr(embedded, "STALL_S", 0.0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(index.check(), 0.1)
        os.kill(index._process.pid, signal.SIGCONT)
        assert [len(answers) for answers in await asyncio.gather(*tasks)] == [40] * 5
        await index.check()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 -- the worker's process has no event of ours to set
        await asyncio.sleep(0.02)


async def test_graphs_are_built_beside_the_index_and_miss_no_write_made_meanwhile(tmp_path: Path) -> None:
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE, index_from=400) as index:
        await index.upsert(
            "b1", tuple(entry(n, towards(1 - n / 1000), tags=("rare",) if n > 497 else ()) for n in range(1, 501))
        )
        await index.upsert("b2", (entry(1), entry(2)))
        home = tmp_path / shelf_name("model-a")
        await until((home / "shard-2").exists)
        await index.upsert("b1", (entry(600, towards(0.05)), entry(1, towards(0.0), version=2)))
        await index.delete("b1", (Removal(mid(2), 2),))
        await index.drop("b2")
        await until(lambda: not (home / "shard-1").exists())
        assert (home / "current").read_text() == "2"
        assert await found(index, ask(limit=1000)) == [*range(3, 501), 600, 1]
        assert await found(index, ask(bank="b2")) == []
        rare = TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT)
        assert await found(index, ask(tags=rare, limit=5)) == [498, 499, 500]
    async with open_embedded_vectors(tmp_path, fingerprint="model-a", dimensions=SIZE, index_from=400) as index:
        assert await found(index, ask(limit=1000)) == [*range(3, 501), 600, 1]


async def test_a_query_that_asks_for_no_times_gets_the_same_hits_without_them(index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(number, mentioned=DAY) for number in range(3)))
    with_times, without = await index.search((ask(), ask(times=False)))
    assert [hit.time for hit in with_times] == [Window(DAY, DAY)] * 3
    assert without == tuple(hit._replace(time=None) for hit in with_times)
