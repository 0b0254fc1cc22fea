"""The embedder behind any endpoint that speaks OpenAI's protocol of embeddings, by the official client."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import httpx2
import openai
import structlog
from pydantic import BaseModel, ValidationError

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.errors import MeshError, NotReady, StoreUnavailable
from recallmesh.core.time import Clock
from recallmesh.embedder.batched import Reading, open_batched
from recallmesh.encoding.batch import Batches
from recallmesh.encoding.vector import units
from recallmesh.endpoint.asking import Asking, TryAgain, retry_after_s
from recallmesh.endpoint.gate import Gate, GateWatch
from recallmesh.endpoint.refusal import TOO_MANY, TooLarge, in_parts, meaning

WHAT = "the embedder's endpoint"
BATCH = 256
"""Texts of a request, where the settings do not say: OpenAI takes 2,048, and 300,000 tokens."""
MAX_TOKENS = 8192
"""The window, which endpoints do not tell: OpenAI's. A text that one finds too long is cut further."""
FIRST_PAUSE_S = 0.1
"""Seconds before the second try: a query waits for it."""
KEPT = 0.75
"""What is left of a text that was too long, each time it is."""
LEAST_CHARACTERS = 32
"""A text is cut no shorter than this: what is refused then is not refused for its length."""
LARGEST_REPLY_BYTES = 64 * 1024 * 1024
"""A reply beyond this is not read to its end: 2,000 vectors of 1,500 dimensions fit."""
LONGEST_LOG = 500
"""Characters of an endpoint's complaint that are logged."""
PROBE = ("Hello.",)

_LENGTH_WORDS = ("context length", "context_length", "too long", "too large", "too many tokens", "input length")
_LENGTH_STATUS = frozenset({400, 422, 500})
"""What an endpoint says, and how, of a text beyond its window or of too many texts (llama.cpp's server as a fault)."""
_log = structlog.get_logger()


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    """What of an answer is read; the rest differs between endpoints."""

    data: list[_Row]
    model: str = ""


class OpenAIVectors:
    """``VectorSource`` on an endpoint; a batch that it finds too large is sent in halves, a text that is cut.

    The model is the one that the first answer named: if another one answers later, its vectors are refused.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        name: str,
        gate: Gate,
        asking: Asking,
        *,
        dimensions: int | None,
        timeout_s: float,
        now: Clock,
    ) -> None:
        """Ask for the model of this name by ``client``, which must not retry by itself."""
        self.model = ""
        self._client = client
        self._name = name
        self._gate = gate
        self._asking = asking
        self._more = {} if dimensions is None else {"dimensions": dimensions}
        self._timeout_s = timeout_s
        self._now = now
        self._failed = False

    async def vectors(self, batches: Batches, kind: EmbedKind) -> Sequence[Sequence[Vector]]:
        """Return the vectors of each batch; queries have places of their own."""
        return await self._gate.run(self._batch, batches, urgent=kind is EmbedKind.QUERY)

    async def check(self) -> None:
        """Return if the latest request was answered, or one made now is: each costs money."""
        if self._failed:
            await self._gate.run(self._once, (PROBE,), urgent=True)

    async def _batch(self, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        send = partial(in_parts, lambda part: self._asking.ask(partial(self._send, part)), shorten=_shorter)
        try:
            found = await send(texts)
        except MeshError:
            self._failed = True
            raise
        self._failed = False
        return found

    async def _once(self, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        try:
            found = await self._send(texts)
        except (TryAgain, TooLarge) as failed:
            raise failed.error from failed
        self._failed = False
        return found

    async def _send(self, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        try:
            async with asyncio.timeout(self._timeout_s):
                body = await self._post(texts)
        except openai.APIStatusError as error:
            text = self._discreet(error.response.text)
            _log.warning("embedder.refused", model=self._name, status=error.status_code, said=text)
            raise self._meaning(error, text) from error
        except TimeoutError as error:
            raise TryAgain(StoreUnavailable(f"{WHAT} did not answer within {self._timeout_s:g} s")) from error
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            _log.warning("embedder.unreachable", model=self._name, error=self._discreet(repr(error)))
            raise TryAgain(StoreUnavailable(f"{WHAT} does not answer")) from error
        try:
            # Tens of thousands of numbers: not on the event loop.
            model, vectors = await asyncio.to_thread(_read, body, len(texts))
        except StoreUnavailable as error:
            raise TryAgain(error) from error
        self.model = self.model or model
        if model != self.model:
            raise NotReady(f"{WHAT} answers with the model {model!r} now, not {self.model!r}: start anew")
        return vectors

    async def _post(self, texts: tuple[str, ...]) -> bytes:
        create = cast("Any", self._client.embeddings.with_streaming_response.create)
        body = bytearray()
        # Read piece by piece: what a broken endpoint sends without end must not fill the memory. As numbers, which
        # every endpoint knows; not all know base64.
        async with create(model=self._name, input=list(texts), encoding_format="float", **self._more) as response:
            async for piece in response.iter_bytes():
                body += piece
                if len(body) > LARGEST_REPLY_BYTES:
                    raise TryAgain(StoreUnavailable(f"the reply of {WHAT} is too large to be one"))
        return bytes(body)

    def _meaning(self, error: openai.APIStatusError, said: str) -> Exception:
        status = error.status_code
        if status == TOO_MANY and getattr(error, "code", None) == "insufficient_quota":
            return NotReady(f"the quota of {WHAT} is used up")
        if status in _LENGTH_STATUS and any(word in said.lower() for word in _LENGTH_WORDS):
            return TooLarge(NotReady(f"{WHAT} finds a text too long, however short"))
        return meaning(WHAT, status, retry_after_s(error.response.headers.get("retry-after", ""), self._now()))

    def _discreet(self, text: str) -> str:
        """Return what may be logged of what an endpoint said: endpoints repeat the key that they did not like."""
        return text.replace(self._client.api_key, "(secret)")[:LONGEST_LOG]


@asynccontextmanager
async def open_openai_embedder(
    url: str,
    model: str,
    *,
    api_key: str,
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
    """Open a model of the endpoint at ``url``; an empty ``api_key`` is for endpoints that ask for none.

    Raises:
        StoreUnavailable: nobody answers there, or not as such an endpoint does.
        NotReady: it does not know the model, or refuses us.

    """
    async with (
        # A redirect would take what a bank was told to an address that nobody set.
        httpx2.AsyncClient(follow_redirects=False, timeout=timeout_s) as connections,
        openai.AsyncOpenAI(
            api_key=api_key or "none", base_url=url, timeout=timeout_s, max_retries=0, http_client=connections
        ) as client,
    ):
        # What the environment says for programmes that talk to OpenAI itself is not for this endpoint.
        client.organization = client.project = None
        gate = Gate(WHAT, in_flight=in_flight, queue=queue, watch=watch)
        asking = Asking(WHAT, first_pause_s=FIRST_PAUSE_S, random=random)
        source = OpenAIVectors(client, model, gate, asking, dimensions=dimensions, timeout_s=timeout_s, now=now)
        reading = Reading(query_prefix, passage_prefix, MAX_TOKENS, batch_size or BATCH)
        # What it is called in the answer is known once there is one.
        await source.vectors((PROBE,), EmbedKind.QUERY)
        yield await open_batched(source, reading, name=model, identity=("openai", source.model), dimensions=dimensions)


def _read(body: bytes, count: int) -> tuple[str, tuple[Vector, ...]]:
    try:
        found = _Embeddings.model_validate_json(body)
    except ValidationError as error:
        raise StoreUnavailable(f"what {WHAT} sent are no embeddings") from error
    rows = sorted(found.data, key=lambda row: row.index)
    if [row.index for row in rows] != list(range(count)):
        raise StoreUnavailable(f"{WHAT} made {len(rows)} vectors of {count} texts, or some twice")
    return found.model, units(row.embedding for row in rows)


def _shorter(text: str) -> str:
    return text[: int(len(text) * KEPT)] if len(text) > LEAST_CHARACTERS else ""
