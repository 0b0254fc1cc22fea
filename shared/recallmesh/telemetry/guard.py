"""What every call of a port goes through: a deadline, a metric, a span, and only mesh errors out."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, TypeVar

import structlog
from opentelemetry.trace import SpanKind
from prometheus_client import Histogram

from recallmesh.core.deadline import within
from recallmesh.core.errors import ArmTimeout, InternalFault, MeshError
from recallmesh.core.hop import Turn
from recallmesh.core.trace_context import TraceContext, tracing
from recallmesh.telemetry.attribute import RECEIVED, SENT, SERVER_ADDRESS
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.tracing import Attributes, Work

T = TypeVar("T")

Told = Callable[[T], Attributes]
"""What a span says of an answer; asked where it is recorded alone."""

HERE, THERE = "here", "there"
"""Where the work of a part is done: in this process, or elsewhere."""
CHECK = "check"
"""What every process asks of each part every other second: recorded within something else alone."""
_log = structlog.get_logger("recallmesh.port")


class Guard:
    """Runs the calls of one part of the mesh.

    A call gets at most ``timeout_s`` seconds, less when the call in hand has less left. What is no ``MeshError`` is
    logged whole and leaves as ``InternalFault``: in process as over the wire, a caller never sees our insides.
    """

    def __init__(self, part: str, *, timeout_s: float | None, metrics: Metrics, at: str | None = None) -> None:
        """Guard the part of this name; ``at`` is its address, absent: it is in this process."""
        self._part = part
        self._timeout_s = timeout_s
        self._metrics = metrics
        self._tracing = metrics.tracing
        self._kind = SpanKind.CLIENT if at else SpanKind.INTERNAL
        self._address: Attributes = {SERVER_ADDRESS: at} if at else {}
        self.place = THERE if at else HERE
        self._seconds: dict[str, Histogram] = {}

    async def run(
        self,
        method: str,
        work: Coroutine[Any, Any, T],
        *,
        asked: Callable[[], Attributes] | None = None,
        told: Told[T] | None = None,
        origins: Iterable[str] = (),
    ) -> T:
        """Await the work under the deadline, and count it.

        Its span says what was ``asked`` and what was ``told``; ``origins`` are the trace contexts that it comes of.

        Raises:
            ArmTimeout: the time was up.
            InternalFault: a bug; the log has the rest.

        """
        turn, reason = Turn(weighed=self.place is THERE), ""
        try:
            span = self._begin(method, origins) if self._tracing is not None else None
            if span is None:
                return await self.bounded(work)
            with span:
                if asked is not None:
                    span.tell(asked())
                answer = await self.bounded(work)
                if told is not None:
                    span.tell(told(answer))
                if turn.load is not None and turn.load.messages:
                    span.tell({SENT: turn.load.sent, RECEIVED: turn.load.received})
                return answer
        except MeshError as error:
            reason = error.reason
            self._metrics.port_failures.labels(self._part, method, self.place, reason).inc()
            raise
        finally:
            seconds = turn.end(self._part, method, there=self.place is THERE, reason=reason)
            self._timed(method).observe(seconds)
            if turn.load is not None and turn.load.messages:
                self._metrics.observe_load(self._part, method, turn.load)

    async def stream(
        self, method: str, rows: AsyncGenerator[T, None], *, part_of: TraceContext | None = None
    ) -> AsyncGenerator[T, None]:
        """Pass on what comes within the deadline of one call, and count it as one; to close it closes the rows.

        ``part_of`` is the trace that it belongs to, if that is not the one in hand.

        Raises:
            ArmTimeout: the time was up.
            InternalFault: a bug; the log has the rest.

        """
        began, loop = time.perf_counter(), asyncio.get_running_loop()
        with within(self._timeout_s) as limit:
            pass
        span = self._begin(method, part_of=part_of)
        try:
            async with aclosing(rows):
                while True:
                    # Entered again for each row: between them the context is the listener's, who must not inherit this.
                    left = None if limit is None else max(0.0, limit - loop.time())
                    with span.inside() if span else _belonging(part_of), within(left):
                        step = await self.bounded(_next(rows))
                    if not step:
                        return
                    yield step[0]
        except MeshError as error:
            if span is not None:
                span.fail(error)
            self._metrics.port_failures.labels(self._part, method, self.place, error.reason).inc()
            raise
        finally:
            if span is not None:
                span.end()
            self._timed(method).observe(time.perf_counter() - began)

    async def each(self, method: str, rows: AsyncIterator[T]) -> AsyncIterator[T]:
        """Pass on what comes, for as long as the caller listens; what goes wrong leaves as from ``run``.

        Raises:
            InternalFault: a bug; the log has the rest.

        """
        try:
            async for row in rows:
                yield row
        except MeshError as error:
            self._metrics.port_failures.labels(self._part, method, self.place, error.reason).inc()
            raise
        except Exception as error:
            raise self._fault(error) from error

    async def bounded(self, work: Coroutine[Any, Any, T]) -> T:
        """Await the work under the deadline, uncounted: for what runs as long as the process.

        Raises:
            ArmTimeout: the time was up.
            InternalFault: a bug; the log has the rest.

        """
        with within(self._timeout_s) as limit:
            try:
                async with asyncio.timeout_at(limit):
                    return await work
            except TimeoutError as error:
                raise ArmTimeout(f"{self._part} did not answer within its deadline") from error
            except MeshError:
                raise
            except Exception as error:
                raise self._fault(error) from error

    def _timed(self, method: str) -> Histogram:
        """Return where a method's times are counted: to look it up by its labels takes as long as to count."""
        if method not in self._seconds:
            self._seconds[method] = self._metrics.port_call.labels(self._part, method, self.place)
        return self._seconds[method]

    def _begin(self, method: str, origins: Iterable[str] = (), *, part_of: TraceContext | None = None) -> Work | None:
        if self._tracing is None:
            return None
        return self._tracing.begin(
            f"{self._part}.{method}",
            kind=self._kind,
            attributes=self._address,
            origins=origins,
            part_of=part_of,
            root=method != CHECK,
        )

    def _fault(self, error: Exception) -> InternalFault:
        _log.error("port call failed", part=self._part, exc_info=error)
        return InternalFault("internal error")


def _belonging(context: TraceContext | None) -> AbstractContextManager[None]:
    return nullcontext() if context is None else tracing(context)


async def _next(rows: AsyncGenerator[T, None]) -> tuple[T, ...]:
    """Return the next row, alone, or nothing at the end."""
    async for row in rows:
        return (row,)
    return ()
