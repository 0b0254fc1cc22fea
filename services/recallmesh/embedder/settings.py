"""How an embedder is set up."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from recallmesh.core.port import is_target

Backend = Literal["onnx", "sentence_transformers", "tei", "openai"]
SERVED = frozenset({"tei", "openai"})
"""What runs a model at a URL."""


class ModelSettings(BaseModel, extra="forbid", frozen=True):
    """Which embedding model it is, and what runs it (docs/models.md)."""

    backend: Backend | None = None
    """What runs the model: `onnx` is ONNX Runtime; `sentence_transformers` is torch; `tei` is a server of Hugging
    Face's Text Embeddings Inference; `openai` is any endpoint of OpenAI's protocol of embeddings."""

    model_dir: Path | None = None
    """A directory with the model. For `onnx`: `model.onnx`, `tokenizer.json` and, optionally, `recallmesh.json`
    (pooling, prefixes, window); absent, the packaged int8 bge-small-en. For `sentence_transformers`: as it saves
    one."""

    model: str = ""
    """The model's name: at the endpoint for `openai`, at the hub for `sentence_transformers` without a `MODEL_DIR`; for
    `tei` the id that the server must have. Empty: whichever the server has."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    """Where the server is. For `tei` up to `/embed`: `http://tei:80`; for `openai` up to `/embeddings`:
    `https://api.openai.com/v1`."""

    api_key: SecretStr = SecretStr("")
    """The key that the server asks for. Empty: it asks for none."""

    device: str = Field(default="cpu", pattern=r"^(cpu|cuda(:\d{1,3})?|mps|xpu)$")
    """Where the model computes: `cpu`, `cuda` or one of several as `cuda:1`; with `sentence_transformers` also `mps`
    and `xpu`. One that is not there is an error. A server decides for itself."""

    query_prefix: str | None = None
    """What the model was trained to see before a query. Absent: what the model says of itself with
    `sentence_transformers`, nothing with a server. For `onnx`, `recallmesh.json` says it."""

    passage_prefix: str | None = None
    """What the model was trained to see before a passage. Absent: as for a query."""

    dimensions: int | None = Field(default=None, ge=8, le=65536)
    """How many dimensions vectors are cut to, by a model that was trained for it (with `sentence_transformers` and
    `openai`). Absent: as many as it makes."""

    batch_size: int | None = Field(default=None, ge=1, le=2048)
    """The most texts of one batch. Absent: 32 with `sentence_transformers`, 128 with `tei`, and no more than the server
    takes, 256 with `openai`. With `onnx`, where those of concurrent calls are computed together, absent is 1: more is
    for a GPU and a model in float32 or float16, since in int8 equal texts would no longer have equal vectors
    (docs/adr/0055-the-cost-of-reading.md)."""

    @property
    def source(self) -> str:
        """Where sentence-transformers finds the model."""
        return str(self.model_dir or self.model)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        served = self.backend in SERVED
        if served and self.url is None:
            raise ValueError(f"backend {self.backend} needs a url: where is the server?")
        if self.backend == "openai" and not self.model:
            raise ValueError("backend openai needs a model: which of the endpoint's is meant?")
        if self.backend == "sentence_transformers" and bool(self.model) == bool(self.model_dir):
            raise ValueError("backend sentence_transformers needs a model or a model_dir, one of them")
        fields = type(self).model_fields
        given = [name for name in self._unread() if name in fields]
        unread = [name for name in given if getattr(self, name) != fields[name].default]
        if unread:
            raise ValueError(f"backend {self.backend or 'onnx'} does not read {', '.join(unread)}")
        return self

    def _unread(self) -> tuple[str, ...]:
        """Return what this back end would ignore: who sets it expects something of it."""
        match self.backend:
            case "tei":
                return ("model_dir", "device", "dimensions", "batch_wait_ms")
            case "openai":
                return ("model_dir", "device", "batch_wait_ms")
            case "sentence_transformers":
                return ("url", "api_key", "batch_wait_ms")
            case _:
                return ("url", "model", "api_key", "query_prefix", "passage_prefix", "dimensions")


class NextModelSettings(ModelSettings, extra="forbid", frozen=True):
    """A second embedding model, for as long as models are changed without a gap (docs/operation.md)."""

    address: str | None = None
    """Where another embedder with this model runs, as host:port. Absent: the model runs in this process, if a
    `BACKEND` is named, else there is no second model."""

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


class EmbedderSettings(ModelSettings, extra="forbid", frozen=True):
    """The embedder's part of the settings."""

    backend: Backend = "onnx"
    """What runs the model: `onnx` is ONNX Runtime; `sentence_transformers` is torch; `tei` is a server of Hugging
    Face's Text Embeddings Inference; `openai` is any endpoint of OpenAI's protocol of embeddings."""

    address: str | None = None
    """Where the embedder runs, as host:port. Absent: in this process."""

    timeout_s: float = Field(default=30.0, gt=0)
    """The most seconds one call may take; the deadline of the call in hand may leave fewer."""

    threads: int = Field(default=0, ge=0, le=1024)
    """How many texts are computed at once, each on one core; with `sentence_transformers`, by how many threads one
    batch is. 0: as many as this process may use cores."""

    in_flight: int = Field(default=8, ge=1, le=256)
    """How many requests are under way to a server at once, and as many again of queries."""

    queue: int = Field(default=4096, ge=1)
    """How many texts may wait, queries and passages counted apart; beyond it calls are refused as overloaded."""

    batch_wait_ms: float = Field(default=0.0, ge=0, le=1000)
    """Milliseconds that a text waits for others to be computed with, at most, with `onnx`. 0: none does, and batches
    are of what came while the model was at work."""

    cached_queries: int = Field(default=256, ge=0)
    """How many queries' vectors are remembered, about 12 KB each. 0: none."""

    next: NextModelSettings = Field(default_factory=NextModelSettings)
    """A second embedding model, while models are changed."""
