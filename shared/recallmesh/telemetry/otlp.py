"""Sends spans to an OpenTelemetry collector, by OTLP over gRPC; needs the extra ``otel``."""

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import structlog
from grpc import ssl_channel_credentials
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, SamplingResult, TraceIdRatioBased
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.telemetry.tracing import SCOPE, Tracing

SEND_S = 5.0
"""Seconds that a batch of spans may take to be sent; one that cannot be is lost, and the log says so."""
FLUSH_S = 3.0
"""Seconds that a process which ends waits for its last spans to be sent."""
QUEUE = 4_096
"""Spans that wait to be sent; what comes beyond is lost."""
SECURE = "https"
SDK_LOGGER = "opentelemetry"
_log = structlog.get_logger("recallmesh.otlp")


class LinkedSampler(Sampler):
    """Records a share of the traces that begin, and of those that come of other traces what these record."""

    def __init__(self, share: float) -> None:
        """Record this share, in [0, 1]."""
        self._ratio = TraceIdRatioBased(share)

    def should_sample(  # noqa: PLR0917 - as the SDK calls it
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Decide on a span that begins a trace."""
        if links:
            sampled = any(link.context.trace_flags.sampled for link in links)
            return SamplingResult(Decision.RECORD_AND_SAMPLE if sampled else Decision.DROP, attributes)
        return self._ratio.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        """Return what it is, for those who debug it."""
        return f"Linked({self._ratio.get_description()})"


class _Lines(logging.Handler):
    """Writes what the SDK has to say as lines of ours: without it, it would write in a format of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        _log.warning("spans are not sent", detail=record.getMessage())


def provider_of(
    exporter: SpanExporter, *, service: str, share: float, attributes: Mapping[str, str] | None = None
) -> TracerProvider:
    """Return what makes spans and hands them to an exporter in batches."""
    resource = Resource.create(
        {
            "service.name": service,
            "service.namespace": "recallmesh",
            "service.version": version("recallmesh"),
            "service.instance.id": str(uuid4()),
            "host.name": socket.gethostname(),
            **(attributes or {}),
        }
    )
    provider = TracerProvider(sampler=ParentBased(LinkedSampler(share)), resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=QUEUE, export_timeout_millis=SEND_S * 1000))
    return provider


@asynccontextmanager
async def open_otlp_tracing(
    endpoint: str, *, service: str, share: float, headers: str = "", ca: Path | None = None
) -> AsyncIterator[Tracing]:
    """Record spans of this process as ``service``, and send them to a collector at an http or https URL.

    ``share`` of the traces that begin here is recorded, in [0, 1]; of others what their beginning decided. ``headers``
    are sent along (``name=value``, with commas between). ``ca`` is a file of certificates that a server may be known
    by, absent: those of the machine. A collector that is away costs its spans, and nothing else.

    Raises:
        InvalidArgument: the file cannot be read.

    """
    credentials = None
    if endpoint.startswith(SECURE):
        credentials = ssl_channel_credentials(None if ca is None else await asyncio.to_thread(_read, ca))
    logger = logging.getLogger(SDK_LOGGER)
    lines = _Lines(logging.WARNING)
    logger.addHandler(lines)
    logger.propagate = False
    exporter = OTLPSpanExporter(
        endpoint=endpoint,
        insecure=credentials is None,
        credentials=credentials,
        headers=headers or None,
        timeout=SEND_S,
    )
    provider = provider_of(exporter, service=service, share=share)
    try:
        yield Tracing(provider.get_tracer(SCOPE))
    finally:
        await asyncio.to_thread(_flush, provider, exporter)
        logger.removeHandler(lines)


def _flush(provider: TracerProvider, exporter: SpanExporter) -> None:
    """Send what is left, for so long; what the collector does not take by then is lost."""
    enough = threading.Timer(FLUSH_S, exporter.shutdown)
    enough.start()
    provider.shutdown()
    enough.cancel()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidArgument(FieldViolation("tracing.ca", f"{path}: {error.strerror}")) from error
