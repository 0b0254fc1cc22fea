"""How an embedder is set up."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from recallmesh.core.port import is_target


class NextModelSettings(BaseModel, extra="forbid", frozen=True):
    """A second embedding model, for as long as models are changed without a gap (docs/operation.md)."""

    address: str | None = None
    """Where another embedder with this model runs, as host:port. Absent: the model runs in this process, if a
    `BACKEND` is named, else there is no second model."""

    backend: Literal["onnx"] | None = None
    """What runs the model in this process. Absent: nothing does."""

    model_dir: Path | None = None
    """The directory of the model, as for the first one. Absent: the packaged model."""

    @property
    def is_set(self) -> bool:
        """Whether there is a second model."""
        return self.address is not None or self.backend is not None

    @field_validator("address")
    @classmethod
    def _reachable(cls, address: str | None) -> str | None:
        if address is not None and not is_target(address):
            raise ValueError("is no address: host:port, dns:///name:port or unix:path")
        return address


class EmbedderSettings(BaseModel, extra="forbid", frozen=True):
    """The embedder's part of the settings."""

    address: str | None = None
    """Where the embedder runs, as host:port. Absent: in this process."""

    timeout_s: float = Field(default=30.0, gt=0)
    """The most seconds one call may take; the deadline of the call in hand may leave fewer."""

    backend: Literal["onnx"] = "onnx"
    """What runs the model: `onnx` is ONNX Runtime on the CPU."""

    model_dir: Path | None = None
    """A directory with `model.onnx`, `tokenizer.json` and, optionally, `recallmesh.json` (pooling, prefixes, window).
    Absent: the packaged int8 bge-small-en."""

    threads: int = Field(default=0, ge=0, le=1024)
    """How many texts are computed at once, each on one core. 0: as many as this process may use cores."""

    queue: int = Field(default=4096, ge=1)
    """How many texts may wait, queries and passages counted apart; beyond it calls are refused as overloaded."""

    batch_size: int = Field(default=1, ge=1, le=256)
    """How many texts are computed together, those of concurrent calls too, the longest first. 1: each by itself. More
    is for a GPU and a model in float32 or float16: in int8 equal texts would no longer have equal vectors
    (docs/adr/0055-the-cost-of-reading.md)."""

    batch_wait_ms: float = Field(default=0.0, ge=0, le=1000)
    """Milliseconds that a text waits for others to be computed with, at most. 0: none does, and batches are of what
    came while the model was at work."""

    cached_queries: int = Field(default=256, ge=0)
    """How many queries' vectors are remembered, about 12 KB each. 0: none."""

    next: NextModelSettings = Field(default_factory=NextModelSettings)
    """A second embedding model, while models are changed."""
