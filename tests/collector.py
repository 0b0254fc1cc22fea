"""An OpenTelemetry collector: takes spans by OTLP over gRPC, on a free port of loopback, and keeps them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc.aio
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as services
from opentelemetry.proto.trace.v1.trace_pb2 import Span

QUICKLY = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
"""The environment of a process that sends its spans soon, in milliseconds, and not every five seconds."""


@dataclass(frozen=True)
class Kept:
    """A span as it was sent, by a service."""

    service: str
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict
    links: tuple[tuple[str, str], ...]
    failed: bool
    raw: Span = field(repr=False)


@dataclass
class Collector(services.TraceServiceServicer):
    """What was sent so far."""

    endpoint: str = ""
    spans: list[Kept] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    resources: dict[str, dict] = field(default_factory=dict)

    async def Export(self, request, context):  # noqa: N802 - gRPC's name
        self.headers.append(dict(context.invocation_metadata()))
        for group in request.resource_spans:
            resource = _plain(group.resource.attributes)
            service = resource["service.name"]
            self.resources[service] = resource
            self.spans += [_kept(service, span) for scope in group.scope_spans for span in scope.spans]
        return messages.ExportTraceServiceResponse()

    def named(self, name: str) -> list[Kept]:
        return [span for span in self.spans if span.name == name]

    def of(self, trace_id: str) -> list[Kept]:
        return [span for span in self.spans if span.trace_id == trace_id]


def orphans(spans: list[Kept]) -> list[Kept]:
    """Return the spans of a trace whose parent is not among them."""
    known = {span.span_id for span in spans}
    return [span for span in spans if span.parent_id not in known]


def _kept(service: str, span: Span) -> Kept:
    return Kept(
        service=service,
        name=span.name,
        kind=span.kind,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_plain(span.attributes),
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
        raw=span,
    )


def _plain(attributes) -> dict:
    return {one.key: _value(one.value) for one in attributes}


def _value(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


@asynccontextmanager
async def open_collector() -> AsyncIterator[Collector]:
    collector = Collector()
    server = grpc.aio.server()
    services.add_TraceServiceServicer_to_server(collector, server)
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(0)
