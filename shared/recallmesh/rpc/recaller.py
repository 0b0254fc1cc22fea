# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of recall over the wire."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.bank import BankRef
from recallmesh.core.recall import RecallAnswer, Recaller, RecallProgress, RecallRequest
from recallmesh.core.tuning import EffectiveTuning, RecallTuning
from recallmesh.rpc.call import stream, unary
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.recall import (
    answer_from_pb,
    answer_to_pb,
    progress_from_pb,
    progress_to_pb,
    recall_from_pb,
    recall_to_pb,
)
from recallmesh.rpc.codec.tuning import effective_from_pb, effective_to_pb, tuning_from_pb, tuning_to_pb
from recallmesh.rpc.fit import fitted
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Check, Hosted, always
from recallmesh.rpc.request import tenant_of
from recallmesh.rpc.weighing import weighed
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
    ) -> AsyncGenerator[pb.RecallStreamResponse, None]:
        async with aclosing(self._recaller.stream(recall_from_pb(request.recall, tenant_of(context)))) as answers:
            async for progress in answers:
                written = progress_to_pb(progress)
                fitted(written.answer)
                yield written

    async def ResolveTuning(self, request: pb.ResolveTuningRequest, context: Context) -> pb.ResolveTuningResponse:
        bank = bank_ref(request.bank_id, tenant_of(context))
        return effective_to_pb(
            await self._recaller.resolve_tuning(bank, tuning_from_pb(request.tuning, "tuning", door=True))
        )


class RemoteRecaller:
    """A recaller at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach recall; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._channel = channel
        self._stub = recall_service_pb2_grpc.RecallServiceStub(weighed(channel))
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

    async def stream(self, request: RecallRequest) -> AsyncGenerator[RecallProgress, None]:
        """Ask, and yield the answers as they come; to close it cancels the call."""
        answers = stream(
            self._stub.RecallStream,
            lambda: pb.RecallStreamRequest(recall=recall_to_pb(request)),
            timeout_s=self._timeout_s,
            tenant=request.bank.tenant,
        )
        async with aclosing(answers):
            async for found in answers:
                yield progress_from_pb(found)

    async def resolve_tuning(self, bank: BankRef, tuning: RecallTuning) -> EffectiveTuning:
        """Return the tuning that a recall would work with, and where it comes from."""

        def request() -> pb.ResolveTuningRequest:
            return pb.ResolveTuningRequest(bank_id=bank.bank_id, tuning=tuning_to_pb(tuning))

        found = await unary(self._stub.ResolveTuning, request, timeout_s=self._timeout_s, tenant=bank.tenant)
        return effective_from_pb(found)

    async def check(self) -> None:
        """Return if recall says that it is ready."""
        await check_health(self._channel, SERVICE, timeout_s=self._timeout_s)
