"""What is recorded of the work of a process, what of it is not, and to which trace it belongs."""

import asyncio
import logging

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased
from opentelemetry.trace import SpanKind, StatusCode

from recallmesh.core.errors import BankNotFound, InternalFault, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.trace_context import UNTRACED, TraceContext, current_trace, trace_context, tracing
from recallmesh.settings import load_settings
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.otlp import LinkedSampler, open_otlp_tracing
from recallmesh.telemetry.store import observed_store
from recallmesh.telemetry.tracing import LINKS, Tracing
from recallmesh.traces import open_tracing

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = f"00-{TRACE}-{SPAN}-01"
UNRECORDED = f"00-{TRACE}-{SPAN}-00"


class Bed:
    """Metrics whose spans are kept here."""

    def __init__(self, share=1.0):
        self.kept = InMemorySpanExporter()
        provider = TracerProvider(sampler=ParentBased(LinkedSampler(share)), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.metrics = Metrics(Tracing(provider.get_tracer("test")))

    @property
    def spans(self):
        return {span.name: span for span in self.kept.get_finished_spans()}

    def guard(self, part="keyword", **more):
        return Guard(part, timeout_s=5, metrics=self.metrics, **more)


async def seen():
    return current_trace()


async def fails(error):
    raise error


def hexed(number, digits):
    return f"{number:0{digits}x}"


@pytest.mark.parametrize(
    "said",
    [
        "",
        "nonsense",
        f"01-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"{CALLER}\n",
        f"{CALLER}-more",
    ],
)
def test_what_is_no_trace_context_is_as_if_nothing_had_been_said(said):
    assert trace_context(said, "a=1") == UNTRACED


def test_a_trace_context_tells_its_ids_and_whether_it_is_recorded():
    context = trace_context(CALLER, "vendor=1")
    assert (context.trace_id, context.span_id, context.sampled, context.state) == (TRACE, SPAN, True, "vendor=1")
    assert not trace_context(UNRECORDED).sampled
    assert trace_context(CALLER, "x" * 513).state == ""
    assert trace_context(CALLER, "line\nbreak").state == ""


async def test_without_tracing_no_span_is_made_and_the_callers_trace_stays_in_hand():
    context = TraceContext(CALLER, "vendor=1")
    with tracing(context):
        assert await Guard("keyword", timeout_s=5, metrics=Metrics()).run("search", seen()) == context
    assert current_trace() == UNTRACED


async def test_a_call_is_a_span_of_the_callers_trace_and_what_it_calls_is_a_span_of_that():
    bed = Bed()

    async def outer():
        return await bed.guard("ledger").run("read", seen())

    with tracing(TraceContext(CALLER)):
        inside = await bed.guard(at="keyword:7070").run(
            "search", outer(), asked=lambda: {"a": 1}, told=lambda _: {"b": 2}
        )
        assert current_trace() == TraceContext(CALLER)
    search, read = bed.spans["keyword.search"], bed.spans["ledger.read"]
    assert hexed(search.context.trace_id, 32) == hexed(read.context.trace_id, 32) == inside.trace_id == TRACE
    assert hexed(search.parent.span_id, 16) == SPAN
    assert read.parent.span_id == search.context.span_id
    assert inside.span_id == hexed(read.context.span_id, 16)
    assert (search.kind, read.kind) == (SpanKind.CLIENT, SpanKind.INTERNAL)
    assert dict(search.attributes) == {"server.address": "keyword:7070", "a": 1, "b": 2}


async def test_a_trace_that_the_caller_does_not_record_is_not_recorded_here():
    bed = Bed()
    with tracing(TraceContext(UNRECORDED)):
        assert (await bed.guard().run("search", seen())).parent == UNRECORDED
    assert bed.spans == {}


async def test_a_share_of_the_traces_that_begin_here_is_recorded_whole():
    bed = Bed(share=0.0)

    async def outer():
        return await bed.guard("ledger").run("read", seen())

    inside = await bed.guard().run("search", outer())
    assert inside.trace_id
    assert not inside.sampled
    assert bed.spans == {}


@pytest.mark.parametrize(("origin", "recorded"), [(CALLER, True), (UNRECORDED, False)])
async def test_what_comes_of_a_trace_is_recorded_as_that_is_and_linked_to_it(origin, recorded):
    bed = Bed(share=0.0 if recorded else 1.0)
    await bed.guard("worker").run("deliver", seen(), origins=iter(["", origin, origin, "nonsense"]))
    assert bool(bed.spans) is recorded
    if recorded:
        [link] = bed.spans["worker.deliver"].links
        assert (hexed(link.context.trace_id, 32), hexed(link.context.span_id, 16)) == (TRACE, SPAN)
        assert bed.spans["worker.deliver"].parent is None


async def test_a_delivery_of_many_calls_has_so_many_links_and_no_more():
    bed = Bed()
    origins = [f"00-{TRACE}-{number:016x}-01" for number in range(1, 3 * LINKS)]
    await bed.guard("worker").run("deliver", seen(), origins=origins)
    assert len(bed.spans["worker.deliver"].links) == LINKS


async def test_checks_and_polls_of_stores_are_recorded_within_other_work_alone():
    bed = Bed()

    class Shelf:
        async def search(self):
            return await seen()

        async def check(self):
            pass

    shelf = observed_store(Shelf(), name="keyword", system="sqlite", metrics=bed.metrics)
    await shelf.search()
    await bed.guard().run("check", shelf.check())
    assert bed.spans == {}
    await bed.guard().run("search", shelf.search())
    assert set(bed.spans) == {"sqlite keyword.search", "keyword.search"}
    [store, _] = bed.kept.get_finished_spans()
    assert (store.kind, dict(store.attributes)) == (
        SpanKind.CLIENT,
        {"db.system.name": "sqlite", "db.operation.name": "search"},
    )


async def test_an_observed_store_is_the_store_in_all_else_and_counts_its_failures():
    class Shelf:
        color = "red"

        async def search(self, question, *, limit):
            if limit < 0:
                raise StoreUnavailable("away")
            return question * limit

        async def rows(self):
            yield 1

    metrics = Metrics()
    shelf = observed_store(Shelf(), name="graph", system="neo4j", metrics=metrics)
    assert shelf.color == "red"
    assert await shelf.search("ab", limit=2) == "abab"
    assert [row async for row in shelf.rows()] == [1]
    with pytest.raises(StoreUnavailable):
        await shelf.search("ab", limit=-1)
    labels = {"store": "graph", "system": "neo4j", "operation": "search"}
    value = metrics.registry.get_sample_value
    assert value("recallmesh_store_call_seconds_count", labels) == 2
    assert value("recallmesh_store_failures_total", labels | {"reason": "STORE_UNAVAILABLE"}) == 1


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (StoreUnavailable("the server at hunter2 is away"), "STORE_UNAVAILABLE", StatusCode.ERROR),
        (BankNotFound("hunter2"), "BANK_NOT_FOUND", StatusCode.UNSET),
        (InvalidArgument(), "INVALID_ARGUMENT", StatusCode.UNSET),
        (RuntimeError("password=hunter2"), "INTERNAL", StatusCode.ERROR),
    ],
)
async def test_what_goes_wrong_is_told_by_its_kind_and_its_place_without_a_value(error, kind, status):
    bed = Bed()
    with structlog.testing.capture_logs(), pytest.raises(MeshError):
        await bed.guard().run("search", fails(error))
    span = bed.spans["keyword.search"]
    assert span.attributes["error.type"] == kind
    assert span.status.status_code is status
    assert "hunter2" not in span.to_json()
    if isinstance(error, RuntimeError):
        [event] = span.events
        assert event.attributes["exception.type"] == "RuntimeError"
        assert "in fails" in event.attributes["exception.stacktrace"]


async def test_a_cancelled_call_says_so_and_is_no_error():
    bed = Bed()
    task = asyncio.create_task(bed.guard().run("search", asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bed.spans["keyword.search"].attributes["error.type"] == "CANCELLED"
    assert bed.spans["keyword.search"].status.status_code is StatusCode.UNSET


async def test_the_rows_of_a_stream_belong_to_its_span_and_what_the_listener_does_between_them_does_not():
    bed, inside = Bed(), []

    async def rows():
        for _ in range(2):
            inside.append(current_trace())
            yield 1

    told = bed.guard("recall").stream("stream", rows(), part_of=TraceContext(CALLER))
    outside = [current_trace() async for _ in told]
    span = bed.spans["recall.stream"]
    assert {context.span_id for context in inside} == {hexed(span.context.span_id, 16)}
    assert outside == [UNTRACED] * 2
    assert hexed(span.parent.span_id, 16) == SPAN


async def test_a_stream_that_goes_wrong_says_so():
    async def rows():
        yield 1
        raise StoreUnavailable("away")

    bed = Bed()
    with pytest.raises(StoreUnavailable):
        _ = [row async for row in bed.guard("recall").stream("stream", rows())]
    assert bed.spans["recall.stream"].attributes["error.type"] == "STORE_UNAVAILABLE"


@pytest.mark.parametrize(
    ("code", "status"),
    [("OK", StatusCode.UNSET), ("NOT_FOUND", StatusCode.UNSET), ("UNAVAILABLE", StatusCode.ERROR)],
)
def test_a_call_that_is_served_tells_its_status_code(code, status):
    bed = Bed()
    with tracing(TraceContext(CALLER)), bed.metrics.span_of_call("/recallmesh.v1.ArmService/Search") as tell:
        tell(code)
    span = bed.spans["recallmesh.v1.ArmService/Search"]
    assert (span.kind, span.status.status_code) == (SpanKind.SERVER, status)
    assert span.attributes["rpc.method"] == "recallmesh.v1.ArmService/Search"
    assert span.attributes["rpc.response.status_code"] == code


def test_without_tracing_a_call_that_is_served_tells_nobody():
    with Metrics().span_of_call("/recallmesh.v1.ArmService/Search") as tell:
        tell("OK")


def test_log_lines_say_which_span_they_belong_to(capsys):
    set_up_logging(as_json=True)
    with tracing(TraceContext(CALLER)):
        structlog.get_logger().warning("inside")
    structlog.get_logger().warning("outside")
    inside, outside = capsys.readouterr().err.splitlines()
    assert f'"trace_id": "{TRACE}", "span_id": "{SPAN}"' in inside
    assert "trace_id" not in outside


async def test_a_collector_that_is_away_costs_its_spans_and_a_line_of_ours(unused_tcp_port):
    with structlog.testing.capture_logs() as logs:
        async with open_otlp_tracing(f"http://127.0.0.1:{unused_tcp_port}", service="test", share=1.0) as recording:
            assert await Guard("keyword", timeout_s=5, metrics=Metrics(recording)).run("search", seen())
    assert {(line["event"], line["log_level"]) for line in logs} == {("spans are not sent", "warning")}
    assert logging.getLogger("opentelemetry").handlers == []


async def test_a_certificate_file_that_is_not_there_is_blamed_by_name(tmp_path):
    settings = load_settings(tracing={"endpoint": "https://127.0.0.1:1", "ca": tmp_path / "none.pem"})
    with pytest.raises(InvalidArgument) as caught:
        async with open_tracing(settings.tracing, ()):
            pass
    assert caught.value.violations[0].field == "tracing.ca"


@pytest.mark.parametrize("endpoint", ["collector:4317", "ftp://collector", "http://", "http://a b"])
def test_what_is_no_address_of_a_collector_is_refused_by_name(monkeypatch, endpoint):
    monkeypatch.setenv("RECALLMESH_TRACING__ENDPOINT", endpoint)
    with pytest.raises(InvalidArgument) as caught:
        load_settings()
    assert caught.value.violations[0].field == "RECALLMESH_TRACING__ENDPOINT"


def test_what_a_collector_is_told_with_its_spans_is_in_no_dump_of_the_settings():
    settings = load_settings(tracing={"headers": "authorization=Bearer hunter2"})
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()


async def test_without_an_endpoint_and_a_programme_that_traces_nothing_is_recorded():
    async with open_tracing(load_settings().tracing, ()) as recording:
        assert recording is None


def test_a_bug_of_a_part_elsewhere_has_no_text_of_it_in_a_span():
    bed = Bed()
    work = bed.metrics.tracing.begin("x")
    with pytest.raises(InternalFault), work:
        raise InternalFault("internal error") from RuntimeError("hunter2")
    assert "hunter2" not in bed.spans["x"].to_json()
