"""What came of a document is told: read or not read again, and that nothing came of it."""

from datetime import timedelta

from unit.retain_fakes import NoTimes, open_bench

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.event import EventFilter
from recallmesh.core.operation import OperationKind
from recallmesh.core.page import PageRequest
from recallmesh.retain.local import LocalExtractor
from recallmesh.telemetry.metrics import Metrics

CONCISE = ExtractionMode.CONCISE
LINES = ("Ines: I painted the boat red.", "Ingvar: I sold the house in Bergen.", "Ola: I bought a goat in Hamar.")


class Counting:
    """The local extractor, and what it was given to read."""

    def __init__(self):
        self.extractor, self.read = LocalExtractor(NoTimes()), []

    def __getattr__(self, name):
        return getattr(self.extractor, name)

    async def extract(self, passages, mode, tuning):
        self.read += [passage.text for passage in passages]
        return await self.extractor.extract(passages, mode, tuning)


async def keep(bench, *lines, **more):
    return await bench.keep(*lines, document_id="d", mode=CONCISE, **more)


async def test_what_a_document_has_already_is_not_read_again(tmp_path):
    extractor = Counting()
    async with open_bench(tmp_path, extractor=extractor) as bench:
        await keep(bench, *LINES)
        assert extractor.read == list(LINES)
        extractor.read.clear()
        changed = (LINES[0], "Ola: I sold the goat in Hamar.", LINES[1])
        assert not (await keep(bench, *changed)).items[0].unchanged
        assert extractor.read == [changed[1]]
        extractor.read.clear()
        before = await bench.memories()
        again = await keep(bench, *changed)
        assert [item.unchanged for item in again.items] == [True, True, True]
        assert extractor.read == []
        assert await bench.memories() == before


async def test_a_document_of_which_nothing_came_is_a_success_that_says_so(tmp_path):
    metrics = Metrics()

    def counted(outcome):
        return metrics.registry.get_sample_value("recallmesh_retain_documents_total", {"outcome": outcome}) or 0

    async with open_bench(tmp_path, on_retained=metrics.observe_retained) as bench:
        answer = await keep(bench, "Hello!")
        assert (answer.memory_count, answer.items[0].memory_ids) == (0, ())
        [event] = (await bench.ledger.list_events(bench.bank.uid, EventFilter(), PageRequest())).rows
        assert (event.document_ids, event.memory_count) == (("d",), 0)
        assert (counted("empty"), counted("changed"), counted("unchanged")) == (1, 0, 0)
        document = await bench.ledger.get_document(bench.bank.uid, "d")
        assert (document.chunk_count, document.memory_count) == (1, 0)

        await keep(bench, LINES[0], "Hello!", request_id="once")
        await keep(bench, LINES[0], "Hello!", request_id="once")
        assert (counted("empty"), counted("changed"), counted("unchanged")) == (1, 1, 0)
        await keep(bench, LINES[0], "Hello!")
        assert (counted("empty"), counted("changed"), counted("unchanged")) == (1, 1, 1)

        operation_id = (await keep(bench, "Hi!", wait=False)).operation_id
        lease = timedelta(minutes=1)
        job = await bench.ledger.lease_job("w", (OperationKind.RETAIN,), lease=lease, now=bench.clock())
        assert job.operation.id == operation_id
        assert await bench.retainer.work(job, nobody) == ()
        assert counted("empty") == 2


async def nobody(_done, _total):
    """Ask for nothing."""
