"""Language models behind any endpoint that speaks OpenAI's protocol, by the official client."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any, cast

import httpx2
import openai
import structlog
from pydantic import BaseModel, ValidationError

from recallmesh.core.errors import NotReady, Overloaded, StoreUnavailable
from recallmesh.core.retain import ContentBlock
from recallmesh.core.time import Clock
from recallmesh.endpoint.asking import Asking, TryAgain, retry_after_s
from recallmesh.retain.concession import Concessions
from recallmesh.retain.language import Message, Prompt, Reply, Role

FIRST_PAUSE_S = 0.5
"""Seconds before the second try; each pause after is twice the one before, and up to half of it is left to chance."""
LARGEST_REPLY_BYTES = 4_194_304
"""A reply beyond this is not read to its end: hundreds of times what the tokens asked for can be."""
LONGEST_LOG = 500
"""Characters of an endpoint's complaint that are logged."""
CHARS_PER_TOKEN = 4
"""What a token is taken for where an endpoint does not count; of English, in a common vocabulary."""

_PASSING = frozenset({408, 409, 425, 500, 502, 503, 504, 529})
_TOO_MANY = 429
_REFUSALS = {
    401: "the language model refused this service's credential",
    403: "the language model refused this service's credential",
    404: "the language model's endpoint knows no such model or address",
}
_log = structlog.get_logger()


class _Said(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Usage(BaseModel):
    total_tokens: int = 0


class _Completion(BaseModel):
    """What of a completion is read; the rest differs between endpoints."""

    choices: list[_Choice]
    usage: _Usage | None = None


class OpenAILanguageModel:
    """One model of an endpoint; bounds how many requests of this process are under way, and what each may take."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        name: str,
        *,
        vision: bool,
        timeout_s: float,
        in_flight: int,
        reply_tokens: int,
        now: Clock,
        random: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Ask the model of this name by ``client``, which must not retry by itself."""
        self.name = name
        self.vision = vision
        self._client = client
        self._timeout_s = timeout_s
        self._concessions = Concessions(reply_tokens)
        self._now = now
        self._asking = Asking(
            f"the language model {name}",
            first_pause_s=FIRST_PAUSE_S,
            random=random,
            sleep=sleep,
            place=asyncio.Semaphore(in_flight),
        )

    async def answer(self, prompt: Prompt) -> Reply:
        """Return what the model says; failures in passing are tried again while there is time."""
        return await self._asking.ask(partial(self._ask, prompt))

    async def _ask(self, prompt: Prompt) -> Reply:
        while True:
            asked = self._concessions.asked
            try:
                async with asyncio.timeout(self._timeout_s):
                    return _reply(await self._post(prompt), prompt)
            except openai.APIStatusError as error:
                text = self._discreet(error.response.text)
                _log.warning("language_model.refused", model=self.name, status=error.status_code, said=text)
                # Another call may have found out the same meanwhile: then it is worth a try as it is now.
                if error.status_code in {400, 422} and (
                    self._concessions.asked != asked or self._concessions.concede(text)
                ):
                    continue
                raise self._meaning(error) from error
            except TimeoutError as error:
                message = f"the language model did not answer within {self._timeout_s:g} s"
                raise TryAgain(StoreUnavailable(message)) from error
            except (openai.APIConnectionError, httpx2.HTTPError) as error:
                _log.warning("language_model.unreachable", model=self.name, error=self._discreet(repr(error)))
                raise TryAgain(StoreUnavailable("the language model does not answer")) from error

    async def _post(self, prompt: Prompt) -> bytes:
        asked: dict[str, Any] = {
            "model": self.name,
            "messages": [
                {"role": "system", "content": self._concessions.instructions(prompt)},
                *map(_message, prompt.messages),
            ],
            **self._concessions.parameters(prompt),
        }
        create = cast("Any", self._client.chat.completions.with_streaming_response.create)
        body = bytearray()
        # Read piece by piece: what a broken endpoint sends without end must not fill the memory.
        async with create(**asked) as response:
            async for piece in response.iter_bytes():
                body += piece
                if len(body) > LARGEST_REPLY_BYTES:
                    raise TryAgain(StoreUnavailable("the language model's reply is too large to be one"))
        return bytes(body)

    def _meaning(self, error: openai.APIStatusError) -> Exception:
        status = error.status_code
        if status == _TOO_MANY and getattr(error, "code", None) == "insufficient_quota":
            return NotReady("the quota of the language model is used up")
        if status == _TOO_MANY:
            wait = retry_after_s(error.response.headers.get("retry-after", ""), self._now())
            later = timedelta(seconds=FIRST_PAUSE_S if wait is None else wait)
            return TryAgain(Overloaded("the language model is asked too often", retry_after=later), wait)
        if status in _PASSING or status > 500:  # noqa: PLR2004 (what RFC 9110 leaves to the server)
            wait = retry_after_s(error.response.headers.get("retry-after", ""), self._now())
            return TryAgain(StoreUnavailable(f"the language model failed (status {status})"), wait)
        return NotReady(_REFUSALS.get(status, f"the language model refused the request (status {status})"))

    def _discreet(self, text: str) -> str:
        """Return what may be logged of what an endpoint said: endpoints repeat the key that they did not like."""
        return text.replace(self._client.api_key, "(secret)")[:LONGEST_LOG]


@asynccontextmanager
async def open_openai_model(
    url: str,
    model: str,
    *,
    api_key: str,
    vision: bool,
    timeout_s: float,
    in_flight: int,
    reply_tokens: int,
    now: Clock,
    random: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[OpenAILanguageModel]:
    """Open a client of the endpoint at ``url``; nothing is sent before the first question.

    An empty ``api_key`` is for endpoints that ask for none.
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
        yield OpenAILanguageModel(
            client,
            model,
            vision=vision,
            timeout_s=timeout_s,
            in_flight=in_flight,
            reply_tokens=reply_tokens,
            now=now,
            random=random,
            sleep=sleep,
        )


def _message(message: Message) -> dict[str, object]:
    role = "assistant" if message.role is Role.MODEL else "user"
    if all(isinstance(part, str) for part in message.parts):
        # One text: what endpoints without images know.
        return {"role": role, "content": "\n".join(str(part) for part in message.parts)}
    return {"role": role, "content": [_part(part) for part in message.parts]}


def _part(part: ContentBlock) -> dict[str, object]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(part.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{data}"}}


def _reply(body: bytes, prompt: Prompt) -> Reply:
    try:
        completion = _Completion.model_validate_json(body)
        choice = completion.choices[0]
    except (ValidationError, IndexError) as error:
        raise TryAgain(StoreUnavailable("what the language model's endpoint sent is no answer of a model")) from error
    text, refusal = choice.message.content or "", choice.message.refusal or ""
    if choice.finish_reason == "content_filter":
        refusal = refusal or "the content filter stopped the answer"
    counted = completion.usage.total_tokens if completion.usage else 0
    return Reply(text, refusal, choice.finish_reason == "length", counted or _estimate(prompt, text))


def _estimate(prompt: Prompt, text: str) -> int:
    said = sum(len(part) for message in prompt.messages for part in message.parts if isinstance(part, str))
    return (len(prompt.instructions) + said + len(text)) // CHARS_PER_TOKEN
