"""Posts over HTTP with httpcore2: no proxy, no redirect, and no address that was not looked at first."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

import httpcore2
import structlog

from recallmesh.core.address import is_public
from recallmesh.core.errors import StoreUnavailable

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a name, as DNS has them now."""
_CONNECTIONS = 16
_TRIED = 3
"""Addresses of one name that are tried, one after another."""
_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    OSError,
)

_log = structlog.get_logger()


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for a name's addresses."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise StoreUnavailable("its name cannot be resolved") from error
    return [str(address[0]) for *_, address in found]


class PublicBackend(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses alone, unless ``private`` allows the others.

    A name is resolved here and the connection made to the very address that was looked at: another answer of DNS a
    moment later (rebinding) changes nothing. TLS still verifies the name.
    """

    def __init__(self, resolve: Resolve, *, private: bool) -> None:
        """Resolve by this."""
        self._resolve = resolve
        self._private = private
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of the name's allowed addresses that answers."""
        found = await self._resolve(host, port)
        allowed = [address for address in found if self._private or is_public(address)][:_TRIED]
        if not allowed:
            raise StoreUnavailable("it has no public address, and the service allows no other")
        *others, last = allowed
        for address in others:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except _FAILURES:
                continue
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Wait; httpcore2 asks for it between tries."""
        await asyncio.sleep(seconds)


class HttpcorePoster:
    """``Poster`` on a connection pool."""

    def __init__(self, pool: httpcore2.AsyncConnectionPool) -> None:
        """Post over the pool."""
        self._pool = pool

    async def post(self, url: str, headers: dict[str, str], body: bytes, *, timeout_s: float) -> int:
        """Post and return the status; the rest of the answer is not read."""
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._pool.stream("POST", url, headers=list(headers.items()), content=body) as answer,
            ):
                return int(answer.status)
        except TimeoutError as error:
            raise StoreUnavailable(f"did not answer within {timeout_s:g} s") from error
        except _FAILURES as error:
            # What the driver says may hold addresses of our network: it is for the log.
            _log.info("webhooks.no_answer", error=str(error), kind=type(error).__name__)
            raise StoreUnavailable(_said(error)) from error


def _said(error: BaseException) -> str:
    if isinstance(error.__cause__ or error.__context__, ssl.SSLError) or isinstance(error, ssl.SSLError):
        return "its TLS certificate is not accepted"
    if isinstance(error, httpcore2.ConnectError):
        return "cannot be connected to"
    return "did not answer as HTTP servers do"


@asynccontextmanager
async def open_httpcore_poster(
    *, private: bool, resolve: Resolve = resolve, trust: ssl.SSLContext | None = None
) -> AsyncIterator[HttpcorePoster]:
    """Open a poster; ``private`` allows addresses that are not public, ``trust`` is whose certificates are believed."""
    # Reads the system's certificates.
    context = trust or await asyncio.to_thread(httpcore2.default_ssl_context)
    async with httpcore2.AsyncConnectionPool(
        ssl_context=context,
        max_connections=_CONNECTIONS,
        max_keepalive_connections=0,
        network_backend=PublicBackend(resolve, private=private),
    ) as pool:
        yield HttpcorePoster(pool)
