"""The one handler of all calls: from a request of HTTP to a call of the mesh, and back."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.gateway import Asked, Caller, Gateway, Method, Parameters, Written
from recallmesh.core.limits import JSON_BYTES
from recallmesh.door import event
from recallmesh.door.body import Body, Room, TooLarge
from recallmesh.door.listener import Listener
from recallmesh.door.problem import problem_of

JSON = ("application/json",)
LINES = ("application/x-ndjson", "application/jsonl")
"""What a stream of requests may call itself."""
UTF8 = ("utf-8", "utf8")
CALLER = "recallmesh.caller"
"""Where a request's scope has who asks."""
METHOD = "recallmesh.method"
"""Where it has what is asked, once that is known."""
FIRST_S = 1.0
"""Seconds that a stream's status waits for the first answer: until then what is wrong still has a status of its own."""
BODY_S = 30.0
"""Seconds in which the body of a call that takes no stream has to come."""
ROOM_BYTES = 128 * 1024 * 1024
"""The most bytes of bodies that are held at once: of calls that are read or answered, of lines that have not ended."""
FIELDS = 1000
"""The most fields of a query string."""


@dataclass(slots=True)
class Leaving:
    """How far a door that leaves has come.

    ``told``: it is not ready any more, and keeps no connection. ``streams``: streams of answers end.
    """

    told: asyncio.Event = field(default_factory=asyncio.Event)
    streams: asyncio.Event = field(default_factory=asyncio.Event)


class Calls:
    """Answers every path that is a method of the mesh."""

    def __init__(self, gateway: Gateway, leaving: Leaving, *, heartbeat_s: float) -> None:
        """Ask this gateway; a stream that is silent for ``heartbeat_s`` seconds says that it is still there."""
        self._gateway = gateway
        self._leaving = leaving
        self._heartbeat_s = heartbeat_s
        self._room = Room(ROOM_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a client that leaves gives its call up.

        Raises:
            MeshError: what is wrong, if no answer has begun.
            HTTPException: the same, where it is HTTP's.

        """
        method = self._gateway.methods.get(scope["path"])
        if method is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "there is no such call; /openapi.json has those that there are")
        scope[METHOD] = method.name
        check(method, scope["method"], Headers(scope=scope))
        body = Body(receive, self._room)
        try:
            with self._gateway.place(method):
                await _unless_gone(self._answer(method, scope, body, send), body)
        finally:
            body.forget()

    async def _answer(self, method: Method, scope: Scope, body: Body, send: Send) -> None:
        caller: Caller = scope[CALLER]
        asked = await _asked(method, scope, body)
        async with aclosing(self._gateway.call(method, asked, caller)) as answers:
            if method.answers_stream:
                await self._events(answers, caller, send)
            else:
                answer = await anext(answers) + b"\n"
                await send(_start(JSON[0], **{"content-length": str(len(answer))}))
                await send(_part(answer, more=False))

    async def _events(self, answers: AsyncGenerator[bytes, None], caller: Caller, send: Send) -> None:
        listener = Listener(answers)
        try:
            await listener.come(FIRST_S, self._leaving.streams)
            listener.check()
            await send(_start(event.MEDIA_TYPE, **{"x-accel-buffering": "no"}))
            try:
                while (answer := await self._next(listener, send)) is not None:
                    await send(_part(event.message(answer)))
                last = event.end()
            except MeshError as error:
                last = event.problem(problem_of(error, caller.request_id).written())
            await send(_part(last, more=False))
        finally:
            await listener.leave()

    async def _next(self, listener: Listener, send: Send) -> bytes | None:
        while not await listener.come(self._heartbeat_s, self._leaving.streams):
            if self._leaving.streams.is_set():
                raise StoreUnavailable("the server leaves: ask again")
            await send(_part(event.HEARTBEAT))
        return listener.take()


def check(method: Method, verb: str, headers: Mapping[str, str]) -> None:
    """Refuse what cannot be a request of this method, before anything of its body is read.

    Raises:
        HTTPException: says what it has to be.

    """
    verbs = ("GET", "POST") if method.reads and not method.takes_stream else ("POST",)
    if verb not in verbs:
        raise HTTPException(
            HTTPStatus.METHOD_NOT_ALLOWED, f"this call is asked by {' or '.join(verbs)}", {"allow": ", ".join(verbs)}
        )
    if verb == "GET":
        return
    kinds = LINES if method.takes_stream else JSON
    kind, *parameters = (part.strip().lower() for part in headers.get("content-type", "").split(";"))
    charsets = [part.partition("=")[2].strip('"') for part in parameters if part.startswith("charset=")]
    if kind not in kinds or any(charset not in UTF8 for charset in charsets):
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the body has to be {kinds[0]} in UTF-8",
            {"accept-post": ", ".join(kinds)},
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must not be compressed", {"accept-encoding": "identity"}
        )
    if not method.takes_stream and int(headers.get("content-length", "0")) > JSON_BYTES:
        raise _too_large()


def parameters(query: bytes) -> Parameters:
    """Read a query string.

    Raises:
        InvalidArgument: it is no UTF-8, or has too many fields.

    """
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except UnicodeDecodeError as error:
        raise InvalidArgument(FieldViolation("request", "the query string is not valid UTF-8")) from error
    except ValueError as error:
        raise InvalidArgument(FieldViolation("request", f"the query string has over {FIELDS} fields")) from error
    return Parameters(tuple(pairs))


async def _asked(method: Method, scope: Scope, body: Body) -> AsyncIterator[Asked]:
    if method.takes_stream:
        return body.lines(JSON_BYTES)
    if scope["method"] == "GET":
        body.skip()
        return _alone(parameters(scope["query_string"]))
    try:
        async with asyncio.timeout(BODY_S):
            return _alone(Written(await body.whole(JSON_BYTES)))
    except TooLarge as error:
        raise _too_large() from error
    except TimeoutError as error:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {BODY_S:g} s") from error


async def _alone(asked: Asked) -> AsyncIterator[Asked]:
    yield asked


async def _unless_gone(work: Coroutine[Any, Any, None], body: Body) -> None:
    """Do the work for as long as the client is there."""
    doing, gone = asyncio.create_task(work), asyncio.create_task(body.gone())
    try:
        await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
    finally:
        for one in (doing, gone):
            one.cancel()
        await asyncio.gather(doing, gone, return_exceptions=True)


def _too_large() -> HTTPException:
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {JSON_BYTES} bytes")


def _start(kind: str, **headers: str) -> Message:
    named = {"content-type": kind} | headers
    written = [(name.encode(), value.encode()) for name, value in named.items()]
    return {"type": "http.response.start", "status": HTTPStatus.OK.value, "headers": written}


def _part(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
