"""The reranker on torch, by sentence-transformers: any cross-encoder of that ecosystem, on a GPU if set so."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import torch
from sentence_transformers import CrossEncoder

from recallmesh.core.encoder import Reranker
from recallmesh.core.errors import NotReady
from recallmesh.encoding.batch import Batches
from recallmesh.encoding.torch import check_device, weights
from recallmesh.endpoint.gate import Gate, GateWatch
from recallmesh.onnx.pool import WorkerPool, open_pool
from recallmesh.reranker.batched import Reading, open_batched
from recallmesh.reranker.card import PASSAGE_TOKENS

WHAT = "the reranker"
IN_HAND = 2
"""Batches given to the thread: one that it computes, and one so that it need not wait for the event loop."""
BATCH = 32
"""Pairs computed at once, where the settings do not say."""
MAX_TOKENS = 512
"""The largest window that is used: texts are read by passages, and a model that does not say its own has this one."""
UNLOADABLE = (OSError, ValueError, RuntimeError, KeyError, TypeError, ImportError)
"""What the library raises for a model that is not there, or is none."""
SCORING = ("ForSequenceClassification", "ForCausalLM", "ForConditionalGeneration")
"""What the makers of models call those that can score a pair."""


class TorchScores:
    """``ScoreSource`` on a loaded model; batches are computed one after the other, in the order that they came."""

    def __init__(self, model: CrossEncoder, pool: WorkerPool, gate: Gate) -> None:
        """Compute in this pool, what the gate lets through."""
        self._model = model
        self._pool = pool
        self._gate = gate
        # Whatever the model would do to its scores by itself is for recall to do.
        self._raw = torch.nn.Identity()

    async def scores(self, batches: Batches, query: str) -> Sequence[Sequence[float]]:
        """Return the raw scores of each batch."""
        return await self._gate.run(partial(self._batch, query), batches)

    async def check(self) -> None:
        """Return if the model is loaded."""
        self._pool.check()

    async def _batch(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        (found,) = await self._pool.run(partial(self._predict, query), (texts,))
        return found

    def _predict(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        scores = self._model.predict(
            [(query, text) for text in texts],
            batch_size=len(texts),
            activation_fn=self._raw,
            show_progress_bar=False,
            convert_to_tensor=True,
        )
        return tuple(scores.float().cpu().tolist())


@asynccontextmanager
async def open_torch_reranker(
    source: str,
    *,
    device: str = "cpu",
    logits: bool = True,
    batch_size: int | None = None,
    threads: int = 0,
    queue: int = 4096,
    watch: GateWatch,
) -> AsyncIterator[Reranker]:
    """Open a model: a folder as the library saves it, or a name at the hub.

    ``logits`` says whether what it makes is raw; ``threads`` is for torch, 0: as many as it thinks right.

    Raises:
        NotReady: the model is not there, or is none.
        InvalidArgument: the device is not there.

    """
    size = batch_size or BATCH
    model, digest = await asyncio.to_thread(_load, source, device, threads)
    async with open_pool("reranker", threads=1, queue=queue) as pool:
        gate = Gate(WHAT, in_flight=IN_HAND, queue=queue, watch=watch)
        reading = Reading(min(model.max_seq_length or MAX_TOKENS, MAX_TOKENS), PASSAGE_TOKENS, size)
        name = source.rstrip("/").rpartition("/")[2]
        yield await open_batched(
            TorchScores(model, pool, gate), reading, name=name, identity=("torch", digest), logits=logits
        )


def _load(source: str, device: str, threads: int) -> tuple[CrossEncoder, str]:
    check_device(device)
    if threads:
        torch.set_num_threads(threads)
    try:
        model = CrossEncoder(source, device=device)
    except UNLOADABLE as error:
        raise NotReady(
            f"the model {source!r} cannot be loaded: is it a folder with a cross-encoder, or a name at the hub, and can"
            " the hub be reached?"
        ) from error
    made = getattr(model.config, "architectures", None) or ()
    if made and not any(one.endswith(SCORING) for one in made):
        # The library would put a head of random numbers on it.
        raise NotReady(f"the model {source!r} is no cross-encoder but {', '.join(made)}")
    if model.num_labels != 1:
        raise NotReady(f"the model {source!r} says {model.num_labels} things of a pair; a reranker says one")
    model.eval()
    return model, weights(model)
