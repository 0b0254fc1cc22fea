"""Spans of one process: what is recorded of its work, and to which trace it belongs.

Attributes are names, numbers and ids of ours, never what callers said, asked or are told.
"""

import asyncio
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from types import TracebackType
from typing import Self

from opentelemetry import context as ambient
from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode, Tracer, TraceState

from recallmesh.core.errors import MeshError
from recallmesh.core.trace_context import TraceContext, current_trace, enter_trace, trace_context
from recallmesh.telemetry.attribute import ERROR_TYPE, RPC_METHOD, RPC_STATUS, RPC_SYSTEM

Attributes = Mapping[str, str | int | float | bool | tuple[str, ...]]

SCOPE = "recallmesh"
"""What instrumented the code, as OpenTelemetry calls it."""
LINKS = 32
"""The most links of one span: a delivery of two hundred rows may come of as many calls."""
OURS = frozenset({"INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED"})
"""The codes that say that the mesh failed; the others say that a call was wrong, which is no error of a server's."""
CANCELLED = "CANCELLED"


class Work:
    """A span while the work inside goes on; what the work calls and logs belongs to it."""

    __slots__ = ("_ambient", "_context", "_former", "_span")

    def __init__(self, span: trace.Span) -> None:
        """Hold a span that has begun."""
        self._span = span
        self._context = _context_of(span)
        self._ambient: Token[ambient.Context] | None = None
        self._former = current_trace()

    def __enter__(self) -> Self:
        """Let what is done now belong to the span."""
        self._former = current_trace()
        self._ambient = ambient.attach(trace.set_span_in_context(self._span))
        enter_trace(self._context)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        """Note what went wrong, and end the span."""
        if error is not None:
            self.fail(error)
        self._leave()
        self._span.end()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Let one step of the work belong to the span, which does not end with it."""
        self.__enter__()
        try:
            yield
        finally:
            self._leave()

    def end(self) -> None:
        """End the span of work that is done in steps."""
        self._span.end()

    def _leave(self) -> None:
        if self._ambient is not None:
            ambient.detach(self._ambient)
            self._ambient = None
        enter_trace(self._former)

    def tell(self, attributes: Attributes) -> None:
        """Add what is known now."""
        self._span.set_attributes(attributes)

    def answered(self, code: str) -> None:
        """Note the status code of a call that was served."""
        self._span.set_attribute(RPC_STATUS, code)
        if code != "OK":
            self._span.set_attribute(ERROR_TYPE, code)
        if code in OURS:
            self._span.set_status(StatusCode.ERROR)

    def fail(self, error: BaseException) -> None:
        """Note what went wrong: its kind and where, not its words, which may hold what callers said."""
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            self._span.set_attribute(ERROR_TYPE, CANCELLED)
            return
        reason = error.reason if isinstance(error, MeshError) else type(error).__name__
        self._span.set_attribute(ERROR_TYPE, reason)
        if isinstance(error, MeshError) and error.code not in OURS:
            return
        self._span.set_status(StatusCode.ERROR, reason)
        bug = error.__cause__ if isinstance(error, MeshError) and error.code == "INTERNAL" else error
        if bug is not None and not isinstance(bug, MeshError):
            places = "".join(traceback.format_tb(bug.__traceback__))
            self._span.add_event(
                "exception", {"exception.type": type(bug).__qualname__, "exception.stacktrace": places}
            )


class Serving:
    """The span of a call that is served; what its work raises is what its status code says, and no more."""

    __slots__ = ("_work",)

    def __init__(self, work: Work) -> None:
        """Hold the span of the call."""
        self._work = work

    def __enter__(self) -> Self:
        """Let what is done now belong to the call."""
        self._work.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End the span."""
        self._work.__exit__(None, None, None)

    def __call__(self, code: str) -> None:
        """Take note of the status code."""
        self._work.answered(code)


class Tracing:
    """Begins the spans of a process that records any."""

    def __init__(self, tracer: Tracer) -> None:
        """Record by this tracer."""
        self._tracer = tracer

    def begin(
        self,
        name: str,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Attributes | None = None,
        origins: Iterable[str] = (),
        part_of: TraceContext | None = None,
        root: bool = True,
    ) -> Work | None:
        """Begin a span of the work in hand, or of what it is ``part_of``; nothing where its trace is not recorded.

        ``origins`` (``traceparent`` texts, as many as there may be) are what it comes of without being part of it.
        ``root`` off: it is recorded as a part of something alone.
        """
        parent = self._parent(part_of)
        if parent is None or not (root or parent):
            return None
        links = [
            Link(_span_context(known))
            for known in map(trace_context, list(dict.fromkeys(filter(None, origins)))[:LINKS])
            if known.parent
        ]
        return Work(self._tracer.start_span(name, parent, kind, attributes, links, record_exception=False))

    def _parent(self, part_of: TraceContext | None) -> ambient.Context | None:
        """Return what a span is part of, empty where it begins a trace; nothing: that is not recorded."""
        if part_of is None:
            own = trace.get_current_span().get_span_context()
            if own.is_valid:
                return ambient.get_current() if own.trace_flags.sampled else None
        context = current_trace() if part_of is None else part_of
        if not context.parent:
            return ambient.Context()
        if not context.sampled:
            return None
        return trace.set_span_in_context(NonRecordingSpan(_span_context(context)), ambient.Context())

    def serve(self, method: str) -> Serving | None:
        """Begin the span of a call that is served: its method is a path of gRPC's."""
        path = method.removeprefix("/")
        work = self.begin(path, kind=SpanKind.SERVER, attributes={RPC_SYSTEM: "grpc", RPC_METHOD: path})
        return None if work is None else Serving(work)


def ambient_tracing() -> Tracing | None:
    """Return what records spans as the programme around the mesh has set up OpenTelemetry; nothing if it has not."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else Tracing(provider.get_tracer(SCOPE))


def _context_of(span: trace.Span) -> TraceContext:
    context = span.get_span_context()
    parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return TraceContext(parent, context.trace_state.to_header() if context.trace_state else "")


def _span_context(context: TraceContext) -> SpanContext:
    return SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(int(context.parent[53:55], 16)),
        trace_state=TraceState.from_header([context.state]) if context.state else None,
    )
