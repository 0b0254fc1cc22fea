"""Banks moved over the wire: an export comes in pieces, an import goes in pieces."""

from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial

import grpc.aio

from recallmesh.core.bank import BankRef
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.export import Imported
from recallmesh.rpc.bulk import stream_fault
from recallmesh.rpc.call import stream, time_left
from recallmesh.rpc.request import outgoing_metadata
from recallmesh.v1 import bank_service_pb2 as pb
from recallmesh.v1 import bank_service_pb2_grpc

PIECE_BYTES = 1_048_576
"""The most bytes of one message of a move."""


async def pieces_of(first: pb.ImportBankRequest, rest: AsyncIterator[pb.ImportBankRequest]) -> AsyncIterator[bytes]:
    """Yield the pieces of an import.

    Raises:
        InvalidArgument: one is larger than a piece may be.

    """
    yield _checked(first)
    async for message in rest:
        yield _checked(message)


def _checked(message: pb.ImportBankRequest) -> bytes:
    if len(message.data) > PIECE_BYTES:
        raise InvalidArgument(FieldViolation("data", f"has {len(message.data)} bytes; the limit is {PIECE_BYTES}"))
    return message.data


class RemoteMoves:
    """Banks moved from and to the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Reach the banks; a move takes as long as the bank is large, within the deadline in hand."""
        self._moves = bank_service_pb2_grpc.BankServiceStub(channel)

    async def export_bank(self, ref: BankRef) -> AsyncGenerator[bytes, None]:
        """Yield all a bank holds but vectors, of one moment."""
        request = partial(pb.ExportBankRequest, bank_id=ref.bank_id)
        async for piece in stream(self._moves.ExportBank, request, timeout_s=None, tenant=ref.tenant):
            yield piece.data

    async def import_bank(self, ref: BankRef, pieces: AsyncIterator[bytes]) -> Imported:
        """Fill an empty bank with an export, atomically at its end."""
        call = self._moves.ImportBank(
            _messages(ref.bank_id, pieces), timeout=time_left(None), metadata=outgoing_metadata(ref.tenant)
        )
        try:
            found = await call
        except grpc.aio.AioRpcError as error:
            raise stream_fault(error) from error
        return Imported(found.document_count, found.memory_count)


async def _messages(bank_id: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[pb.ImportBankRequest]:
    yield pb.ImportBankRequest(bank_id=bank_id)
    async for piece in pieces:
        for begin in range(0, len(piece), PIECE_BYTES):
            yield pb.ImportBankRequest(data=piece[begin : begin + PIECE_BYTES])
