"""A store again, with a metric and a span around every call; the composition root puts them on."""

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar, cast

from opentelemetry.trace import SpanKind

from recallmesh.core.errors import MeshError
from recallmesh.core.hop import Turn
from recallmesh.telemetry.attribute import DB_OPERATION, DB_SYSTEM
from recallmesh.telemetry.metrics import Metrics

S = TypeVar("S")

Call = Callable[..., Awaitable[Any]]

IN_PROCESS = frozenset({"sqlite", "qdrant-edge"})
"""The systems that run in this process; the others are servers, and how many bytes go there their drivers keep to
themselves."""


def observed_store(store: S, *, name: str, system: str, metrics: Metrics) -> S:
    """Return a store that tells how long its calls take and how they end, and is the same in all else.

    ``name`` is which of the mesh's stores it is, ``system`` what keeps it, as OpenTelemetry calls databases. A ledger
    has four score methods, which differ in nothing that is told of them; hence one wrapper for whatever has calls.
    """
    return cast("S", _ObservedStore(store, name, system, metrics))


class _ObservedStore:
    """Whatever is asked of it, the store's; with calls that are counted."""

    def __init__(self, store: object, name: str, system: str, metrics: Metrics) -> None:
        self._store = store
        for method, call in inspect.getmembers(store, inspect.iscoroutinefunction):
            if not method.startswith("_"):
                setattr(self, method, _observed(call, method, name, system, metrics))

    def __getattr__(self, asked: str) -> Any:  # noqa: ANN401 - what the store has
        return getattr(self._store, asked)


def _observed(call: Call, method: str, name: str, system: str, metrics: Metrics) -> Call:
    seconds, failures, tracing = (
        metrics.store_call.labels(name, system, method),
        metrics.store_failures,
        metrics.tracing,
    )
    attributes = {DB_SYSTEM: system, DB_OPERATION: method}
    there = system not in IN_PROCESS

    @wraps(call)
    async def counted(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the store's
        turn, reason = Turn(), ""
        try:
            # The stores are polled, which is part of nothing: that is recorded within other work alone.
            span = None
            if tracing is not None:
                span = tracing.begin(
                    f"{system} {name}.{method}", kind=SpanKind.CLIENT, attributes=attributes, root=False
                )
            if span is None:
                return await call(*given, **more)
            with span:
                return await call(*given, **more)
        except MeshError as error:
            reason = error.reason
            failures.labels(name, system, method, reason).inc()
            raise
        finally:
            seconds.observe(turn.end(name, method, there=there, reason=reason))

    return counted
