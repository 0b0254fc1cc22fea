"""The metrics of one process, in a registry of its own; names carry their unit."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from recallmesh.core.consolidation import Backlog
from recallmesh.core.retain import RetainAnswer
from recallmesh.telemetry.tracing import Serving, Tracing

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Bucket bounds: from a call in process to a rerank of 300 pairs on a busy CPU."""
HITS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000)


class Metrics:
    """Everything a process counts, and what records its spans, if anything does.

    Built once by the composition root and handed down.
    """

    def __init__(self, tracing: Tracing | None = None) -> None:
        """Make the metrics in a fresh registry."""
        self.tracing = tracing
        self.registry = CollectorRegistry()
        self.arm_search = Histogram(
            "recallmesh_arm_search_seconds",
            "Time of one search by an arm.",
            ["arm"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.arm_hits = Histogram(
            "recallmesh_arm_hits", "Hits of one search by an arm.", ["arm"], buckets=HITS, registry=self.registry
        )
        self.port_call = Histogram(
            "recallmesh_port_call_seconds",
            "Time of one call of a part of the mesh, here or there.",
            ["part", "method"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.port_failures = Counter(
            "recallmesh_port_failures_total",
            "Failed calls of a part of the mesh.",
            ["part", "method", "reason"],
            registry=self.registry,
        )
        self.store_call = Histogram(
            "recallmesh_store_call_seconds",
            "Time of one call of a store, with the wait for a connection or a thread.",
            ["store", "system", "operation"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.store_failures = Counter(
            "recallmesh_store_failures_total",
            "Failed calls of a store.",
            ["store", "system", "operation", "reason"],
            registry=self.registry,
        )
        self.bulk_batches = Counter(
            "recallmesh_retain_batches_total",
            "Batches of bulk loads by their outcome: OK, or the reason of the failure.",
            ["outcome"],
            registry=self.registry,
        )
        self.retained_documents = Counter(
            "recallmesh_retain_documents_total",
            "Documents that were retained: new or changed, unchanged, or empty, of which no memory came.",
            ["outcome"],
            registry=self.registry,
        )
        self.model_tokens = Counter(
            "recallmesh_language_model_tokens_total",
            "Tokens that a language model read and wrote.",
            ["model"],
            registry=self.registry,
        )
        self.rpc = Histogram(
            "recallmesh_rpc_seconds",
            "Time of one RPC as the server saw it.",
            ["method", "code"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.callers_refused = Counter(
            "recallmesh_callers_refused_total",
            "Calls refused for who made them: unauthenticated, forbidden, or the bound of the tenant that they met.",
            ["why"],
            registry=self.registry,
        )
        self.http = Histogram(
            "recallmesh_http_seconds",
            "Time of one request at the JSON door; status 499 is of a client that left.",
            ["method", "status"],
            buckets=SECONDS,
            registry=self.registry,
        )

        self.consolidation_backlog = Gauge(
            "recallmesh_consolidation_backlog",
            "What consolidation has yet to do: new facts of the banks that are due, observations to write anew.",
            ["kind"],
            registry=self.registry,
        )
        self.certificate_expiry = Gauge(
            "recallmesh_certificate_expiry_timestamp_seconds",
            "When the certificate expires that a setting names, in seconds since 1970.",
            ["setting"],
            registry=self.registry,
        )
        self.consolidation_wait = Gauge(
            "recallmesh_consolidation_wait_seconds",
            "How long the bank has waited that has been due for longest.",
            registry=self.registry,
        )

    def observe_retained(self, answer: RetainAnswer) -> None:
        """Count the documents of one call by what came of them."""
        outcomes: dict[str, str] = {}
        for item in answer.items:
            outcome = "unchanged" if item.unchanged else "changed"
            if item.memory_ids or item.document_id not in outcomes:
                outcomes[item.document_id] = outcome if item.memory_ids else "empty"
        for outcome in outcomes.values():
            self.retained_documents.labels(outcome).inc()

    def observe_backlog(self, backlog: Backlog) -> None:
        """Set what consolidation has yet to do."""
        self.consolidation_backlog.labels("facts").set(backlog.facts)
        self.consolidation_backlog.labels("observations").set(backlog.observations)
        self.consolidation_wait.set(backlog.age.total_seconds())

    def span_of_call(self, method: str) -> AbstractContextManager[Callable[[str], None]]:
        """Begin the span of a call that is served; what is given is told its status code."""
        serving: Serving | None = self.tracing.serve(method) if self.tracing is not None else None
        return serving or nullcontext(_unheard)

    def observe_certificate(self, setting: str, until: datetime) -> None:
        """Set when a certificate expires."""
        self.certificate_expiry.labels(setting).set(until.timestamp())

    def observe_rpc(self, method: str, code: str, seconds: float) -> None:
        """Count one finished RPC."""
        self.rpc.labels(method, code).observe(seconds)

    def observe_refused(self, why: str) -> None:
        """Count a call that was refused for who made it."""
        self.callers_refused.labels(why).inc()

    def observe_http(self, method: str, status: int, seconds: float) -> None:
        """Count one finished request of HTTP."""
        self.http.labels(method, str(status)).observe(seconds)


def _unheard(_code: str) -> None:
    """Hear what is not recorded."""
