# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of retain over the wire."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import uuid4

import grpc.aio

from recallmesh.core.errors import MeshError
from recallmesh.core.retain import BatchAnswer, RetainAnswer, Retainer, RetainRequest
from recallmesh.rpc.bulk import BulkCall, Received
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.retain import retain_from_pb, retain_to_pb, retained_from_pb, retained_to_pb
from recallmesh.rpc.failure import failure_to_pb
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Check, Hosted, always
from recallmesh.rpc.request import tenant_of
from recallmesh.rpc.weighing import weighed
from recallmesh.v1 import retain_service_pb2 as pb
from recallmesh.v1 import retain_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "recallmesh.v1.RetainService"


def host_retainer(retainer: Retainer, check: Check = always) -> Hosted:
    """Offer retain; ``check`` says whether it can work (its ledger answers)."""
    servicer = RetainServicer(retainer)
    return Hosted(
        (SERVICE,),
        lambda server: retain_service_pb2_grpc.add_RetainServiceServicer_to_server(servicer, server),
        {SERVICE: check},
    )


class RetainServicer(retain_service_pb2_grpc.RetainServiceServicer):
    """Translates calls to a retainer."""

    def __init__(self, retainer: Retainer) -> None:
        """Offer this retainer."""
        self._retainer = retainer

    async def Retain(self, request: pb.RetainRequest, context: Context) -> pb.RetainResponse:
        return retained_to_pb(await self._retainer.retain(retain_from_pb(request, tenant_of(context))))

    async def RetainBulk(
        self, requests: AsyncIterator[pb.RetainBulkRequest], context: Context
    ) -> AsyncGenerator[pb.RetainBulkResponse, None]:
        async with aclosing(Received(requests, tenant_of(context)).answered(self._retainer)) as answers:
            async for answer in answers:
                written = pb.RetainBulkResponse(request_id=answer.request_id)
                if isinstance(answer.outcome, MeshError):
                    written.failure.CopyFrom(failure_to_pb(answer.outcome))
                else:
                    written.retained.CopyFrom(retained_to_pb(answer.outcome))
                yield written

    async def RetainStream(
        self, requests: AsyncIterator[pb.RetainStreamRequest], context: Context
    ) -> pb.RetainStreamResponse:
        told = pb.RetainStreamResponse()
        async with aclosing(Received(requests, tenant_of(context)).answered(self._retainer)) as answers:
            async for answer in answers:
                if isinstance(answer.outcome, MeshError):
                    told.failure.CopyFrom(failure_to_pb(answer.outcome))
                    break
                told.batch_count += 1
                told.memory_count += answer.outcome.memory_count
                told.last_request_id = answer.request_id
        return told


class RemoteRetainer:
    """A retainer at the other end of a channel.

    Every call has a request id: the caller's, else one made here, so that a call lost on the way is made again safely.
    """

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 120.0) -> None:
        """Reach retain; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._channel = channel
        self._stub = retain_service_pb2_grpc.RetainServiceStub(weighed(channel))
        self._timeout_s = timeout_s

    async def retain(self, request: RetainRequest) -> RetainAnswer:
        """Have things kept, all or nothing."""
        found = await unary(
            self._stub.Retain,
            partial(retain_to_pb, request, request.request_id or uuid4().hex),
            timeout_s=self._timeout_s,
            tenant=request.bank.tenant,
        )
        return retained_from_pb(found)

    def stream(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """Have batch after batch kept, and yield the answers in their order; to close it cancels the call."""
        return BulkCall(self._stub.RetainBulk, None).answers(requests)

    async def check(self) -> None:
        """Return if retain says that it is ready."""
        await check_health(self._channel, SERVICE, timeout_s=self._timeout_s)
