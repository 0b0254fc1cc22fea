"""The embedder on a server of Hugging Face's Text Embeddings Inference."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.time import Clock
from recallmesh.embedder.batched import Reading, open_batched
from recallmesh.encoding.batch import Batches
from recallmesh.endpoint.gate import Gate, GateWatch
from recallmesh.endpoint.refusal import in_parts
from recallmesh.tei.answer import EMBEDDING
from recallmesh.tei.httpx2 import WHAT, TeiServer, open_tei_server

BATCH = 128
"""Texts of a request, where neither the settings nor the server say fewer."""


class TeiVectors:
    """``VectorSource`` on a server; a batch that it finds too large is sent in halves."""

    def __init__(self, server: TeiServer, gate: Gate) -> None:
        """Ask this server, through the gate."""
        self._server = server
        self._gate = gate

    async def vectors(self, batches: Batches, kind: EmbedKind) -> Sequence[Sequence[Vector]]:
        """Return the vectors of each batch; queries have places of their own."""
        return await self._gate.run(self._batch, batches, urgent=kind is EmbedKind.QUERY)

    async def check(self) -> None:
        """Return if the server is well and has the model that it had."""
        await self._server.check()

    async def _batch(self, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        return await in_parts(self._server.embed, texts)


@asynccontextmanager
async def open_tei_embedder(
    url: str,
    *,
    api_key: str,
    model: str = "",
    query_prefix: str = "",
    passage_prefix: str = "",
    dimensions: int | None = None,
    batch_size: int | None = None,
    in_flight: int = 8,
    queue: int = 4096,
    timeout_s: float = 30.0,
    watch: GateWatch,
    now: Clock,
    random: Callable[[], float],
) -> AsyncIterator[Embedder]:
    """Open the model of the server at ``url``; ``model`` is the id that it must have, empty for whichever it has.

    Raises:
        StoreUnavailable: nobody answers there, or not as such a server does.
        NotReady: it has another model, or refuses us.

    """
    async with open_tei_server(
        url, api_key=api_key, kind=EMBEDDING, model=model, timeout_s=timeout_s, now=now, random=random
    ) as server:
        info = server.info
        size = min(batch_size or BATCH, info.max_client_batch_size)
        source = TeiVectors(server, Gate(WHAT, in_flight=in_flight, queue=queue, watch=watch))
        reading = Reading(query_prefix, passage_prefix, info.max_input_length, size)
        yield await open_batched(
            source, reading, name=info.model_id, identity=("tei", *info.identity), dimensions=dimensions
        )
