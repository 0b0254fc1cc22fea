import asyncio

import pytest
from unit.recall_fakes import (
    LAST_WEEK,
    FakeEmbedder,
    FakeLedger,
    FakeTimes,
    G,
    K,
    S,
    T,
    memory,
    mesh,
    part,
    reading,
    states,
)

from recallmesh.core.bank import BankConfig, BankRef
from recallmesh.core.errors import BankNotFound
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.tuning import RecallTuning


class SlowLedger(FakeLedger):
    """Knows its bank only once something else has begun."""

    def __init__(self, begun: asyncio.Event, config: BankConfig | None = None) -> None:
        super().__init__(*(memory(number) for number in range(1, 7)), config=config)
        self.begun = begun

    async def get_bank(self, ref):
        await self.begun.wait()
        return await super().get_bank(ref)


def bank(**tuning) -> BankConfig:
    return BankConfig(recall=RecallTuning(**tuning))


async def test_the_query_is_embedded_while_the_bank_is_read():
    embedder = FakeEmbedder()
    answer = await mesh(ledger=SlowLedger(embedder.begun), embedder=embedder).recall()
    assert states(answer)[S] is PartState.OK
    assert embedder.calls == 1


async def test_the_query_is_read_for_a_time_while_the_bank_is_read():
    begun = asyncio.Event()

    class Times(FakeTimes):
        async def read(self, text, now):
            begun.set()
            return await super().read(text, now)

    answer = await mesh(ledger=SlowLedger(begun), times=Times(reading())).recall("what happened last week")
    assert answer.window.window == LAST_WEEK
    assert states(answer)[T] is PartState.OK


async def test_what_was_begun_for_an_unknown_bank_is_stopped():
    embedder = FakeEmbedder(hang=True)
    here = mesh(ledger=SlowLedger(embedder.begun), embedder=embedder)
    before = asyncio.all_tasks()
    with pytest.raises(BankNotFound):
        await here.recaller().recall(RecallRequest(BankRef("other"), "what happened"))
    assert embedder.cancelled == 1
    assert asyncio.all_tasks() == before


async def test_cancelling_a_recall_before_the_bank_is_known_stops_what_was_begun():
    embedder = FakeEmbedder(hang=True)
    here = mesh(ledger=SlowLedger(asyncio.Event()), embedder=embedder)
    before = asyncio.all_tasks()
    call = asyncio.create_task(here.recall())
    await embedder.begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert embedder.cancelled == 1
    assert asyncio.all_tasks() == before


async def test_an_embedding_that_the_bank_has_no_use_for_is_not_waited_for():
    embedder = FakeEmbedder(hang=True)
    ledger = SlowLedger(embedder.begun, bank(arms=frozenset({K})))
    answer = await mesh(ledger=ledger, embedder=embedder).recall()
    assert states(answer)[K] is PartState.OK
    assert part(answer, "embedder").state is PartState.SKIPPED
    assert embedder.cancelled == 1


async def test_an_embedding_that_the_bank_has_no_use_for_cannot_fail_the_call():
    embedder = FakeEmbedder(error=KeyError("bug"))
    ledger = SlowLedger(embedder.begun, bank(arms=frozenset({K})))
    answer = await mesh(ledger=ledger, embedder=embedder).recall()
    assert part(answer, "embedder").state is PartState.SKIPPED
    assert answer.memories


async def test_a_bug_in_an_embedding_that_is_needed_is_not_hidden():
    with pytest.raises(ExceptionGroup) as caught:
        await mesh(embedder=FakeEmbedder(error=KeyError("bug"))).recall()
    assert caught.group_contains(KeyError)


async def test_a_request_that_names_no_arm_with_vectors_begins_no_embedding():
    here = mesh(ledger=FakeLedger(memory(2), config=bank(arms=frozenset({S, G}))))
    answer = await here.recall(tuning=RecallTuning(arms=frozenset({K})))
    assert here.embedder.calls == 0
    assert part(answer, "embedder").state is PartState.SKIPPED


async def test_the_request_may_need_what_the_bank_has_switched_off():
    everything = (memory(number) for number in range(1, 7))
    here = mesh(ledger=FakeLedger(*everything, config=bank(arms=frozenset({K}))))
    answer = await here.recall(tuning=RecallTuning(arms=frozenset({S})))
    assert (here.embedder.calls, states(answer)[S]) == (1, PartState.OK)


async def test_the_account_shows_both_beside_the_reading_of_the_bank():
    embedder = FakeEmbedder()
    answer = await mesh(ledger=SlowLedger(embedder.begun), embedder=embedder).recall(trace=True)
    phases = {phase.name: phase for phase in answer.trace.phases}
    bank_read = phases["bank"].start + phases["bank"].duration
    assert phases["embed"].start < bank_read
    assert phases["time"].start < bank_read
