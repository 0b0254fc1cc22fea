import asyncio
from contextlib import suppress

from unit.retain_fakes import FakeArm, open_bench

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import FieldViolation, InvalidArgument, StoreUnavailable
from recallmesh.core.memory import MemoryState
from recallmesh.core.retain import DeliveryState
from recallmesh.core.time import system_clock
from recallmesh.retain.outbox import OutboxWorker

SHORT_LEASE_S = 1.5


class SlowArm(FakeArm):
    """An arm that takes its time to index; the first call, that of the retain itself, fails at once."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.calls = 0
        self.at_work = asyncio.Event()

    @property
    def begun(self):
        return self.calls - 1

    async def index(self, bank_uid, entries):
        self.calls += 1
        if self.calls == 1:
            raise StoreUnavailable("the arm does not answer")
        self.at_work.set()
        await asyncio.sleep(self.seconds)
        await super().index(bank_uid, entries)


ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)


async def test_an_arm_that_was_down_gets_exactly_one_copy_when_it_is_back(tmp_path):
    async with open_bench(tmp_path) as bench:
        graph = bench.arms[ArmName.GRAPH]
        graph.down = True
        answer = await bench.keep("Ida keeps bees.")
        assert {d.arm for d in answer.deliveries if d.state is DeliveryState.PENDING} == {ArmName.GRAPH}

        bench.clock.forward(2)
        assert await bench.outbox.drain(ArmName.GRAPH)
        assert graph.texts == []
        graph.down = False
        bench.clock.forward(60)
        assert await bench.outbox.drain(ArmName.GRAPH)
        assert not await bench.outbox.drain(ArmName.GRAPH)

        assert graph.stored == [answer.items[0].memory_ids[0]]
        assert graph.entries[graph.stored[0]].vector is not None
        assert bench.arms[ArmName.KEYWORD].stored == graph.stored
        assert await bench.ledger.outbox_lag(bench.clock()) == ()


async def test_a_failure_waits_longer_every_time(tmp_path):
    async with open_bench(tmp_path) as bench:
        bench.arms[ArmName.GRAPH].down = True
        await bench.keep("Ida keeps bees.")
        waits = []
        for _ in range(4):
            waited = 0
            while not await bench.outbox.drain(ArmName.GRAPH):
                bench.clock.forward(0.5)
                waited += 0.5
            waits.append(waited)

        # The first wait is the fan-out's; the others are half of 2, 4 and 8 seconds, the jitter being 0.
        assert waits == [1.0, 1.0, 2.0, 4.0]


async def test_what_was_deleted_meanwhile_is_removed_not_indexed(tmp_path):
    async with open_bench(tmp_path) as bench:
        graph = bench.arms[ArmName.GRAPH]
        graph.down = True
        answer = await bench.keep("Ida keeps bees.")
        await bench.ledger.delete_memories(bench.bank.uid, answer.items[0].memory_ids, ARMS, bench.clock())
        graph.down = False
        bench.clock.forward(60)
        while await bench.outbox.drain(ArmName.GRAPH):
            pass

        assert graph.entries == {}


async def test_what_was_hidden_is_removed_and_comes_back_when_restored(tmp_path):
    async with open_bench(tmp_path) as bench:
        memory_id = (await bench.keep("Ida keeps bees.")).items[0].memory_ids[0]
        for state, texts in ((MemoryState.INVALIDATED, []), (MemoryState.ACTIVE, ["Ida keeps bees."])):
            await bench.ledger.set_state(bench.bank.uid, memory_id, state, ARMS, bench.clock())
            bench.clock.forward(60)
            while await bench.outbox.drain(ArmName.KEYWORD):
                pass
            assert bench.arms[ArmName.KEYWORD].texts == texts


async def test_one_that_the_arm_refuses_does_not_hold_up_the_others(tmp_path):
    async with open_bench(tmp_path) as bench:
        graph = bench.arms[ArmName.GRAPH]
        plain = graph.index

        async def index(uid, entries):
            if any(entry.text == "Poison." for entry in entries):
                raise InvalidArgument(FieldViolation("entries", "unreadable"))
            await plain(uid, entries)

        graph.index = index
        await bench.keep("Good.", "Poison.", "Better.", document_id="d")
        bench.clock.forward(60)
        await bench.outbox.drain(ArmName.GRAPH)

        assert graph.texts == ["Better.", "Good."]


async def test_a_deleted_bank_is_dropped_from_every_arm(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep("Ida keeps bees.")
        await bench.ledger.delete_bank(bench.bank.ref, ARMS, bench.clock())
        bench.clock.forward(60)
        for name in ARMS:
            while await bench.outbox.drain(name):
                pass

        # Once, and once more for what was still being written when the bank was deleted.
        assert [arm.dropped for arm in bench.arms.values()] == [["uid-1"] * 2] * 3


async def test_a_woken_worker_delivers_and_lives_through_failures(tmp_path):
    async with open_bench(tmp_path) as bench:
        graph = bench.arms[ArmName.GRAPH]
        graph.down = True
        running = asyncio.create_task(bench.outbox.run())
        await bench.keep("Ida keeps bees.")
        bench.clock.forward(5)
        bench.outbox.wake()
        await asyncio.sleep(0.1)
        graph.down = False
        bench.clock.forward(60)
        while not graph.entries:
            bench.outbox.wake()
            await asyncio.sleep(0.01)
        assert not running.done()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

        assert graph.texts == ["Ida keeps bees."]


async def test_the_outbox_leaves_a_write_to_its_own_call_however_long_the_embedding_took(tmp_path):
    async with open_bench(tmp_path) as bench:
        embed, index = bench.embedder.embed, bench.arms[ArmName.GRAPH].index
        drained = []

        async def embed_slowly(texts, kind):
            bench.clock.forward(300)
            return await embed(texts, kind)

        async def index_while_the_outbox_looks(bank_uid, entries):
            drained.append(await bench.outbox.drain(ArmName.KEYWORD))
            await index(bank_uid, entries)

        bench.embedder.embed = embed_slowly
        bench.arms[ArmName.GRAPH].index = index_while_the_outbox_looks
        await bench.keep("Ida keeps bees.")
        assert drained == [False]


def delivering(bench, arm, name="w1"):
    """Return a worker that delivers to the arm alone, on short leases, by the real clock."""
    arms, now = {ArmName.GRAPH: arm}, system_clock
    ledger, embedder = bench.ledger, bench.embedder
    return OutboxWorker(ledger, arms, embedder, worker=name, now=now, random=lambda: 0.0, lease_s=SHORT_LEASE_S)


async def test_a_delivery_longer_than_its_lease_is_made_once(tmp_path):
    async with open_bench(tmp_path) as bench:
        bench.arms[ArmName.GRAPH] = slow = SlowArm(3 * SHORT_LEASE_S)
        await bench.keep("Ida keeps bees.")
        one, other = (delivering(bench, slow, name) for name in ("w1", "w2"))
        working = asyncio.create_task(one.drain(ArmName.GRAPH))
        while not slow.begun:  # noqa: ASYNC110 - it counts; waited for, else the other might be the first
            await asyncio.sleep(SHORT_LEASE_S / 10)
        while not working.done():
            await other.drain(ArmName.GRAPH)
            await asyncio.sleep(SHORT_LEASE_S / 10)
        assert await working
        assert (len(slow.stored), slow.begun) == (1, 1)
        assert await bench.ledger.outbox_lag(system_clock()) == ()


async def test_a_delivery_whose_bank_is_deleted_is_cut_short(tmp_path):
    async with open_bench(tmp_path) as bench:
        bench.arms[ArmName.GRAPH] = slow = SlowArm(60)
        await bench.keep("Ida keeps bees.")
        outbox = delivering(bench, slow)
        working = asyncio.create_task(outbox.drain(ArmName.GRAPH))
        await slow.at_work.wait()
        await bench.ledger.delete_bank(bench.bank.ref, (ArmName.GRAPH,), system_clock())
        async with asyncio.timeout(30):
            await working
        assert slow.stored == []
