"""The embedder on torch, by sentence-transformers: any model of that ecosystem, on a GPU if the settings say so."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import torch
from sentence_transformers import SentenceTransformer

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.errors import NotReady
from recallmesh.embedder.batched import Reading, open_batched
from recallmesh.encoding.batch import Batches
from recallmesh.encoding.torch import check_device, weights
from recallmesh.encoding.vector import units
from recallmesh.endpoint.gate import Gate, GateWatch
from recallmesh.onnx.pool import WorkerPool, open_pool

WHAT = "the embedder"
IN_HAND = 2
"""Batches given to the thread: one that it computes, and one so that it need not wait for the event loop."""
BATCH = 32
"""Texts computed at once, where the settings do not say."""
MAX_TOKENS = 512
"""The window of a model that does not say its own."""
UNLOADABLE = (OSError, ValueError, RuntimeError, KeyError, TypeError, ImportError)
"""What the library raises for a model that is not there, or is none."""
QUERY_PROMPTS = ("query",)
PASSAGE_PROMPTS = ("document", "passage", "corpus")
"""Names under which models keep what is to stand before a text, the usual one first."""


class TorchVectors:
    """``VectorSource`` on a loaded model; batches are computed one after the other, those of queries first."""

    def __init__(self, model: SentenceTransformer, pool: WorkerPool, gate: Gate, *, query: str, passage: str) -> None:
        """Compute in this pool, what the gate lets through; ``query`` and ``passage`` stand before each text."""
        self._model = model
        self._pool = pool
        self._gate = gate
        self._prompts = {EmbedKind.QUERY: query, EmbedKind.PASSAGE: passage}

    async def vectors(self, batches: Batches, kind: EmbedKind) -> Sequence[Sequence[Vector]]:
        """Return the vectors of each batch."""
        urgent = kind is EmbedKind.QUERY
        return await self._gate.run(partial(self._batch, self._prompts[kind], urgent), batches, urgent=urgent)

    async def check(self) -> None:
        """Return if the model is loaded."""
        self._pool.check()

    async def _batch(self, prompt: str, urgent: bool, texts: tuple[str, ...]) -> tuple[Vector, ...]:  # noqa: FBT001 - bound by partial
        (found,) = await self._pool.run(partial(self._encode, prompt), (texts,), urgent=urgent)
        return found

    def _encode(self, prompt: str, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        rows = self._model.encode(
            list(texts), prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_tensor=True
        )
        return units(rows.float().cpu().tolist())


@asynccontextmanager
async def open_torch_embedder(
    source: str,
    *,
    device: str = "cpu",
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
    dimensions: int | None = None,
    batch_size: int | None = None,
    threads: int = 0,
    queue: int = 4096,
    watch: GateWatch,
) -> AsyncIterator[Embedder]:
    """Open a model: a folder as the library saves it, or a name at the hub.

    Prefixes that are not given are those that the model has itself; ``threads`` is for torch, 0: as many as it thinks
    right.

    Raises:
        NotReady: the model is not there, or is none.
        InvalidArgument: the device is not there.

    """
    size = batch_size or BATCH
    model, digest = await asyncio.to_thread(_load, source, device, dimensions, threads)
    query = _prompt(model, QUERY_PROMPTS) if query_prefix is None else query_prefix
    passage = _prompt(model, PASSAGE_PROMPTS) if passage_prefix is None else passage_prefix
    async with open_pool("embedder", threads=1, queue=queue) as pool:
        gate = Gate(WHAT, in_flight=IN_HAND, queue=queue, watch=watch)
        vectors = TorchVectors(model, pool, gate, query=query, passage=passage)
        window = model.get_max_seq_length() or MAX_TOKENS
        # What stands before a text the model is told apart from it: some leave it out of the mean.
        reading = Reading("", "", window, size)
        name = source.rstrip("/").rpartition("/")[2]
        yield await open_batched(
            vectors, reading, name=name, identity=("torch", digest, query, passage), dimensions=dimensions
        )


def _load(source: str, device: str, dimensions: int | None, threads: int) -> tuple[SentenceTransformer, str]:
    check_device(device)
    if threads:
        torch.set_num_threads(threads)
    try:
        model = SentenceTransformer(source, device=device, truncate_dim=dimensions)
    except UNLOADABLE as error:
        raise NotReady(
            f"the model {source!r} cannot be loaded: is it a folder that sentence-transformers saved, or a name at the"
            " hub, and can the hub be reached?"
        ) from error
    model.eval()
    pooling = ",".join(str(getattr(part, "pooling_mode", "")) for part in model)
    return model, f"{weights(model)} {pooling}"


def _prompt(model: SentenceTransformer, names: Sequence[str]) -> str:
    return next((model.prompts[name] for name in names if model.prompts.get(name)), "")
