# ruff: noqa: PLC0415 - the SDK is of an extra, which only a process that records spans needs
"""Opens what records the spans of a process, as its settings say."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from recallmesh.extra import needing
from recallmesh.telemetry.settings import TracingSettings
from recallmesh.telemetry.tracing import Tracing, ambient_tracing

NAME = "recallmesh"


@asynccontextmanager
async def open_tracing(settings: TracingSettings, hosted: Iterable[str]) -> AsyncIterator[Tracing | None]:
    """Record spans and send them where the settings say; nothing where they do not.

    Without an endpoint a programme that has the mesh in its process records by what it has set up itself. A process
    that hosts one part is the service ``recallmesh-PART``, any other ``recallmesh``.

    Raises:
        InvalidArgument: the extra is not installed, or a file cannot be read.

    """
    if settings.endpoint is None:
        yield ambient_tracing()
        return
    with needing("otel", "RECALLMESH_TRACING__ENDPOINT", "OpenTelemetry's SDK"):
        from recallmesh.telemetry.otlp import open_otlp_tracing

    parts = sorted(hosted)
    async with open_otlp_tracing(
        settings.endpoint,
        service=f"{NAME}-{parts[0]}" if len(parts) == 1 else NAME,
        share=settings.sample,
        headers=settings.headers.get_secret_value(),
        ca=settings.ca,
    ) as tracing:
        yield tracing
