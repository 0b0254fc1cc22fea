"""The trace context (W3C) of the work in hand: what its spans, log lines and further calls belong to.

It comes in with a call and goes along with every further one, whether spans are recorded here or not. What is finished
later keeps it beside the work in the ledger, so that the later part can be linked to what caused it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

PARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""A ``traceparent`` of version 00: the trace, the span in it, flags; neither id may be all zeros."""
STATE_CHARS = 512
"""The most characters of a ``tracestate`` that is passed on (W3C Trace Context, section 3.3.1.5)."""
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One span of one trace.

    ``parent`` is a ``traceparent``; empty: no trace. ``state`` is what tracing systems add to it, as they wrote it.
    """

    parent: str = ""
    state: str = ""

    @property
    def trace_id(self) -> str:
        """The trace, 32 hexadecimal digits; empty: none."""
        return self.parent[3:35]

    @property
    def span_id(self) -> str:
        """The span, 16 hexadecimal digits; empty: none."""
        return self.parent[36:52]

    @property
    def sampled(self) -> bool:
        """Whether who began the trace records it."""
        return bool(self.parent) and bool(int(self.parent[53:55], 16) & _SAMPLED)


UNTRACED = TraceContext()

_context: ContextVar[TraceContext] = ContextVar("recallmesh_trace_context", default=UNTRACED)


def current_trace() -> TraceContext:
    """Return the trace context of the work in hand."""
    return _context.get()


def trace_context(parent: str, state: str = "") -> TraceContext:
    """Read what a caller said; what is no trace context is as if nothing had been said."""
    if not PARENT.fullmatch(parent):
        return UNTRACED
    return TraceContext(parent, state if len(state) <= STATE_CHARS and state.isascii() and state.isprintable() else "")


def enter_trace(context: TraceContext) -> None:
    """Let everything that this task does from now on belong to a span."""
    _context.set(context)


@contextmanager
def tracing(context: TraceContext) -> Iterator[None]:
    """Let the work inside belong to a span: for programmes that call a mesh and have a trace of their own."""
    token = _context.set(context)
    try:
        yield
    finally:
        _context.reset(token)
