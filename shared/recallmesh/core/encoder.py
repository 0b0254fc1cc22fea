"""The models as ports: an embedder makes vectors of texts, a reranker reads a query and a text together."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from recallmesh.core.arm import Vector


class EmbedKind(StrEnum):
    """What a text is: many models want queries marked."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What an embedder is.

    ``fingerprint`` identifies model, quantisation, pooling and prefixes: equal fingerprints, comparable vectors.
    ``cosine_mean`` and ``cosine_high`` describe the cosine of unrelated texts (mean, and 99th percentile): thresholds
    are meaningful only relative to them.
    """

    name: str
    fingerprint: str
    dimensions: int
    max_tokens: int
    cosine_mean: float
    cosine_high: float


class Embedder(Protocol):
    """Makes unit vectors of texts; the same text gives the same vector, whatever it was batched with."""

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        ...

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Return one vector a text, in order; longer texts are truncated to the model's window.

        Raises:
            StoreUnavailable: the model does not answer.
            Overloaded: the queue is full.

        """
        ...

    async def check(self) -> None:
        """Return if the model is loaded."""
        ...


@dataclass(frozen=True, slots=True)
class RerankerInfo:
    """What a reranker is; ``logits`` tells that its scores are raw and need a sigmoid to be in [0, 1]."""

    name: str
    fingerprint: str
    max_tokens: int
    logits: bool


class Reranker(Protocol):
    """Scores how well texts answer a query; the same pair gives the same score, whatever it was batched with."""

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        ...

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text, in order, higher is better; a text too long is scored by its best passage.

        Raises:
            StoreUnavailable: the model does not answer.
            Overloaded: the queue is full.

        """
        ...

    async def check(self) -> None:
        """Return if the model is loaded."""
        ...
