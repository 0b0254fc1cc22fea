"""The JSON door's server: where it listens, the connections of its clients, how it leaves without losing a call."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from recallmesh.door.calls import Leaving

KEEP_ALIVE_S = 75
"""Seconds that a silent connection is kept: longer than the 60 s of usual proxies, who should be the ones to end it."""
BACKLOG = 1024
CONNECTIONS = 1024
"""The most at once: the kernel keeps as many more waiting. Each costs some 20 KB, and up to 128 KB while it sends."""
HEAD_S = 15.0
"""Seconds in which the head of a request has to come, once it has begun."""
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\ncontent-length: 27\r\nretry-after: 1\r\n"
    b"connection: close\r\n\r\nthe door has no more room.\n"
)
STEP_S = 0.01
LOGGER = "uvicorn.error"
_log = structlog.get_logger("recallmesh.door")


class Connection(H11Protocol):
    """Makes way when it is idle and others come; ends when it is silent for too long, or half of a head is all it says.

    Beyond the most there may be, the one that is idle for longest is closed. Where none is idle, who comes is refused.
    """

    idle_since: float | None = None
    """When it was last asked, or opened, on the loop's clock; nothing while it is asked."""
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Make room, or refuse."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS and not self._make_room():
            transport.write(FULL)
            transport.close()
            return
        self._rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_head()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes; the head of a request does not come for ever."""
        asked = self.cycle
        super().data_received(data)
        if self.cycle is not asked:
            self.idle_since = None
            self._stop_head()
        elif self.idle_since is not None and self._head is None:
            self._head = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.idle_since = self.loop.time()
        super().on_response_complete()
        if not self.cycle.response_complete:  # the next one had come already
            self.idle_since = None

    def _rest(self) -> None:
        self.idle_since = self.loop.time()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def _make_room(self) -> bool:
        idle: list[tuple[float, Any]] = [
            (since, one)
            for one in self.connections
            if one is not self and (since := getattr(one, "idle_since", None)) is not None
        ]
        if not idle:
            return False
        _, longest = min(idle, key=lambda each: each[0])
        self.connections.discard(longest)
        longest.timeout_keep_alive_handler()
        return True

    def _stop_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


class _Server(uvicorn.Server):
    """Leaves the signals to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Passing(logging.Handler):
    """Passes what the server says on to our log; what the application raised has been logged there, by its request."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None or not isinstance(record.exc_info[1], Exception):
            _log.log(record.levelno, "http server", said=record.getMessage().strip())


@asynccontextmanager
async def open_server(
    app: ASGIApp,
    leaving: Leaving,
    bound: socket.socket,
    *,
    drain_s: float,
    grace_s: float,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Listen on the address that was taken, and serve until the context is left: HTTPS by the context, else HTTP.

    On leaving: not ready at once, then ``drain_s`` during which requests are still taken, then no new ones and up to
    ``grace_s`` for those in hand, streams half of it.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(grace_s)),
        backlog=BACKLOG,
        ssl_context_factory=None if context is None else lambda _config, _default: context,
    )
    server = _Server(config)
    with _logging():
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            while not server.started and not serving.done():  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(STEP_S)
            yield
            leaving.told.set()
            await asyncio.sleep(drain_s)
        finally:
            leaving.told.set()
            server.should_exit = True
            asyncio.get_running_loop().call_later(grace_s / 2, leaving.streams.set)
            await serving


@contextmanager
def _logging() -> Iterator[None]:
    """Have the server speak through our log, of what is worth a warning."""
    logger, passing = logging.getLogger(LOGGER), _Passing()
    logger.addHandler(passing)
    before = logger.level, logger.propagate
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(passing)
        logger.level, logger.propagate = before
