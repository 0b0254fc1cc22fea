"""What the Qdrant adapter sends over the wire, and what it makes of a server that misbehaves.

What the port promises is in test_vectors.py. The server here is real gRPC over the client's local mode
(tests/qdrant_server.py); the last test is for a real one.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import grpc
import pytest
import pytest_asyncio
import servers
import structlog
from qdrant_bed import forget_server, prefix_of
from qdrant_client import grpc as pb
from qdrant_server import LocalServer, open_local_server

from recallmesh.core.arm import IndexEntry, Removal, Vector
from recallmesh.core.deadline import within
from recallmesh.core.errors import (
    ArmTimeout,
    EmbeddingMismatch,
    InternalFault,
    InvalidArgument,
    MeshError,
    NotReady,
    Overloaded,
    StoreUnavailable,
)
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.core.store import Migrated
from recallmesh.core.tags import TagLeaf, TagMode, TagNot, TagOr
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorField, VectorIndex, VectorQuery
from recallmesh.vectors.qdrant import inspect_qdrant, migrate_qdrant, open_qdrant_vectors
from recallmesh.vectors.qdrant_collection import FIELD_INDEXES
from recallmesh.vectors.qdrant_point import mask_of, turned

MODEL = {"fingerprint": "model-a", "dimensions": 3}
NAME = "recallmesh-model-a-3"
NORTH: Vector = (1.0, 0.0, 0.0)
EAST: Vector = (0.0, 1.0, 0.0)
DAY = datetime(2026, 8, 18, tzinfo=UTC)
WORLD = (FactType.WORLD,)
SOON_S = 5.0
"""What is told at once takes less than this on any machine; a call's own time is twice as long."""


def mid(number: int) -> str:
    return str(UUID(int=number << 64))


def entry(number: int, vector: Vector = NORTH, version: int = 1, **more) -> IndexEntry:
    return IndexEntry(mid(number), version, "text", more.pop("fact_type", FactType.WORLD), vector=vector, **more)


def ask(bank: str = "b1", vector: Vector = NORTH, **more) -> VectorQuery:
    return VectorQuery(bank, vector, **more)


async def found(index: VectorIndex, **more) -> list[int]:
    (hits,) = await index.search((ask(**more),))
    return [UUID(hit.memory_id).int >> 64 for hit in hits]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[LocalServer]:
    async with open_local_server() as running:
        await migrate_qdrant(running.url, **MODEL)
        running.calls.clear()
        yield running


@pytest_asyncio.fixture
async def index(server: LocalServer) -> AsyncIterator[VectorIndex]:
    async with open_qdrant_vectors(server.url, **MODEL) as opened:
        await opened.check()
        server.calls.clear()
        yield opened


# What is sent


async def test_every_search_is_of_one_bank_whatever_else_it_asks(server: LocalServer, index: VectorIndex) -> None:
    tags = TagOr((TagNot(TagLeaf(frozenset({"a"}))), TagLeaf(frozenset(), TagMode.EXACT)))
    questions = (
        ask("b1"),
        ask("b2", tags=tags, exclude=(mid(1),), window=Window(DAY, DAY), fact_types=WORLD),
        ask("b1", tags=TagNot(TagLeaf(frozenset({"a"}), TagMode.ALL_STRICT)), min_score=0.3),
    )
    await index.search(questions)
    (batch,) = server.of("QueryBatch")
    assert batch.collection_name == NAME
    for question, asked in zip(questions, batch.query_points, strict=True):
        banks = [one.field.match.keyword for one in asked.filter.must if one.field.key == "bank"]
        assert banks == [question.bank_uid]
        assert not asked.filter.should
        assert asked.collection_name == NAME


async def test_many_questions_are_one_call_each_with_its_own_limits(server: LocalServer, index: VectorIndex) -> None:
    await index.search((ask(limit=5, min_score=0.25), ask(limit=1500, field=VectorField.CONTEXT), ask(limit=300)))
    (batch,) = server.of("QueryBatch")
    first, second, third = batch.query_points
    assert (first.using, second.using) == ("text", "context")
    # One more than is wanted tells of ties; what the server compares is not rounded, so its floor is a little lower.
    assert [one.limit for one in batch.query_points] == [6, 1501, 301]
    assert first.score_threshold == pytest.approx(0.25, abs=2e-6)
    assert first.score_threshold < 0.25
    assert not second.HasField("score_threshold")
    assert [one.params.hnsw_ef for one in (first, second, third)] == [64, 1000, 300]


async def test_payloads_are_read_only_for_what_the_question_does_not_say(
    server: LocalServer, index: VectorIndex
) -> None:
    await index.upsert("b1", (entry(1, mentioned=DAY),))
    said = [
        (ask(fact_types=WORLD, times=False), []),
        (ask(fact_types=WORLD), ["start", "end"]),
        (ask(times=False), ["type"]),
        (ask(), ["type", "start", "end"]),
    ]
    answers = await index.search(tuple(query for query, _ in said))
    (batch,) = server.of("QueryBatch")
    assert [list(one.with_payload.include.fields) for one in batch.query_points] == [fields for _, fields in said]
    assert not batch.query_points[0].with_payload.enable
    assert {hits[0].memory_id for hits in answers} == {mid(1)}
    assert {hits[0].fact_type for hits in answers} == {FactType.WORLD}
    assert [hits[0].time for hits in answers] == [None, Window(DAY, DAY), None, Window(DAY, DAY)]


async def test_writes_wait_are_in_order_and_give_way_to_what_is_later(server: LocalServer, index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1, version=3), entry(2, version=3), entry(3, version=4)))
    await index.delete("b1", (Removal(mid(1), 5),))
    stored, removed = server.of("UpdateBatch")
    for request in (stored, removed):
        assert request.wait
        assert request.ordering.type == pb.WriteOrderingType.Medium
        assert request.timeout == 10
    # A condition is of an operation: one for each version.
    assert [len(one.upsert.points) for one in stored.operations] == [2, 1]
    for operation, highest in zip((*stored.operations, *removed.operations), (6, 8, 11), strict=True):
        condition = operation.upsert.update_filter
        assert [(one.field.key, one.field.range.lte) for one in condition.must] == [("order", highest)]
        assert {(one.field.key, one.field.match.keyword) for one in condition.should} == {
            ("bank", "b1"),
            ("grave", "b1"),
        }


async def test_a_removed_memory_leaves_a_point_without_vectors_and_without_its_bank(
    server: LocalServer, index: VectorIndex
) -> None:
    await index.delete("b1", (Removal(mid(1), 5),))
    (request,) = server.of("UpdateBatch")
    (point,) = request.operations[0].upsert.points
    # A real server refuses a point that says nothing of vectors.
    assert point.HasField("vectors")
    assert point.vectors.WhichOneof("vectors_options") == "vectors"
    assert not point.vectors.vectors.vectors
    assert set(point.payload) == {"grave", "order", "removed_at"}


async def test_what_was_removed_is_not_found_where_its_vectors_stay_behind(
    server: LocalServer, index: VectorIndex
) -> None:
    await index.upsert("b1", (entry(1, tags=("a",)), entry(2)))
    server.built = True
    await index.delete("b1", (Removal(mid(1), 1),))
    kept = await server.kept.points.retrieve(NAME, [turned(mid(1), mask_of("b1"))], with_vectors=True)
    assert set(kept[0].vector) == {"text", "context"}
    assert await found(index) == [2]
    assert await found(index, tags=TagNot(TagLeaf(frozenset({"b"}), TagMode.ANY_STRICT))) == [2]
    assert [row.memory_id for row in (await index.scan("b1", PageRequest())).rows] == [mid(2)]


async def test_a_bank_is_dropped_with_what_remembers_its_removals(server: LocalServer, index: VectorIndex) -> None:
    await index.upsert("b1", (entry(1), entry(2)))
    await index.delete("b1", (Removal(mid(1), 5),))
    await index.drop("b1")
    (request,) = server.of("Delete")
    assert request.wait
    assert {(one.field.key, one.field.match.keyword) for one in request.points.filter.should} == {
        ("bank", "b1"),
        ("grave", "b1"),
    }
    assert (await server.kept.points.count(NAME)).count == 0


async def test_large_writes_go_in_parts(server: LocalServer, index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(number) for number in range(300)))
    sizes = [len(request.operations[0].upsert.points) for request in server.of("UpdateBatch")]
    assert sizes == [128, 128, 44]


async def test_every_call_has_the_deadline_in_hand_and_tells_the_server(
    server: LocalServer, index: VectorIndex
) -> None:
    async def everything() -> None:
        await index.search((ask(),))
        await index.upsert("b1", (entry(1),))
        await index.delete("b1", (Removal(mid(1), 2),))
        await index.scan("b1", PageRequest())
        await index.drop("b1")
        await index.check()

    await everything()
    assert all(9 < call.left_s <= 10.2 for call in server.calls)
    server.calls.clear()
    with within(2.5):
        await everything()
    assert {call.method for call in server.calls} >= {"QueryBatch", "UpdateBatch", "Scroll", "Delete", "Get"}
    # The client's question for the version has a deadline of its own: it is cancelled instead.
    assert all(call.left_s <= 2.6 for call in server.calls if call.method != "HealthCheck")
    timed = [call.request.timeout for call in server.calls if "timeout" in call.request.DESCRIPTOR.fields_by_name]
    assert len(timed) == 5
    assert set(timed) <= {2, 3}


async def test_a_scan_reads_little_more_than_its_page(server: LocalServer, index: VectorIndex) -> None:
    numbers = random.Random(4).sample(range(1, 1 << 60), 200)
    await index.upsert("b1", tuple(entry(number) for number in numbers))
    page = await index.scan("b1", PageRequest(50, mid(sorted(numbers)[99])))
    assert [row.memory_id for row in page.rows] == [mid(number) for number in sorted(numbers)[100:150]]
    assert page.next_after == page.rows[-1].memory_id
    (request,) = server.of("Scroll")
    assert request.limit == 53
    assert list(request.with_payload.include.fields) == ["order"]


async def test_the_key_is_sent_with_every_call_and_shown_nowhere(
    server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "s3cret-of-ours"
    server.failing["QueryBatch"] = grpc.StatusCode.PERMISSION_DENIED
    with structlog.testing.capture_logs() as logs:
        async with open_qdrant_vectors(server.url, api_key=f"{key}\n", **MODEL) as index:
            await index.check()
            with pytest.raises(NotReady, match="refuses the key") as refused:
                await index.search((ask(),))
        with pytest.raises(InvalidArgument) as unfit:
            async with open_qdrant_vectors(server.url, api_key=f"{key}\nx", **MODEL):
                pytest.fail("it was opened")
    assert server.calls
    assert all(call.metadata["api-key"] == key for call in server.calls)
    assert key not in f"{logs}{refused.value}{unfit.value}{capsys.readouterr()}"


# What a server may do


FAILURES = {
    grpc.StatusCode.UNAVAILABLE: StoreUnavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: StoreUnavailable,
    grpc.StatusCode.INTERNAL: StoreUnavailable,
    grpc.StatusCode.UNKNOWN: StoreUnavailable,
    grpc.StatusCode.NOT_FOUND: NotReady,
    grpc.StatusCode.UNAUTHENTICATED: NotReady,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
    grpc.StatusCode.INVALID_ARGUMENT: InternalFault,
}


@pytest.mark.parametrize("status", FAILURES, ids=lambda status: status.name)
async def test_a_status_becomes_an_error_of_ours_and_the_drivers_words_stay_in_the_log(
    server: LocalServer, index: VectorIndex, status: grpc.StatusCode
) -> None:
    server.failing |= dict.fromkeys(("QueryBatch", "UpdateBatch"), status)
    with structlog.testing.capture_logs() as logs:
        for work in (index.search((ask(),)), index.upsert("b1", (entry(1),))):
            async with asyncio.timeout(SOON_S):
                with pytest.raises(MeshError) as raised:
                    await work
            assert isinstance(raised.value, FAILURES[status])
            assert "driver" not in raised.value.message
    told = {line["details"] for line in logs}
    assert told == (set() if status is grpc.StatusCode.NOT_FOUND else {"what a driver would say"})
    assert len(logs) <= 2
    server.failing.clear()
    assert await found(index) == []


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    async with open_local_server() as gone:
        url = gone.url
    async with open_qdrant_vectors(url, **MODEL) as index:
        for work in (index.check(), index.search((ask(),)), index.upsert("b1", (entry(1),))):
            async with asyncio.timeout(SOON_S):
                with pytest.raises(StoreUnavailable, match="does not answer"):
                    await work


async def test_one_that_accepts_and_says_nothing_holds_no_call_past_its_deadline() -> None:
    # The kernel takes the connection, and nobody reads it: as of a process that was stopped (SIGSTOP).
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with open_qdrant_vectors(f"http://127.0.0.1:{listening.getsockname()[1]}", **MODEL) as index:
            async with asyncio.timeout(2 * SOON_S):
                with within(0.2), pytest.raises(ArmTimeout):
                    await index.search((ask(),))
                with pytest.raises(StoreUnavailable):
                    await index.check()


async def test_a_slow_server_is_left_at_the_deadline_and_stops_its_work(
    server: LocalServer, index: VectorIndex
) -> None:
    async def given_up(count: int) -> None:
        async with asyncio.timeout(30):
            while server.abandoned < count:  # noqa: ASYNC110 - the server has no event of ours to set
                await asyncio.sleep(0.01)

    server.slow_s = 60.0
    async with asyncio.timeout(SOON_S):
        with within(1), pytest.raises(ArmTimeout):
            await index.search((ask(),))
    await given_up(1)
    before = len(server.calls)
    abandoned = asyncio.create_task(index.search((ask(),)))
    async with asyncio.timeout(30):
        while len(server.calls) == before:  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.01)
    abandoned.cancel()
    await asyncio.gather(abandoned, return_exceptions=True)
    await given_up(2)
    server.slow_s = 0.0
    assert await found(index) == []


async def test_after_a_restart_the_open_index_works_again(server: LocalServer) -> None:
    async with open_local_server(server.kept) as first, open_qdrant_vectors(first.url, **MODEL) as index:
        await index.upsert("b1", (entry(1),))
        port = first.port
        # The inner server ends here, before the index does.
        await first.stop()
        with pytest.raises(StoreUnavailable):
            await index.search((ask(),))
        async with open_local_server(server.kept, port):
            async with asyncio.timeout(30):
                while True:
                    try:
                        assert await found(index) == [1]
                        break
                    except StoreUnavailable:
                        await asyncio.sleep(0.05)
            await index.upsert("b1", (entry(2),))
            assert await found(index) == [1, 2]


@pytest.mark.parametrize("status", [pb.UpdateStatus.Acknowledged, pb.UpdateStatus.WaitTimeout])
async def test_a_write_that_was_taken_but_not_made_is_not_taken_for_made(
    server: LocalServer, index: VectorIndex, status: int
) -> None:
    server.status = status
    for work in (index.upsert("b1", (entry(1),)), index.delete("b1", (Removal(mid(1), 1),)), index.drop("b1")):
        with pytest.raises(StoreUnavailable, match="may be sent again"):
            await work


# Versions, with many writers


async def test_whatever_order_writes_come_in_the_latest_stays(server: LocalServer) -> None:
    rng = random.Random(11)
    async with (
        open_qdrant_vectors(server.url, **MODEL) as one,
        open_qdrant_vectors(server.url, **MODEL) as other,
    ):
        for round_ in range(8):
            memory, last = mid(round_ + 1), rng.randrange(2, 9)
            steps = [("store", version) for version in range(1, last + 1)]
            steps += [("remove", version) for version in range(1, last + round_ % 2)]
            rng.shuffle(steps)

            async def step(kind: str, version: int, memory: str = memory) -> None:
                index = rng.choice((one, other))
                if kind == "store":
                    vector = EAST if version % 2 else NORTH
                    await index.upsert("b1", (IndexEntry(memory, version, "t", FactType.WORLD, vector=vector),))
                else:
                    await index.delete("b1", (Removal(memory, version),))

            await asyncio.gather(*(step(kind, version) for kind, version in steps))
            rows = {row.memory_id: row.version for row in (await other.scan("b1", PageRequest())).rows}
            # The last version was removed in every second round, and a removal wins over what is stored at its version.
            assert rows.get(memory) == (None if round_ % 2 else last), steps


async def test_a_memory_id_that_falls_on_another_banks_point_changes_nothing_there(index: VectorIndex) -> None:
    mine, theirs = mid(1), turned(turned(mid(1), mask_of("b1")), mask_of("b2"))
    await index.upsert("b1", (entry(1, EAST),))
    await index.upsert("b2", (IndexEntry(theirs, 9, "t", FactType.WORLD, vector=NORTH),))
    await index.delete("b2", (Removal(theirs, 10),))
    assert await found(index, vector=EAST) == [1]
    assert [row.memory_id for row in (await index.scan("b1", PageRequest())).rows] == [mine]


async def test_several_may_have_the_collection_open_and_see_each_others_writes(server: LocalServer) -> None:
    async with open_qdrant_vectors(server.url, **MODEL) as one, open_qdrant_vectors(server.url, **MODEL) as other:
        await one.upsert("b1", (entry(1),))
        assert await found(other) == [1]
        await other.delete("b1", (Removal(mid(1), 1),))
        assert await found(one) == []


async def test_removals_are_forgotten_after_thirty_days_and_not_before(server: LocalServer) -> None:
    now = [1_800_000_000.0]
    async with open_qdrant_vectors(server.url, now=lambda: now[0], **MODEL) as index:
        await index.delete("b1", (Removal(mid(1), 5),))
        now[0] += timedelta(days=29).total_seconds()
        await index.delete("b1", (Removal(mid(2), 5),))
        await index.upsert("b1", (entry(1), entry(2)))
        assert await found(index) == []
        now[0] += timedelta(days=2).total_seconds()
        await index.delete("b1", (Removal(mid(3), 5),))
        await index.upsert("b1", (entry(1), entry(2)))
        assert await found(index) == [1]
    assert [request.wait for request in server.of("Delete")] == [False, False]


async def test_an_id_that_is_no_uuid_is_refused_by_name(index: VectorIndex) -> None:
    odd = IndexEntry("m1", 1, "t", FactType.WORLD, vector=NORTH)
    for work in (index.upsert("b1", (odd,)), index.delete("b1", (Removal("m1", 1),))):
        with pytest.raises(InvalidArgument, match="memory_id"):
            await work
    assert await found(index, exclude=("m1",)) == []


# Migrations


async def test_the_collection_is_made_as_a_mesh_needs_it() -> None:
    async with open_local_server() as server:
        made = await migrate_qdrant(server.url, index_from=4000, **MODEL)
        assert made == Migrated("qdrant", f"127.0.0.1:{server.port}", "", "1")
        (request,) = server.of("Create")
        assert request.collection_name == NAME
        vectors = request.vectors_config.params_map.map
        assert {name: (one.size, one.distance, one.on_disk) for name, one in vectors.items()} == {
            "text": (3, pb.Distance.Cosine, True),
            "context": (3, pb.Distance.Cosine, True),
        }
        hnsw = request.hnsw_config
        assert (hnsw.HasField("m"), hnsw.m, hnsw.payload_m) == (True, 0, 16)
        assert hnsw.full_scan_threshold == request.optimizers_config.indexing_threshold == 4000 * 3 * 4 // 1024
        assert request.on_disk_payload
        indexes = {one.field_name: one for one in server.of("CreateFieldIndex")}
        assert set(indexes) == set(FIELD_INDEXES)
        assert all(one.wait for one in indexes.values())
        assert indexes["bank"].field_index_params.keyword_index_params.is_tenant
        assert [name for name, one in indexes.items() if one.field_type == pb.FieldType.FieldTypeKeyword] == [
            "bank",
            "type",
            "tags",
            "grave",
        ]
        (metadata,) = [request.metadata for request in server.of("Update")]
        assert metadata["schema"].integer_value == 1


async def test_a_migration_may_come_again_and_many_at_once() -> None:
    async with open_local_server() as server:
        made = await asyncio.gather(*(migrate_qdrant(server.url, **MODEL) for _ in range(6)))
        assert {one.after for one in made} == {"1"}
        server.calls.clear()
        again = await migrate_qdrant(server.url, **MODEL)
        assert (again.before, again.after) == ("1", "1")
        assert {call.method for call in server.calls} == {"HealthCheck", "Get"}


@pytest.mark.parametrize("failing", ["CreateFieldIndex", "Update"])
async def test_a_migration_that_was_cut_off_is_gone_on_with(failing: str) -> None:
    async with open_local_server() as server, open_qdrant_vectors(server.url, **MODEL) as index:
        server.failing[failing] = grpc.StatusCode.INTERNAL
        with pytest.raises(StoreUnavailable):
            await migrate_qdrant(server.url, **MODEL)
        with pytest.raises(NotReady, match="run: recallmesh migrate"):
            await index.check()
        server.failing.clear()
        assert (await migrate_qdrant(server.url, **MODEL)).after == "1"
        await index.check()


async def everything_says(index: VectorIndex, error: type[MeshError], match: str) -> None:
    for work in (
        index.check(),
        index.search((ask(),)),
        index.upsert("b1", (entry(1),)),
        index.delete("b1", (Removal(mid(1), 1),)),
        index.drop("b1"),
        index.scan("b1", PageRequest()),
    ):
        with pytest.raises(error, match=match):
            await work


async def test_a_server_that_was_never_migrated_says_what_to_do_and_serves_once_it_was() -> None:
    async with open_local_server() as server, open_qdrant_vectors(server.url, **MODEL) as index:
        await everything_says(index, NotReady, "run: recallmesh migrate")
        assert server.kept.collections == {}
        await migrate_qdrant(server.url, **MODEL)
        assert await found(index) == []


async def test_a_collection_of_another_size_is_refused_with_every_call_and_left_as_it_is() -> None:
    # Case 44: made by hand under our name, and ours under the same fingerprint with another size.
    async with open_local_server() as server:
        await migrate_qdrant(server.url, **MODEL)
        other = {"fingerprint": "model-a", "dimensions": 4}
        async with open_qdrant_vectors(server.url, **MODEL) as index:
            await index.upsert("b1", (entry(1),))
            for vector in server.kept.collections[NAME].config.params.vectors_config.params_map.map.values():
                vector.size = 4
            with pytest.raises(EmbeddingMismatch, match="its vectors have 4 dimensions, those of the embedder 3"):
                await index.check()
            await everything_says(index, EmbeddingMismatch, "has 4 dimensions|have 4 dimensions")
            with pytest.raises(EmbeddingMismatch):
                await migrate_qdrant(server.url, **MODEL)
            for vector in server.kept.collections[NAME].config.params.vectors_config.params_map.map.values():
                vector.size = 3
            assert await found(index) == [1]
        with pytest.raises(EmbeddingMismatch, match="with 3 dimensions, not with 4"):
            await migrate_qdrant(server.url, **other)
        async with open_qdrant_vectors(server.url, **other) as index:
            with pytest.raises(EmbeddingMismatch, match="with 3 dimensions, not with 4"):
                await index.check()
        assert list(server.kept.collections) == [NAME]


async def test_a_collection_of_another_shape_or_version_says_what_to_do(server: LocalServer) -> None:
    info = server.kept.collections[NAME]
    async with open_qdrant_vectors(server.url, **MODEL) as index:
        del info.payload_schema["tags"]
        await everything_says(index, NotReady, "run: recallmesh migrate")
        info.payload_schema["bank"].params.keyword_index_params.is_tenant = False
        await migrate_qdrant(server.url, **MODEL)
        assert {one.field_name for one in server.of("CreateFieldIndex")} == {"tags", "bank"}
        await index.check()
        info.config.metadata["schema"].integer_value = 2
        await everything_says(index, NotReady, "update this one")
        with pytest.raises(NotReady, match="update this one"):
            await migrate_qdrant(server.url, **MODEL)
        info.config.metadata["schema"].integer_value = 1
        info.config.params.vectors_config.params_map.map["text"].distance = pb.Distance.Dot
        await everything_says(index, EmbeddingMismatch, "compared by Dot")


async def test_a_collection_that_was_taken_away_is_noticed_by_the_next_call(
    server: LocalServer, index: VectorIndex
) -> None:
    await index.upsert("b1", (entry(1),))
    del server.kept.collections[NAME]
    for work in (index.scan("b1", PageRequest()), index.upsert("b1", (entry(2),))):
        with pytest.raises(NotReady, match="run: recallmesh migrate"):
            await work
    await everything_says(index, NotReady, "run: recallmesh migrate")


async def test_a_server_without_conditional_writes_is_refused(server: LocalServer) -> None:
    server.version = "1.15.4"
    async with open_qdrant_vectors(server.url, **MODEL) as index:
        await everything_says(index, NotReady, r"Qdrant 1.15.4; 1.17 or newer is needed")
    with pytest.raises(NotReady, match="or newer is needed"):
        await migrate_qdrant(server.url, **MODEL)


async def test_a_changed_model_is_told_until_its_vectors_are_there(server: LocalServer, index: VectorIndex) -> None:
    await index.upsert("b1", tuple(entry(number) for number in range(10)))
    changed = {"fingerprint": "model-b", "dimensions": 3}
    await migrate_qdrant(server.url, **changed)

    async def warnings() -> list[str]:
        with structlog.testing.capture_logs() as logs:
            async with open_qdrant_vectors(server.url, **changed) as other:
                await other.check()
                await other.check()
        return [f"{line['former_model']} {line['former_vectors']} {line['vectors']}" for line in logs]

    assert await warnings() == ["model-a 10 0"]
    async with open_qdrant_vectors(server.url, **changed) as other:
        await other.upsert("b1", tuple(entry(number) for number in range(6)))
    assert await warnings() == []
    # The old ones stay, whole, until somebody takes them out.
    assert await found(index) == list(range(10))


async def test_an_inspection_says_how_a_server_stands_and_never_raises(server: LocalServer) -> None:
    async with open_qdrant_vectors(server.url, **MODEL) as index:
        await index.upsert("b1", (entry(1), entry(2)))
        await index.delete("b1", (Removal(mid(2), 1),))
    well = await inspect_qdrant(server.url, **MODEL)
    assert (well.version, well.schema, well.wanted, well.memories, well.advice) == ("1.18.2", "1", "1", 1, ())
    del server.kept.collections[NAME].payload_schema["order"]
    assert "recallmesh migrate" in " ".join((await inspect_qdrant(server.url, **MODEL)).advice)
    none = await inspect_qdrant(server.url, fingerprint="model-b", dimensions=3)
    assert (none.schema, none.memories) == ("", None)
    assert "recallmesh migrate" in " ".join(none.advice)
    async with open_local_server() as gone:
        pass
    down = await inspect_qdrant(gone.url, **MODEL)
    assert (down.version, down.advice) == ("", ("the vector server does not answer",))


MANY = 3000


async def live_through(url: str, prefix: str) -> None:
    """Make a collection, fill it until graphs are built over it, change and remove under many writers, empty it."""
    given = {"prefix": prefix, **MODEL}
    await asyncio.gather(*(migrate_qdrant(url, index_from=1000, **given) for _ in range(4)))
    stands = await inspect_qdrant(url, **given)
    assert (stands.schema, stands.memories, stands.advice) == ("1", 0, ())
    async with open_qdrant_vectors(url, **given) as one, open_qdrant_vectors(url, **given) as other:
        rng = random.Random(5)
        near = [round(rng.uniform(-0.9, 0.9), 3) for _ in range(MANY)]
        stored = [entry(number, (cosine, (1 - cosine**2) ** 0.5, 0.0)) for number, cosine in enumerate(near)]
        await asyncio.gather(*(one.upsert("b1", tuple(stored[first : first + 500])) for first in range(0, MANY, 500)))
        best = sorted(range(MANY), key=lambda number: (-near[number], number))
        async with asyncio.timeout(60):
            # Graphs miss some, by their nature, while they are built and after; the best few they do not.
            while await found(other, limit=10) != best[:10]:  # noqa: ASYNC110 - the server has no event of ours to set
                await asyncio.sleep(0.2)
        writes = [
            index.upsert("b1", (entry(1, EAST, version=version),)) for version in range(1, 20) for index in (one, other)
        ]
        writes += [one.delete("b1", (Removal(mid(1), 18),)), other.delete("b1", (Removal(mid(2), 5),))]
        rng.shuffle(writes)
        await asyncio.gather(*writes)
        await other.upsert("b1", (entry(2, NORTH, version=4),))
        assert await found(one, limit=1) == best[:1]
        rows = {row.memory_id: row.version for row in (await one.scan("b1", PageRequest(5))).rows}
        assert rows == {mid(0): 1, mid(1): 19, mid(3): 1, mid(4): 1, mid(5): 1}
        assert (await inspect_qdrant(url, **given)).memories == MANY - 1
        removed = tuple(Removal(mid(number), 20) for number in best[:50])
        await one.delete("b1", removed)
        left = [number for number in best[50:] if number not in (1, 2)]
        assert await found(other, limit=5) == left[:5]
        await one.drop("b1")
        assert await found(other) == []
    assert (await inspect_qdrant(url, **given)).memories == 0


async def test_a_collection_lives_through_all_that_happens_to_it(server: LocalServer) -> None:
    await live_through(server.url, "whole-life")


@pytest.mark.stores
async def test_a_real_server_does_what_local_mode_cannot_show(tmp_path) -> None:
    try:
        await live_through(servers.address("qdrant"), prefix_of(tmp_path))
    finally:
        await forget_server(tmp_path)
