"""The client of a server of encoders, over HTTP with httpx2."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import httpx2
import structlog

from recallmesh.core.arm import Vector
from recallmesh.core.errors import NotReady, StoreUnavailable
from recallmesh.core.time import Clock
from recallmesh.endpoint.asking import Asking, TryAgain, retry_after_s
from recallmesh.endpoint.refusal import meaning
from recallmesh.tei.answer import ServerInfo, info_of, scores_of, vectors_of

T = TypeVar("T")

WHAT = "the server of encoders"
FIRST_PAUSE_S = 0.1
"""Seconds before the second try: a query waits for it."""
LARGEST_REPLY_BYTES = 64 * 1024 * 1024
"""A reply beyond this is not read to its end: 2,000 vectors of 1,500 dimensions fit."""
LONGEST_LOG = 500
"""Characters of a server's complaint that are logged."""
OK = 200

_log = structlog.get_logger()


class TeiServer:
    """One server, which has one model."""

    def __init__(
        self, client: httpx2.AsyncClient, asking: Asking, info: ServerInfo, *, timeout_s: float, now: Clock, secret: str
    ) -> None:
        """Ask by this client; ``info`` is what the server said, ``secret`` is never logged."""
        self.info = info
        self._client = client
        self._asking = asking
        self._timeout_s = timeout_s
        self._now = now
        self._secret = secret

    async def embed(self, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        """Return one vector a text, of unit length; longer texts are cut to the window by the server."""
        body = {"inputs": texts, "truncate": True, "normalize": True}
        return await self._ask("POST", "/embed", body, partial(vectors_of, count=len(texts)))

    async def rerank(self, query: str, texts: tuple[str, ...]) -> list[float]:
        """Return one raw score a text, in order."""
        body = {"query": query, "texts": texts, "truncate": True, "raw_scores": True, "return_text": False}
        return await self._ask("POST", "/rerank", body, partial(scores_of, count=len(texts)))

    async def check(self) -> None:
        """Return if the server is well, and has the model that it had.

        Raises:
            StoreUnavailable: it does not answer.
            NotReady: it has another model now: what it makes must not be taken for the first one's.

        """
        try:
            await self._send("GET", "/health", None, bytes)
            info = await self._send("GET", "/info", None, info_of)
        except TryAgain as failed:  # who asks for this asks again by itself
            raise failed.error from failed
        if info.identity != self.info.identity:
            raise NotReady(f"{WHAT} has the model {info.model_id!r} now, not {self.info.model_id!r}: start anew")

    async def learn(self) -> None:
        """Ask what model the server has."""
        self.info = await self._ask("GET", "/info", None, info_of)

    async def _ask(self, method: str, path: str, body: object, read: Callable[[bytes], T]) -> T:
        return await self._asking.ask(partial(self._send, method, path, body, read))

    async def _send(self, method: str, path: str, body: object, read: Callable[[bytes], T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_s):
                status, headers, said = await self._exchange(method, path, body)
        except TimeoutError as error:
            raise TryAgain(StoreUnavailable(f"{WHAT} did not answer within {self._timeout_s:g} s")) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _log.warning("tei.unreachable", error=self._discreet(repr(error)))
            raise TryAgain(StoreUnavailable(f"{WHAT} does not answer")) from error
        if status != OK:
            text = said.decode(errors="replace")
            _log.warning("tei.refused", path=path, status=status, said=self._discreet(text))
            raise meaning(WHAT, status, retry_after_s(headers.get("retry-after", ""), self._now()))
        try:
            # Tens of thousands of numbers: not on the event loop.
            return await asyncio.to_thread(read, said)
        except StoreUnavailable as error:
            raise TryAgain(error) from error

    async def _exchange(self, method: str, path: str, body: object) -> tuple[int, httpx2.Headers, bytes]:
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        request = self._client.build_request(
            method, path, content=content, headers={"Content-Type": "application/json"}
        )
        answer = await self._client.send(request, stream=True)
        said = bytearray()
        try:
            # Read piece by piece: what a broken server sends without end must not fill the memory.
            async for piece in answer.aiter_bytes():
                said += piece
                if len(said) > LARGEST_REPLY_BYTES:
                    raise TryAgain(StoreUnavailable(f"the reply of {WHAT} is too large to be one"))
        finally:
            await answer.aclose()
        return answer.status_code, answer.headers, bytes(said)

    def _discreet(self, text: str) -> str:
        return (text.replace(self._secret, "(secret)") if self._secret else text)[:LONGEST_LOG]


@asynccontextmanager
async def open_tei_server(
    url: str, *, api_key: str, kind: str, model: str, timeout_s: float, now: Clock, random: Callable[[], float]
) -> AsyncIterator[TeiServer]:
    """Open a client of the server at ``url``, which must have a model of this kind.

    ``model`` is the id that it must have, empty for whichever it has.

    Raises:
        StoreUnavailable: nobody answers there, or not as such a server does.
        NotReady: it has another model, or refuses us.

    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    # A redirect would take what a bank was told to an address that nobody set.
    async with httpx2.AsyncClient(
        base_url=url.rstrip("/"), headers=headers, follow_redirects=False, timeout=timeout_s
    ) as client:
        asking = Asking(WHAT, first_pause_s=FIRST_PAUSE_S, random=random)
        unknown = ServerInfo(model_id="")
        server = TeiServer(client, asking, unknown, timeout_s=timeout_s, now=now, secret=api_key)
        await server.learn()
        if server.info.kind not in ("", kind):
            raise NotReady(f"{WHAT} has a model of another kind ({server.info.kind}), {server.info.model_id!r}")
        if model and server.info.model_id != model:
            raise NotReady(f"{WHAT} has the model {server.info.model_id!r}, not {model!r} as the settings say")
        yield server
