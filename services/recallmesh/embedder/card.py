"""What must be known of an embedding model beside its graph."""

from typing import Literal

from pydantic import BaseModel, Field


class EmbedderCard(BaseModel, extra="forbid", frozen=True):
    """The facts that decide what a vector means; a model directory states them in its `recallmesh.json`."""

    name: str = ""
    """What to call the model. Empty: the directory's name."""

    pooling: Literal["cls", "mean"] = "mean"
    """How the tokens' vectors become the text's: the first one, or the mean of all."""

    query_prefix: str = ""
    """What the model was trained to see before a query."""

    passage_prefix: str = ""
    """What the model was trained to see before a passage."""

    max_tokens: int = Field(default=512, ge=8)
    """The window: the most tokens that the model reads, its own marks included."""

    cosine_mean: float | None = Field(default=None, ge=-1, le=1)
    """The mean cosine of unrelated texts. Absent: measured when the model is opened."""

    cosine_high: float | None = Field(default=None, ge=-1, le=1)
    """The 99th percentile of the cosine of unrelated texts. Absent: measured when the model is opened."""


BGE_SMALL_EN = EmbedderCard(
    name="bge-small-en-int8",
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    # Measured over the turns of long conversations.
    cosine_mean=0.67,
    cosine_high=0.81,
)
"""The packaged model's card."""
