"""How a reranker is set up."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, SecretStr, model_validator


class RerankerSettings(BaseModel, extra="forbid", frozen=True):
    """The reranker's part of the settings."""

    address: str | None = None
    """Where the reranker runs, as host:port. Absent: in this process."""

    timeout_s: float = Field(default=30.0, gt=0)
    """The most seconds one call may take; the deadline of the call in hand may leave fewer."""

    backend: Literal["onnx", "sentence_transformers", "tei", "none"] = "onnx"
    """What runs the model (docs/models.md): `onnx` is ONNX Runtime; `sentence_transformers` is torch; `tei` is a server
    of Hugging Face's Text Embeddings Inference; `none`: recall orders by fused rank alone."""

    model_dir: Path | None = None
    """A directory with the model. For `onnx`: `model.onnx`, `tokenizer.json` and, optionally, `recallmesh.json`
    (window, kind of score); absent, the packaged int8 ms-marco-MiniLM-L-12. For `sentence_transformers`: as it
    saves one."""

    model: str = ""
    """The model's name: at the hub for `sentence_transformers` without a `MODEL_DIR`; for `tei` the id that the server
    must have. Empty: whichever the server has."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    """Where the server of `tei` is, up to `/rerank`: `http://tei:80`."""

    api_key: SecretStr = SecretStr("")
    """The key that the server asks for. Empty: it asks for none."""

    device: str = Field(default="cpu", pattern=r"^(cpu|cuda(:\d{1,3})?|mps|xpu)$")
    """Where the model computes: `cpu`, `cuda` or one of several as `cuda:1`; with `sentence_transformers` also `mps`
    and `xpu`. One that is not there is an error. A server decides for itself."""

    scores: Literal["logits", "probabilities"] = "logits"
    """What the model's own scores are: `logits` are raw, as nearly every cross-encoder's; `probabilities` are in [0, 1]
    already. For `onnx`, `recallmesh.json` says it."""

    batch_size: int | None = Field(default=None, ge=1, le=2048)
    """The most pairs of one batch. Absent: 32 with `sentence_transformers`, 128 with `tei`, and no more than the server
    takes. With `onnx`, where those of concurrent calls are computed together, absent is 1: more is for a GPU and a
    model in float32 or float16, since in int8 equal pairs would no longer have equal scores
    (docs/adr/0055-the-cost-of-reading.md)."""

    threads: int = Field(default=0, ge=0, le=1024)
    """How many pairs are computed at once, each on one core; with `sentence_transformers`, by how many threads one
    batch is. 0: as many as this process may use cores."""

    in_flight: int = Field(default=8, ge=1, le=256)
    """How many requests are under way to a server at once."""

    queue: int = Field(default=4096, ge=1)
    """How many pairs may wait; beyond it calls are refused as overloaded."""

    batch_wait_ms: float = Field(default=0.0, ge=0, le=1000)
    """Milliseconds that a pair waits for others to be computed with, at most, with `onnx`. 0: none does, and batches
    are of what came while the model was at work."""

    cached_pairs: int = Field(default=20_000, ge=0)
    """How many pairs' scores are remembered, about 150 bytes each: four hundred recalls that read fifty. 0: none."""

    @property
    def source(self) -> str:
        """Where sentence-transformers finds the model."""
        return str(self.model_dir or self.model)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.backend == "tei" and self.url is None:
            raise ValueError("backend tei needs a url: where is the server?")
        if self.backend == "sentence_transformers" and bool(self.model) == bool(self.model_dir):
            raise ValueError("backend sentence_transformers needs a model or a model_dir, one of them")
        unread = [name for name in self._unread() if getattr(self, name) != type(self).model_fields[name].default]
        if unread:
            raise ValueError(f"backend {self.backend} does not read {', '.join(unread)}")
        return self

    def _unread(self) -> tuple[str, ...]:
        """Return what this back end would ignore: who sets it expects something of it."""
        match self.backend:
            case "tei":
                return ("model_dir", "device", "batch_wait_ms")
            case "sentence_transformers":
                return ("url", "api_key", "batch_wait_ms")
            case "onnx":
                return ("url", "model", "api_key", "scores")
            case _:
                return ()
