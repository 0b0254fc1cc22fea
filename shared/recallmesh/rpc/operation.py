# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of operations over the wire."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.admin import Operations
from recallmesh.core.bank import BankRef
from recallmesh.core.operation import Operation, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.rpc.call import stream, unary
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.enums import OPERATION_STATE
from recallmesh.rpc.codec.operation import operation_from_pb, operation_to_pb
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import operation_service_pb2 as pb
from recallmesh.v1 import operation_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class OperationServicer(operation_service_pb2_grpc.OperationServiceServicer):
    """Translates calls to operations."""

    def __init__(self, operations: Operations) -> None:
        """Offer these operations."""
        self._operations = operations

    async def GetOperation(self, request: pb.GetOperationRequest, context: Context) -> pb.GetOperationResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        operation = await self._operations.get_operation(ref, request.operation_id)
        return pb.GetOperationResponse(operation=operation_to_pb(operation))

    async def ListOperations(self, request: pb.ListOperationsRequest, context: Context) -> pb.ListOperationsResponse:
        states = tuple(OPERATION_STATE.at_door(number, "states") for number in request.states)
        tenant = tenant_of(context)

        def write(page: Page[Operation]) -> pb.ListOperationsResponse:
            rows = [operation_to_pb(operation) for operation in page.rows]
            token = token_to_pb(request, page.next_after, tenant)
            return pb.ListOperationsResponse(operations=rows, next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        read = partial(self._operations.list_operations, bank_ref(request.bank_id, tenant), states=states)
        return await page_to_pb(read, wanted, write)

    async def WatchOperation(
        self, request: pb.WatchOperationRequest, context: Context
    ) -> AsyncIterator[pb.WatchOperationResponse]:
        ref = bank_ref(request.bank_id, tenant_of(context))
        async for operation in self._operations.watch_operation(ref, request.operation_id):
            yield pb.WatchOperationResponse(operation=operation_to_pb(operation))

    async def CancelOperation(self, request: pb.CancelOperationRequest, context: Context) -> pb.CancelOperationResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        operation = await self._operations.cancel_operation(ref, request.operation_id)
        return pb.CancelOperationResponse(operation=operation_to_pb(operation))

    async def RetryOperation(self, request: pb.RetryOperationRequest, context: Context) -> pb.RetryOperationResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        operation = await self._operations.retry_operation(ref, request.operation_id)
        return pb.RetryOperationResponse(operation=operation_to_pb(operation))


class RemoteOperations:
    """Operations at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the operations; ``timeout_s`` bounds each call but a watch, within the deadline in hand."""
        self._operations = operation_service_pb2_grpc.OperationServiceStub(channel)
        self._timeout_s = timeout_s

    async def get_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Return an operation."""
        request = partial(pb.GetOperationRequest, bank_id=ref.bank_id, operation_id=operation_id)
        found = await unary(self._operations.GetOperation, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return operation_from_pb(found.operation)

    async def list_operations(
        self, ref: BankRef, page: PageRequest, states: tuple[OperationState, ...] = ()
    ) -> Page[Operation]:
        """List operations; the keys to go on from are page tokens."""
        request = partial(
            pb.ListOperationsRequest,
            bank_id=ref.bank_id,
            page_size=page.size,
            page_token=page.after,
            states=[OPERATION_STATE.to_pb(state) for state in states],
        )
        found = await unary(self._operations.ListOperations, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(operation_from_pb(operation) for operation in found.operations), found.next_page_token)

    async def watch_operation(self, ref: BankRef, operation_id: str) -> AsyncIterator[Operation]:
        """Yield the operation now and at every change until it is finished."""
        request = partial(pb.WatchOperationRequest, bank_id=ref.bank_id, operation_id=operation_id)
        async for found in stream(self._operations.WatchOperation, request, timeout_s=None, tenant=ref.tenant):
            yield operation_from_pb(found.operation)

    async def cancel_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Cancel a pending operation."""
        request = partial(pb.CancelOperationRequest, bank_id=ref.bank_id, operation_id=operation_id)
        found = await unary(self._operations.CancelOperation, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return operation_from_pb(found.operation)

    async def retry_operation(self, ref: BankRef, operation_id: str) -> Operation:
        """Make a failed or cancelled operation pending again."""
        request = partial(pb.RetryOperationRequest, bank_id=ref.bank_id, operation_id=operation_id)
        found = await unary(self._operations.RetryOperation, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return operation_from_pb(found.operation)
