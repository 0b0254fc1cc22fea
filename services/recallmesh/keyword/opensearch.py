"""The official client of OpenSearch: sends the keyword store's requests; what goes wrong leaves as a mesh error."""

import asyncio
import base64
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import opensearchpy
import structlog

from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.store import Inspection, Migrated
from recallmesh.keyword.opensearch_index import PREFIX, Names, Shape
from recallmesh.keyword.opensearch_request import TIMEOUT_S, Answer, Body
from recallmesh.keyword.opensearch_state import inspected, migrated
from recallmesh.keyword.opensearch_store import OpenSearchKeywordStore, refusal

_CONNECTIONS = 32
_SAID = 300
"""Characters of a complaint that are logged: another server than OpenSearch may answer with a page."""
_log = structlog.get_logger("recallmesh.keyword")


@dataclass(frozen=True, slots=True)
class OpenSearchServer:
    """Where a server is and who asks: its URL (http or https), what the names of our indexes begin with, a credential.

    ``ca`` is a file or folder of certificates to believe; absent: the system's.
    """

    url: str
    prefix: str = PREFIX
    user: str = ""
    password: str = field(default="", repr=False)
    ca: Path | None = None

    @property
    def address(self) -> str:
        """The URL without secrets."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class OpenSearchRequests:
    """``Requests`` by the official client. After a failure the next request makes a new connection by itself."""

    def __init__(self, server: OpenSearchServer, trust: ssl.SSLContext | None) -> None:
        """Make the client; it connects with its first request. ``trust`` is for https alone."""
        # The library would log each failure with a traceback, to standard error where nobody listens.
        logging.getLogger("opensearch").addHandler(logging.NullHandler())
        self._client = opensearchpy.AsyncOpenSearch(
            [server.url],
            headers={"authorization": _basic(server.user, server.password)} if server.user else None,
            ssl_context=trust,
            maxsize=_CONNECTIONS,
            max_retries=1,  # for a connection that a restarted server has forgotten; never after a timeout
            retry_on_status=(),
        )
        self._closed = False
        self._complained = ""

    async def ask(
        self, method: str, path: str, body: Body = None, *, timeout_s: float = TIMEOUT_S, **params: str
    ) -> Answer:
        """Send one request."""
        if self._closed:
            raise StoreUnavailable("the keyword store is closed")
        headers = {"content-type": "application/x-ndjson"} if isinstance(body, str) else None
        try:
            answer = await self._client.transport.perform_request(
                method, path, params=params, body=body, timeout=timeout_s, headers=headers
            )
        except opensearchpy.OpenSearchException as error:
            self._complain(error)
            raise _mesh_error(error) from error
        self._complained = ""
        return cast("Answer", answer)

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._client.close()

    def _complain(self, error: opensearchpy.OpenSearchException) -> None:
        """Log what the server or the client said, without what was asked; once for as long as it is all they say.

        That there is no such index is for whoever asked to tell.
        """
        if isinstance(error, opensearchpy.NotFoundError):
            return
        said = f"{error.status_code} {error.error}"[:_SAID] if isinstance(error, opensearchpy.TransportError) else ""
        if (complaint := f"{type(error).__name__} {said}") != self._complained:
            _log.warning("keyword.driver_failed", error=said, kind=type(error).__name__)
            self._complained = complaint


def _basic(user: str, password: str) -> str:
    """Return the credential as a header (RFC 7617), in UTF-8 as OpenSearch reads it."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(
            cafile=None if ca is None or ca.is_dir() else str(ca), capath=str(ca) if ca and ca.is_dir() else None
        )
    except OSError as error:
        raise InvalidArgument(
            FieldViolation("RECALLMESH_KEYWORD__OPENSEARCH_CA", "certificates cannot be read there")
        ) from error


def _mesh_error(error: opensearchpy.OpenSearchException) -> MeshError:
    match error:
        case opensearchpy.ConnectionTimeout():
            return StoreUnavailable("the keyword store does not answer in time")
        case opensearchpy.ConnectionError():
            if isinstance(error.info, ssl.SSLError):
                return StoreUnavailable("the keyword store's TLS certificate is not accepted")
            return StoreUnavailable("the keyword store cannot be connected to")
        case opensearchpy.TransportError():
            return refusal(int(error.status_code), str(error.error))
        case _:
            return StoreUnavailable("the keyword store does not answer as OpenSearch does")


@asynccontextmanager
async def open_opensearch_requests(server: OpenSearchServer) -> AsyncIterator[OpenSearchRequests]:
    """Make a client, and close it at the end.

    Raises:
        InvalidArgument: the certificates to believe cannot be read.

    """
    trust = await asyncio.to_thread(_trust, server.ca) if server.url.startswith("https") else None
    requests = OpenSearchRequests(server, trust)
    try:
        yield requests
    finally:
        await requests.close()


@asynccontextmanager
async def open_opensearch_keyword_store(
    server: OpenSearchServer, shape: Shape, *, timeout_s: float = TIMEOUT_S
) -> AsyncIterator[OpenSearchKeywordStore]:
    """Open the store on a server, which need not be there yet: every call says so until it is.

    Every call is refused as NotReady while the server has no index, or one of another shape. ``timeout_s`` is how long
    one request of a search may take, or a look at whether the server is there.
    """
    names = Names(server.prefix, shape.version)
    async with open_opensearch_requests(server) as requests:
        yield OpenSearchKeywordStore(requests, names=names, shape=shape, timeout_s=timeout_s)


async def migrate_opensearch(server: OpenSearchServer, shape: Shape) -> Migrated:
    """Make the index of this shape if it is not there, and make it the mesh's. Several may do it at once.

    Where there was one of another shape, it stays as it is; the new one is filled by a repair.

    Raises:
        NotReady: the index there is of a newer schema.
        StoreUnavailable: the server does not answer; may be called again.

    """
    async with open_opensearch_requests(server) as requests:
        before = await migrated(requests, Names(server.prefix, shape.version), shape)
    return Migrated("opensearch", server.address, before, shape.version)


async def inspect_opensearch(server: OpenSearchServer, shape: Shape) -> Inspection:
    """Tell how the store stands; one that does not answer too."""
    empty = Inspection("opensearch", server.address, wanted=shape.version)
    async with open_opensearch_requests(server) as requests:
        return await inspected(requests, Names(server.prefix, shape.version), shape, empty)
