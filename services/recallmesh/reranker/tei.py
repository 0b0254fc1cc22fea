"""The reranker on a server of Hugging Face's Text Embeddings Inference."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from recallmesh.core.encoder import Reranker
from recallmesh.core.time import Clock
from recallmesh.encoding.batch import Batches
from recallmesh.endpoint.gate import Gate, GateWatch
from recallmesh.endpoint.refusal import in_parts
from recallmesh.reranker.batched import Reading, open_batched
from recallmesh.reranker.card import PASSAGE_TOKENS
from recallmesh.tei.answer import RERANKER
from recallmesh.tei.httpx2 import WHAT, TeiServer, open_tei_server

BATCH = 128
"""Pairs of a request, where neither the settings nor the server say fewer."""


class TeiScores:
    """``ScoreSource`` on a server; a batch that it finds too large is sent in halves."""

    def __init__(self, server: TeiServer, gate: Gate) -> None:
        """Ask this server, through the gate."""
        self._server = server
        self._gate = gate

    async def scores(self, batches: Batches, query: str) -> Sequence[Sequence[float]]:
        """Return the raw scores of each batch."""
        return await self._gate.run(partial(self._batch, query), batches)

    async def check(self) -> None:
        """Return if the server is well and has the model that it had."""
        await self._server.check()

    async def _batch(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        return await in_parts(partial(self._send, query), texts)

    async def _send(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        return tuple(await self._server.rerank(query, texts))


@asynccontextmanager
async def open_tei_reranker(
    url: str,
    *,
    api_key: str,
    model: str = "",
    logits: bool = True,
    batch_size: int | None = None,
    in_flight: int = 8,
    queue: int = 4096,
    timeout_s: float = 30.0,
    watch: GateWatch,
    now: Clock,
    random: Callable[[], float],
) -> AsyncIterator[Reranker]:
    """Open the model of the server at ``url``; ``model`` is the id that it must have, empty for whichever it has.

    Its scores are asked for as the model makes them: ``logits`` says whether these are raw.

    Raises:
        StoreUnavailable: nobody answers there, or not as such a server does.
        NotReady: it has another model, or refuses us.

    """
    async with open_tei_server(
        url, api_key=api_key, kind=RERANKER, model=model, timeout_s=timeout_s, now=now, random=random
    ) as server:
        info = server.info
        source = TeiScores(server, Gate(WHAT, in_flight=in_flight, queue=queue, watch=watch))
        reading = Reading(info.max_input_length, PASSAGE_TOKENS, min(batch_size or BATCH, info.max_client_batch_size))
        yield await open_batched(source, reading, name=info.model_id, identity=("tei", *info.identity), logits=logits)
