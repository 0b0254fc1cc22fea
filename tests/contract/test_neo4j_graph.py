"""What the graph store on Neo4j does besides what every graph store does."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import neo4j
import pytest
from neo4j.exceptions import TransientError
from neo4j_bed import database, open_migrated

from recallmesh.core.arm import IndexEntry, Removal
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import ALL_FACT_TYPES, CausalLink, FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.store import Inspection
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.time import system_clock
from recallmesh.graph import neo4j_reads, neo4j_writes
from recallmesh.graph.neo4j import CONNECTIONS, Neo4jDatabase, inspect_neo4j
from recallmesh.graph.store import Alike, LinkKind, Node, Scope

pytestmark = pytest.mark.stores

START = datetime(2026, 8, 1, tzinfo=UTC)
SCANS = ("AllNodesScan", "NodeByLabelScan", "AllRelationshipsScan", "RelationshipTypeScan", "IndexScan", "Hash")
"""Ways into the graph that grow with what is in it, by a part of their names."""


@pytest.fixture
async def store():
    async with open_migrated() as opened:
        yield opened


@pytest.fixture
async def bank(store):
    uid = uuid4().hex
    yield uid
    await store.drop(uid)


@pytest.fixture
async def session():
    async with neo4j.AsyncGraphDatabase.driver(database().url) as driver, driver.session() as opened:
        yield opened


def node(number, *names, version=1, alike=(), **fields):
    mentions = tuple(Mention(f"e-{name.lower()}", name, "person") for name in names)
    given = {"mentioned": START + timedelta(minutes=number), "document_id": f"d{number // 20}", "position": number % 20}
    return Node(
        IndexEntry(mid(number), version, "", FactType.WORLD, mentions=mentions, **given | fields),
        tuple(Alike(mid(other), 0.8) for other in alike),
    )


def mid(number):
    return f"m{number:06}"


def operators(plan):
    yield plan["operatorType"], plan["args"].get("DbHits", 0)
    for child in plan.get("children", ()):
        yield from operators(child)


class Profiled:
    """Asks the server, and keeps how it went about it."""

    def __init__(self, session):
        self._session = session
        self.operators = []

    @property
    def hits(self):
        return sum(hits for _, hits in self.operators)

    async def __call__(self, statement, values):
        result = await self._session.run(f"PROFILE {statement}", dict(values))
        row = (await result.single(strict=True)).values()
        self.operators += operators((await result.consume()).profile)
        return row


async def ask_everything(ask, bank, size):
    reads = neo4j_reads.CypherReads(ask)
    some = tuple(mid(number) for number in range(0, size, size // 10))
    for scope in (Scope(bank, ALL_FACT_TYPES), Scope(bank, ALL_FACT_TYPES, TagLeaf(frozenset("a"), TagMode.ANY))):
        await reads.mentioning(scope, ("e-user", "e-thing5"), 20)
        await reads.edges(scope, some, 10)
        await reads.together(reads.edges(scope, some, 10), reads.subjects(bank, some))
        await reads.edges(scope, some, 10, (LinkKind.SEMANTIC, LinkKind.CAUSAL))
    await reads.subjects(bank, some)
    await reads.ties(bank, some, ("e-user",))
    await reads.names(bank, ("user", "thing5"), ("thing50", "us"))
    await neo4j_reads.scan(ask, bank, PageRequest(size=50))


async def fill(store, bank, first, after):
    nodes = [node(n, "User", f"Thing{n}", alike=range(max(0, n - 3), n)) for n in range(first, after)]
    await store.put(bank, tuple(nodes))


async def test_every_read_starts_from_an_index_and_works_no_more_the_more_there_is(store, bank, session):
    hits = {}
    for known, size in ((0, 400), (400, 4000)):
        await fill(store, bank, known, size)
        profiled = Profiled(session)
        await ask_everything(profiled, bank, size)
        hits[size] = profiled.hits
        ways = {name for name, _ in profiled.operators}
        assert any("IndexSeek" in way for way in ways)
        assert not [way for way in ways if any(scan in way for scan in SCANS)]
    assert hits[400] > 0
    assert hits[4000] < 1.2 * hits[400]


async def test_every_write_starts_from_an_index(store, bank, session):
    await fill(store, bank, 0, 400)
    ways = set()
    transaction = await session.begin_transaction()

    async def change(statement, values):
        result = await transaction.run(f"PROFILE {statement}", dict(values))
        record = await result.single()
        ways.update(name for name, _ in operators((await result.consume()).profile))
        return record.values() if record else []

    again = node(5, "User", "Rome", version=2, alike=(6,), causes=(CausalLink(mid(7), 0.5),))
    await neo4j_writes.put(change, bank, (again,))
    await neo4j_writes.delete(change, bank, (Removal(mid(9), 1),))
    assert await neo4j_writes.drop_some(change, bank)
    assert not await neo4j_writes.drop_some(change, uuid4().hex)
    await transaction.rollback()
    assert any("IndexSeek" in way for way in ways)
    assert not [way for way in ways if any(scan in way for scan in SCANS)]


async def test_thirty_two_writers_of_the_same_entities_lose_nothing_and_meet_no_deadlock(store, bank):
    names = ["Ada", "Ben", "Cem", "Dee", "Eva", "Fay"]

    async def write(one, number):
        shuffled = random.Random(number).sample(names, 6)
        others = random.Random(-number).sample(range(64), 10)
        pair = [node(2 * number, *shuffled, alike=others), node(2 * number + 1, *shuffled[:3], alike=others)]
        random.Random(number + 100).shuffle(pair)
        await one.put(bank, tuple(pair))
        # Again with other words, while others still write the first ones; and some are taken out.
        await one.put(bank, (node(2 * number, *shuffled, version=2, alike=others[:5]),))
        if number % 4 == 0:
            await one.delete(bank, (Removal(mid(2 * number + 1), 1),))

    async with open_migrated() as other:
        await asyncio.gather(*(write((store, other)[n % 2], n) for n in range(32)))
    found = await store.read(lambda reads: reads.names(bank, tuple(name.lower() for name in names), ()))
    assert [e.entity_id for e in found.entities] == [f"e-{name.lower()}" for name in names]
    assert sum(e.memories for e in found.entities) == 32 * 6 + 24 * 3
    assert found.memories == 32 + 24


async def test_writers_that_wait_for_their_turn_keep_no_connection_from_readers(store, bank, session):
    await store.put(bank, (node(0),))
    transaction = await session.begin_transaction()
    await (await transaction.run("MATCH (b:Bank {uid: $bank}) SET b.held = true", bank=bank)).consume()
    writing = [asyncio.create_task(store.put(bank, (node(n),))) for n in range(1, 2 * CONNECTIONS)]
    await asyncio.sleep(0)
    assert await asyncio.gather(*(read_ids(store, bank) for _ in range(CONNECTIONS))) == [[mid(0)]] * CONNECTIONS
    assert not any(task.done() for task in writing)
    await transaction.commit()
    await asyncio.gather(*writing)
    assert len(await read_ids(store, bank)) == 2 * CONNECTIONS


async def read_ids(store, bank):
    return [row.memory_id for row in (await store.scan(bank, PageRequest(size=1000))).rows]


async def test_a_bank_is_dropped_whole_in_several_transactions(store, session):
    kept, bank = uuid4().hex, uuid4().hex
    await fill(store, kept, 0, 20)
    await fill(store, bank, 0, 2 * neo4j_writes.DROPPED + 100)
    await store.delete(bank, (Removal(mid(3), 1), Removal("unknown", 1)))
    await store.drop(bank)
    assert await count(session, bank) == 0
    assert await count(session, kept) > 20
    await store.drop(kept)


async def count(session, bank):
    asked = await session.run(
        "MATCH (n) WHERE n.key STARTS WITH $bank + '/' OR n.uid = $bank RETURN count(n)", bank=bank
    )
    return (await asked.single())[0]


async def test_nothing_is_left_of_what_was_deleted_but_the_memory_of_it(store, bank, session):
    await store.put(bank, (node(1, "Alice", tags=("t",), alike=(2,)), node(2, "Alice")))
    await store.delete(bank, (Removal(mid(1), 1), Removal(mid(2), 1)))
    asked = await session.run("MATCH (m:Memory) WHERE m.key STARTS WITH $bank RETURN properties(m) AS kept", bank=bank)
    kept = [record["kept"] async for record in asked]
    assert kept == [{"key": f"{bank}/{mid(n)}", "id": mid(n), "version": 1, "live": False} for n in (1, 2)]
    assert await count(session, bank) == 3


async def test_banks_whose_uids_look_alike_do_not_meet(store, bank):
    odd = f"{bank}/{mid(1)}"
    await store.put(bank, (node(1, "Alice"),))
    await store.put(odd, (node(2, "Alice"), node(3, "Alice")))
    assert [row.memory_id for row in (await store.scan(bank, PageRequest())).rows] == [mid(1)]
    await store.drop(bank)
    assert [row.memory_id for row in (await store.scan(odd, PageRequest())).rows] == [mid(2), mid(3)]
    await store.drop(odd)


async def test_of_a_memory_with_very_many_links_only_so_many_are_looked_at(store, bank, session):
    size = 2 * neo4j_reads.LINKS_READ
    await store.put(bank, tuple(node(n, alike=(0,) if n else ()) for n in range(size)))
    profiled = Profiled(session)
    found = await neo4j_reads.CypherReads(profiled).edges(Scope(bank, ALL_FACT_TYPES), (mid(0),), 10)
    assert len([edge for edge in found if edge.kind is LinkKind.SEMANTIC]) == 10
    assert profiled.hits < 7 * neo4j_reads.LINKS_READ


async def test_work_that_the_server_asks_to_be_made_again_is_made_again_but_not_for_ever(store, bank):
    attempts = []

    async def troubled(change, *, failures):
        attempts.append(1)
        await neo4j_writes.put(change, bank, (node(len(attempts), "Alice"),))
        if len(attempts) <= failures:
            raise TransientError

    await store._loop.run(lambda: store._server.change(lambda change: troubled(change, failures=2)))
    assert [row.memory_id for row in (await store.scan(bank, PageRequest())).rows] == [mid(3)]
    attempts.clear()
    with pytest.raises(StoreUnavailable):
        await store._loop.run(lambda: store._server.change(lambda change: troubled(change, failures=99)))
    assert len(attempts) == 6
    assert [row.memory_id for row in (await store.scan(bank, PageRequest())).rows] == [mid(3)]


async def test_a_server_that_is_not_there_is_inspected_too():
    gone = Neo4jDatabase("bolt://127.0.0.1:9", "user", "secret")
    found = await inspect_neo4j(gone, random=random.random, now=system_clock)
    assert found == Inspection("neo4j", "bolt://127.0.0.1:9", wanted="1", advice=("the graph store does not answer",))
