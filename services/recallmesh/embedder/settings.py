"""How an embedder is set up."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field


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

    cached_queries: int = Field(default=256, ge=0)
    """How many queries' vectors are remembered, about 12 KB each. 0: none."""
