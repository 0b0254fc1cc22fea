"""Qdrant: the one file that knows ``qdrant_client``, and gRPC's errors as it raises them.

It speaks the client's own classes of Qdrant's protocol: turning a thousand hits into its models and back takes longer
than their search.
"""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

import structlog
from grpc import StatusCode
from grpc.aio import AioRpcError
from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as pb
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import (
    ArmTimeout,
    FieldViolation,
    InternalFault,
    InvalidArgument,
    MeshError,
    NotReady,
    Overloaded,
    StoreUnavailable,
)
from recallmesh.core.store import Inspection, Migrated
from recallmesh.core.vectors import VectorIndex
from recallmesh.vectors import qdrant_migration
from recallmesh.vectors.embedded import INDEX_FROM
from recallmesh.vectors.payload import END, START, TYPE
from recallmesh.vectors.qdrant_address import address_of
from recallmesh.vectors.qdrant_collection import (
    FINGERPRINT_KEY,
    MIGRATE,
    SCHEMA_KEY,
    Found,
)
from recallmesh.vectors.qdrant_index import QdrantVectorIndex
from recallmesh.vectors.qdrant_point import ORDER, Mapped
from recallmesh.vectors.qdrant_query import Near

T = TypeVar("T")

CALL_S = 10.0
"""Seconds that a call may take where nothing else bounds it."""
MIGRATION_S = 60.0
"""Seconds that one step of a migration may take: to index a field of many points takes a while."""
CLOCKS_S = 0.01
"""By how much gRPC's clock may be ahead of the event loop's, in seconds."""
CONNECT_MS = 2000
"""The most that an attempt to connect, and the pause between two, may take: a server that is back is found at once."""
CHANNEL = {
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": CONNECT_MS,
    "grpc.max_reconnect_backoff_ms": CONNECT_MS,
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    # Every call may be repeated: writes are conditional on the version, so a second one changes nothing.
    "grpc.service_config": json.dumps(
        {
            "methodConfig": [
                {
                    "name": [{"service": f"qdrant.{name}"} for name in ("Points", "Collections", "Qdrant")],
                    "retryPolicy": {
                        "maxAttempts": 3,
                        "initialBackoff": "0.05s",
                        "maxBackoff": "0.5s",
                        "backoffMultiplier": 3,
                        "retryableStatusCodes": ["UNAVAILABLE"],
                    },
                }
            ]
        }
    ),
}
ORDERING: Mapped = {"type": "Medium"}
"""Concurrent writes reach every replica in one order. Versions alone bring replicas to the same state, but for two
writes of the same one."""
REFUSED = "the vector server refuses the key of this service: set RECALLMESH_SEMANTIC__QDRANT_API_KEY"
AWAY = (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.CANCELLED, StatusCode.ABORTED)
UNKEYED = (StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED)
WRONG = (StatusCode.INVALID_ARGUMENT, StatusCode.OUT_OF_RANGE, StatusCode.FAILED_PRECONDITION)

_log = structlog.get_logger("recallmesh.qdrant")


class QdrantServer:
    """Fulfils ``VectorServer`` by the official client, over gRPC."""

    def __init__(self, client: AsyncQdrantClient, *, timeout_s: float) -> None:
        """Use an open client; a call takes at most so many seconds, less where the call in hand has less left."""
        self._client = client
        self._points = client.grpc_points
        self._collections = client.grpc_collections
        self._timeout_s = timeout_s
        self._said: StatusCode | None = None
        self._closed = False

    def close(self) -> None:
        """Refuse every call from now on, as one that does not answer."""
        self._closed = True

    async def version(self) -> str:
        """Ask the server itself."""
        return str((await self._within(lambda left: asyncio.wait_for(self._client.info(), left))).version)

    async def names(self) -> tuple[str, ...]:
        """List all that the credential may see."""
        answer = await self._call(self._collections.List, pb.ListCollectionsRequest())
        return tuple(one.name for one in answer.collections)

    async def find(self, name: str) -> Found | None:
        """Read the collection's configuration and what is indexed."""
        try:
            request = pb.GetCollectionInfoRequest(collection_name=name)
            return _found(name, (await self._call(self._collections.Get, request)).result)
        except _Absent:
            return None

    async def count(self, name: str, condition: Mapped) -> int:
        """Count exactly."""
        request = _message(pb.CountPoints, collection_name=name, filter=condition, exact=True, timeout=self._seconds())
        return int((await self._call(self._points.Count, request)).result.count)

    async def create(self, creation: Mapped) -> None:
        """Make a collection."""
        request = _message(pb.CreateCollection, **creation, timeout=self._seconds())
        try:
            await self._call(self._collections.Create, request)
        except MeshError:
            if await self.find(request.collection_name) is None:
                raise

    async def index(self, indexing: Mapped) -> None:
        """Index a field."""
        request = _message(pb.CreateFieldIndexCollection, **indexing, ordering=ORDERING, timeout=self._seconds())
        _applied((await self._call(self._points.CreateFieldIndex, request)).result)

    async def remove(self, name: str) -> None:
        """Take a collection away."""
        await self._call(self._collections.Delete, pb.DeleteCollection(collection_name=name, timeout=self._seconds()))

    async def describe(self, metadata: Mapped) -> None:
        """Merge the metadata."""
        await self._call(self._collections.Update, _message(pb.UpdateCollection, **metadata))

    async def query(self, name: str, questions: Sequence[Mapped]) -> list[list[Near]]:
        """Answer questions in one call."""
        request = _message(
            pb.QueryBatchPoints,
            collection_name=name,
            query_points=[{"collection_name": name, **question} for question in questions],
            timeout=self._seconds(),
        )
        answer = await self._call(self._points.QueryBatch, request)
        return [[_near(point) for point in batch.result] for batch in answer.result]

    async def update(self, name: str, operations: Sequence[Mapped]) -> None:
        """Change points, and wait until the changes are applied."""
        request = await asyncio.to_thread(
            _message,
            pb.UpdateBatchPoints,
            collection_name=name,
            wait=True,
            operations=operations,
            ordering=ORDERING,
            timeout=self._seconds(),
        )
        for result in (await self._call(self._points.UpdateBatch, request)).result:
            _applied(result)

    async def delete(self, name: str, condition: Mapped, *, wait: bool = True) -> None:
        """Take points out by a condition."""
        request = _message(
            pb.DeletePoints,
            collection_name=name,
            wait=wait,
            points={"filter": condition},
            ordering=ORDERING,
            timeout=self._seconds(),
        )
        answer = await self._call(self._points.Delete, request)
        if wait:
            _applied(answer.result)

    async def scroll(self, name: str, condition: Mapped, start: str | None, limit: int) -> list[tuple[str, int]]:
        """List points."""
        request = _message(
            pb.ScrollPoints,
            collection_name=name,
            filter=condition,
            offset=None if start is None else {"uuid": start},
            limit=limit,
            with_payload={"include": {"fields": [ORDER]}},
            with_vectors={"enable": False},
            timeout=self._seconds(),
        )
        answer = await self._call(self._points.Scroll, request)
        return [(point.id.uuid, point.payload[ORDER].integer_value) for point in answer.result]

    def _left(self) -> float:
        left = remaining()
        return self._timeout_s if left is None else min(self._timeout_s, left)

    def _seconds(self) -> int:
        # What the server is told, in its unit: it must not go on with what nobody waits for.
        return max(1, math.ceil(self._left()))

    async def _call(self, method: Callable[..., Awaitable[Any]], request: object) -> Any:  # noqa: ANN401 - the client's classes are untyped here
        return await self._within(lambda left: method(request, timeout=left))

    async def _within(self, call: Callable[[float], Awaitable[Any]]) -> Any:  # noqa: ANN401 - the same
        if self._closed:
            raise StoreUnavailable("the vector server's client is closed")
        try:
            answer = await call(self._left())
        except TimeoutError as error:
            raise _late() from error
        except AioRpcError as error:
            self._tell(error.code(), error.details())
            raise (_late() if error.code() is StatusCode.DEADLINE_EXCEEDED else _translated(error.code())) from error
        except ResourceExhaustedResponse as error:
            self._tell(StatusCode.RESOURCE_EXHAUSTED, error.message)
            after = timedelta(seconds=error.retry_after_s)
            raise Overloaded("the vector server has too much to do", retry_after=after) from error
        self._said = None
        return answer

    def _tell(self, code: StatusCode, details: str | None) -> None:
        # Once for each kind of trouble, until a call succeeds: a server that is down fails every call alike.
        if code is not self._said and code is not StatusCode.NOT_FOUND:
            _log.warning("the vector server failed a call", code=code.name, details=details)
        self._said = code


class _Absent(NotReady):
    """What was asked for is not there."""


@asynccontextmanager
async def open_server(
    url: str, *, api_key: str | None = None, timeout_s: float = CALL_S
) -> AsyncIterator[QdrantServer]:
    """Open a client; it connects with the first call, and again whenever the server comes back.

    Raises:
        InvalidArgument: the address or the key cannot be one.

    """
    try:
        address = address_of(url)
    except ValueError as error:
        raise InvalidArgument(FieldViolation("RECALLMESH_SEMANTIC__QDRANT_URL", str(error))) from error
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidArgument(FieldViolation("RECALLMESH_SEMANTIC__QDRANT_API_KEY", "holds characters that no key has"))
    if key and address.is_open:
        _log.warning("the vector server's key goes over the network in the open", address=str(address))
    client = AsyncQdrantClient(
        host=address.host,
        grpc_port=address.port,
        https=address.tls,
        prefer_grpc=True,
        # As a header, not as the client's ``api_key``, which complains even of a server on this machine.
        headers={"api-key": key} if key else None,
        pool_size=1,
        timeout=math.ceil(timeout_s),
        grpc_options=dict(CHANNEL),
        check_compatibility=False,  # it asks another port, in a thread of its own; ours is ``version``
    )
    server = QdrantServer(client, timeout_s=timeout_s)
    try:
        yield server
    finally:
        server.close()
        await client.close()


@asynccontextmanager
async def open_qdrant_vectors(
    url: str,
    *,
    fingerprint: str,
    dimensions: int,
    api_key: str | None = None,
    prefix: str = "recallmesh",
    now: Callable[[], float] = time.time,
    awaited: bool = False,
) -> AsyncIterator[VectorIndex]:
    """Open the vectors of an embedding on a server; whether they are there and fit, each call says.

    ``awaited``: that there are fewer than another model's is not told.

    Raises:
        InvalidArgument: the address or the key cannot be one.

    """
    async with open_server(url, api_key=api_key) as server:
        yield QdrantVectorIndex(
            server, prefix=prefix, fingerprint=fingerprint, dimensions=dimensions, now=now, awaited=awaited
        )


async def migrate_qdrant(
    url: str,
    *,
    fingerprint: str,
    dimensions: int,
    api_key: str | None = None,
    prefix: str = "recallmesh",
    index_from: int = INDEX_FROM,
) -> Migrated:
    """Make the collection of an embedding, or bring it up to date; as ``qdrant_migration.migrate``."""
    async with open_server(url, api_key=api_key, timeout_s=MIGRATION_S) as server:
        return await qdrant_migration.migrate(
            server,
            address=str(address_of(url)),
            prefix=prefix,
            fingerprint=fingerprint,
            dimensions=dimensions,
            index_from=index_from,
        )


async def remove_qdrant(url: str, name: str, *, api_key: str | None = None) -> None:
    """Take a collection away, whether it is there or not."""
    async with open_server(url, api_key=api_key, timeout_s=MIGRATION_S) as server:
        await server.remove(name)


async def inspect_qdrant(
    url: str, *, fingerprint: str, dimensions: int, api_key: str | None = None, prefix: str = "recallmesh"
) -> Inspection:
    """Say how the server and the collection stand; as ``qdrant_migration.inspect``."""
    async with open_server(url, api_key=api_key) as server:
        return await qdrant_migration.inspect(
            server, address=str(address_of(url)), prefix=prefix, fingerprint=fingerprint, dimensions=dimensions
        )


def _message(kind: Callable[..., T], **fields: Any) -> T:  # noqa: ANN401 - plain values, as the class takes them
    return kind(**fields)


def _late() -> MeshError:
    """Say whose time was up: the caller's, or what any call gets of a server that works."""
    left = remaining()
    if left is not None and left < CLOCKS_S:
        return ArmTimeout("the vector server did not answer within the deadline")
    return _translated(StatusCode.DEADLINE_EXCEEDED)


def _translated(code: StatusCode) -> MeshError:
    if code in AWAY:
        return StoreUnavailable("the vector server does not answer")
    if code is StatusCode.NOT_FOUND:
        return _Absent(f"the collection of the vectors is not there; {MIGRATE}")
    if code in UNKEYED:
        return NotReady(REFUSED)
    if code is StatusCode.RESOURCE_EXHAUSTED:
        return Overloaded("the vector server has too much to do")
    if code in WRONG:
        return InternalFault("the vector server was asked for what it cannot do")
    return StoreUnavailable("the vector server failed")


def _applied(result: pb.UpdateResult) -> None:
    if result.status != pb.UpdateStatus.Completed:
        raise StoreUnavailable("the vector server took the change and has not made it yet; it may be sent again")


def _near(point: pb.ScoredPoint) -> Near:
    payload = point.payload
    if not payload:
        return Near(point.id.uuid, point.score)
    times = [payload[key].integer_value if key in payload else None for key in (START, END)]
    return Near(point.id.uuid, point.score, payload[TYPE].string_value if TYPE in payload else "", *times)


def _found(name: str, info: pb.CollectionInfo) -> Found:
    vectors, metadata = info.config.params.vectors_config.params_map.map, info.config.metadata
    return Found(
        name,
        schema=metadata[SCHEMA_KEY].integer_value if SCHEMA_KEY in metadata else 0,
        fingerprint=metadata[FINGERPRINT_KEY].string_value if FINGERPRINT_KEY in metadata else "",
        sizes={key: one.size for key, one in vectors.items()},
        distances={key: pb.Distance.Name(one.distance) for key, one in vectors.items()},
        indexes={key: pb.PayloadSchemaType.Name(one.data_type) for key, one in info.payload_schema.items()},
        tenants=frozenset(key for key, one in info.payload_schema.items() if one.params.keyword_index_params.is_tenant),
        points=info.points_count,
    )
