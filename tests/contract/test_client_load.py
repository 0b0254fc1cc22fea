"""Rows of items loaded into a real ledger: whole, in order, once, and on from where an earlier load stopped."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from loopback import open_loopback, until_ready
from unit.retain_fakes import REF, open_bench

from recallmesh.client import BankClient, LoadProgress, RetainItem, within
from recallmesh.client.items import BATCH_BYTES, batches_of
from recallmesh.core.bank import ExtractionMode
from recallmesh.core.errors import InvalidArgument, StoreUnavailable
from recallmesh.core.retain import Attachment
from recallmesh.rpc.caller import caller_channel
from recallmesh.rpc.retainer import RemoteRetainer, host_retainer

CHUNKS = ExtractionMode.CHUNKS


@asynccontextmanager
async def open_here(folder):
    async with open_bench(folder) as bench:
        yield bench, BankClient(REF, None, bench.retainer, None)


@asynccontextmanager
async def open_there(folder):
    async with open_bench(folder) as bench, open_loopback(host_retainer(bench.retainer)) as channel:
        retainer = RemoteRetainer(channel)
        await until_ready(retainer)
        yield bench, BankClient(REF, None, retainer, None)


OPENERS = {"here": open_here, "there": open_there}


@pytest.fixture(params=OPENERS)
async def opened(request, tmp_path):
    async with OPENERS[request.param](tmp_path) as opened:
        yield opened


def facts(count):
    return [f"Fact {number}." for number in range(count)]


async def flowing(row):
    for told in row:
        yield told


@pytest.mark.parametrize("form", [list, iter, flowing], ids=["a list", "an iterator", "an asynchronous one"])
async def test_a_row_is_kept_whole_and_progress_is_told_batch_by_batch(opened, form):
    bench, bank = opened
    told = []
    done = await bank.load(form(facts(7)), batch_size=3, mode=CHUNKS, progress=told.append)
    assert done == LoadProgress(items=7, memories=7, batches=3)
    assert [(one.items, one.memories) for one in told] == [(3, 3), (6, 6), (7, 7)]
    assert sorted(await bench.texts()) == facts(7)


async def test_a_load_repeated_under_its_name_keeps_nothing_twice(opened):
    bench, bank = opened

    def cut_short():
        yield from facts(6)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await bank.load(cut_short(), name="import-1", batch_size=4, mode=CHUNKS)
    assert sorted(await bench.texts()) == facts(4)
    again = await bank.load(facts(9), name="import-1", batch_size=4, mode=CHUNKS)
    assert (again.items, again.batches, again.replayed) == (9, 3, 1)
    assert sorted(await bench.texts()) == facts(9)


async def test_a_load_without_a_name_is_another_each_time(opened):
    bench, bank = opened
    for _ in range(2):
        await bank.load(facts(1), mode=CHUNKS)
    assert await bench.texts() == facts(1) * 2


async def test_a_load_goes_on_after_what_is_passed_over(opened):
    bench, bank = opened
    row = [RetainItem((text,), document_id="d") for text in facts(5)]
    first = await bank.load(row[:2], name="n", batch_size=2, mode=CHUNKS)
    rest = await bank.load(row, name="n", batch_size=2, mode=CHUNKS, skip=first.items)
    assert (rest.items, rest.batches, rest.replayed) == (5, 2, 0)
    # The document that the passed over items began was appended to, not replaced.
    assert sorted(await bench.texts()) == facts(5)
    assert await bank.load(facts(3), skip=9) == LoadProgress(items=9)


async def test_other_items_under_a_name_are_refused_by_their_places(opened):
    _, bank = opened
    await bank.load(facts(4), name="n", batch_size=2, mode=CHUNKS)
    with pytest.raises(InvalidArgument, match=r"items\[2\] to items\[3\]: came before with other content"):
        await bank.load([*facts(2), "Another.", "And another."], name="n", batch_size=2, mode=CHUNKS)


async def test_a_refused_item_is_named_by_its_place_in_the_row_and_all_before_it_is_kept(opened):
    bench, bank = opened
    with pytest.raises(InvalidArgument, match=r"^items\[4\]\.content"):
        await bank.load([*facts(4), " ", "after"], batch_size=2, mode=CHUNKS)
    assert sorted(await bench.texts())[:4] == facts(4)


async def test_a_load_may_go_on_after_what_was_refused(opened):
    bench, bank = opened
    told = []

    def refused(batch, error):
        told.append((batch.first, batch.last, error.reason))
        return True

    row = [*facts(2), " ", "lost with it", "Fact 9."]
    done = await bank.load(row, batch_size=2, mode=CHUNKS, refused=refused)
    assert (done.items, done.batches, done.refused) == (5, 2, 1)
    assert told == [(3, 4, "INVALID_ARGUMENT")]
    assert sorted(await bench.texts()) == [*facts(2), "Fact 9."]


async def test_what_is_no_item_is_refused_by_its_place(opened):
    with pytest.raises(InvalidArgument, match=r"items\[1\]: must be a text or a RetainItem"):
        await opened[1].load(["fine", 7])


@pytest.mark.parametrize(("field", "value"), [("batch_size", 0), ("batch_size", 1001), ("skip", -1)])
async def test_sizes_that_cannot_be_are_refused(opened, field, value):
    with pytest.raises(InvalidArgument, match=field):
        await opened[1].load(facts(1), **{field: value})


async def test_a_stream_that_breaks_is_opened_again_and_nothing_is_kept_twice(tmp_path):
    async with open_bench(tmp_path) as bench:

        class Breaking:
            """Keeps what comes, and breaks the first stream before its second answer."""

            broken = False

            async def stream(self, requests):
                async for answer in bench.retainer.stream(requests):
                    if not self.broken and answer.request_id == "n-3":
                        self.broken = True
                        raise StoreUnavailable("gone for a moment")
                    yield answer

        done = await BankClient(REF, None, Breaking(), None).load(facts(6), name="n", batch_size=2, mode=CHUNKS)
        assert (done.items, done.memories, done.batches) == (6, 6, 3)
        assert sorted(await bench.texts()) == facts(6)


async def test_a_load_outlives_the_deadlines_of_its_streams(tmp_path):
    async with open_bench(tmp_path) as bench, open_loopback(host_retainer(bench.retainer)) as plain:
        retainer = RemoteRetainer(caller_channel(plain, stream_s=0.4))
        await until_ready(retainer)

        async def slowly():
            for fact in facts(6):
                await asyncio.sleep(0.2)
                yield fact

        done = await BankClient(REF, None, retainer, None).load(slowly(), batch_size=1, mode=CHUNKS)
        assert (done.items, done.memories) == (6, 6)
        assert sorted(await bench.texts()) == facts(6)


async def test_a_load_does_not_go_on_beyond_the_deadline_in_hand():
    class Away:
        """Answers nothing."""

        tries = 0

        async def stream(self, requests):
            await anext(requests)
            self.tries += 1
            raise StoreUnavailable("away")
            yield

    away = Away()
    async with asyncio.timeout(20):
        with pytest.raises(StoreUnavailable, match="away"), within(1.8):
            await BankClient(REF, None, away, None).load(facts(1))
    # After a second it tries again; then two seconds would have to pass, which are not left.
    assert away.tries == 2


async def test_an_iterable_is_drawn_in_a_thread_and_batches_end_where_they_are_heavy():
    threads = set()

    def heavy():
        for size in (BATCH_BYTES, 10, BATCH_BYTES // 2, BATCH_BYTES // 2, 10):
            threads.add(threading.get_ident())
            yield RetainItem((Attachment("image/png", bytes(size)),))

    drawn = [batch async for batch in batches_of(heavy())]
    assert [(batch.first, batch.last) for batch in drawn] == [(1, 1), (2, 4), (5, 5)]
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("row", ["Leo likes tea.", b"Leo", {"text": "Leo"}, RetainItem(("Leo",)), 7, None])
async def test_what_is_no_row_of_items_is_refused(row):
    with pytest.raises(InvalidArgument, match="row: must be a row of texts"):
        await anext(batches_of(row))
