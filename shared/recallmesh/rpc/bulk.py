"""Batches in both directions at once: what cannot be translated is refused in its place, and the rest goes on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import grpc
import grpc.aio

from recallmesh.core.bank import BankRef
from recallmesh.core.errors import FieldViolation, Forbidden, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.retain import BatchAnswer, Retainer, RetainItem, RetainRequest, UpdateMode
from recallmesh.rpc.call import built, time_left
from recallmesh.rpc.codec.retain import retain_from_pb, retain_to_pb, retained_from_pb
from recallmesh.rpc.failure import failure_from_pb
from recallmesh.rpc.request import outgoing_metadata
from recallmesh.rpc.status import error_from_rpc
from recallmesh.v1 import retain_service_pb2 as pb

Call = grpc.aio.StreamStreamCall[Any, Any]
AHEAD = 8
"""Batches that a client has sent and not yet taken the answers of, at most: what it holds stays bounded."""


class Received:
    """What comes to a server, as a retainer takes it.

    A batch that cannot be read goes on as a shell of blank items, which every retainer refuses; so its answer has its
    place, and its documents are known to lack a batch. The answer then tells what was really wrong.
    """

    def __init__(self, messages: AsyncIterator[pb.RetainBulkRequest | pb.RetainStreamRequest], tenant: str) -> None:
        """Read the batches of a caller of this tenant."""
        self._messages = messages
        self._tenant = tenant
        self._refused: dict[int, MeshError] = {}

    async def answered(self, retainer: Retainer) -> AsyncGenerator[BatchAnswer, None]:
        """Have the batches kept, and yield the answers."""
        number = 0
        async with aclosing(retainer.stream(self._requests())) as answers:
            async for answer in answers:
                yield _told(answer, self._refused.pop(number, None))
                number += 1

    async def _requests(self) -> AsyncIterator[RetainRequest]:
        number = 0
        async for message in self._messages:
            yield self._read(number, message.retain)
            number += 1

    def _read(self, number: int, message: pb.RetainRequest) -> RetainRequest:
        try:
            return retain_from_pb(message, self._tenant)
        except Forbidden:
            # A shell would tell a bank that is not the caller's of batches that it lacks.
            raise
        except MeshError as error:
            self._refused[number] = error
        documents = tuple(item.document_id for item in message.items)
        return _shell(BankRef(message.bank_id, self._tenant), documents, message.request_id)


class BulkCall:
    """A client's stream of batches; the call begins with the first of them.

    What cannot be sent, being too large or no valid Unicode, is sent as a shell that the server refuses in its place.
    """

    def __init__(self, method: grpc.aio.StreamStreamMultiCallable[Any, Any], timeout_s: float | None) -> None:
        """Call this method; ``timeout_s`` bounds the whole stream, within the deadline in hand."""
        self._method = method
        self._timeout_s = timeout_s
        self._refused: dict[int, MeshError] = {}
        self._room = asyncio.Semaphore(AHEAD)
        self._sent = 0
        self._tenant = ""

    async def answers(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """Yield the answers as they come; to close it cancels the call."""
        first = await anext(requests, None)
        if first is None:
            return
        self._tenant = first.bank.tenant
        call = self._method(timeout=time_left(self._timeout_s), metadata=outgoing_metadata(self._tenant))
        sending = asyncio.create_task(self._send(call, first, requests))
        number = 0
        try:
            while isinstance(response := await call.read(), pb.RetainBulkResponse):
                answer = _told(_answer_from_pb(response), self._refused.pop(number, None))
                number += 1
                self._room.release()
                yield answer
            await sending
            if number < self._sent:
                raise StoreUnavailable("the stream ended before every batch was answered")
        except grpc.aio.AioRpcError as error:
            raise stream_fault(error) from error
        finally:
            sending.cancel()
            call.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send(self, call: Call, first: RetainRequest, requests: AsyncIterator[RetainRequest]) -> None:
        # Why a write fails, the reading side tells.
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            try:
                await self._write(call, first)
                async for request in requests:
                    await self._write(call, request)
            finally:
                await call.done_writing()

    async def _write(self, call: Call, request: RetainRequest) -> None:
        await self._room.acquire()
        message = self._message(self._sent, request)
        self._sent += 1
        await call.write(message)

    def _message(self, number: int, request: RetainRequest) -> pb.RetainBulkRequest:
        try:
            if request.bank.tenant != self._tenant:
                raise InvalidArgument(FieldViolation("bank", "is of another tenant than the stream's"))
            return pb.RetainBulkRequest(retain=built(partial(retain_to_pb, request, request.request_id)))
        except MeshError as error:
            self._refused[number] = error
        documents = tuple(_valid(item.document_id) for item in request.items)
        shell = _shell(BankRef(_valid(request.bank.bank_id)), documents, _valid(request.request_id))
        return pb.RetainBulkRequest(retain=retain_to_pb(shell, shell.request_id))


def stream_fault(error: grpc.aio.AioRpcError) -> MeshError:
    """Read why the stream ended.

    A write to a call that the other side has just ended makes gRPC report INTERNAL in place of the true status, which
    is not to be had any more. A server of ours never says INTERNAL without details.
    """
    if error.code() is grpc.StatusCode.INTERNAL and not error.trailing_metadata():
        return StoreUnavailable("the stream broke")
    return error_from_rpc(error)


def _shell(bank: BankRef, documents: tuple[str, ...], request_id: str) -> RetainRequest:
    blank = tuple(RetainItem(("",), document_id=name, update_mode=UpdateMode.REPLACE) for name in documents)
    return RetainRequest(bank, blank, request_id=request_id)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _told(answer: BatchAnswer, refused: MeshError | None) -> BatchAnswer:
    return answer if refused is None else replace(answer, outcome=refused)


def _answer_from_pb(message: pb.RetainBulkResponse) -> BatchAnswer:
    failed = message.WhichOneof("outcome") == "failure"
    outcome = failure_from_pb(message.failure) if failed else retained_from_pb(message.retained)
    return BatchAnswer(message.request_id, outcome)
