"""What nine processes and a door tell of a call, and of what is finished later: spans, lines, metrics (SPEC M5)."""

import json
from contextlib import suppress
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from collector import QUICKLY, open_collector, orphans
from deployment import until
from observing import NOT_HERE, open_observed, unmatched, work
from promql import alerts, panels, selectors

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, ConsolidationTuning
from recallmesh.core.retain import DeliveryState, RetainItem
from recallmesh.core.trace_context import TraceContext, tracing
from recallmesh.mesh import Part

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

NOTE = "The password of the Nordlys is quetzalcoatl-4711."
QUESTION = "What is the password of the Nordlys, and what happened yesterday?"
WORDS = ("quetzalcoatl", "Nordlys", "password")
DELIVERED_S = 90.0


def new_trace(*, sampled: bool = True) -> TraceContext:
    return TraceContext(f"00-{uuid4().hex}-{uuid4().hex[:16]}-0{int(sampled)}")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def traced(tmp_path_factory):
    """Nine processes and a door, which send their spans to one collector and log every call."""
    async with open_collector() as collector:
        more = QUICKLY | {
            "RECALLMESH_TRACING__ENDPOINT": collector.endpoint,
            "RECALLMESH_TRACING__HEADERS": "x-tenant=lab",
            "RECALLMESH_LOG_LEVEL": "debug",
        }
        async with open_observed(tmp_path_factory.mktemp("traced"), more) as observed:
            yield observed, collector


def lines(process, trace_id):
    """Return the lines that a process logged of a trace."""
    found = [json.loads(line) for line in process.told().splitlines() if line.startswith("{")]
    return [line for line in found if line.get("trace_id") == trace_id]


async def whole(collector, trace_id, services, *names, pairs=frozenset()):
    """Wait until all of these have sent their spans of a trace, those of some names too, and they are connected.

    ``pairs``: names that one service and another have too, with the service whose span is waited for.
    """

    async def there():
        spans = collector.of(trace_id)
        told = {span.service for span in spans} >= services and {span.name for span in spans}.issuperset(names)
        told = told and {(span.service.removeprefix("recallmesh-"), span.name) for span in spans} >= pairs
        return told and len(orphans(spans)) == 1 and spans

    return await until(there)


def services(*parts):
    return {f"recallmesh-{part}" for part in parts}


async def test_a_recall_is_one_trace_over_all_processes_and_holds_no_text(traced):
    observed, collector = traced
    mesh, door = observed.mesh, observed.door
    diary = await mesh.diary()
    await diary.keep(NOTE)
    caller = new_trace()
    async with httpx.AsyncClient() as http:
        answer = await http.post(
            f"http://{door.address}/recallmesh.v1.RecallService/Recall",
            json={"bankId": diary.ref.bank_id, "query": QUESTION},
            headers={"traceparent": caller.parent, "x-request-id": "the-one"},
            timeout=60,
        )
    assert NOTE in answer.text
    wanted = services(*ArmName, Part.RECALL, Part.EMBEDDER, Part.RERANKER, "door")
    expected = {
        ("door", "gateway.Recall"),
        ("recall", "recallmesh.v1.RecallService/Recall"),
        ("recall", "sqlite ledger.read"),
        ("recall", "keyword.search"),
        ("keyword", "recallmesh.v1.ArmService/Search"),
        ("keyword", "keyword.search"),
        ("graph", "sqlite graph.read"),
        ("semantic", "qdrant-edge vectors.search"),
        ("embedder", "recallmesh.v1.EmbedderService/Embed"),
        ("reranker", "reranker.rerank"),
    }
    spans = await whole(collector, caller.trace_id, wanted, pairs=expected)
    assert orphans(spans)[0].parent_id == caller.span_id
    assert {span.service for span in spans} == wanted
    assert {(span.service.removeprefix("recallmesh-"), span.name) for span in spans} >= expected
    told = "".join(str(span.raw) for span in collector.spans)
    assert [word for word in WORDS if word in told] == []
    assert diary.ref.bank_id not in told
    assert collector.headers[-1]["x-tenant"] == "lab"
    assert collector.resources["recallmesh-recall"]["service.namespace"] == "recallmesh"

    [store] = [span for span in spans if (span.service, span.name) == ("recallmesh-recall", "sqlite ledger.read")]
    assert store.attributes == {"db.system.name": "sqlite", "db.operation.name": "read"}
    [served] = [span for span in spans if span.name == "recallmesh.v1.RecallService/Recall"]
    assert served.attributes["rpc.system.name"] == "grpc"
    assert served.attributes["rpc.response.status_code"] == "OK"
    [asked] = [span for span in spans if (span.service, span.name) == ("recallmesh-recall", "keyword.search")]
    assert asked.kind == asked.raw.SPAN_KIND_CLIENT
    assert asked.attributes["recallmesh.hits"] == 1
    assert asked.attributes["server.address"] == mesh.processes["keyword"].address
    [recalled] = [span for span in spans if span.name == "recall.recall"]
    assert recalled.attributes["recallmesh.budget"] == "mid"
    assert "keyword: ok" in recalled.attributes["recallmesh.arms"]

    ids = {span.span_id for span in spans}
    for part in (*ArmName, Part.RECALL, Part.EMBEDDER, Part.RERANKER):
        found = lines(mesh.processes[part.value], caller.trace_id)
        assert found, part
        assert {line["request_id"] for line in found} == {"the-one"}
        assert {line["span_id"] for line in found} <= ids
    informed = [line for process in mesh.processes.values() for line in process.told().splitlines()]
    assert [line for line in informed if any(word in line for word in WORDS)] == []


async def test_what_an_arm_gets_later_is_linked_to_the_retain_that_it_comes_of(traced):
    mesh, collector = traced[0].mesh, traced[1]
    diary = await mesh.diary()
    keyword = mesh.processes["keyword"]
    keyword.kill()
    caller = new_trace()
    with tracing(caller):
        answer = await diary.retain(RetainItem(("The heron nests in the old mill.",)))
    assert [one.arm for one in answer.deliveries if one.state is DeliveryState.PENDING] == [ArmName.KEYWORD]
    keyword.start()
    await keyword.ready()

    async def delivered():
        return [
            span
            for span in collector.named("worker.deliver")
            if not span.failed and any(trace == caller.trace_id for trace, _ in span.links)
        ]

    [later] = await until(delivered, DELIVERED_S)
    assert later.trace_id != caller.trace_id
    assert later.attributes["recallmesh.part"] == "keyword"
    assert later.attributes["recallmesh.items"] == 1
    spans = await whole(
        collector, caller.trace_id, services(Part.RETAIN, Part.EMBEDDER, Part.SEMANTIC), "keyword.index"
    )
    [commit] = [span for span in spans if span.name == "sqlite ledger.commit"]
    assert set(later.links) == {(caller.trace_id, commit.span_id)}
    [refused] = [span for span in spans if (span.service, span.name) == ("recallmesh-retain", "keyword.index")]
    assert refused.failed
    assert refused.attributes["error.type"] == "STORE_UNAVAILABLE"
    await whole(collector, later.trace_id, services(Part.RETAIN, Part.KEYWORD), "sqlite keyword.upsert")


async def test_a_consolidation_is_linked_to_the_retain_that_made_it_due(traced):
    mesh, collector = traced[0].mesh, traced[1]
    diary = await mesh.diary(BankConfig(consolidation=ConsolidationTuning(enabled=True)))
    caller = new_trace()
    with tracing(caller):
        await diary.keep("Mira plays the cello.")

    async def consolidated():
        return [
            span
            for span in collector.named("worker.operation_consolidate")
            if any(trace == caller.trace_id for trace, _ in span.links)
        ]

    [later] = await until(consolidated, DELIVERED_S)
    assert not later.failed
    assert later.attributes["recallmesh.operation.id"]


async def test_a_trace_that_its_caller_does_not_record_is_passed_on_and_not_recorded(traced):
    mesh, collector = traced[0].mesh, traced[1]
    diary = await mesh.diary()
    await diary.keep("The ferry leaves at noon.")
    caller, seen = new_trace(sampled=False), new_trace()
    with tracing(caller):
        await diary.ask("When does the ferry leave?")
    with tracing(seen):
        await diary.ask("When does the ferry leave?")
    await whole(collector, seen.trace_id, services(Part.KEYWORD, Part.SEMANTIC, Part.GRAPH, Part.RECALL))
    assert collector.of(caller.trace_id) == []
    assert lines(mesh.processes["keyword"], caller.trace_id)


async def test_every_query_of_a_dashboard_and_an_alert_finds_what_it_asks_for(traced):
    observed, _ = traced
    await work(observed, 1)
    wanted = {(where, title, one) for where, title, query in panels() for one in selectors(query)}
    wanted |= {("alerts", rule["alert"], one) for rule in alerts() for one in selectors(rule["expr"])}
    wanted = {one for one in wanted if one[2].name not in NOT_HERE and not goes_wrong(one[2])}

    missing = []

    async def found():
        missing[:] = unmatched((one for *_, one in wanted), await observed.samples())
        return not missing

    with suppress(TimeoutError):
        await until(found, 60)
    assert missing == []


def goes_wrong(selector):
    """Tell whether there is such a series only after something went wrong that does not here."""
    return selector.name == "recallmesh_store_failures_total" or any(
        label in {"code", "reason"} or "timed_out" in value for label, _, value in selector.conditions
    )
