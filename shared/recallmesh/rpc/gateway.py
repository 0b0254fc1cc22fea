"""The public services of a mesh asked in JSON: one way for every method, driven by the descriptors."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractContextManager, suppress
from importlib.resources import files
from types import MappingProxyType, ModuleType
from typing import Any
from uuid import uuid4

import grpc.aio
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError
from recallmesh.core.gateway import Asked, Caller, Method, Parameters
from recallmesh.core.trace_context import current_trace, trace_context
from recallmesh.rpc.blame import json_path
from recallmesh.rpc.bulk import stream_fault
from recallmesh.rpc.channel import Channel
from recallmesh.rpc.door import Door
from recallmesh.rpc.health import check_health
from recallmesh.rpc.mapping import json_from_message, message_from_json
from recallmesh.rpc.request import (
    AUTHORIZATION_KEY,
    PLAIN,
    REQUEST_ID_KEY,
    TENANT_KEY,
    TRACE_KEY,
    TRACE_STATE_KEY,
    traced,
)
from recallmesh.rpc.status import error_from_rpc
from recallmesh.v1 import (
    bank_service_pb2,
    document_service_pb2,
    entity_service_pb2,
    memory_service_pb2,
    operation_service_pb2,
    recall_service_pb2,
    retain_service_pb2,
)

RECALL = (recall_service_pb2,)
RETAIN = (retain_service_pb2,)
BANK = (bank_service_pb2, document_service_pb2, memory_service_pb2, entity_service_pb2, operation_service_pb2)
"""The public services, by the part that offers them."""
READING = ("Get", "List", "Watch", "Recall", "Resolve", "Explain", "Verify", "Export")
"""The verbs, with which a method's name begins, of what changes nothing.

Protobuf has an option for it (``idempotency_level``); to add one to a method that is there already counts as breaking.
"""
TIMEOUT_KEY = "x-request-timeout-ms"
PASSED_ON = (AUTHORIZATION_KEY, TENANT_KEY)
"""The headers that go along as metadata."""
HEADER_CHARS = 4_096
"""Of one header that is passed on: with the others it stays below the 8 KiB of metadata that gRPC takes."""
TIMEOUT_DIGITS = 9
BESIDE_BYTES = 1_024
"""What is larger is mapped beside the event loop: protobuf's mapping does one to two megabytes a second."""
CHECK_S = 2.0
"""Seconds in which a service says whether it is ready."""


class JsonGateway:
    """Calls the public services at the other end of channels."""

    def __init__(self, *, recall: Channel, retain: Channel, bank: Channel, door: Door) -> None:
        """Reach each part by its channel; ``door`` bounds how long calls take, and how many there are at once."""
        self._door = door
        self._routes: dict[str, _Route] = {}
        self._checks: list[tuple[Channel, str]] = []
        for channel, modules in ((recall, RECALL), (retain, RETAIN), (bank, BANK)):
            for service in services(modules):
                self._checks.append((channel, service.full_name))
                self._routes |= {route.method.name: route for route in _routes(service, channel)}
        self._methods = MappingProxyType({name: route.method for name, route in self._routes.items()})

    @property
    def methods(self) -> Mapping[str, Method]:
        """What is offered, by name."""
        return self._methods

    def description(self) -> bytes:
        """Return the OpenAPI document, which ``make gen`` writes of the protos."""
        return files("recallmesh.v1").joinpath("openapi.json").read_bytes()

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Read who asks off the headers."""
        given = headers.get(REQUEST_ID_KEY, "")
        passed = tuple((key, headers[key]) for key in PASSED_ON if headers.get(key))
        trace = trace_context(headers.get(TRACE_KEY, ""), headers.get(TRACE_STATE_KEY, ""))
        return Caller(given if PLAIN.fullmatch(given) else uuid4().hex, passed, headers.get(TIMEOUT_KEY, ""), trace)

    def place(self, method: Method) -> AbstractContextManager[None]:
        """Hold a place for one call."""
        return self._door.admit(stream=method.takes_stream or method.answers_stream)

    async def call(self, method: Method, asked: AsyncIterator[Asked], caller: Caller) -> AsyncGenerator[bytes, None]:
        """Ask, and yield each answer."""
        route = self._routes[method.name]
        seconds = self._door.limits.seconds(_seconds(caller), takes=method.takes_stream, streams=method.answers_stream)
        metadata = _metadata(caller)
        messages = _messages(asked, route.request)
        call: _Asking
        if method.takes_stream:
            call = _Sending(route.ask(timeout=seconds, metadata=metadata), messages)
        else:
            call = _Asking(route.ask(await anext(messages), timeout=seconds, metadata=metadata))
        try:
            async for answer in call.answers(streams=method.answers_stream):
                yield await _written(answer)
        except grpc.aio.AioRpcError as error:
            found = stream_fault(error) if method.takes_stream else error_from_rpc(error)
            raise _as_json_names(found) from error
        finally:
            await call.end()

    async def check(self) -> None:
        """Return if every public service is ready."""
        await asyncio.gather(*(check_health(channel, name, timeout_s=CHECK_S) for channel, name in self._checks))


def services(modules: tuple[ModuleType, ...]) -> tuple[ServiceDescriptor, ...]:
    """Return the services that generated modules describe."""
    return tuple(one for module in modules for one in module.DESCRIPTOR.services_by_name.values())


class _Route:
    """One method, and how it is asked over its channel."""

    def __init__(self, described: MethodDescriptor, channel: Channel) -> None:
        name = f"/{described.containing_service.full_name}/{described.name}"
        takes, streams = bool(described.client_streaming), bool(described.server_streaming)
        self.method = Method(name, takes, streams, described.name.startswith(READING))
        self.request: type[Message] = GetMessageClass(described.input_type)
        kinds = {
            (False, False): channel.unary_unary,
            (False, True): channel.unary_stream,
            (True, False): channel.stream_unary,
            (True, True): channel.stream_stream,
        }
        kind: Any = kinds[takes, streams]
        self.ask: Any = kind(
            name,
            request_serializer=self.request.SerializeToString,
            response_deserializer=GetMessageClass(described.output_type).FromString,
        )


def _routes(service: ServiceDescriptor, channel: Channel) -> list[_Route]:
    return [_Route(method, channel) for method in service.methods]


class _Asking:
    """A call of one request."""

    def __init__(self, call: Any) -> None:  # noqa: ANN401 - gRPC has no type for all kinds of calls
        self._call = call

    async def answers(self, *, streams: bool) -> AsyncIterator[Message]:
        """Yield what is answered."""
        if not streams:
            yield await self._call
            return
        async for answer in self._call:
            yield answer

    async def end(self) -> None:
        """Give the call up, if it is not over."""
        self._call.cancel()


class _Sending(_Asking):
    """A call of many requests, which are sent as there is room for them.

    What is wrong with one of them ends the call at once, and not by saying that it was the last: what is kept only
    whole must not be taken to be.
    """

    def __init__(self, call: Any, messages: AsyncIterator[Message]) -> None:  # noqa: ANN401 - as above
        super().__init__(call)
        self._refused: MeshError | None = None
        self._sending = asyncio.create_task(self._send(messages))

    async def answers(self, *, streams: bool) -> AsyncIterator[Message]:
        """Yield what is answered.

        Raises:
            InvalidArgument: a request was wrong.

        """
        try:
            async for answer in super().answers(streams=streams):
                yield answer
        except asyncio.CancelledError:
            if self._refused is None:
                raise
        if self._refused is not None:
            raise self._refused

    async def _send(self, messages: AsyncIterator[Message]) -> None:
        # Why a write fails, the reading side tells.
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            try:
                async for message in messages:
                    await self._call.write(message)
                await self._call.done_writing()
            except MeshError as error:
                self._refused = error
                self._call.cancel()

    async def end(self) -> None:
        """Give the call up, if it is not over, and send no more."""
        self._sending.cancel()
        await super().end()
        await asyncio.gather(self._sending, return_exceptions=True)


async def _messages(asked: AsyncIterator[Asked], kind: type[Message]) -> AsyncIterator[Message]:
    async for one in asked:
        small = isinstance(one, Parameters) or len(one.text) <= BESIDE_BYTES
        yield message_from_json(one, kind) if small else await asyncio.to_thread(message_from_json, one, kind)


async def _written(answer: Message) -> bytes:
    if answer.ByteSize() <= BESIDE_BYTES:
        return json_from_message(answer)
    return await asyncio.to_thread(json_from_message, answer)


def _seconds(caller: Caller) -> float | None:
    """Read how long the call may take.

    Raises:
        InvalidArgument: it is no number of milliseconds.

    """
    if not caller.timeout:
        return None
    text = caller.timeout
    if not (text.isascii() and text.isdigit() and len(text) <= TIMEOUT_DIGITS and int(text)):
        raise InvalidArgument(FieldViolation(TIMEOUT_KEY, "is no whole number of milliseconds, 1 to 999999999"))
    return int(text) / 1000


def _metadata(caller: Caller) -> tuple[tuple[str, str], ...]:
    for key, value in caller.metadata:
        if len(value) > HEADER_CHARS or not (value.isascii() and value.isprintable()):
            raise InvalidArgument(
                FieldViolation(key, f"is longer than {HEADER_CHARS} characters or not printable ASCII")
            )
    return ((REQUEST_ID_KEY, caller.request_id), *traced(current_trace()), *caller.metadata)


def _as_json_names(error: MeshError) -> MeshError:
    """Name the fields that a service refused as JSON does."""
    if isinstance(error, InvalidArgument) and error.violations:
        error.violations = tuple(FieldViolation(json_path(one.field), one.description) for one in error.violations)
        error.message = "; ".join(f"{one.field}: {one.description}" for one in error.violations)
    return error
