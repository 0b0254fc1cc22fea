"""The JSON door's server: where it listens, and how it leaves without losing a call."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import structlog
import uvicorn
from starlette.types import ASGIApp

from recallmesh.door.calls import Leaving

KEEP_ALIVE_S = 75
"""Seconds that a silent connection is kept: longer than the 60 s of usual proxies, who should be the ones to end it."""
BACKLOG = 1024
STEP_S = 0.01
LOGGER = "uvicorn.error"
_log = structlog.get_logger("recallmesh.door")


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
        http="h11",
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
