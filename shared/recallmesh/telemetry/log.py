"""Logging: one JSON object a line for machines, coloured lines for a person at a terminal."""

import io
import logging
import sys
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, WrappedLogger

from recallmesh.core.trace_context import current_trace

TRACEBACKS = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
"""Tracebacks without the values of variables: those are what callers retained, asked and authenticated with."""

LINES = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
"""Lines for a person, with the same tracebacks (the default ones show values too)."""


class _StandardError(io.TextIOBase):
    """Whatever standard error is at the moment of writing: it may be another than when logging was set up."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def isatty(self) -> bool:
        return sys.stderr.isatty()


def set_up_logging(*, level: str = "info", as_json: bool | None = None, stream: TextIO | None = None) -> None:
    """Send every log line to the stream (default: standard error), as JSON unless it is a terminal.

    Lines carry ``event``, ``level``, ``timestamp`` (ISO, UTC), the fields bound to the call in hand (``request_id``)
    and, where it belongs to a trace, ``trace_id`` and ``span_id``.
    """
    out = stream or _StandardError()
    plain = not out.isatty() if as_json is None else as_json
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_trace,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *((TRACEBACKS, structlog.processors.JSONRenderer()) if plain else (LINES,)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", out)),
        cache_logger_on_first_use=False,
    )


def _add_trace(_logger: WrappedLogger, _level: str, line: EventDict) -> EventDict:
    trace = current_trace()
    if trace.parent:
        line["trace_id"], line["span_id"] = trace.trace_id, trace.span_id
    return line
