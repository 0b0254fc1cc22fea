"""What one writer would promise by itself, several promise too: writes of one bank by many at once."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import pytest
from contract.ledger_bed import (
    ARMS,
    LATER,
    MINUTE,
    NOW,
    Backend,
    Bed,
    backend,
    chunk,
    entity,
    fact,
    new_bank,
    uid,
)
from sqlalchemy import Connection, func, select

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.document import Document
from recallmesh.core.errors import BankExists, ConflictingWrite, EntityNotFound, MemoryNotFound
from recallmesh.core.event import FROM_THE_START, EventFilter, WebhookDraft
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.memory import MemoryState
from recallmesh.core.once import Once, enter_once
from recallmesh.core.operation import OperationKind
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import UpdateMode
from recallmesh.core.write import DocumentWrite, OutboxAction, OutboxRow, RequestRecord, Write
from recallmesh.ledger.schema import entities, memory_entities, metadata
from recallmesh.ledger.writing import commit_write

__all__ = ["backend"]

ALICE, BOB = entity("Alice Chen", "Ally"), entity("Bob Moe")
HOUR = timedelta(hours=1)
PROCESSES = 3
"""Ledgers of their own on the same database: nothing that a process holds in its memory may order what they do."""


@asynccontextmanager
async def open_beds(backend: Backend, count: int = PROCESSES) -> AsyncIterator[list[Bed]]:
    """The same bank, seen by several ledgers."""
    async with AsyncExitStack() as stack:
        ledgers = [await stack.enter_async_context(backend.open()) for _ in range(count)]
        bank = await new_bank(ledgers[0])
        yield [Bed(ledger, bank) for ledger in ledgers]


@pytest.fixture
async def beds(backend: Backend) -> AsyncIterator[list[Bed]]:
    async with open_beds(backend) as made:
        yield made


def writing(bed: Bed, document_id: str, *chunks, named=(), **parts) -> Callable[[Connection], object]:
    """A write's transaction, for a connection of the test's own."""
    document = DocumentWrite(Document(document_id, NOW, NOW), UpdateMode.REPLACE, chunks)
    write = Write(bed.uid, (document,), tuple(named), ARMS, NOW, **parts)
    return lambda connection: commit_write(connection, write, new_id=uid, own_for=MINUTE)


async def while_writing(backend: Backend, work: Callable[[Connection], object], *others):
    """Begin a write and the others, and keep the write when the others have had every chance to pass it by."""
    begun = []
    with backend.connect() as connection:
        await asyncio.to_thread(work, connection)
        begun = [asyncio.create_task(other) for other in others]
        await asyncio.wait(begun, timeout=0.3)
    return await asyncio.gather(*begun, return_exceptions=True)


def dangling(backend: Backend) -> int:
    """How many mentions there are of entities that are not."""
    there = (entities.c.bank_uid == memory_entities.c.bank_uid) & (entities.c.id == memory_entities.c.entity_id)
    with backend.connect() as connection:
        lost = (
            select(func.count()).select_from(memory_entities.outerjoin(entities, there)).where(entities.c.id.is_(None))
        )
        return connection.execute(lost).scalar_one()


async def test_an_entity_that_a_write_under_way_mentions_is_no_orphan(backend: Backend, beds: list[Bed]):
    [old] = (await beds[0].write("old", chunk("a", fact("Alice", ALICE)), entities=[ALICE])).added
    write = writing(beds[0], "new", chunk("b", fact("Alice again", ALICE)), named=[ALICE])
    [deleted] = await while_writing(backend, write, beds[1].ledger.delete_memories(beds[1].uid, (old.id,), ARMS, NOW))
    assert deleted == 1
    assert dangling(backend) == 0
    [left] = await beds[2].memories()
    assert [one.name for one in left.mentions] == ["Alice Chen"]


async def test_a_merge_waits_for_a_write_that_mentions_what_is_merged(backend: Backend, beds: list[Bed]):
    both = chunk("a", fact("both", ALICE, BOB))
    await beds[0].write("old", both, entities=[ALICE, BOB])
    held = {one.name: one.id for one in (await beds[0].ledger.list_entities(beds[0].uid, PageRequest())).rows}
    write = writing(beds[0], "new", chunk("b", fact("Bob", BOB)), named=[BOB])
    merge = beds[1].ledger.merge_entities(beds[1].uid, held["Alice Chen"], (held["Bob Moe"],), ARMS, NOW)
    [merged] = await while_writing(backend, write, merge)
    assert merged.memory_count == 2
    assert dangling(backend) == 0


async def test_edits_and_deletions_at_once_leave_one_version_for_every_arm(beds: list[Bed]):
    [memory] = (await beds[0].write("doc", chunk("a", "zero"))).added
    edits = [
        beds[number % PROCESSES].ledger.edit_memory(
            beds[0].uid, memory.id, MemoryEdit(text=f"text {number}"), ARMS, NOW
        )
        for number in range(12)
    ]
    edited = await asyncio.gather(*edits)
    assert sorted(one.version for one in edited) == list(range(2, 14))
    last = await beds[1].memory(memory.id)
    assert last == max(edited, key=lambda one: one.version)
    assert await beds[2].deliver() == [("index", memory.id, 13)] * 2


async def test_a_document_is_replaced_by_one_after_the_other(beds: list[Bed]):
    def content(number: int):
        return [chunk(f"{number}-{part}", f"{number} {part}") for part in range(3)]

    commits = await asyncio.gather(*(beds[n % PROCESSES].write("doc", *content(n)) for n in range(9)))
    shown = [one for one in await beds[0].memories() if one.state is MemoryState.ACTIVE]
    assert len({one.text.split()[0] for one in shown}) == 1
    assert [one.position for one in shown] == [0, 1, 2]
    assert (await beds[1].ledger.get_document(beds[1].uid, "doc")).version == 9
    await asyncio.gather(*(beds[0].ledger.retire(beds[0].uid, one.write_id, ARMS, NOW) for one in commits))
    assert [one.text for one in await beds[0].memories()] == [one.text for one in shown]
    assert (await beds[0].stats()).memories == 3


async def test_appends_by_many_follow_each_other(beds: list[Bed]):
    await asyncio.gather(*(beds[n % PROCESSES].append("doc", chunk(f"{n}", f"fact {n}")) for n in range(12)))
    found = await beds[0].memories()
    assert [one.position for one in found] == list(range(12))
    assert [one.previous_id for one in found] == ["", *(one.id for one in found[:-1])]


async def test_a_bank_is_made_once_by_many(beds: list[Bed]):
    ref = BankRef("made at once")
    made = await asyncio.gather(
        *(beds[n % PROCESSES].ledger.create_bank(Bank(ref, uid(), NOW)) for n in range(9)), return_exceptions=True
    )
    assert [type(one) for one in made].count(BankExists) == 8


async def test_a_request_id_is_one_write_whoever_makes_it(beds: list[Bed]):
    request = RequestRecord("r", "hash")
    commits = await asyncio.gather(
        *(beds[n % PROCESSES].write("doc", chunk("a", "a1"), request=request) for n in range(9))
    )
    assert [one.replayed for one in commits].count(False) == 1
    assert len(await beds[0].memories()) == 1


async def test_a_submission_with_a_request_id_is_one_operation_whoever_makes_it(beds: list[Bed]):
    request = RequestRecord("r", "hash")
    made = await asyncio.gather(
        *(beds[n % PROCESSES].ledger.submit(beds[0].uid, OperationKind.RETAIN, b"", 1, NOW, request) for n in range(9))
    )
    assert [one.replayed for one in made].count(False) == 1
    assert len({one.operation.id for one in made}) == 1


async def test_a_call_with_a_request_id_has_one_effect_and_one_answer_whoever_makes_it(beds: list[Bed]):
    [memory] = (await beds[0].write("doc", chunk("a", "zero"))).added

    async def call(number: int):
        enter_once(Once("r", "hash", beds[0].bank.ref, NOW))
        edit = MemoryEdit(text=f"text {number}")
        return await beds[number % PROCESSES].ledger.edit_memory(beds[0].uid, memory.id, edit, ARMS, NOW)

    answers = await asyncio.gather(*(asyncio.create_task(call(number)) for number in range(9)))
    assert len({one.text for one in answers}) == 1
    assert {one.version for one in answers} == {2}


async def test_many_writers_make_an_entity_once(backend: Backend, beds: list[Bed]):
    people = [entity(f"Person {n}", f"P{n}") for n in range(6)]

    async def write(number: int) -> None:
        named = random.Random(number).sample(people, 4)
        await beds[number % PROCESSES].write(f"d{number}", chunk("a", fact("all", *named)), entities=named)

    await asyncio.gather(*(write(number) for number in range(24)))
    listed = (await beds[0].ledger.list_entities(beds[0].uid, PageRequest())).rows
    assert sorted(one.name for one in listed) == [f"Person {n}" for n in range(6)]
    assert sum(one.memory_count for one in listed) == 24 * 4
    assert dangling(backend) == 0


async def test_writes_merges_and_deletions_at_once_leave_no_mention_of_nobody(backend: Backend, beds: list[Bed]):
    people = [entity(f"Person {n}") for n in range(5)]

    async def writes(bed: Bed, seed: int) -> None:
        chance = random.Random(seed)
        for number in range(6):
            named = chance.sample(people, 2)
            commit = await bed.write(f"{seed}-{number}", chunk("a", fact("x", *named)), entities=named)
            if chance.random() < 0.5:
                await bed.ledger.delete_memories(bed.uid, tuple(one.id for one in commit.added), ARMS, NOW)

    async def merges(bed: Bed) -> None:
        for _ in range(4):
            listed = (await bed.ledger.list_entities(bed.uid, PageRequest())).rows
            if len(listed) > 1:
                try:
                    await bed.ledger.merge_entities(bed.uid, listed[0].id, (listed[1].id,), ARMS, NOW)
                except EntityNotFound:
                    continue

    await asyncio.gather(*(writes(bed, seed) for seed, bed in enumerate(beds)), merges(beds[0]))
    assert dangling(backend) == 0
    for memory in await beds[0].memories():
        assert memory.mentions


async def test_events_are_numbered_as_they_become_visible(beds: list[Bed]):
    """Whoever has seen an event has seen all before it."""
    seen: list[int] = []
    done = asyncio.Event()

    async def watch() -> None:
        after = FROM_THE_START
        while not done.is_set() or len(seen) < 24:
            found = (await beds[2].ledger.list_events(beds[2].uid, EventFilter(), PageRequest(100, after))).rows
            seen.extend(int(one.id.partition("-")[0]) for one in found)
            after = found[-1].id if found else after

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(beds[n % 2].write(f"d{n}", chunk("a", "one")) for n in range(24)))
    done.set()
    async with asyncio.timeout(20):
        await watching
    assert seen == list(range(1, 25))


async def test_a_webhook_gets_every_event_once_and_in_order_from_several_workers(beds: list[Bed]):
    draft = WebhookDraft("https://example.com/hook", "a secret of some length", ())
    hooks = [await beds[0].ledger.create_webhook(beds[0].uid, f"hook{n}", draft, NOW) for n in range(3)]
    got: dict[str, list[int]] = defaultdict(list)
    leased: set[str] = set()
    done = asyncio.Event()

    async def work(bed: Bed, worker: str) -> None:
        now = LATER
        while not done.is_set() or any(len(got[hook.id]) < 30 for hook in hooks):
            now += timedelta(microseconds=1)
            for posting in await bed.ledger.lease_postings(worker, limit=2, events=4, lease=HOUR, now=now):
                hook = posting.webhook.id
                assert hook not in leased
                leased.add(hook)
                await asyncio.sleep(0)
                got[hook].extend(int(one.id.partition("-")[0]) for one in posting.events)
                leased.discard(hook)
                await bed.ledger.settle_posting(hook, worker, posting.through, more=False)

    workers = [asyncio.create_task(work(bed, f"w{number}")) for number, bed in enumerate(beds)]
    await asyncio.gather(*(beds[n % PROCESSES].write(f"d{n}", chunk("a", "one")) for n in range(30)))
    done.set()
    async with asyncio.timeout(30):
        await asyncio.gather(*workers)
    assert dict(got) == {hook.id: list(range(1, 31)) for hook in hooks}


class Index:
    """What several workers deliver: nothing twice, nothing at once with another, and only what is newer."""

    def __init__(self) -> None:
        self.under_way: set[tuple[str, ArmName]] = set()
        self.held: dict[tuple[str, ArmName], tuple[str, int]] = {}
        self.delivered: list[int] = []

    def begin(self, rows: tuple[OutboxRow, ...]) -> None:
        for row in rows:
            assert (row.memory_id, row.arm) not in self.under_way
            self.under_way.add((row.memory_id, row.arm))

    def end(self, rows: tuple[OutboxRow, ...], late: set[OutboxRow]) -> None:
        for row in rows:
            self.under_way.discard((row.memory_id, row.arm))
            if row not in late:
                assert self.held.get((row.memory_id, row.arm), ("", 0))[1] < row.version
                self.held[row.memory_id, row.arm] = (row.action.value, row.version)
                self.delivered.append(row.seq)

    def shown(self, arm: ArmName) -> dict[str, int]:
        return {
            memory_id: version
            for (memory_id, other), (action, version) in self.held.items()
            if other is arm and action == "index"
        }


async def deliver(bed: Bed, worker: str, index: Index, *, done: asyncio.Event) -> None:
    """Deliver until nothing comes any more; every fifth row fails at first."""
    chance, idle = random.Random(worker), 0
    while not done.is_set() or idle < 3:
        idle += 1
        for arm in ARMS:
            rows = await bed.ledger.lease_outbox(worker, arm, limit=5, lease=HOUR, now=LATER)
            idle = 0 if rows else idle
            index.begin(rows)
            await asyncio.sleep(0)
            late = {row for row in rows if chance.random() < 0.2}
            index.end(rows, late)
            await bed.ledger.settle_outbox(tuple(row.seq for row in rows if row not in late))
            await bed.ledger.defer_outbox(tuple(row.seq for row in late), until=NOW, error="down")


async def change(bed: Bed, name: str) -> None:
    """Write, and edit, invalidate and delete what was written."""
    chance = random.Random(name)
    for number in range(5):
        added = (await bed.write(f"{name}-{number}", chunk("a", *(f"{name} {number} {n}" for n in range(4))))).added
        for memory in added:
            match chance.randrange(4):
                case 0:
                    await bed.ledger.edit_memory(bed.uid, memory.id, MemoryEdit(text="else"), ARMS, NOW)
                case 1:
                    await bed.ledger.set_state(bed.uid, memory.id, MemoryState.INVALIDATED, ARMS, NOW)
                case 2:
                    await bed.ledger.delete_memories(bed.uid, (memory.id,), ARMS, NOW)


async def test_several_workers_share_the_outbox_and_keep_each_memorys_order(beds: list[Bed]):
    index, done = Index(), asyncio.Event()
    workers = [asyncio.create_task(deliver(bed, f"w{n}", index, done=done)) for n, bed in enumerate(beds)]
    await asyncio.gather(*(change(bed, f"c{n}") for n, bed in enumerate(beds)))
    done.set()
    async with asyncio.timeout(30):
        await asyncio.gather(*workers)
    assert len(index.delivered) == len(set(index.delivered))
    assert await beds[0].ledger.outbox_lag(LATER) == ()
    there = await beds[0].memories()
    shown = {one.id: one.version for one in there if one.state is not MemoryState.INVALIDATED}
    assert [index.shown(arm) for arm in ARMS] == [shown] * len(ARMS)


async def test_many_workers_take_each_operation_once(beds: list[Bed]):
    for _ in range(12):
        await beds[0].ledger.submit(beds[0].uid, OperationKind.RETAIN, b"", 1, NOW)

    async def work(number: int) -> list[str]:
        taken = []
        bed = beds[number % PROCESSES]
        for _ in range(12):
            job = await bed.ledger.lease_job(f"w{number}", tuple(OperationKind), lease=MINUTE, now=NOW)
            if job is not None:
                taken.append(job.operation.id)
        return taken

    taken = [one for some in await asyncio.gather(*(work(number) for number in range(6))) for one in some]
    assert len(taken) == len(set(taken)) == 12


async def test_a_due_bank_gets_one_operation_whoever_starts_it(beds: list[Bed]):
    ledgers = [bed.ledger for bed in beds]
    banks = [await new_bank(ledgers[0], f"bank{n}") for n in range(6)]
    for bank in banks:
        await ledgers[0].ask_again(bank.uid, NOW)
    started = await asyncio.gather(*(ledgers[n % PROCESSES].start_consolidations(LATER) for n in range(6)))
    assert sum(started) == 6
    for bank in banks:
        [operation] = (await ledgers[0].list_operations(bank.uid, PageRequest())).rows
        assert operation.kind is OperationKind.CONSOLIDATE


async def test_asking_and_being_due_at_once_make_one_operation(beds: list[Bed]):
    for number in range(5):
        bank = await new_bank(beds[0].ledger, f"bank{number}")
        await beds[0].ledger.ask_again(bank.uid, NOW)
        await asyncio.gather(
            beds[0].ledger.ask_consolidation(bank.uid, LATER),
            beds[1].ledger.start_consolidations(LATER),
            beds[2].ledger.ask_consolidation(bank.uid, LATER),
        )
        await beds[1].ledger.start_consolidations(LATER)
        assert len((await beds[0].ledger.list_operations(bank.uid, PageRequest())).rows) == 1


async def test_a_mark_that_a_write_under_way_makes_is_not_lost_to_the_start_of_consolidation(
    backend: Backend, beds: list[Bed]
):
    await beds[0].ledger.ask_again(beds[0].uid, NOW)
    write = writing(beds[0], "doc", chunk("a", "new"), consolidate=NOW)
    [started] = await while_writing(backend, write, beds[1].ledger.start_consolidations(LATER))
    assert started == 1
    assert await beds[2].ledger.has_new_facts(beds[2].uid)
    again = await beds[2].ledger.start_consolidations(LATER)
    listed = (await beds[0].ledger.list_operations(beds[0].uid, PageRequest())).rows
    assert len(listed) == 1
    assert again == 0


async def test_what_is_written_while_its_bank_is_deleted_is_refused_or_gone(backend: Backend, beds: list[Bed]):
    await beds[0].write("old", chunk("a", "one"))
    writes = [beds[n % PROCESSES].write(f"d{n}", chunk("a", "one")) for n in range(6)]
    deletion = beds[1].ledger.delete_bank(beds[0].bank.ref, ARMS, LATER)
    await asyncio.gather(*writes[:3], deletion, *writes[3:], return_exceptions=True)
    with backend.connect() as connection:
        for table in metadata.sorted_tables:
            if "bank_uid" in table.c and table.name != "outbox":
                assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0
    rows = await beds[2].lease(ArmName.GRAPH, now=LATER + HOUR)
    assert {(row.action, row.memory_id) for row in rows} == {(OutboxAction.DROP_BANK, "")}


async def test_a_write_that_loses_its_chunk_to_another_is_a_conflict(backend: Backend, beds: list[Bed]):
    await beds[0].write("doc", chunk("a", "one"))
    write = writing(beds[0], "doc", chunk("b", "two"))
    [refused] = await while_writing(backend, write, beds[1].write("doc", chunk("a", known=True), chunk("c", "three")))
    assert isinstance(refused, ConflictingWrite)
    assert [one.text for one in await beds[0].memories() if one.state is MemoryState.ACTIVE] == ["two"]


async def test_a_memory_that_is_edited_while_it_is_deleted_is_gone(beds: list[Bed]):
    [memory] = (await beds[0].write("doc", chunk("a", "one"))).added
    edit = beds[1].ledger.edit_memory(beds[1].uid, memory.id, MemoryEdit(text="else"), ARMS, NOW)
    deleted, edited = await asyncio.gather(
        beds[0].ledger.delete_memories(beds[0].uid, (memory.id,), ARMS, NOW), edit, return_exceptions=True
    )
    assert deleted == 1
    version = 3 if not isinstance(edited, Exception) else 2
    assert isinstance(edited, MemoryNotFound) or edited.version == 2
    assert await beds[2].deliver() == [("remove", memory.id, version)] * 2
