# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of indexes over the wire: part of the service of banks."""

from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.admin import Indexes
from recallmesh.core.bank import BankRef
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.operation import Operation
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.comparison import comparison_from_pb, comparison_to_pb
from recallmesh.rpc.codec.operation import operation_from_pb, operation_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import bank_service_pb2 as pb
from recallmesh.v1 import bank_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
VERIFY_S = 300.0
"""The most seconds a verification may take: the longest deadline that a server allows."""


class IndexServicer(bank_service_pb2_grpc.BankServiceServicer):
    """Translates the calls of the service of banks that are about indexes."""

    _indexes: Indexes

    async def VerifyBank(self, request: pb.VerifyBankRequest, context: Context) -> pb.VerifyBankResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        found = await self._indexes.verify_bank(ref, glance=request.glance)
        return pb.VerifyBankResponse(arms=[comparison_to_pb(one) for one in found])

    async def RepairBank(self, request: pb.RepairBankRequest, context: Context) -> pb.RepairBankResponse:
        operation = await self._indexes.repair_bank(bank_ref(request.bank_id, tenant_of(context)))
        return pb.RepairBankResponse(operation=operation_to_pb(operation))


class RemoteIndexes:
    """Indexes at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the service of banks; ``timeout_s`` bounds all but a verification of everything."""
        self._index_calls = bank_service_pb2_grpc.BankServiceStub(channel)
        self._timeout_s = timeout_s

    async def verify_bank(self, ref: BankRef, *, glance: bool = False) -> tuple[IndexComparison, ...]:
        """Compare every arm's index with the ledger."""
        request = partial(pb.VerifyBankRequest, bank_id=ref.bank_id, glance=glance)
        limit = self._timeout_s if glance else VERIFY_S
        found = await unary(self._index_calls.VerifyBank, request, timeout_s=limit, tenant=ref.tenant)
        return tuple(one for one in map(comparison_from_pb, found.arms) if one is not None)

    async def repair_bank(self, ref: BankRef) -> Operation:
        """Start mending every arm's index."""
        request = partial(pb.RepairBankRequest, bank_id=ref.bank_id)
        found = await unary(self._index_calls.RepairBank, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return operation_from_pb(found.operation)
