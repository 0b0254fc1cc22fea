# ruff: noqa: N802, D102, ARG002 - the generated service names its methods and what they are given
"""The embedder's port over the wire."""

from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import Embedder, EmbedderInfo, EmbedKind
from recallmesh.core.errors import EmbeddingMismatch, FieldViolation, InvalidArgument
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.enums import EMBED_KIND
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.split import split_texts
from recallmesh.rpc.weighing import weighed
from recallmesh.v1 import embedder_service_pb2 as pb
from recallmesh.v1 import embedder_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "recallmesh.v1.EmbedderService"
TEXTS = 256
"""Of one message of ours: their vectors fit a response up to 4,000 dimensions, and other callers need not wait long."""
TEXTS_MAX = 512
"""Of anyone's message: their vectors fit a response up to 2,000 dimensions."""


def host_embedder(embedder: Embedder) -> Hosted:
    """Offer an embedder."""
    servicer = EmbedderServicer(embedder)
    return Hosted(
        (SERVICE,),
        lambda server: embedder_service_pb2_grpc.add_EmbedderServiceServicer_to_server(servicer, server),
        {SERVICE: embedder.check},
    )


class EmbedderServicer(embedder_service_pb2_grpc.EmbedderServiceServicer):
    """Translates calls to an embedder."""

    def __init__(self, embedder: Embedder) -> None:
        """Offer this embedder."""
        self._embedder = embedder

    async def GetEmbedderInfo(self, request: pb.GetEmbedderInfoRequest, context: Context) -> pb.GetEmbedderInfoResponse:
        info = await self._embedder.info()
        return pb.GetEmbedderInfoResponse(
            name=info.name,
            fingerprint=info.fingerprint,
            dimensions=info.dimensions,
            max_tokens=info.max_tokens,
            cosine_mean=info.cosine_mean,
            cosine_high=info.cosine_high,
        )

    async def Embed(self, request: pb.EmbedRequest, context: Context) -> pb.EmbedResponse:
        kind = EMBED_KIND.at_door(request.kind, "kind")
        if len(request.texts) > TEXTS_MAX:
            raise InvalidArgument(FieldViolation("texts", f"are more than {TEXTS_MAX}"))
        if request.model and request.model != (own := (await self._embedder.info()).fingerprint):
            raise EmbeddingMismatch(f"this embedder is {own}, not {request.model}")
        vectors = await self._embedder.embed(tuple(request.texts), kind)
        return pb.EmbedResponse(embeddings=[pb.Embedding(values=vector) for vector in vectors])


class RemoteEmbedder:
    """An embedder at the other end of a channel.

    It is the model that it was when it was first asked; put another in its place, and the next call fails, since
    vectors of two models must not be taken for those of one. The call after it begins anew.
    """

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the embedder; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._channel = channel
        self._stub = embedder_service_pb2_grpc.EmbedderServiceStub(weighed(channel))
        self._timeout_s = timeout_s
        self._info: EmbedderInfo | None = None

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        if self._info is None:
            self._info = await self._ask_info()
        return self._info

    async def _ask_info(self) -> EmbedderInfo:
        found = await unary(self._stub.GetEmbedderInfo, pb.GetEmbedderInfoRequest, timeout_s=self._timeout_s)
        return EmbedderInfo(
            name=found.name,
            fingerprint=found.fingerprint,
            dimensions=found.dimensions,
            max_tokens=found.max_tokens,
            cosine_mean=found.cosine_mean,
            cosine_high=found.cosine_high,
        )

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Return one vector a text, in order, in as many calls as their sizes need."""
        vectors: list[Vector] = []
        model = (await self.info()).fingerprint
        for part in split_texts(texts, count=TEXTS):
            request = partial(pb.EmbedRequest, texts=part, kind=EMBED_KIND.to_pb(kind), model=model)
            try:
                found = await unary(self._stub.Embed, request, timeout_s=self._timeout_s)
            except EmbeddingMismatch:
                self._info = None
                raise
            vectors.extend(tuple(embedding.values) for embedding in found.embeddings)
        return tuple(vectors)

    async def check(self) -> None:
        """Return if the model says that it is ready."""
        await check_health(self._channel, SERVICE, timeout_s=self._timeout_s)
