"""All of administration over the wire: five services and one client."""

import grpc.aio

from recallmesh.core.admin import Admin
from recallmesh.rpc.bank import BankServicer, RemoteBanks
from recallmesh.rpc.document import DocumentServicer, RemoteDocuments
from recallmesh.rpc.entity import EntityServicer, RemoteEntities
from recallmesh.rpc.event import RemoteEvents
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Check, Hosted, always
from recallmesh.rpc.index import RemoteIndexes
from recallmesh.rpc.memory import MemoryServicer, RemoteMemories
from recallmesh.rpc.moves import RemoteMoves
from recallmesh.rpc.operation import OperationServicer, RemoteOperations
from recallmesh.v1 import (
    bank_service_pb2_grpc,
    document_service_pb2_grpc,
    entity_service_pb2_grpc,
    memory_service_pb2_grpc,
    operation_service_pb2_grpc,
)

SERVICES = tuple(f"recallmesh.v1.{noun}Service" for noun in ("Bank", "Document", "Memory", "Entity", "Operation"))


def host_admin(admin: Admin, check: Check = always) -> Hosted:
    """Offer administration; ``check`` says whether it can work (its ledger answers), for all five services."""

    def register(server: grpc.aio.Server) -> None:
        bank_service_pb2_grpc.add_BankServiceServicer_to_server(BankServicer(admin, admin, admin, admin), server)
        document_service_pb2_grpc.add_DocumentServiceServicer_to_server(DocumentServicer(admin), server)
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(MemoryServicer(admin), server)
        entity_service_pb2_grpc.add_EntityServiceServicer_to_server(EntityServicer(admin), server)
        operation_service_pb2_grpc.add_OperationServiceServicer_to_server(OperationServicer(admin), server)

    return Hosted(SERVICES, register, dict.fromkeys(SERVICES, check))


class RemoteAdmin(
    RemoteBanks,
    RemoteMoves,
    RemoteIndexes,
    RemoteDocuments,
    RemoteMemories,
    RemoteEntities,
    RemoteOperations,
    RemoteEvents,
):
    """Administration at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach administration; ``timeout_s`` bounds each call but a watch, within the deadline in hand."""
        RemoteBanks.__init__(self, channel, timeout_s=timeout_s)
        RemoteIndexes.__init__(self, channel, timeout_s=timeout_s)
        RemoteDocuments.__init__(self, channel, timeout_s=timeout_s)
        RemoteMemories.__init__(self, channel, timeout_s=timeout_s)
        RemoteEntities.__init__(self, channel, timeout_s=timeout_s)
        RemoteOperations.__init__(self, channel, timeout_s=timeout_s)
        RemoteEvents.__init__(self, channel, timeout_s=timeout_s)
        RemoteMoves.__init__(self, channel)
        self._channel = channel

    async def check(self) -> None:
        """Return if administration says that it is ready."""
        await check_health(self._channel, SERVICES[0], timeout_s=self._timeout_s)
