# ruff: noqa: N802, ARG002 - the protocol names the methods and what they are given
"""A server that speaks Qdrant's protocol over gRPC, with the client's local mode behind it.

The wire is real: requests and answers are the protocol's own, metadata and deadlines too, and a test reads and bends
them. The rest is local mode, which compares exactly, in Python, under no load. So it cannot show: graphs (their
misses, their thresholds), indexes (it needs none and keeps none: this server only remembers which were asked for), what
a strict server refuses, writes that are applied after they were taken, replicas and their order, what a disk keeps
through a crash, and times of any kind. Those need a server: RECALLMESH_TEST_QDRANT.
"""

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc.aio
from google.protobuf.message import Message
from qdrant_client import AsyncQdrantClient, models
from qdrant_client import grpc as pb
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

FEW = 100


@dataclass(frozen=True)
class Call:
    """What came: the method, the request, the metadata, and how many seconds the caller would wait."""

    method: str
    request: Message
    metadata: dict[str, str]
    left_s: float | None


@dataclass
class Kept:
    """What a server keeps: the collections as they were asked for, and their points in local mode."""

    points: AsyncQdrantClient = field(default_factory=lambda: AsyncQdrantClient(location=":memory:"))
    collections: dict[str, pb.CollectionInfo] = field(default_factory=dict)

    async def make(self, name: str, config: pb.VectorsConfig) -> None:
        """Make an empty collection."""
        vectors = {
            key: models.VectorParams(size=one.size, distance=models.Distance[pb.Distance.Name(one.distance).upper()])
            for key, one in config.params_map.map.items()
        }
        await self.points.delete_collection(name)
        await self.points.create_collection(name, vectors_config=vectors)

    async def tidy(self, name: str) -> None:
        """Make a collection anew of the little that is left: local mode goes on comparing what was deleted."""
        left, more = await self.points.scroll(name, limit=FEW, with_vectors=True)
        if more is None:
            await self.make(name, self.collections[name].config.params.vectors_config)
            points = [models.PointStruct(id=one.id, payload=one.payload, vector=one.vector or {}) for one in left]
            if points:
                await self.points.upsert(name, points)


@dataclass
class LocalServer:
    """What a test sees of a running server, and bends.

    ``failing`` answers a method with a status, ``slow_s`` makes each call wait, ``status`` is what writes say of
    themselves, ``version`` what the server says it is; ``abandoned`` counts the callers that went while they waited.
    ``built``: points lie in segments with graphs; an upsert moves them out with the vectors that it does not name.
    """

    port: int = 0
    kept: Kept = field(default_factory=Kept)
    calls: list[Call] = field(default_factory=list)
    failing: dict[str, grpc.StatusCode] = field(default_factory=dict)
    slow_s: float = 0.0
    status: int = pb.UpdateStatus.Completed
    abandoned: int = 0
    built: bool = False
    version: str = "1.18.2"
    running: grpc.aio.Server | None = None

    async def stop(self) -> None:
        """End as one that is killed does: at once."""
        if self.running is not None:
            await self.running.stop(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def of(self, method: str) -> list[Message]:
        return [call.request for call in self.calls if call.method == method]


class Watched(grpc.aio.ServerInterceptor):
    """Notes every call, and lets it wait or fail as the test says."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server

    async def intercept_service(self, continuation, details):
        handler = await continuation(details)
        method = details.method.rpartition("/")[2]

        async def handle(request, context):
            metadata = {key: value for key, value in details.invocation_metadata if isinstance(value, str)}
            left = context.time_remaining()
            self._server.calls.append(Call(method, request, metadata, left))
            if self._server.slow_s:
                try:
                    await asyncio.sleep(self._server.slow_s)
                except asyncio.CancelledError:
                    self._server.abandoned += 1
                    raise
            if method in self._server.failing:
                await context.abort(self._server.failing[method], "what a driver would say")
            return await handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(
            handle, request_deserializer=handler.request_deserializer, response_serializer=handler.response_serializer
        )


class Collections(pb.CollectionsServicer):
    def __init__(self, server: LocalServer) -> None:
        self._server, self._kept = server, server.kept

    async def List(self, request, context):
        names = [pb.CollectionDescription(name=name) for name in self._kept.collections]
        return pb.ListCollectionsResponse(collections=names)

    async def Get(self, request, context):
        info = self._kept.collections.get(request.collection_name)
        if info is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"Collection `{request.collection_name}` doesn't exist!")
        found = pb.CollectionInfo()
        found.CopyFrom(info)
        found.points_count = (await self._kept.points.count(request.collection_name)).count
        return pb.GetCollectionInfoResponse(result=found)

    async def Create(self, request, context):
        name = request.collection_name
        if name in self._kept.collections:
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, f"Collection `{name}` already exists!")
        await self._kept.make(name, request.vectors_config)
        info = pb.CollectionInfo(status=pb.CollectionStatus.Green)
        info.config.params.vectors_config.CopyFrom(request.vectors_config)
        info.config.params.on_disk_payload = request.on_disk_payload
        info.config.hnsw_config.CopyFrom(request.hnsw_config)
        info.config.optimizer_config.CopyFrom(request.optimizers_config)
        for key, value in request.metadata.items():
            info.config.metadata[key].CopyFrom(value)
        self._kept.collections[name] = info
        return pb.CollectionOperationResponse(result=True)

    async def Update(self, request, context):
        info = self._kept.collections[request.collection_name]
        for key, value in request.metadata.items():
            info.config.metadata[key].CopyFrom(value)
        return pb.CollectionOperationResponse(result=True)

    async def Delete(self, request, context):
        found = self._kept.collections.pop(request.collection_name, None) is not None
        if found:
            await self._kept.points.delete_collection(request.collection_name)
        return pb.CollectionOperationResponse(result=found)


class Points(pb.PointsServicer):
    def __init__(self, server: LocalServer) -> None:
        self._server, self._kept = server, server.kept

    async def _in(self, request, context) -> str:
        if request.collection_name not in self._kept.collections:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"Collection `{request.collection_name}` doesn't exist!")
        return request.collection_name

    def _result(self) -> pb.UpdateResult:
        return pb.UpdateResult(operation_id=1, status=self._server.status)

    async def CreateFieldIndex(self, request, context):
        info = self._kept.collections[await self._in(request, context)]
        kind = pb.FieldType.Name(request.field_type).removeprefix("FieldType")
        info.payload_schema[request.field_name].data_type = pb.PayloadSchemaType.Value(kind)
        info.payload_schema[request.field_name].params.CopyFrom(request.field_index_params)
        return pb.PointsOperationResponse(result=self._result())

    async def UpdateBatch(self, request, context):
        name = await self._in(request, context)
        operations = [GrpcToRest.convert_points_update_operation(one) for one in request.operations]
        if self._server.built:
            await self._keep_vectors(name, [point for one in operations for point in one.upsert.points])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # local mode is not for many points, it says; here time is no matter
            await self._kept.points.batch_update_points(name, operations)
        return pb.UpdateBatchResponse(result=[self._result() for _ in operations])

    async def _keep_vectors(self, name: str, points: list[models.PointStruct]) -> None:
        held = await self._kept.points.retrieve(name, [point.id for point in points], with_vectors=True)
        vectors = {record.id: record.vector for record in held}
        for point in points:
            point.vector = {**vectors.get(point.id, {}), **point.vector}

    async def Delete(self, request, context):
        name = await self._in(request, context)
        await self._kept.points.delete(name, GrpcToRest.convert_points_selector(request.points))
        await self._kept.tidy(name)
        return pb.PointsOperationResponse(result=self._result())

    async def QueryBatch(self, request, context):
        name = await self._in(request, context)
        asked = [GrpcToRest.convert_query_points(one) for one in request.query_points]
        for one in asked:
            one.params = None  # of a graph, which local mode has not, as it would say
        answers = await self._kept.points.query_batch_points(name, asked)
        results = [
            pb.BatchResult(result=[RestToGrpc.convert_scored_point(point) for point in answer.points])
            for answer in answers
        ]
        return pb.QueryBatchResponse(result=results)

    async def Scroll(self, request, context):
        name = await self._in(request, context)
        found, following = await self._kept.points.scroll(
            name,
            GrpcToRest.convert_filter(request.filter),
            limit=request.limit,
            offset=GrpcToRest.convert_point_id(request.offset) if request.HasField("offset") else None,
            with_payload=GrpcToRest.convert_with_payload_interface(request.with_payload),
        )
        answer = pb.ScrollResponse(result=[RestToGrpc.convert_record(record) for record in found])
        if following is not None:
            answer.next_page_offset.CopyFrom(RestToGrpc.convert_extended_point_id(following))
        return answer

    async def Count(self, request, context):
        name = await self._in(request, context)
        counted = await self._kept.points.count(name, GrpcToRest.convert_filter(request.filter))
        return pb.CountResponse(result=pb.CountResult(count=counted.count))


class Root(pb.QdrantServicer):
    def __init__(self, server: LocalServer) -> None:
        self._server = server

    async def HealthCheck(self, request, context):
        return pb.HealthCheckReply(title="qdrant - vector search engine", version=self._server.version)


@asynccontextmanager
async def open_local_server(kept: Kept | None = None, port: int = 0) -> AsyncIterator[LocalServer]:
    """Serve on a loopback port; ``kept`` is what a server before this one kept."""
    local = LocalServer(kept=kept or Kept())
    server = grpc.aio.server(interceptors=[Watched(local)], options=[("grpc.so_reuseport", 0)])
    pb.add_CollectionsServicer_to_server(Collections(local), server)
    pb.add_PointsServicer_to_server(Points(local), server)
    pb.add_QdrantServicer_to_server(Root(local), server)
    local.port = server.add_insecure_port(f"127.0.0.1:{port}")
    local.running = server
    await server.start()
    try:
        yield local
    finally:
        await local.stop()


async def main() -> None:
    """Serve, as a process of its own, on the port that is given, until it is ended."""
    async with open_local_server(port=int(sys.argv[1])) as local:
        print(local.port, flush=True)  # noqa: T201 - whoever started it waits for this
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
