"""The JSON door as an ASGI application: its paths, what every request goes through, and every error as a problem."""

import sys
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from ipaddress import ip_address

import structlog
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recallmesh.core.errors import InternalFault, MeshError, StoreUnavailable
from recallmesh.core.gateway import Caller, Gateway
from recallmesh.door.calls import CALLER, METHOD, Calls, Leaving
from recallmesh.door.problem import MEDIA_TYPE, Problem, problem_of, problem_of_http
from recallmesh.door.settings import ANY

_log = structlog.get_logger("recallmesh.door")

Observe = Callable[[str, int, float], None]
"""Told of every finished request: the method of the mesh, the HTTP status, its seconds."""

GONE = 499
"""The status of a client that left before it was answered, as nginx counts it."""
OTHER = "other"
"""What metrics call what is no method of the mesh."""
LOCALHOST = "localhost"
ASKING_HEADERS = ("authorization", "content-type", "x-request-id", "x-recallmesh-tenant", "x-request-timeout-ms")
TOLD_HEADERS = ("x-request-id", "retry-after")
ANSWERING = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""What every answer says: memories belong in nobody's cache, and what is no script is not to be guessed to be one."""
FRONT = """\
recallmesh: the JSON door

/openapi.json   what can be asked
/livez          the process lives
/readyz         every service behind it is ready
"""


def build_app(
    gateway: Gateway,
    leaving: Leaving,
    *,
    heartbeat_s: float,
    hosts: Iterable[str],
    cors_origins: Iterable[str],
    observe: Observe,
) -> Starlette:
    """Make the application; ``hosts`` are the names by which it may be called besides those of loopback."""
    description = gateway.description()

    async def front(_request: Request) -> Response:
        return PlainTextResponse(FRONT)

    async def openapi(_request: Request) -> Response:
        return Response(description, media_type="application/json")

    async def lives(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        if leaving.told.is_set():
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "the server leaves")
        try:
            await gateway.check()
        except MeshError as error:
            raise StoreUnavailable(error.message) from error
        return PlainTextResponse("ok\n")

    origins = sorted(cors_origins)
    sharing = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=ASKING_HEADERS,
        expose_headers=TOLD_HEADERS,
    )
    return Starlette(
        routes=[
            Route("/", front),
            Route("/openapi.json", openapi),
            Route("/livez", lives),
            Route("/readyz", ready),
            Route("/{path:path}", Calls(gateway, leaving, heartbeat_s=heartbeat_s)),
        ],
        middleware=[
            Middleware(Entrance, gateway=gateway, leaving=leaving, hosts=frozenset(hosts), observe=observe),
            *((sharing,) if origins else ()),
        ],
        exception_handlers=dict.fromkeys((MeshError, HTTPException, Exception), _explain),
    )


class Entrance:
    """What every request goes through: who asks, by which name, and how it went."""

    def __init__(
        self, app: ASGIApp, gateway: Gateway, leaving: Leaving, hosts: frozenset[str], observe: Observe
    ) -> None:
        """Let requests in to this application."""
        self._app = app
        self._gateway = gateway
        self._leaving = leaving
        self._hosts = hosts
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one in."""
        began, status = time.perf_counter(), GONE
        headers = Headers(scope=scope)
        caller = scope[CALLER] = self._gateway.caller(headers)

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                told = MutableHeaders(scope=message)
                for name, value in ANSWERING.items():
                    told.setdefault(name, value)
                told["x-request-id"] = caller.request_id
                if self._leaving.told.is_set():
                    told["connection"] = "close"
            await send(message)

        try:
            with structlog.contextvars.bound_contextvars(request_id=caller.request_id):
                if self._is_ours(headers.get("host", "")):
                    await self._app(scope, receive, answer)
                else:
                    await _response(_foreign(caller))(scope, receive, answer)
        finally:
            if isinstance(sys.exception(), Exception):
                status = HTTPStatus.INTERNAL_SERVER_ERROR
            self._observe(scope.get(METHOD, OTHER), int(status), time.perf_counter() - began)

    def _is_ours(self, host: str) -> bool:
        name = hostname(host)
        return ANY in self._hosts or name in self._hosts or is_loopback(name)


def hostname(host: str) -> str:
    """Return the name in a host header, without its port; empty for none."""
    if host.startswith("["):
        inside, closed, _ = host.removeprefix("[").partition("]")
        return inside.lower() if closed else ""
    return host.partition(":")[0].lower()


def is_loopback(name: str) -> bool:
    """Tell whether a name is one of this machine's for itself."""
    try:
        return name == LOCALHOST or ip_address(name).is_loopback
    except ValueError:
        return False


def _foreign(caller: Caller) -> Problem:
    detail = "the door is not called by this name here: RECALLMESH_DOOR__HOSTS has those that it may be called by"
    return problem_of_http(HTTPStatus.MISDIRECTED_REQUEST, detail, caller.request_id)


async def _explain(request: Request, error: Exception) -> Response:
    request_id = request.scope[CALLER].request_id
    match error:
        case MeshError():
            return _response(problem_of(error, request_id))
        case HTTPException():
            return _response(problem_of_http(error.status_code, error.detail, request_id, error.headers))
        case _:
            _log.error("http request failed", request_id=request_id, path=request.url.path, exc_info=error)
            return _response(problem_of(InternalFault("internal error"), request_id))


def _response(problem: Problem) -> Response:
    return Response(problem.written() + b"\n", problem.status, dict(problem.headers), media_type=MEDIA_TYPE)
