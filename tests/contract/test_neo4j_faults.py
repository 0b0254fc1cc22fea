"""A Neo4j server that hangs, goes and comes back: nothing waits past its deadline, and nothing is held for ever."""

import asyncio
import random
import threading
from contextlib import AsyncExitStack
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from neo4j_bed import database, open_migrated
from passage import open_passage

from recallmesh.core.arm import IndexEntry
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.graph import neo4j as adapter
from recallmesh.graph.neo4j import Neo4jDatabase, open_neo4j_graph_store
from recallmesh.graph.store import Node

pytestmark = [
    pytest.mark.stores,
    # The driver leaves a socket to the collector whose connecting was cancelled.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]

ABANDONED = 100
SOON_S = 5.0
"""What does not wait for a server that hangs takes less than this on any machine."""


@pytest.fixture
async def passage():
    parts = urlsplit(database().url)
    async with open_migrated(), open_passage(parts.hostname, parts.port) as opened:
        yield opened


@pytest.fixture
async def store(passage):
    where = Neo4jDatabase(f"bolt://127.0.0.1:{passage.port}")
    async with open_neo4j_graph_store(where, random=random.random) as opened:
        await opened.check()
        yield opened


@pytest.fixture
async def bank(store):
    uid = uuid4().hex
    yield uid
    await store.drop(uid)


def node(memory_id):
    return Node(IndexEntry(memory_id, 1, "", FactType.WORLD))


async def ids(store, bank):
    return [row.memory_id for row in (await store.scan(bank, PageRequest())).rows]


async def test_a_call_ends_at_its_deadline_while_the_server_hangs_and_the_store_goes_on_after(store, passage, bank):
    await store.put(bank, (node("m1"),))
    passage.block()
    for work in (lambda: ids(store, bank), lambda: store.put(bank, (node("m2"),)), store.check):
        async with asyncio.timeout(SOON_S):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await work()
    passage.unblock()
    await store.put(bank, (node("m3"),))
    assert {"m1", "m3"} <= set(await ids(store, bank))
    await store.check()


async def abandon(store, bank):
    for _ in range(ABANDONED // 10):
        calls = [asyncio.create_task(ids(store, bank)) for _ in range(10)]
        await asyncio.wait(calls, timeout=0.02)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_abandoned_calls_hold_no_thread_and_no_connection(store, passage, bank):
    await store.put(bank, (node("m1"),))
    threads = []
    passage.block()
    for _ in range(2):
        await abandon(store, bank)
        threads.append(threading.active_count())
    assert threads[0] == threads[1]
    passage.unblock()
    async with asyncio.timeout(SOON_S):
        found = await asyncio.gather(*(ids(store, bank) for _ in range(adapter.CONNECTIONS)))
    assert found == [["m1"]] * adapter.CONNECTIONS


async def test_without_a_deadline_a_hanging_server_is_given_up_in_seconds(store, passage, bank, monkeypatch):
    monkeypatch.setattr(store._server, "_read_s", 0.5)
    monkeypatch.setattr(store._server, "_write_s", 0.5)
    await store.put(bank, (node("m1"),))
    passage.block()
    for work in (lambda: ids(store, bank), lambda: store.put(bank, (node("m2"),)), store.check):
        async with asyncio.timeout(SOON_S):
            with pytest.raises(StoreUnavailable, match=r"does not answer|did not finish"):
                await work()
    passage.unblock()


async def test_connections_that_died_are_replaced_without_anybody_noticing(store, passage, bank):
    await asyncio.gather(*(store.put(bank, (node(f"m{n}"),)) for n in range(8)))
    await passage.stop()
    await passage.start()
    assert len(await ids(store, bank)) == 8
    await passage.stop()
    await passage.start()
    await store.put(bank, (node("m9"),))
    assert len(await ids(store, bank)) == 9


async def test_a_server_that_is_gone_is_told_at_once_and_taken_up_again_when_it_is_back(store, passage, bank):
    await store.put(bank, (node("m1"),))
    await passage.stop()
    for work in (lambda: ids(store, bank), lambda: store.put(bank, (node("m2"),)), store.check):
        async with asyncio.timeout(SOON_S):
            with pytest.raises(StoreUnavailable):
                await work()
    await passage.start()
    await store.check()
    assert await ids(store, bank) == ["m1"]


async def test_a_store_opens_before_its_server_is_there_and_closes_while_it_hangs(passage):
    where = Neo4jDatabase(f"bolt://127.0.0.1:{passage.port}")
    await passage.stop()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_neo4j_graph_store(where, random=random.random))
        with pytest.raises(StoreUnavailable):
            await store.check()
        await passage.start()
        await store.check()
        passage.block()
        async with asyncio.timeout(2 * SOON_S):
            await stack.aclose()
