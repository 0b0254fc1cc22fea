"""The ledger's contract: the outbox and the queue of operations lose nothing and keep the order."""

import asyncio
from datetime import timedelta

import pytest
from contract.ledger_bed import ARMS, LATER, MINUTE, NOW, Bed, backend, bed, chunk, new_bank, uid

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import BankNotFound, OperationNotFound, RequestIdReused
from recallmesh.core.event import EventFilter
from recallmesh.core.job import Standing
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.memory import MemoryState
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.trace_context import TraceContext, tracing
from recallmesh.core.write import OutboxAction, RequestRecord

__all__ = ["backend", "bed"]


async def test_a_write_makes_a_row_for_each_memory_and_arm_that_is_its_own_for_a_while(bed: Bed):
    commit = await bed.write("doc", chunk("a", "a1", "a2"))
    own = await bed.ledger.own_outbox(commit.write_id)
    assert {(row.memory_id, row.arm) for row in own} == {(m.id, arm) for m in commit.added for arm in ARMS}
    assert {(row.action, row.version, row.attempts) for row in own} == {(OutboxAction.INDEX, 1, 0)}
    assert await bed.lease(now=NOW + timedelta(seconds=1)) == ()
    assert {row.memory_id for row in await bed.lease()} == {memory.id for memory in commit.added}
    assert await bed.lease(ArmName.SEMANTIC) == ()
    await bed.ledger.settle_outbox(tuple(row.seq for row in own))
    assert await bed.ledger.own_outbox(commit.write_id) == ()


async def test_leased_rows_are_hidden_until_the_lease_is_over(bed: Bed):
    await bed.write("doc", chunk("a", "a1", "a2", "a3"))
    first = await bed.lease(limit=2)
    assert len(first) == 2
    assert [row.seq for row in first] == sorted(row.seq for row in first)
    assert len(await bed.lease()) == 1
    assert await bed.lease() == ()
    again = await bed.lease(now=LATER + MINUTE)
    assert again[:2] == first


async def test_two_workers_never_lease_the_same_row(bed: Bed):
    await bed.write("doc", chunk("a", *(f"f{n}" for n in range(40))))
    leased = await asyncio.gather(*(bed.lease(limit=10) for _ in range(6)))
    seqs = [row.seq for rows in leased for row in rows]
    assert len(seqs) == len(set(seqs)) == 40


async def test_deferred_rows_come_again_and_count_attempts(bed: Bed):
    await bed.write("doc", chunk("a", "a1"))
    [row] = await bed.lease()
    await bed.ledger.defer_outbox((row.seq,), until=LATER + MINUTE, error="down")
    assert await bed.lease() == ()
    [again] = await bed.lease(now=LATER + MINUTE)
    assert (again.seq, again.attempts) == (row.seq, 1)


async def test_rows_of_a_memory_are_leased_in_order_one_at_a_time(bed: Bed):
    first = await bed.write("doc", chunk("a", "a1"))
    await bed.deliver((ArmName.KEYWORD,))
    memory_id = first.added[0].id
    [index] = await bed.lease()
    await bed.ledger.defer_outbox((index.seq,), until=LATER + MINUTE, error="down")
    await bed.ledger.set_state(bed.uid, memory_id, MemoryState.INVALIDATED, ARMS, LATER)
    # What is superseded waits no more: the removal is the first now.
    assert [(row.action, row.version) for row in await bed.lease()] == [(OutboxAction.REMOVE, 2)]
    await bed.ledger.set_state(bed.uid, memory_id, MemoryState.ACTIVE, ARMS, LATER)
    assert await bed.deliver() == [("index", memory_id, 3)] * 2


async def test_an_edit_is_indexed_again_under_its_new_version(bed: Bed):
    [memory] = (await bed.write("doc", chunk("a", "a1"))).added
    edited = await bed.ledger.edit_memory(bed.uid, memory.id, MemoryEdit(text="new", tokens=1), ARMS, NOW)
    assert (edited.text, edited.tokens, edited.version) == ("new", 1, 2)
    assert await bed.deliver() == [("index", memory.id, 2)] * 2
    same = await bed.ledger.edit_memory(bed.uid, memory.id, MemoryEdit(text="new"), ARMS, NOW)
    assert same == edited
    assert await bed.deliver() == []


async def test_a_deleted_memory_is_removed_from_the_arms_instead_of_indexed(bed: Bed):
    [gone, stays] = (await bed.write("doc", chunk("a", "a1", "a2"))).added
    assert await bed.ledger.delete_memories(bed.uid, (gone.id, uid()), ARMS, NOW) == 1
    rows = await bed.deliver()
    assert sorted(rows) == sorted([("remove", gone.id, 2), ("index", stays.id, 1)] * 2)


async def test_a_deleted_bank_gives_way_to_its_removal_from_the_arms(bed: Bed):
    other = Bed(bed.ledger, await new_bank(bed.ledger, "other"))
    await bed.write("doc", chunk("a", "a1"))
    [kept] = (await other.write("doc", chunk("a", "a1"))).added
    await bed.ledger.delete_bank(bed.bank.ref, ARMS, LATER)
    rows = await bed.lease()
    assert [(row.action, row.bank_uid, row.memory_id) for row in rows] == [
        (OutboxAction.INDEX, other.uid, kept.id),
        (OutboxAction.DROP_BANK, bed.uid, ""),
    ]


async def test_a_deleted_bank_is_removed_again_when_nothing_can_write_for_it_any_more(bed: Bed):
    await bed.ledger.delete_bank(bed.bank.ref, ARMS, NOW)
    assert await bed.deliver(now=NOW) == [(OutboxAction.DROP_BANK, "", 0)] * len(ARMS)
    assert await bed.deliver(now=NOW + MINUTE / 2) == []
    assert await bed.deliver(now=NOW + MINUTE) == [(OutboxAction.DROP_BANK, "", 0)] * len(ARMS)


async def test_rows_stay_their_workers_for_as_long_as_it_holds_them(bed: Bed):
    await bed.write("doc", chunk("a", "a1", "a2"))
    rows = await bed.ledger.lease_outbox("w", ArmName.GRAPH, limit=9, lease=MINUTE, now=LATER)
    seqs = tuple(row.seq for row in rows)
    assert await bed.ledger.hold_outbox("other", seqs, until=LATER + 9 * MINUTE) == 0
    assert await bed.ledger.hold_outbox("w", seqs, until=LATER + 2 * MINUTE) == 2
    assert await bed.lease(now=LATER + 1.5 * MINUTE) == ()
    taken = await bed.ledger.lease_outbox("other", ArmName.GRAPH, limit=1, lease=MINUTE, now=LATER + 2 * MINUTE)
    assert len(taken) == 1
    assert await bed.ledger.hold_outbox("w", seqs, until=LATER + 9 * MINUTE) == 1
    await bed.ledger.delete_bank(bed.bank.ref, ARMS, LATER)
    assert await bed.ledger.hold_outbox("w", seqs, until=LATER + 9 * MINUTE) == 0


async def test_the_outbox_tells_its_lag(bed: Bed):
    await bed.write("doc", chunk("a", "a1", "a2"))
    assert await bed.ledger.outbox_lag(LATER) == tuple((arm, 2, LATER - NOW) for arm in sorted(ARMS))
    assert (await bed.stats()).pending == 4
    await bed.deliver()
    assert await bed.ledger.outbox_lag(LATER) == ()


async def lease(ledger, worker="w", *kinds, now=NOW):
    return await ledger.lease_job(worker, kinds or tuple(OperationKind), lease=MINUTE, now=now)


async def test_operations_are_leased_oldest_first_and_finished(bed: Bed):
    ledger = bed.ledger
    one = (await ledger.submit(bed.uid, OperationKind.RETAIN, b"one\x00", 3, NOW)).operation
    two = (await ledger.submit(bed.uid, OperationKind.CONSOLIDATE, b"two", 1, NOW)).operation
    assert (one.state, one.total, one.attempts) == (OperationState.PENDING, 3, 0)
    job = await lease(ledger)
    assert job is not None
    assert (job.operation.id, job.payload, job.bank) == (one.id, b"one\x00", bed.bank)
    assert (job.operation.state, job.operation.attempts) == (OperationState.RUNNING, 1)
    second = await lease(ledger)
    assert second is not None
    assert second.operation.id == two.id
    assert await lease(ledger) is None
    await ledger.finish_job(one.id, "w", memory_ids=("m1", "m2"), at=LATER)
    await ledger.finish_job(two.id, "w", error="no luck", at=LATER)
    done, failed = (await ledger.list_operations(bed.uid, PageRequest())).rows
    assert (done.state, done.done, done.memory_ids, done.updated) == (OperationState.SUCCEEDED, 3, ("m1", "m2"), LATER)
    assert (failed.state, failed.error) == (OperationState.FAILED, "no luck")


async def test_a_dead_workers_operation_is_taken_over(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW)).operation
    await lease(bed.ledger, "dies")
    assert await lease(bed.ledger, "other", now=NOW + MINUTE / 2) is None
    job = await lease(bed.ledger, "other", now=NOW + MINUTE)
    assert job is not None
    assert (job.operation.id, job.operation.attempts) == (submitted.id, 2)


async def test_an_operation_that_is_to_be_tried_again_is_pending(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"load", 1, NOW)).operation
    await lease(bed.ledger)
    await bed.ledger.return_job(submitted.id, "w", error="busy", due=LATER, at=NOW)
    pending = await bed.ledger.get_operation(bed.uid, submitted.id)
    assert (pending.state, pending.error) == (OperationState.PENDING, "busy")
    assert await lease(bed.ledger, now=LATER - MINUTE) is None
    job = await lease(bed.ledger, now=LATER)
    assert job is not None
    assert (job.payload, job.operation.attempts) == (b"load", 2)


async def test_a_worker_takes_only_what_it_can_do(bed: Bed):
    await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW)
    retain = (await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW)).operation
    job = await lease(bed.ledger, "w", OperationKind.RETAIN, OperationKind.CONSOLIDATE)
    assert job is not None
    assert job.operation.id == retain.id
    assert await lease(bed.ledger, "w", OperationKind.RETAIN, OperationKind.CONSOLIDATE) is None


async def test_a_renewed_operation_stays_its_workers_and_tells_how_far_it_is(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW)).operation
    await lease(bed.ledger, "w")
    kept = await bed.ledger.renew_job(submitted.id, "w", lease=MINUTE, now=NOW + MINUTE / 2, progress=(3, 7))
    assert kept is Standing.HELD
    seen = await bed.ledger.get_operation(bed.uid, submitted.id)
    assert (seen.done, seen.total, seen.updated, seen.state.value) == (3, 7, NOW + MINUTE / 2, "running")
    assert await lease(bed.ledger, "other", now=NOW + MINUTE) is None
    assert await lease(bed.ledger, "other", now=NOW + 1.5 * MINUTE) is not None
    lost = await bed.ledger.renew_job(submitted.id, "w", lease=MINUTE, now=LATER, progress=(4, 7))
    assert lost is Standing.LOST
    assert (await bed.ledger.get_operation(bed.uid, submitted.id)).done == 3


async def test_who_lost_an_operation_neither_ends_nor_returns_it(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW)).operation
    await lease(bed.ledger, "slow")
    await lease(bed.ledger, "other", now=LATER)
    running = await bed.ledger.get_operation(bed.uid, submitted.id)
    await bed.ledger.finish_job(submitted.id, "slow", error="too late", at=LATER)
    await bed.ledger.return_job(submitted.id, "slow", due=LATER, at=LATER)
    assert await bed.ledger.get_operation(bed.uid, submitted.id) == running


async def test_a_running_operation_hears_that_it_is_cancelled_and_is_when_it_is_given_back(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW)).operation
    await lease(bed.ledger, "w")
    assert (await bed.ledger.cancel_operation(bed.uid, submitted.id, NOW)).state is OperationState.RUNNING
    assert await bed.ledger.renew_job(submitted.id, "w", lease=MINUTE, now=NOW) is Standing.CANCELLED
    await bed.ledger.return_job(submitted.id, "w", due=NOW, at=NOW)
    assert (await bed.ledger.get_operation(bed.uid, submitted.id)).state is OperationState.CANCELLED
    assert await lease(bed.ledger) is None
    await bed.ledger.retry_operation(bed.uid, submitted.id, NOW)
    job = await lease(bed.ledger)
    assert job is not None
    assert job.operation.attempts == 1
    assert await bed.ledger.renew_job(submitted.id, "w", lease=MINUTE, now=NOW) is Standing.HELD


async def test_an_operation_that_was_to_be_cancelled_ends_with_its_dead_worker(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW)).operation
    await lease(bed.ledger, "dies")
    await bed.ledger.cancel_operation(bed.uid, submitted.id, NOW)
    assert await lease(bed.ledger, "other", now=LATER) is None
    assert (await bed.ledger.get_operation(bed.uid, submitted.id)).state is OperationState.CANCELLED


async def test_what_a_leaving_worker_gives_back_counts_as_no_attempt(bed: Bed):
    submitted = (await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"load", 1, NOW)).operation
    await lease(bed.ledger, "leaves")
    await bed.ledger.return_job(submitted.id, "leaves", due=NOW, at=NOW, begun=False)
    job = await lease(bed.ledger, "other")
    assert job is not None
    assert (job.payload, job.operation.attempts) == (b"load", 1)


async def test_operations_are_listed_by_state(bed: Bed):
    made = [(await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW)).operation for _ in range(4)]
    for one in made[:3]:
        await bed.ledger.cancel_operation(bed.uid, one.id, NOW)
    wanted = (OperationState.CANCELLED, OperationState.FAILED)
    first = await bed.ledger.list_operations(bed.uid, PageRequest(2), wanted)
    rest = await bed.ledger.list_operations(bed.uid, PageRequest(2, first.next_after), wanted)
    assert [one.id for one in (*first.rows, *rest.rows)] == [one.id for one in made[:3]]


async def test_ten_workers_lease_ten_operations_once_each(bed: Bed):
    for _ in range(10):
        await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW)
    jobs = await asyncio.gather(*(lease(bed.ledger, f"w{n}") for n in range(12)))
    assert len({job.operation.id for job in jobs if job}) == len([job for job in jobs if job]) == 10


async def test_only_pending_operations_are_cancelled_and_only_stopped_ones_retried(bed: Bed):
    ledger = bed.ledger
    submitted = (await ledger.submit(bed.uid, OperationKind.RETAIN, b"load", 1, NOW)).operation
    assert (await ledger.retry_operation(bed.uid, submitted.id, LATER)).updated == NOW
    assert (await ledger.cancel_operation(bed.uid, submitted.id, LATER)).state is OperationState.CANCELLED
    assert await lease(ledger, now=LATER) is None
    assert (await ledger.retry_operation(bed.uid, submitted.id, LATER)).state is OperationState.PENDING
    job = await lease(ledger, now=LATER)
    assert job is not None
    assert job.payload == b"load"
    assert (await ledger.cancel_operation(bed.uid, submitted.id, LATER)).state is OperationState.RUNNING


async def test_operations_belong_to_their_bank_and_come_in_pages(bed: Bed):
    other = await new_bank(bed.ledger, "other")
    made = [(await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW)).operation for _ in range(3)]
    with pytest.raises(OperationNotFound):
        await bed.ledger.get_operation(other.uid, made[0].id)
    with pytest.raises(OperationNotFound):
        await bed.ledger.cancel_operation(other.uid, made[0].id, NOW)
    first = await bed.ledger.list_operations(bed.uid, PageRequest(2))
    rest = await bed.ledger.list_operations(bed.uid, PageRequest(2, first.next_after))
    assert [*first.rows, *rest.rows] == made
    assert rest.next_after == ""
    with pytest.raises(BankNotFound):
        await bed.ledger.submit(uid(), OperationKind.RETAIN, b"", 1, NOW)
    await bed.ledger.delete_bank(BankRef("bank"), ARMS, NOW)
    assert await lease(bed.ledger) is None


async def test_a_request_id_is_one_operation_whatever_became_of_it(bed: Bed):
    request = RequestRecord("r", "one")

    async def submit(asked: RequestRecord | None = request, where: Bed = bed):
        return await where.ledger.submit(where.uid, OperationKind.RETAIN, b"load", 1, NOW, asked)

    answers = await asyncio.gather(*(submit() for _ in range(5)))
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 4
    (submitted,) = {answer.operation for answer in answers}
    with pytest.raises(RequestIdReused):
        await submit(RequestRecord("r", "two"))
    await bed.ledger.cancel_operation(bed.uid, submitted.id, LATER)
    again = await submit()
    assert (again.operation.id, again.operation.state, again.replayed) == (submitted.id, OperationState.CANCELLED, True)
    elsewhere = Bed(bed.ledger, await new_bank(bed.ledger, "elsewhere"))
    assert not (await submit(RequestRecord("r", "two"), elsewhere)).replayed
    nameless = [(await submit(None)).operation for _ in range(2)]
    assert (await bed.ledger.list_operations(bed.uid, PageRequest())).rows == (again.operation, *nameless)


async def test_an_operation_and_a_write_of_one_request_id_have_one_content(bed: Bed):
    queued, other = RequestRecord("queued", "one"), RequestRecord("queued", "two")
    await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW, queued)
    assert await bed.ledger.find_request(bed.uid, queued) is None
    with pytest.raises(RequestIdReused):
        await bed.ledger.find_request(bed.uid, other)
    with pytest.raises(RequestIdReused):
        await bed.write("doc", chunk("a", "a"), request=other)
    assert (await bed.stats()).memories == 0
    assert not (await bed.write("doc", chunk("a", "a"), request=queued)).replayed

    await bed.write("doc2", chunk("b", "b"), request=RequestRecord("written", "one"))
    with pytest.raises(RequestIdReused):
        await bed.ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW, RequestRecord("written", "two"))


async def test_rows_of_a_very_large_write_are_settled_at_once(bed: Bed):
    commit = await bed.write("doc", chunk("a", *(f"f{n}" for n in range(500))))
    own = tuple(row.seq for row in await bed.ledger.own_outbox(commit.write_id))
    beyond_any_limit_on_parameters = tuple(range(max(own) + 1, max(own) + 300_000))
    await bed.ledger.settle_outbox(own + beyond_any_limit_on_parameters)
    assert (await bed.stats()).pending == 0


async def test_operations_that_have_not_ended_are_counted_by_kind_with_the_age_of_the_oldest(bed: Bed):
    ledger = bed.ledger
    assert await ledger.operation_lag(NOW) == ()
    await ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW)
    await ledger.submit(bed.uid, OperationKind.RETAIN, b"", 1, NOW + MINUTE)
    await ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW + MINUTE)
    repair = await ledger.lease_job("w", (OperationKind.REPAIR,), lease=MINUTE, now=NOW + MINUTE)
    later = NOW + 3 * MINUTE
    assert await ledger.operation_lag(later) == (
        (OperationKind.REPAIR, 1, 2 * MINUTE),
        (OperationKind.RETAIN, 2, 3 * MINUTE),
    )
    await ledger.finish_job(repair.operation.id, "w", at=later)
    assert [kind for kind, *_ in await ledger.operation_lag(later)] == [OperationKind.RETAIN]


async def test_what_is_left_for_later_keeps_the_trace_of_what_wrote_it(bed: Bed):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with tracing(TraceContext(parent)):
        commit = await bed.write("doc", chunk("a", "a1"))
        await bed.ledger.submit(bed.uid, OperationKind.REPAIR, b"", 1, NOW)
        await bed.ledger.ask_again(bed.uid, NOW)
    await bed.ledger.edit_memory(bed.uid, commit.added[0].id, MemoryEdit(text="new", tokens=1), ARMS, NOW)
    assert {row.origin for row in await bed.ledger.own_outbox(commit.write_id)} <= {parent}
    assert {row.origin for row in await bed.lease()} == {""}
    job = await bed.ledger.lease_job("w", (OperationKind.REPAIR,), lease=MINUTE, now=NOW)
    assert job.origin == parent
    assert await bed.ledger.start_consolidations(LATER) == 1
    due = await bed.ledger.lease_job("w", (OperationKind.CONSOLIDATE,), lease=MINUTE, now=LATER)
    assert due.origin == parent
    page = await bed.ledger.list_events(bed.uid, EventFilter(), PageRequest(10))
    assert [event.origin for event in page.rows] == [parent]
