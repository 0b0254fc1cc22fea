"""What only the keyword store on OpenSearch does: migrations, shapes, and a server that goes away and comes back."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from at_opensearch import forget_opensearch, open_at_opensearch, prefix_of, server_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from passage import open_passage
from tagged import SUBSETS, tag_tests

from recallmesh.core.arm import Removal
from recallmesh.core.errors import InvalidArgument, MeshError, NotReady, StoreUnavailable
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.core.store import Inspection
from recallmesh.core.tags import passes
from recallmesh.keyword import opensearch_index
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.opensearch import (
    OpenSearchServer,
    inspect_opensearch,
    migrate_opensearch,
    open_opensearch_keyword_store,
    open_opensearch_requests,
)
from recallmesh.keyword.opensearch_index import Names, Shape
from recallmesh.keyword.opensearch_state import inspected
from recallmesh.keyword.store import KeywordDocument, KeywordQuery, KeywordStore

pytestmark = pytest.mark.stores

BANK = "bank-1"
ENGLISH, GERMAN = Shape(), Shape("german")


def document(memory_id: str, text: str, version: int = 1) -> KeywordDocument:
    return KeywordDocument(memory_id, version, FactType.WORLD, text)


async def found(store: KeywordStore, text: str, bank: str = BANK) -> list[str]:
    return [hit.memory_id for hit in await store.search(KeywordQuery(bank, text))]


async def every_call_of(store: KeywordStore) -> list[MeshError | None]:
    """Return what each call of the port says."""
    calls = [
        store.search(KeywordQuery(BANK, "harbour")),
        store.upsert(BANK, (document("m", "harbour"),)),
        store.delete(BANK, (Removal("m", 1),)),
        store.drop(BANK),
        store.scan(BANK, PageRequest()),
        store.check(),
    ]
    return [await _said_by(call) for call in calls]


async def _said_by(call) -> MeshError | None:
    try:
        await call
    except MeshError as error:
        return error
    return None


async def indexes(server: OpenSearchServer) -> list[str]:
    async with open_opensearch_requests(server) as requests:
        return sorted(await requests.ask("GET", f"/{server.prefix}-*/_mapping"))


@pytest.fixture
async def server(tmp_path) -> AsyncIterator[OpenSearchServer]:
    prefix = prefix_of(tmp_path)
    yield server_of(prefix)
    await forget_opensearch(prefix)


# Migrations and shapes


async def test_a_server_that_was_never_migrated_is_refused_by_every_call_and_nothing_is_made_there(server):
    async with open_opensearch_keyword_store(server, ENGLISH) as store:
        said = await every_call_of(store)
        assert [type(error) for error in said] == [NotReady] * 6
        assert {error.message for error in said} == {
            "the keyword store on OpenSearch was never migrated; run: recallmesh migrate"
        }
        assert await indexes(server) == []
        told = await inspect_opensearch(server, ENGLISH)
        assert (told.schema, told.wanted, told.memories) == ("", ENGLISH.version, None)
        assert told.version.startswith("3.")
        assert told.advice == ("the keyword store on OpenSearch was never migrated; run: recallmesh migrate.",)
        await migrate_opensearch(server, ENGLISH)
        assert await every_call_of(store) == [None] * 6  # the same open store


async def test_migrating_twice_and_at_once_is_as_once(server):
    every = await asyncio.gather(*(migrate_opensearch(server, ENGLISH) for _ in range(5)))
    assert {(one.before, one.after) for one in every} <= {("", ENGLISH.version), (ENGLISH.version, ENGLISH.version)}
    again = await migrate_opensearch(server, ENGLISH)
    assert again.before == again.after == ENGLISH.version
    assert await indexes(server) == [Names(server.prefix, ENGLISH.version).first]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (GERMAN, "(language english where german is set)"),
        (Shape(ranking=Ranking(k1=1.2, names=2.0)), "k1 0.9 where 1.2 is set, names 1.0 where 2.0 is set"),
    ],
    ids=["language", "weights"],
)
async def test_an_index_of_another_shape_is_refused_and_left_as_it_is(server, shape, said):
    async with open_at_opensearch(server.prefix) as store:
        await store.upsert(BANK, (document("m", "harbour"),))
        async with open_opensearch_keyword_store(server, shape) as other:
            refused = await every_call_of(other)
        assert [type(error) for error in refused] == [NotReady] * 6
        assert said in refused[0].message
        assert "recallmesh migrate, and then, to fill the new index: recallmesh repair" in refused[0].message
        assert await found(store, "harbour") == ["m"]
    assert (await inspect_opensearch(server, shape)).advice == (f"{refused[0].message}.",)


async def test_another_shape_is_filled_beside_the_old_one_which_is_whole_when_it_is_set_back(server):
    async with open_at_opensearch(server.prefix) as store:
        await store.upsert(BANK, (document("m", "harbour"), document("n", "die Häuser")))
        assert await migrate_opensearch(server, GERMAN)
        # One that still runs writes no more, from the same moment on.
        assert isinstance(await _said_by(store.upsert(BANK, (document("o", "harbour"),))), NotReady)
        assert isinstance(await _said_by(store.search(KeywordQuery(BANK, "harbour"))), NotReady)
    assert "to fill that, run: recallmesh repair" in (await inspect_opensearch(server, GERMAN)).advice[0]
    async with open_opensearch_keyword_store(server, GERMAN) as german:
        assert await found(german, "Haus") == []
        await german.upsert(BANK, (document("n", "die Häuser"),))
        assert await found(german, "Haus") == ["n"]
    told = await inspect_opensearch(server, GERMAN)
    assert told.memories == 1
    old = Names(server.prefix, ENGLISH.version).first
    left = f"the index {old}, of another shape and no longer used, has 2 memories, the one in use 1; "
    assert told.advice == (f"{left}when all is well, delete it.",)
    assert (await migrate_opensearch(server, ENGLISH)).before == GERMAN.version
    async with open_opensearch_keyword_store(server, ENGLISH) as store:
        assert await found(store, "harbour") == ["m"]


async def test_an_index_of_a_newer_schema_is_neither_used_nor_migrated_back(server, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(opensearch_index, "SCHEMA", 2)
        await migrate_opensearch(server, Shape())
    async with open_opensearch_keyword_store(server, Shape()) as store:
        with pytest.raises(NotReady, match="is of schema 2, and this version of recallmesh knows 1 at most"):
            await store.check()
    with pytest.raises(NotReady, match="run the version that migrated it"):
        await migrate_opensearch(server, Shape())


async def test_an_index_that_vanished_is_not_made_by_a_write(server):
    async with open_at_opensearch(server.prefix) as store:
        await store.upsert(BANK, (document("m", "harbour"),))
        await forget_opensearch(server.prefix)
        for _ in range(2):
            assert isinstance(await _said_by(store.upsert(BANK, (document("m", "harbour"),))), NotReady)
        assert await indexes(server) == []


async def test_an_inspection_counts_what_lives(server):
    async with open_at_opensearch(server.prefix) as store:
        await store.upsert(BANK, tuple(document(f"m{n}", "harbour") for n in range(5)))
        await store.upsert("bank-2", (document("m0", "harbour"),))
        await store.delete(BANK, (Removal("m1", 1), Removal("x", 1)))
    told = await inspect_opensearch(server, ENGLISH)
    assert (told.memories, told.advice, told.schema) == (5, (), ENGLISH.version)
    assert abs(told.skew_s) < 5
    assert told.address == server.url


# Writes


async def test_what_was_written_is_found_at_once_a_hundred_times(server):
    async with open_at_opensearch(server.prefix) as store, open_opensearch_keyword_store(server, ENGLISH) as other:
        for number in range(100):
            await store.upsert(BANK, (document(f"m{number}", f"harbour word{number}"),))
            assert await found(other, f"word{number}") == [f"m{number}"]


async def test_a_write_of_several_requests_is_all_there_when_it_returns(server):
    many = 2 * opensearch_index.BULK_DOCUMENTS + 200
    async with open_at_opensearch(server.prefix) as store:
        await store.upsert(BANK, tuple(document(f"m{number:04}", f"harbour word{number}") for number in range(many)))
        for number in (0, opensearch_index.BULK_DOCUMENTS, many - 1):
            assert await found(store, f"word{number}") == [f"m{number:04}"]
        assert (await inspect_opensearch(server, ENGLISH)).memories == many
        await store.drop(BANK)
        assert (await inspect_opensearch(server, ENGLISH)).memories == 0


async def test_a_bank_that_was_dropped_may_come_again_at_once_whatever_its_versions_were(server):
    async with open_at_opensearch(server.prefix) as store:
        for number in range(10):
            await store.upsert(BANK, (document("m", f"harbour word{number}", version=10 - number),))
            await store.delete(BANK, (Removal("n", 10 - number),))
            assert await found(store, "harbour") == ["m"]
            await store.upsert(BANK, (document("m", "ferry", version=1),) if number < 9 else ())
            assert await found(store, f"word{number}") == ["m"]  # what is older changes nothing
            await store.drop(BANK)
            assert await found(store, "harbour") == []


async def test_a_language_that_another_process_brought_is_noticed(server):
    async with open_at_opensearch(server.prefix) as store, open_opensearch_keyword_store(server, ENGLISH) as other:
        await store.upsert(BANK, (document("m", "the harbour was frozen and nobody was there"),))
        assert await found(store, "frozen harbours") == ["m"]
        await other.upsert(BANK, (document("n", "Die Häuser am Hafen sind nicht mehr dort, aber die Schiffe auch"),))
        assert await found(store, "Haus") == ["n"]


# Tags


@given(st.lists(tag_tests(), min_size=20, max_size=20))
@settings(max_examples=5, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_groups_of_tag_tests_within_groups_pass_what_the_core_passes(server, tests):
    marked = {f"m{number}": tags for number, tags in enumerate(SUBSETS)}
    async with open_at_opensearch(server.prefix) as store:
        documents = (replace(document(name, "harbour"), tags=tuple(tags)) for name, tags in marked.items())
        await store.upsert(BANK, tuple(documents))
        for test in tests:
            hits = await store.search(KeywordQuery(BANK, "harbour", tags=test))
            assert [hit.memory_id for hit in hits] == [name for name, tags in marked.items() if passes(test, tags)]


# A server that goes away


@pytest.fixture
async def passage(server):
    parts = urlsplit(server.url)
    async with open_passage(parts.hostname, parts.port) as passage:
        yield passage


async def test_a_server_that_is_away_is_told_at_once_and_one_that_is_back_is_used_again(server, passage):
    through = replace(server, url=f"http://127.0.0.1:{passage.port}")
    await migrate_opensearch(server, ENGLISH)
    async with open_opensearch_keyword_store(through, ENGLISH) as store:
        await store.upsert(BANK, (document("m", "harbour"),))
        for _ in range(3):
            await passage.stop()
            said = await every_call_of(store)
            assert {type(error) for error in said} == {StoreUnavailable}
            assert {error.message for error in said} == {"the keyword store cannot be connected to"}
            told = await inspect_opensearch(through, ENGLISH)
            assert (told.version, told.advice) == ("", ("the keyword store cannot be connected to.",))
            await passage.start()
            assert await found(store, "harbour") == ["m"]


async def test_a_paused_server_holds_no_call_for_long_and_is_used_again(server, passage):
    through = replace(server, url=f"http://127.0.0.1:{passage.port}")
    await migrate_opensearch(server, ENGLISH)
    async with open_opensearch_keyword_store(through, ENGLISH, timeout_s=1) as store:
        await store.upsert(BANK, (document("m", "harbour"),))
        passage.block()
        said = await every_call_of(store)
        assert {type(error) for error in said} == {StoreUnavailable}
        assert "the keyword store does not answer in time" in {error.message for error in said}
        began = time.monotonic()
        for _ in range(20):
            assert isinstance(await _said_by(store.search(KeywordQuery(BANK, "harbour"))), StoreUnavailable)
        assert time.monotonic() - began < 10  # one waits at a time, the others are told
        passage.unblock()
        await store.check()
        assert await found(store, "harbour") == ["m"]


async def test_a_call_that_is_given_up_leaves_the_store_in_order(server, passage):
    through = replace(server, url=f"http://127.0.0.1:{passage.port}")
    await migrate_opensearch(server, ENGLISH)
    async with open_opensearch_keyword_store(through, ENGLISH) as store:
        await store.upsert(BANK, (document("m", "harbour"),))
        passage.block()
        for _ in range(50):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await found(store, "harbour")
        passage.unblock()
        assert await found(store, "harbour") == ["m"]


ANSWERS = [
    (200, "hello", "does not answer as OpenSearch does"),
    (401, "", "refuses this service's credential"),
    (403, '{"error": {"type": "security_exception"}, "status": 403}', "refuses this service's credential"),
    (403, '{"error": {"type": "cluster_block_exception"}, "status": 403}', "takes no writes; its disk may be full"),
    (429, '{"error": {"type": "circuit_breaking_exception"}, "status": 429}', "has too much to do"),
    (503, "", "cannot answer now"),
]


@pytest.mark.parametrize(("status", "body", "said"), ANSWERS)
async def test_a_server_that_refuses_is_told_of_without_its_words_or_our_password(status, body, said, capfd):
    heads = []

    async def answer(reader, writer) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(f"{head}{body}".encode())
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with other:
        url = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}"
        at = OpenSearchServer(url, user="mesh", password="pä:ss")  # noqa: S106 - of nobody
        async with open_opensearch_keyword_store(at, ENGLISH) as store:
            with pytest.raises(StoreUnavailable, match=said) as refused:
                await store.check()
    assert b"authorization: Basic bWVzaDpww6Q6c3M=\r\n" in heads[0]
    written = f"{capfd.readouterr()}{refused.value}{at}"
    assert "pä:ss" not in written
    assert "bWVzaDpww6Q6c3M" not in written


async def test_certificates_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "empty.pem").write_text("no certificate")
    for ca in (tmp_path / "none.pem", tmp_path / "empty.pem"):
        with pytest.raises(InvalidArgument, match="OPENSEARCH_CA"):
            async with open_opensearch_keyword_store(OpenSearchServer("https://127.0.0.1:1", ca=ca), ENGLISH):
                pass


async def test_a_credential_that_may_not_ask_the_nodes_costs_the_clock_alone(server):
    class Curtailed:
        def __init__(self, requests) -> None:
            self._requests = requests

        async def ask(self, method, path, body=None, **more):
            if path.startswith("/_nodes"):
                raise StoreUnavailable("the keyword store refuses this service's credential")
            return await self._requests.ask(method, path, body, **more)

    await migrate_opensearch(server, ENGLISH)
    names, empty = Names(server.prefix, ENGLISH.version), Inspection("opensearch", server.address)
    async with open_opensearch_requests(server) as requests:
        told = await inspected(Curtailed(requests), names, ENGLISH, empty)
    assert (told.skew_s, told.memories, told.advice) == (None, 0, ())
