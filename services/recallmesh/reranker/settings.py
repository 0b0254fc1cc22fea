"""How a reranker is set up."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field


class RerankerSettings(BaseModel, extra="forbid", frozen=True):
    """The reranker's part of the settings."""

    address: str | None = None
    """Where the reranker runs, as host:port. Absent: in this process."""

    timeout_s: float = Field(default=30.0, gt=0)
    """The most seconds one call may take; the deadline of the call in hand may leave fewer."""

    backend: Literal["onnx", "none"] = "onnx"
    """What runs the model: `onnx` is ONNX Runtime on the CPU; `none`: recall orders by fused rank alone."""

    model_dir: Path | None = None
    """A directory with `model.onnx`, `tokenizer.json` and, optionally, `recallmesh.json` (window, kind of score).
    Absent: the packaged int8 ms-marco-MiniLM-L-12."""

    threads: int = Field(default=0, ge=0, le=1024)
    """How many pairs are computed at once, each on one core. 0: as many as this process may use cores."""

    queue: int = Field(default=4096, ge=1)
    """How many pairs may wait; beyond it calls are refused as overloaded."""

    batch_size: int = Field(default=1, ge=1, le=256)
    """How many pairs are computed together, those of concurrent calls too, the longest first. 1: each by itself. More
    is for a GPU and a model in float32 or float16: in int8 equal pairs would no longer have equal scores
    (docs/adr/0055-the-cost-of-reading.md)."""

    batch_wait_ms: float = Field(default=0.0, ge=0, le=1000)
    """Milliseconds that a pair waits for others to be computed with, at most. 0: none does, and batches are of what
    came while the model was at work."""

    cached_pairs: int = Field(default=20_000, ge=0)
    """How many pairs' scores are remembered, about 250 bytes each: two hundred recalls that read a hundred. 0: none."""
