"""The outermost layer of a server: request id, deadline, admission, and every error as a proper status."""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
import grpc.aio
import structlog
from google.protobuf.message import DecodeError, Message

from recallmesh.core.bank import BankRef
from recallmesh.core.deadline import within
from recallmesh.core.errors import (
    ArmTimeout,
    FieldViolation,
    InternalFault,
    InvalidArgument,
    MeshError,
    StoreUnavailable,
    Unimplemented,
)
from recallmesh.core.limits import MESSAGE_BYTES, REQUEST_ID_BYTES
from recallmesh.core.once import Once, enter_once
from recallmesh.core.principal import Principal, Right, current_principal, enter_principal
from recallmesh.core.text import name_violations
from recallmesh.core.time import system_clock
from recallmesh.rpc.allowance import Allowances
from recallmesh.rpc.door import Door
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.request import INSIDE_KEY, REQUEST_ID_KEY, Metadata, enter_request, tenant_of
from recallmesh.rpc.right import fills, right_of
from recallmesh.rpc.status import status_from_error
from recallmesh.rpc.weighing import too_large

if TYPE_CHECKING:
    Handler = grpc.RpcMethodHandler[Any, Any]  # generic in its types alone

Context = grpc.aio.ServicerContext[Any, Any]
Raw = AsyncIterator[bytes]
Send = Callable[[bytes], Awaitable[None]]
Observe = Callable[[str, str, float], None]
"""Told of every finished call: its method (``/recallmesh.v1.ArmService/Search``), its status code, its seconds."""
Tell = Callable[[str], None]
Span = Callable[[str], AbstractContextManager[Tell]]
"""Opens what is recorded of a call of a method while it goes on; what that gives is told the status code."""

OURS = "/recallmesh."
"""Health and reflection are left as they are: probes must get through when nothing else does."""
OPEN = "/grpc.health."
"""What nobody is asked at who they are: a probe has no credential."""
OWN_REQUEST_IDS = "/recallmesh.v1.RetainService/"
"""The service that keeps the request ids in its messages itself, bank by bank."""
COMPUTED_STREAMS = frozenset({"/recallmesh.v1.RecallService/RecallStream"})
"""Streams of answers that are worked on all the while, and are over soon: bounded as calls are. Others mostly wait."""
UNKNOWN = "unknown"
"""What metrics call a method that is not there: its name is the caller's and could be anything."""
EVERYBODY = Entry()
"""Lets in whoever comes."""
_log = structlog.get_logger("recallmesh.rpc")


def observe_nothing(_method: str, _code: str, _seconds: float) -> None:
    """Tell nobody."""


def record_nothing(_method: str) -> AbstractContextManager[Tell]:
    """Record nothing of a call."""
    return nullcontext(lambda _code: None)


class Interceptor(grpc.aio.ServerInterceptor):
    """Wraps every method of ours.

    Messages are parsed and written in here and not by gRPC, so that bytes which are no message end as INVALID_ARGUMENT
    and no exception ever leaves with its text.
    """

    def __init__(
        self,
        door: Door,
        *,
        entry: Entry = EVERYBODY,
        observe: Observe = observe_nothing,
        span: Span = record_nothing,
    ) -> None:
        """Wrap with these bounds, and let in whom ``entry`` does."""
        self.starting: MeshError | None = None
        """Why what is missing may only be missing so far: what a call of ours is told while the process starts."""
        self._door = door
        self._entry = entry
        self._observe = observe
        self._span = span
        self._wraps: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler":
        """Return the method's handler, wrapped."""
        method = handler_call_details.method
        if (kept := self._wraps.get(method)) is not None:
            return kept
        handler = await continuation(handler_call_details)
        if handler is not None and not method.startswith(OURS):
            if method.startswith(OPEN) or await self._knows(handler_call_details):
                return handler
            handler = None
        if handler is None:
            # A stream of bytes is what every kind of caller can read an error from.
            missing: Any = grpc.stream_stream_rpc_method_handler(
                partial(_missing, self.starting if method.startswith(OURS) else None)
            )
            return grpc.stream_stream_rpc_method_handler(self._wrapped(UNKNOWN, missing, None).stream)
        # What is hosted stays hosted, so that a method is wrapped once.
        return self._wraps.setdefault(method, _alike(handler, self._wrapped(method, handler, right_of(method))))

    async def _knows(self, details: grpc.HandlerCallDetails) -> bool:
        """Tell whether the caller of what is not ours (reflection) is anybody; who is not is refused as elsewhere."""
        try:
            await self._entry.admitted(details.method, None, details.invocation_metadata)
        except MeshError:
            return False
        return True

    def _wrapped(self, method: str, handler: Any, right: Right | None) -> "_Wrapped":  # noqa: ANN401 - gRPC's is loose
        around = _Around(self._door, self._entry, self._observe, self._span)
        return _Wrapped(method, handler, right, around)


def _alike(handler: Any, wrapped: "_Wrapped") -> "Handler":  # noqa: ANN401 - as above
    """Return the wrapped handler as gRPC serves it: every call is read as a stream is.

    So one that is refused is not read at all, whatever its size.
    """
    if handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(wrapped.stream)
    return grpc.stream_unary_rpc_method_handler(wrapped.unary)


def _missing(starting: MeshError | None, _requests: object, _context: Context) -> NoReturn:
    raise starting or NotImplementedError


@dataclass(frozen=True, slots=True)
class _Around:
    """What every method's handler is wrapped in."""

    door: Door
    entry: Entry
    observe: Observe
    span: Span


class _Wrapped:
    """One method's handler inside everything that every call goes through."""

    def __init__(self, method: str, handler: Any, right: Right | None, around: "_Around") -> None:  # noqa: ANN401 - as above
        self._method = method
        self._handler = handler
        self._right = right
        self._door = around.door
        self._entry = around.entry
        self._observe = around.observe
        self._span = around.span
        unary = handler.stream_unary if handler.request_streaming else handler.unary_unary
        streaming = handler.stream_stream if handler.request_streaming else handler.unary_stream
        self._call = streaming if handler.response_streaming else unary

    async def unary(self, raw: Raw, context: Context) -> bytes:
        """Answer with one message."""
        written: list[bytes] = []

        async def keep(response: bytes) -> None:
            written.append(response)

        await self._run(raw, context, keep)
        return written[0]

    async def stream(self, raw: Raw, context: Context) -> None:
        """Answer with a stream of messages; a coroutine and no generator, which gRPC would leave open on a cancel."""
        await self._run(raw, context, context.write)

    async def _run(self, raw: Raw, context: Context, send: Send) -> None:
        began = time.perf_counter()
        code = "CANCELLED"
        metadata = context.invocation_metadata() or ()  # made anew whenever it is asked for
        request_id = enter_request(metadata)
        # Never unbound: the call has a task, and so a context, of its own.
        structlog.contextvars.bind_contextvars(request_id=request_id)
        with self._span(self._method) as tell:
            try:
                await self._admitted(raw, context, send, metadata)
                context.set_trailing_metadata(self._told(request_id, began))
                code = "OK"
            except Exception as error:  # noqa: BLE001 - the outermost place, past which no text may go
                fault = self._mesh_error(error, request_id)
                code = fault.code
                status = status_from_error(fault, request_id)
                await context.abort(status.code, status.message, ((REQUEST_ID_KEY, request_id), *status.trailers))
            finally:
                seconds = time.perf_counter() - began
                tell(code)
                self._observe(self._method, code, seconds)
                self._note(code, seconds)

    def _told(self, request_id: str, began: float) -> tuple[tuple[str, str], ...]:
        """Return what goes behind an answer: the call's id, and to the mesh's own how long it was worked on."""
        if self._right is not Right.MESH:
            return ((REQUEST_ID_KEY, request_id),)
        return ((REQUEST_ID_KEY, request_id), (INSIDE_KEY, str(int(1_000_000 * (time.perf_counter() - began)))))

    def _note(self, code: str, seconds: float) -> None:
        """Tell the log that a call has ended; of a known caller's that administers, whatever the log leaves out."""
        principal = current_principal()
        who = {"caller": principal.name} if principal.name else {}
        log = _log.info if who and self._right is Right.ADMIN else _log.debug
        log("call ended", method=self._method, code=code, ms=round(seconds * 1000, 1), **who)

    async def _admitted(self, raw: Raw, context: Context, send: Send, metadata: Metadata) -> None:
        principal = await self._entry.admitted(self._method, self._right, metadata)
        enter_principal(principal)
        if not principal.name or self._right is Right.MESH:
            await self._bounded(raw, context, send)
            return
        tenant = tenant_of(context)
        with structlog.contextvars.bound_contextvars(caller=principal.name, tenant=tenant), self._allowed(principal):
            await self._bounded(raw, context, send)

    def _allowed(self, principal: Principal) -> AbstractContextManager[None]:
        """Hold one of the places that the caller's tenant may have; the mesh's own processes have no bound."""
        allowances = self._entry.allowances
        if allowances is None or principal.tenant is None:
            return nullcontext()
        stream = bool(self._handler.request_streaming or self._handler.response_streaming)
        return allowances.admit(principal.tenant, stream=stream, places=self._door.limits.places(stream=stream))

    async def _bounded(self, raw: Raw, context: Context, send: Send) -> None:
        takes, streams = bool(self._handler.request_streaming), bool(self._handler.response_streaming)
        waits = streams and self._method not in COMPUTED_STREAMS
        seconds = self._door.limits.seconds(context.time_remaining(), takes=takes, streams=waits)
        own = self._right is Right.MESH
        with self._door.admit(stream=takes or streams, own=own), within(seconds) as limit:
            async with asyncio.timeout_at(limit) as bound:
                if takes or streams:
                    await self._lasting(raw, context, send, bound)
                    return
                message, size = await self._only(raw)
                async with self._turn(message, context):
                    self._count(size)
                    answer = self._write(await self._call(self._once(message, context), context))
                await send(answer)

    def _turn(self, message: Message, context: Context) -> AbstractAsyncContextManager[None]:
        """Wait for the turn of a caller's call; the mesh's own has waited where it came from."""
        if self._right is None or self._right is Right.MESH:
            return nullcontext()
        bank_id = getattr(message, "bank_id", "") or getattr(getattr(message, "recall", None), "bank_id", "")
        return self._door.turns(self._right).turn(tenant_of(context), (bank_id, self._method))

    async def _lasting(self, raw: Raw, context: Context, send: Send, bound: asyncio.Timeout) -> None:
        """Take or answer a stream for as long as the caller's credential holds."""
        metadata = context.invocation_metadata() or ()
        async with self._entry.lasting(current_principal(), self._method, self._right, metadata, bound=bound) as lapse:
            try:
                if self._handler.request_streaming:
                    await self._pass_on(self._call(self._each(raw, context), context), send)
                    return
                message, size = await self._only(raw)
                computed = self._method in COMPUTED_STREAMS
                async with self._turn(message, context) if computed else nullcontext():
                    self._count(size)
                    await self._pass_on(self._call(self._once(message, context), context), send)
            except asyncio.CancelledError:
                if lapse.error is None:
                    raise
                raise lapse.error from None

    async def _pass_on(self, result: Any, send: Send) -> None:  # noqa: ANN401 - a coroutine or a generator
        if not isinstance(result, AsyncGenerator):
            await send(self._write(await result))
            return
        async with aclosing(result):
            async for response in result:
                await send(self._write(response))

    async def _only(self, raw: Raw) -> tuple[Message, int]:
        """Return the message of a call that takes one, and its size."""
        part = await anext(aiter(raw), None)
        if part is None:
            raise InvalidArgument(FieldViolation("request", "no message came"))
        return self._parse(part), len(part)

    def _count(self, size: int) -> None:
        """Count what is sent for what its tenant may retain."""
        if (bounded := self._filling()) is not None:
            allowances, tenant = bounded
            allowances.retain(tenant, size)

    def _filling(self) -> tuple[Allowances, str] | None:
        """Return what bounds the size of what is sent, and the tenant; nothing where nothing does."""
        allowances, tenant = self._entry.allowances, current_principal().tenant
        if allowances is None or tenant is None or not fills(self._method):
            return None
        return allowances, tenant

    async def _each(self, raw: AsyncIterator[bytes], context: Context) -> AsyncIterator[Message]:
        """Yield what comes until the caller has said all, is silent for too long, or the process leaves."""
        parts = aiter(raw)
        while not self._door.leaving.is_set():
            coming = asyncio.ensure_future(anext(parts, None))
            leaving = asyncio.ensure_future(self._door.leaving.wait())
            try:
                waited = {coming, leaving}
                stream_s = self._door.limits.stream_s
                done, _ = await asyncio.wait(waited, timeout=stream_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
                if not coming.done():
                    coming.cancel()
            if not done:
                raise ArmTimeout(f"nothing came for {stream_s:g} s")
            if coming in done:
                part = coming.result()
                if part is None:
                    return
                if (bounded := self._filling()) is not None:
                    allowances, tenant = bounded
                    await allowances.retain_next(tenant, len(part))
                yield self._once(self._parse(part), context)
        raise StoreUnavailable("the server leaves: send what was not answered again")

    def _parse(self, raw: bytes) -> Message:
        if len(raw) > MESSAGE_BYTES:
            raise InvalidArgument(too_large(len(raw)))
        try:
            message: Message = self._handler.request_deserializer(raw)
        except DecodeError as error:
            description = "is no message of this method, or holds text that is not valid UTF-8"
            raise InvalidArgument(FieldViolation("request", description)) from error
        return message

    def _once(self, message: Message, context: Context) -> Message:
        """Take note of a message's request id, so that what it asks for has its effect once."""
        request_id = getattr(message, "request_id", "")
        if request_id and not self._method.startswith(OWN_REQUEST_IDS):
            if violations := list(name_violations("request_id", request_id, REQUEST_ID_BYTES)):
                raise InvalidArgument(*violations)
            said = self._method.encode() + message.SerializeToString(deterministic=True)
            ref = BankRef(getattr(message, "bank_id", ""), tenant_of(context))
            enter_once(Once(request_id, hashlib.sha256(said).hexdigest(), ref, system_clock()))
        return message

    def _write(self, response: Message) -> bytes:
        written: bytes = self._handler.response_serializer(response)
        if len(written) > MESSAGE_BYTES:
            raise InternalFault(f"a response of {len(written)} bytes")
        return written

    def _mesh_error(self, error: Exception, request_id: str) -> MeshError:
        if isinstance(error, NotImplementedError):
            return Unimplemented("the server does not offer the call")
        if isinstance(error, TimeoutError):
            return ArmTimeout("the work was not done within its deadline")
        if isinstance(error, MeshError) and error.code != "INTERNAL":
            return error
        _log.error("rpc failed", method=self._method, request_id=request_id, exc_info=error)
        return error if isinstance(error, MeshError) else InternalFault("internal error")
