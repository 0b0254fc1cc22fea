"""A day is the day of the one who told of it, wherever it is said: times keep their UTC offset on all their ways."""

from dataclasses import replace
from datetime import datetime

import pytest
from unit.retain_fakes import open_bench

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import ExtractionMode
from recallmesh.core.page import PageRequest
from recallmesh.keyword.dates import date_words
from recallmesh.recall.passage import passage
from recallmesh.retain.local import LocalExtractor
from recallmesh.rpc.codec.arm import entry_from_pb, entry_to_pb
from recallmesh.rpc.codec.memory import memory_from_pb, memory_to_pb
from recallmesh.when.reader import GrammarTimeReader

SAID = datetime.fromisoformat("2026-03-03T18:20+01:00")
EARLY = datetime.fromisoformat("2026-03-03T00:20+01:00")
TOLD = "Mira repaired the boat today."
MODES = {"mode": ExtractionMode.CONCISE}


def told(entry):
    """What is said of an entry's times, offsets and all."""
    window = entry.occurred.window
    return window.start.isoformat(), window.end.isoformat(), entry.mentioned.isoformat()


async def kept(tmp_path, text, time):
    async with open_bench(tmp_path, extractor=LocalExtractor(GrammarTimeReader())) as bench:
        await bench.keep(text, time=time, **MODES)
        [memory] = await bench.memories()
    return memory


@pytest.mark.parametrize("time", [SAID, EARLY])
async def test_today_is_the_speakers_day_wherever_it_is_said(tmp_path, time):
    memory = await kept(tmp_path, TOLD, time)
    travelled = memory_from_pb(memory_to_pb(memory))
    for one in (memory, travelled):
        assert one.occurred.window.start.isoformat() == "2026-03-03T00:00:00+01:00"
        assert one.mentioned.isoformat() == time.isoformat()
        assert passage(one).startswith("3 March 2026: ")
        assert date_words(one.occurred, one.mentioned) == "3 March 2026, Tuesday"
        assert date_words(None, one.mentioned) == "3 March 2026, Tuesday"


async def test_a_year_is_the_speakers_year_wherever_it_is_said(tmp_path):
    memory = await kept(tmp_path, "The shop made a loss in 2025.", SAID)
    travelled = memory_from_pb(memory_to_pb(memory))
    for one in (memory, travelled):
        assert passage(one).startswith("2025: ")
        assert date_words(one.occurred, one.mentioned) == "2025"


async def test_a_delivery_out_of_the_ledger_is_the_first_one_again(tmp_path):
    async with open_bench(tmp_path, extractor=LocalExtractor(GrammarTimeReader())) as bench:
        late = bench.arms[ArmName.KEYWORD]
        late.down = True
        await bench.keep(TOLD, time=EARLY, **MODES)
        late.down = False
        bench.clock.forward(60)
        assert await bench.outbox.drain(ArmName.KEYWORD)
        [again], [first] = late.entries.values(), bench.arms[ArmName.GRAPH].entries.values()
    assert again == replace(first, vector=None, context_vector=None)
    assert told(again) == told(first) == told(entry_from_pb(entry_to_pb(first), "entry"))
    assert told(first)[0] == "2026-03-03T00:00:00+01:00"


async def test_a_chunk_was_said_on_the_speakers_day(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.keep(TOLD, time=EARLY, document_id="d")
        [chunk] = (await bench.ledger.list_chunks(bench.bank.uid, "d", PageRequest())).rows
        assert chunk.time.isoformat() == EARLY.isoformat()


async def test_the_same_words_at_the_same_instant_on_another_day_are_new_content(tmp_path):
    elsewhere = EARLY.astimezone(tz=datetime.fromisoformat("2026-01-01T00:00+00:00").tzinfo)
    async with open_bench(tmp_path, extractor=LocalExtractor(GrammarTimeReader())) as bench:
        await bench.keep(TOLD, time=EARLY, document_id="d", **MODES)
        assert (await bench.keep(TOLD, time=EARLY, document_id="d", **MODES)).items[0].unchanged
        again = await bench.keep(TOLD, time=elsewhere, document_id="d", **MODES)
        assert not again.items[0].unchanged
        [memory] = await bench.ledger.read(bench.bank.uid, again.items[0].memory_ids)
        assert passage(memory).startswith("2 March 2026: ")
