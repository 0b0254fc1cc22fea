"""What a server of encoders answers, read and checked; the rest of it differs between versions."""

from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from recallmesh.core.arm import Vector
from recallmesh.core.errors import StoreUnavailable
from recallmesh.encoding.vector import units

EMBEDDING, RERANKER = "embedding", "reranker"
"""Kinds of models."""

Finite = Annotated[float, Field(allow_inf_nan=False)]


class ServerInfo(BaseModel, frozen=True):
    """What a server says of its model."""

    model_id: str
    model_sha: str | None = None
    model_dtype: str = ""
    model_type: str | dict[str, Any] = ""
    max_input_length: int = Field(default=512, ge=1)
    """The window, in tokens."""
    max_client_batch_size: int = Field(default=32, ge=1)
    """The most texts of one request."""

    @property
    def kind(self) -> str:
        """Whether it makes vectors or scores; empty where the server does not say."""
        said = self.model_type if isinstance(self.model_type, str) else next(iter(self.model_type), "")
        return said.casefold()

    @property
    def identity(self) -> tuple[str, ...]:
        """What decides the numbers, as far as the server says it."""
        return (self.model_id, self.model_sha or "", self.model_dtype, str(self.model_type), str(self.max_input_length))


class _Rank(BaseModel):
    index: int
    score: Finite


_VECTORS = TypeAdapter(list[list[Finite]])
_RANKS = TypeAdapter(list[_Rank])


def info_of(body: bytes) -> ServerInfo:
    """Read what a server says of its model.

    Raises:
        StoreUnavailable: it is no such server.

    """
    try:
        return ServerInfo.model_validate_json(body)
    except ValidationError as error:
        raise StoreUnavailable("what answers there is no server of encoders: /info is not as it should be") from error


def vectors_of(body: bytes, count: int) -> tuple[Vector, ...]:
    """Read vectors, of which there must be so many, as those of unit length.

    Raises:
        StoreUnavailable: they are none, or not as many.

    """
    try:
        found = _VECTORS.validate_json(body)
    except ValidationError as error:
        raise StoreUnavailable("the server of encoders answered with what are no vectors") from error
    if len(found) != count:
        raise StoreUnavailable(f"the server of encoders made {len(found)} vectors of {count} texts")
    return units(found)


def scores_of(body: bytes, count: int) -> list[float]:
    """Read scores in the order of the texts, of which there must be so many; they come best first.

    Raises:
        StoreUnavailable: they are none, or not one of each text.

    """
    try:
        found = _RANKS.validate_json(body)
    except ValidationError as error:
        raise StoreUnavailable("the server of encoders answered with what are no scores") from error
    if sorted(rank.index for rank in found) != list(range(count)):
        raise StoreUnavailable(f"the server of encoders gave {len(found)} scores for {count} texts, or some twice")
    return [rank.score for rank in sorted(found, key=lambda rank: rank.index)]
