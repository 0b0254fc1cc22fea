# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of banks over the wire."""

from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.admin import Banks, Indexes
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.event import Events
from recallmesh.core.export import Moves
from recallmesh.core.operation import Operation
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.principal import current_principal
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.bank import (
    bank_from_pb,
    bank_ref,
    bank_to_pb,
    config_from_pb,
    config_to_pb,
    stats_from_pb,
    stats_to_pb,
)
from recallmesh.rpc.codec.operation import operation_from_pb, operation_to_pb
from recallmesh.rpc.event import EventServicer
from recallmesh.rpc.index import IndexServicer
from recallmesh.rpc.moves import pieces_of
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import bank_service_pb2 as pb
from recallmesh.v1 import bank_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class BankServicer(EventServicer, IndexServicer):
    """Translates calls to banks; what the port has not yet is UNIMPLEMENTED."""

    def __init__(self, banks: Banks, events: Events, moves: Moves, indexes: Indexes) -> None:
        """Offer these banks, what happens in them, how they are moved, and their indexes."""
        super().__init__(events)
        self._banks = banks
        self._moves = moves
        self._indexes = indexes

    async def CreateBank(self, request: pb.CreateBankRequest, context: Context) -> pb.CreateBankResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        config = config_from_pb(request.config, door=True) if request.HasField("config") else None
        bank = await self._banks.create_bank(ref, name=request.name, config=config)
        return pb.CreateBankResponse(bank=bank_to_pb(bank))

    async def GetBank(self, request: pb.GetBankRequest, context: Context) -> pb.GetBankResponse:
        bank = await self._banks.get_bank(bank_ref(request.bank_id, tenant_of(context)))
        return pb.GetBankResponse(bank=bank_to_pb(bank))

    async def ListBanks(self, request: pb.ListBanksRequest, context: Context) -> pb.ListBanksResponse:
        tenant = tenant_of(context)

        def write(page: Page[Bank]) -> pb.ListBanksResponse:
            token = token_to_pb(request, page.next_after, tenant)
            shown = [bank for bank in page.rows if current_principal().may_use(bank.ref.bank_id)]
            return pb.ListBanksResponse(banks=[bank_to_pb(bank) for bank in shown], next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        return await page_to_pb(partial(self._banks.list_banks, tenant), wanted, write)

    async def UpdateBank(self, request: pb.UpdateBankRequest, context: Context) -> pb.UpdateBankResponse:
        bank = await self._banks.update_bank(
            bank_ref(request.bank_id, tenant_of(context)),
            name=request.name if request.HasField("name") else None,
            config=config_from_pb(request.config, door=True) if request.HasField("config") else None,
            version=request.version,
        )
        return pb.UpdateBankResponse(bank=bank_to_pb(bank))

    async def DeleteBank(self, request: pb.DeleteBankRequest, context: Context) -> pb.DeleteBankResponse:
        await self._banks.delete_bank(bank_ref(request.bank_id, tenant_of(context)))
        return pb.DeleteBankResponse()

    async def GetBankStats(self, request: pb.GetBankStatsRequest, context: Context) -> pb.GetBankStatsResponse:
        stats = await self._banks.bank_stats(bank_ref(request.bank_id, tenant_of(context)))
        return pb.GetBankStatsResponse(stats=stats_to_pb(stats))

    async def ExportBank(
        self, request: pb.ExportBankRequest, context: Context
    ) -> AsyncGenerator[pb.ExportBankResponse, None]:
        async for piece in self._moves.export_bank(bank_ref(request.bank_id, tenant_of(context))):
            yield pb.ExportBankResponse(data=piece)

    async def ImportBank(
        self, requests: AsyncIterator[pb.ImportBankRequest], context: Context
    ) -> pb.ImportBankResponse:
        async for first in requests:
            ref = bank_ref(first.bank_id, tenant_of(context))
            found = await self._moves.import_bank(ref, pieces_of(first, requests))
            return pb.ImportBankResponse(document_count=found.documents, memory_count=found.memories)
        raise InvalidArgument(FieldViolation("bank_id", "is required: the stream holds nothing"))

    async def Consolidate(self, request: pb.ConsolidateRequest, context: Context) -> pb.ConsolidateResponse:
        operation = await self._banks.consolidate(bank_ref(request.bank_id, tenant_of(context)))
        return pb.ConsolidateResponse(operation=operation_to_pb(operation))


class RemoteBanks:
    """Banks at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the banks; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._banks = bank_service_pb2_grpc.BankServiceStub(channel)
        self._timeout_s = timeout_s

    async def create_bank(self, ref: BankRef, *, name: str = "", config: BankConfig | None = None) -> Bank:
        """Create a bank."""

        def request() -> pb.CreateBankRequest:
            written = None if config is None else config_to_pb(config)
            return pb.CreateBankRequest(bank_id=ref.bank_id, name=name, config=written)

        found = await unary(self._banks.CreateBank, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return bank_from_pb(found.bank, ref.tenant)

    async def get_bank(self, ref: BankRef) -> Bank:
        """Return a bank."""
        request = partial(pb.GetBankRequest, bank_id=ref.bank_id)
        found = await unary(self._banks.GetBank, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return bank_from_pb(found.bank, ref.tenant)

    async def list_banks(self, tenant: str, page: PageRequest) -> Page[Bank]:
        """List a tenant's banks; the keys to go on from are page tokens."""
        request = partial(pb.ListBanksRequest, page_size=page.size, page_token=page.after)
        found = await unary(self._banks.ListBanks, request, timeout_s=self._timeout_s, tenant=tenant)
        return Page(tuple(bank_from_pb(bank, tenant) for bank in found.banks), found.next_page_token)

    async def update_bank(
        self, ref: BankRef, *, name: str | None = None, config: BankConfig | None = None, version: int = 0
    ) -> Bank:
        """Change a bank."""

        def request() -> pb.UpdateBankRequest:
            written = None if config is None else config_to_pb(config)
            return pb.UpdateBankRequest(bank_id=ref.bank_id, name=name, config=written, version=version)

        found = await unary(self._banks.UpdateBank, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return bank_from_pb(found.bank, ref.tenant)

    async def delete_bank(self, ref: BankRef) -> None:
        """Delete a bank and all it holds."""
        request = partial(pb.DeleteBankRequest, bank_id=ref.bank_id)
        await unary(self._banks.DeleteBank, request, timeout_s=self._timeout_s, tenant=ref.tenant)

    async def bank_stats(self, ref: BankRef) -> BankStats:
        """Count what a bank holds."""
        request = partial(pb.GetBankStatsRequest, bank_id=ref.bank_id)
        found = await unary(self._banks.GetBankStats, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return stats_from_pb(found.stats)

    async def consolidate(self, ref: BankRef) -> Operation:
        """Have what is new consolidated."""
        request = partial(pb.ConsolidateRequest, bank_id=ref.bank_id)
        found = await unary(self._banks.Consolidate, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return operation_from_pb(found.operation)
