"""Serves an application over HTTP, until it is told to stop."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

GRACE_S = 5
"""The most seconds that requests in hand get to finish. Streams that an agent keeps open would never."""
CONNECTIONS = 512
"""The most connections at once; more are answered with 503."""


class QuietServer(uvicorn.Server):
    """A server whose process minds the signals itself: what it is made of has to be closed after it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signal."""
        yield


async def serve_http(
    app: ASGIApp,
    sockets: list[socket.socket],
    stop: asyncio.Event,
    *,
    grace_s: int = GRACE_S,
    context: ssl.SSLContext | None = None,
) -> None:
    """Serve until ``stop``; then take no more, let what is in hand finish for ``grace_s`` seconds, and return.

    HTTPS by the context, else HTTP.
    """
    server = QuietServer(
        uvicorn.Config(
            app,
            lifespan="on",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=grace_s,
            ssl_context_factory=None if context is None else lambda _config, _default: context,
        )
    )
    serving = asyncio.create_task(server.serve(sockets))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    await serving
