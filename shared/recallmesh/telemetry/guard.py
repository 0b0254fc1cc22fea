"""What every call of a port goes through: a deadline, a metric, a span, and only mesh errors out."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import structlog
from opentelemetry import trace

from recallmesh.core.deadline import within
from recallmesh.core.errors import ArmTimeout, InternalFault, MeshError
from recallmesh.telemetry.metrics import Metrics

T = TypeVar("T")

_log = structlog.get_logger("recallmesh.port")


class Guard:
    """Runs the calls of one part of the mesh.

    A call gets at most ``timeout_s`` seconds, less when the call in hand has less left. What is no ``MeshError`` is
    logged whole and leaves as ``InternalFault``: in process as over the wire, a caller never sees our insides.
    """

    def __init__(self, part: str, *, timeout_s: float | None, metrics: Metrics) -> None:
        """Guard the part of this name."""
        self._part = part
        self._timeout_s = timeout_s
        self._metrics = metrics
        self._tracer = trace.get_tracer("recallmesh")

    async def run(self, method: str, work: Coroutine[Any, Any, T]) -> T:
        """Await the work under the deadline, and count it.

        Raises:
            ArmTimeout: the time was up.
            InternalFault: a bug; the log has the rest.

        """
        began = time.perf_counter()
        try:
            with self._tracer.start_as_current_span(f"{self._part}.{method}", record_exception=False):
                return await self.bounded(work)
        except MeshError as error:
            self._metrics.port_failures.labels(self._part, method, error.reason).inc()
            raise
        finally:
            self._metrics.port_call.labels(self._part, method).observe(time.perf_counter() - began)

    async def stream(self, method: str, rows: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Pass on what comes within the deadline of one call, and count it as one; to close it closes the rows.

        Raises:
            ArmTimeout: the time was up.
            InternalFault: a bug; the log has the rest.

        """
        began, loop = time.perf_counter(), asyncio.get_running_loop()
        with within(self._timeout_s) as limit:
            pass
        span = self._tracer.start_span(f"{self._part}.{method}")
        try:
            async with aclosing(rows):
                while True:
                    # Entered again for each row: between them the context is the listener's, who must not inherit this.
                    left = None if limit is None else max(0.0, limit - loop.time())
                    with trace.use_span(span, record_exception=False), within(left):
                        step = await self.bounded(_next(rows))
                    if not step:
                        return
                    yield step[0]
        except MeshError as error:
            self._metrics.port_failures.labels(self._part, method, error.reason).inc()
            raise
        finally:
            span.end()
            self._metrics.port_call.labels(self._part, method).observe(time.perf_counter() - began)

    async def each(self, method: str, rows: AsyncIterator[T]) -> AsyncIterator[T]:
        """Pass on what comes, for as long as the caller listens; what goes wrong leaves as from ``run``.

        Raises:
            InternalFault: a bug; the log has the rest.

        """
        try:
            async for row in rows:
                yield row
        except MeshError as error:
            self._metrics.port_failures.labels(self._part, method, error.reason).inc()
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

    def _fault(self, error: Exception) -> InternalFault:
        _log.error("port call failed", part=self._part, exc_info=error)
        return InternalFault("internal error")


async def _next(rows: AsyncGenerator[T, None]) -> tuple[T, ...]:
    """Return the next row, alone, or nothing at the end."""
    async for row in rows:
        return (row,)
    return ()
