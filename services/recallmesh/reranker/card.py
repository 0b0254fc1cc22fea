"""What must be known of a reranking model beside its graph."""

from pydantic import BaseModel, Field

PASSAGE_TOKENS = 128
"""Longer texts are scored by their best passage of so many tokens (ADR 0009)."""


class RerankerCard(BaseModel, extra="forbid", frozen=True):
    """The facts that decide what a score means; a model directory states them in its `recallmesh.json`."""

    name: str = ""
    """What to call the model. Empty: the directory's name."""

    max_tokens: int = Field(default=512, ge=32)
    """The window: the most tokens that the model reads, query and marks included."""

    passage_tokens: int = Field(default=PASSAGE_TOKENS, ge=32)
    """Longer texts are scored by their best passage of so many tokens, however large the window: a cross-encoder that
    was trained on passages overlooks one sentence in a page (ADR 0009). Neighbours share a quarter."""

    logits: bool = True
    """Whether scores are raw and need a sigmoid to be in [0, 1]."""


MS_MARCO_MINILM = RerankerCard(name="ms-marco-minilm-l12-int8")
"""The packaged model's card."""
