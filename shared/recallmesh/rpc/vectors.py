# ruff: noqa: N802, D102, ARG002 - the generated service names its methods and what they are given
"""The vector index over the wire, for reading: the semantic arm's process offers it where there is no vector server."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.arm import Indexed, IndexEntry, Removal
from recallmesh.core.errors import FieldViolation, InvalidArgument, Unimplemented
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery
from recallmesh.rpc.arm import ModelName, whichever
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.arm import indexed_page, indexed_to_pb
from recallmesh.rpc.codec.vectors import (
    vector_hits_from_pb,
    vector_hits_to_pb,
    vector_query_from_pb,
    vector_query_to_pb,
)
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.split import split
from recallmesh.rpc.weighing import weighed
from recallmesh.v1 import vector_service_pb2 as pb
from recallmesh.v1 import vector_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "recallmesh.v1.VectorService"
NO_TENANT = ""
"""Page tokens of internal calls: a bank's uid belongs to one tenant already."""
HITS = 20_000
"""Of one message, at most some 100 bytes each: the limits of a call's questions add up to no more."""


VectorsOfModel = Callable[[str], Awaitable[VectorIndex]]
"""Returns the index of the model with a fingerprint; raises ``EmbeddingMismatch``."""


def host_vectors(index: VectorIndex, *, of_model: VectorsOfModel | None = None) -> Hosted:
    """Offer an index for reading; ``of_model`` finds the one that requests with a model mean."""
    servicer = VectorServicer(index, of_model)
    return Hosted(
        (SERVICE,),
        lambda server: vector_service_pb2_grpc.add_VectorServiceServicer_to_server(servicer, server),
        {SERVICE: index.check},
    )


class VectorServicer(vector_service_pb2_grpc.VectorServiceServicer):
    """Translates calls to an index."""

    def __init__(self, index: VectorIndex, of_model: VectorsOfModel | None = None) -> None:
        """Offer this index."""
        self._index = index
        self._of_model = of_model

    async def SearchVectors(self, request: pb.SearchVectorsRequest, context: Context) -> pb.SearchVectorsResponse:
        queries = tuple(vector_query_from_pb(query, f"queries[{n}]") for n, query in enumerate(request.queries))
        if sum(query.limit for query in queries) > HITS:
            raise InvalidArgument(FieldViolation("queries", f"ask for more than {HITS} hits together"))
        results = await (await self._meant(request.model)).search(queries)
        return pb.SearchVectorsResponse(results=[vector_hits_to_pb(hits) for hits in results])

    async def ListVectors(self, request: pb.ListVectorsRequest, context: Context) -> pb.ListVectorsResponse:
        if not request.bank_uid:
            raise InvalidArgument(FieldViolation("bank_uid", "is required"))

        def write(page: Page[Indexed]) -> pb.ListVectorsResponse:
            token = token_to_pb(request, page.next_after, NO_TENANT)
            return pb.ListVectorsResponse(rows=[indexed_to_pb(row) for row in page.rows], next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, NO_TENANT)
        if not request.page_token:
            wanted = PageRequest(wanted.size, request.after_id)
        index = await self._meant(request.model)
        return await page_to_pb(partial(index.scan, request.bank_uid), wanted, write)

    async def _meant(self, model: str) -> VectorIndex:
        return await self._of_model(model) if model and self._of_model is not None else self._index


class RemoteVectors:
    """An index at the other end of a channel, for reading: only the semantic arm writes its own."""

    def __init__(
        self, channel: grpc.aio.Channel, *, model: ModelName = whichever, timeout_s: float | None = 10.0
    ) -> None:
        """Reach the index of a model; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._model = model
        self._channel = channel
        self._stub = vector_service_pb2_grpc.VectorServiceStub(weighed(channel))
        self._timeout_s = timeout_s

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer the questions in their order, in as many calls as they need."""
        found: list[tuple[VectorHit, ...]] = []
        model = await self._model() if queries else ""
        for few in _within_hits(queries):
            for part in split(few, vector_query_to_pb):
                request = partial(pb.SearchVectorsRequest, queries=part, model=model)
                answer = await unary(self._stub.SearchVectors, request, timeout_s=self._timeout_s)
                found.extend(vector_hits_from_pb(hits) for hits in answer.results)
        return tuple(found)

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Refuse: the semantic arm writes."""
        raise Unimplemented("the vectors of another process can only be read")

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Refuse: the semantic arm writes."""
        raise Unimplemented("the vectors of another process can only be read")

    async def drop(self, bank_uid: str) -> None:
        """Refuse: the semantic arm writes."""
        raise Unimplemented("the vectors of another process can only be read")

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is stored of a bank, by memory id."""
        model = await self._model()
        request = partial(
            pb.ListVectorsRequest, bank_uid=bank_uid, page_size=page.size, after_id=page.after, model=model
        )
        found = await unary(self._stub.ListVectors, request, timeout_s=self._timeout_s)
        return indexed_page(found.rows, found.next_page_token)

    async def check(self) -> None:
        """Return if the index says that it is ready."""
        await check_health(self._channel, SERVICE, timeout_s=self._timeout_s)


def _within_hits(queries: tuple[VectorQuery, ...]) -> list[list[VectorQuery]]:
    """Cut questions into parts that ask for at most ``HITS`` hits together."""
    parts: list[list[VectorQuery]] = []
    room = 0
    for query in queries:
        if query.limit > room:
            parts.append([])
            room = HITS
        parts[-1].append(query)
        room -= query.limit
    return parts
