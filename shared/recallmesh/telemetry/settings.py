"""The settings of traces."""

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr


class TracingSettings(BaseModel, extra="forbid", frozen=True):
    """Where the spans of a process go: OpenTelemetry's, by OTLP over gRPC."""

    endpoint: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+$")
    """Where a collector takes spans, such as ``http://otel-collector:4317``; needs ``recallmesh[otel]``. Absent: no
    spans are recorded, and traces of callers only passed on."""
    sample: float = Field(default=1.0, ge=0, le=1)
    """The share of the traces that is recorded, of those that begin here, in [0, 1]. Of others who began them has
    decided."""
    headers: SecretStr = SecretStr("")
    """What the collector wants to be told with every batch, as ``name=value,name=value``: a key, say."""
    ca: Path | None = None
    """A file of certificates (PEM) that the collector's is checked with; absent: those of the machine."""
