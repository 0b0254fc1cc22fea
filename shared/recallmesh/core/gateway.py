"""The public services, asked in JSON: what a door that speaks no gRPC needs of the mesh."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from recallmesh.core.trace_context import UNTRACED, TraceContext


@dataclass(frozen=True, slots=True)
class Method:
    """One call that the mesh offers.

    ``name`` is its path in gRPC, such as ``/recallmesh.v1.RecallService/Recall``. ``reads`` says that it changes
    nothing, so that it may be asked by a link.
    """

    name: str
    takes_stream: bool
    answers_stream: bool
    reads: bool


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as far as it is known: what goes along with the call.

    ``request_id`` is the caller's own or made for it. ``metadata`` is passed on to the services as it is. ``timeout``
    is what the caller wrote of how long the call may take; empty: nothing. ``trace`` is what the call is part of.
    """

    request_id: str
    metadata: tuple[tuple[str, str], ...] = ()
    timeout: str = ""
    trace: TraceContext = UNTRACED


@dataclass(frozen=True, slots=True)
class Written:
    """A request as JSON in UTF-8. ``line`` is where it stands in a stream, from 1; 0: it is no stream."""

    text: bytes
    line: int = 0


@dataclass(frozen=True, slots=True)
class Parameters:
    """A request as names and texts, as a query string has it: a field each, what is no plain value as JSON."""

    pairs: tuple[tuple[str, str], ...]


Asked = Written | Parameters


class Gateway(Protocol):
    """Calls the public services of a mesh in JSON, as protobuf maps it."""

    @property
    def methods(self) -> Mapping[str, Method]:
        """What is offered, by name."""
        ...

    def description(self) -> bytes:
        """Return the OpenAPI document of what is offered, as JSON."""
        ...

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Read who asks off the headers of a request, whose names are in lower case; never fails."""
        ...

    def place(self, method: Method) -> AbstractContextManager[None]:
        """Hold a place for one call: before anything of it is read, until it is answered.

        Raises:
            Overloaded: as many calls are in hand as may be.

        """
        ...

    def call(self, method: Method, asked: AsyncIterator[Asked], caller: Caller) -> AsyncGenerator[bytes, None]:
        """Ask in a place, and yield each answer as JSON in UTF-8 without line breaks; to close it cancels the call.

        A call that takes no stream is asked by the first of what is ``asked``; one that answers none yields once.
        The next request of a stream is taken when the service has room for it.

        Raises:
            InvalidArgument: what is asked is no JSON, or not that of this call: names each field, as JSON writes it.
            MeshError: what the service said.

        """
        ...

    async def check(self) -> None:
        """Return if every public service is ready.

        Raises:
            MeshError: one is not.

        """
        ...
