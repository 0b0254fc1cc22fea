# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of recall over the wire."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.recall import RecallAnswer, Recaller, RecallRequest
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.recall import answer_from_pb, answer_to_pb, recall_from_pb, recall_to_pb
from recallmesh.rpc.fit import fitted
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Check, Hosted, always
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import recall_service_pb2 as pb
from recallmesh.v1 import recall_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "recallmesh.v1.RecallService"


def host_recaller(recaller: Recaller, check: Check = always) -> Hosted:
    """Offer recall; ``check`` says whether it can work (its ledger answers)."""
    servicer = RecallServicer(recaller)
    return Hosted(
        (SERVICE,),
        lambda server: recall_service_pb2_grpc.add_RecallServiceServicer_to_server(servicer, server),
        {SERVICE: check},
    )


class RecallServicer(recall_service_pb2_grpc.RecallServiceServicer):
    """Translates calls to a recaller."""

    def __init__(self, recaller: Recaller) -> None:
        """Offer this recaller."""
        self._recaller = recaller

    async def Recall(self, request: pb.RecallRequest, context: Context) -> pb.RecallResponse:
        answer = await self._recaller.recall(recall_from_pb(request, tenant_of(context)))
        return fitted(answer_to_pb(answer))

    async def RecallStream(
        self, request: pb.RecallStreamRequest, context: Context
    ) -> AsyncIterator[pb.RecallStreamResponse]:
        """Answer with the final stage alone: the port has no provisional answers yet."""
        answer = await self.Recall(request.recall, context)
        yield pb.RecallStreamResponse(stage=pb.RECALL_STAGE_FINAL, answer=answer)


class RemoteRecaller:
    """A recaller at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach recall; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._channel = channel
        self._stub = recall_service_pb2_grpc.RecallServiceStub(channel)
        self._timeout_s = timeout_s

    async def recall(self, request: RecallRequest) -> RecallAnswer:
        """Ask, and return the packed memories."""
        found = await unary(
            self._stub.Recall,
            partial(recall_to_pb, request),
            timeout_s=self._timeout_s,
            tenant=request.bank.tenant,
        )
        return answer_from_pb(found)

    async def check(self) -> None:
        """Return if recall says that it is ready."""
        await check_health(self._channel, SERVICE, timeout_s=self._timeout_s)
