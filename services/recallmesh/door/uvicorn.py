"""The JSON door's server: where it listens, and how it leaves without losing a call."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import structlog
import uvicorn
from starlette.types import ASGIApp

from recallmesh.core.errors import FieldViolation, InvalidArgument
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
    app: ASGIApp, leaving: Leaving, listen: str, *, drain_s: float, grace_s: float
) -> AsyncIterator[str]:
    """Listen on ``host:port`` (port 0: any free one) and serve until the context is left; gives where it listens.

    On leaving: not ready at once, then ``drain_s`` during which requests are still taken, then no new ones and up to
    ``grace_s`` for those in hand, streams half of it.

    Raises:
        InvalidArgument: the address cannot be listened on.

    """
    bound = bind(listen)
    host = listen.rpartition(":")[0]
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
    )
    server = _Server(config)
    with _logging():
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            while not server.started and not serving.done():  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(STEP_S)
            yield f"{host}:{bound.getsockname()[1]}"
            leaving.told.set()
            await asyncio.sleep(drain_s)
        finally:
            leaving.told.set()
            server.should_exit = True
            asyncio.get_running_loop().call_later(grace_s / 2, leaving.streams.set)
            await serving


def bind(listen: str) -> socket.socket:
    """Take an address.

    Raises:
        InvalidArgument: it cannot be had; says why.

    """
    host, _, port = listen.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        family, kind, protocol, _, where = found
        # Without the protocol's number asyncio leaves Nagle's algorithm on, and each answer waits 40 ms for a reader.
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(where)
        except OSError:
            bound.close()
            raise
    except (OSError, OverflowError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "there is no such address"
        raise InvalidArgument(FieldViolation("door.listen", f"{listen} cannot be listened on: {why}")) from error
    return bound


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
