# ruff: noqa: N802, D102, ARG002 - the generated service names its methods and what they are given
"""The reranker's port over the wire."""

from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.encoder import Reranker, RerankerInfo
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.rpc.call import unary
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.split import split_texts
from recallmesh.rpc.weighing import weighed
from recallmesh.v1 import reranker_service_pb2 as pb
from recallmesh.v1 import reranker_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "recallmesh.v1.RerankerService"
TEXTS = 2000
"""Of one message: more than any recall reranks, so that the server orders a call's whole work by length."""


def host_reranker(reranker: Reranker) -> Hosted:
    """Offer a reranker."""
    servicer = RerankerServicer(reranker)
    return Hosted(
        (SERVICE,),
        lambda server: reranker_service_pb2_grpc.add_RerankerServiceServicer_to_server(servicer, server),
        {SERVICE: reranker.check},
    )


class RerankerServicer(reranker_service_pb2_grpc.RerankerServiceServicer):
    """Translates calls to a reranker."""

    def __init__(self, reranker: Reranker) -> None:
        """Offer this reranker."""
        self._reranker = reranker

    async def GetRerankerInfo(self, request: pb.GetRerankerInfoRequest, context: Context) -> pb.GetRerankerInfoResponse:
        info = await self._reranker.info()
        return pb.GetRerankerInfoResponse(
            name=info.name, fingerprint=info.fingerprint, max_tokens=info.max_tokens, logits=info.logits
        )

    async def Rerank(self, request: pb.RerankRequest, context: Context) -> pb.RerankResponse:
        if not request.query:
            raise InvalidArgument(FieldViolation("query", "is required"))
        if len(request.texts) > TEXTS:
            raise InvalidArgument(FieldViolation("texts", f"are more than {TEXTS}"))
        return pb.RerankResponse(scores=await self._reranker.rerank(request.query, tuple(request.texts)))


class RemoteReranker:
    """A reranker at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the reranker; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._channel = channel
        self._stub = reranker_service_pb2_grpc.RerankerServiceStub(weighed(channel))
        self._timeout_s = timeout_s

    async def info(self) -> RerankerInfo:
        """Tell what the model is."""
        found = await unary(self._stub.GetRerankerInfo, pb.GetRerankerInfoRequest, timeout_s=self._timeout_s)
        return RerankerInfo(found.name, found.fingerprint, found.max_tokens, found.logits)

    async def rerank(self, query: str, texts: tuple[str, ...]) -> tuple[float, ...]:
        """Return one raw score a text, in order, in as many calls as their sizes need."""
        scores: list[float] = []
        for part in split_texts(texts, count=TEXTS):
            request = partial(pb.RerankRequest, query=query, texts=part)
            found = await unary(self._stub.Rerank, request, timeout_s=self._timeout_s)
            scores.extend(found.scores)
        return tuple(scores)

    async def check(self) -> None:
        """Return if the model says that it is ready."""
        await check_health(self._channel, SERVICE, timeout_s=self._timeout_s)
