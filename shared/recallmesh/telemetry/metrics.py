"""The metrics of one process, in a registry of its own; names carry their unit."""

import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from recallmesh.core.arm import ArmName
from recallmesh.core.consolidation import Backlog
from recallmesh.core.hop import Load
from recallmesh.core.operation import OperationKind
from recallmesh.core.recall import Phase, RecallAnswer
from recallmesh.core.retain import Delivery, RetainAnswer
from recallmesh.telemetry.tracing import Serving, Tracing

PREFIX = "recallmesh_"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Bucket bounds of calls: from one in process to a retain that a language model reads."""
STORE_SECONDS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
"""Of stores: from a row by its key in a file to a statement that the server's own limit ends."""
MODEL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Of one text in a model, and of its wait: some milliseconds on an idle core."""
LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
HITS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 100, 200, 300, 1000)
"""Of items in one call."""
TOKENS = (0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)


@dataclass(frozen=True, slots=True)
class Described:
    """A metric as its page tells of it; ``kind`` is Prometheus' word."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


class Metrics:
    """Everything a process counts, and what records its spans, if anything does.

    Built once by the composition root and handed down. ``place`` is ``here`` where the part is in this process, and
    ``there`` where it is called elsewhere: of one call in a mesh of several processes, each side counts its own.
    """

    def __init__(self, tracing: Tracing | None = None) -> None:
        """Make the metrics in a fresh registry."""
        self.tracing = tracing
        self.registry = CollectorRegistry()
        self.described: list[Described] = []
        ProcessCollector(registry=self.registry)
        self._parts()
        self._recall()
        self._retain()
        self._background()
        self._models()
        self._servers()

    def _parts(self) -> None:
        self.arm_search = self._histogram(
            "arm_search_seconds", "Time of one search by an arm.", ("arm", "place"), SECONDS
        )
        self.arm_hits = self._histogram("arm_hits", "Hits of one search by an arm.", ("arm", "place"), HITS)
        self.arm_budget = self._histogram(
            "arm_budget_hits", "The most hits that an arm was asked for, of each fact type.", ("arm", "place"), HITS
        )
        self.port_call = self._histogram(
            "port_call_seconds", "Time of one call of a part of the mesh.", ("part", "method", "place"), SECONDS
        )
        self.port_failures = self._counter(
            "port_failures_total",
            "Failed calls of a part of the mesh, by the reason of their error.",
            ("part", "method", "place", "reason"),
        )
        self.port_bytes = self._counter(
            "port_bytes_total",
            "Bytes of the messages to and from a part elsewhere, without headers: sent or received.",
            ("part", "method", "direction"),
        )
        self.store_call = self._histogram(
            "store_call_seconds",
            "Time of one call of a store, with the wait for a connection or a thread.",
            ("store", "system", "operation"),
            STORE_SECONDS,
        )
        self.store_failures = self._counter(
            "store_failures_total",
            "Failed calls of a store, by the reason of their error.",
            ("store", "system", "operation", "reason"),
        )

    def _recall(self) -> None:
        self.recall_phase = self._histogram(
            "recall_phase_seconds", "Time of one phase of a recall, as a trace has them.", ("phase",), SECONDS
        )
        self.recall_arm = self._histogram(
            "recall_arm_seconds", "Time that one recall waited for an arm which it asked.", ("arm",), SECONDS
        )
        self.recall_arms = self._counter(
            "recall_arms_total",
            "Arms of answered recalls by how they fared: ok, skipped, disabled, failed, timed_out, unavailable.",
            ("arm", "state"),
        )
        self.recall_models = self._counter(
            "recall_models_total", "Embedder and reranker of answered recalls by how they fared.", ("part", "state")
        )
        self.recall_memories = self._histogram("recall_memories", "Memories in one answer.", (), HITS)
        self.recall_tokens = self._histogram("recall_tokens", "Tokens of the memories in one answer.", (), TOKENS)
        self.recall_slow = self._counter(
            "recall_slow_total", "Recalls that took longer than RECALLMESH_RECALL__SLOW_S.", ()
        )

    def _retain(self) -> None:
        self.retained_documents = self._counter(
            "retain_documents_total",
            "Documents that were retained: changed (or new), unchanged, or empty, of which no memory came.",
            ("outcome",),
        )
        self.retained_memories = self._counter("retain_memories_total", "Memories that came of retains.", ())
        self.retain_items = self._histogram("retain_items", "Items of one call of retain.", (), BATCHES)
        self.retain_arms = self._counter(
            "retain_arms_total",
            "Arms by whether they had a write when its retain was answered: stored or pending.",
            ("arm", "state"),
        )
        self.bulk_batches = self._counter(
            "retain_batches_total",
            "Batches of bulk loads by their outcome: OK, or the reason of the failure.",
            ("outcome",),
        )

    def _background(self) -> None:
        self.outbox_rows = self._gauge(
            "outbox_rows", "Changes in the ledger that wait for an arm; every retain process tells the same.", ("arm",)
        )
        self.outbox_lag = self._gauge(
            "outbox_lag_seconds", "Age of the oldest change that waits for an arm; 0: none does.", ("arm",)
        )
        self.outbox_delivered = self._counter(
            "outbox_delivered_rows_total", "Changes that the outbox brought to an arm.", ("arm",)
        )
        self.operations = self._gauge("operations_pending", "Operations that have not ended, of all banks.", ("kind",))
        self.operations_lag = self._gauge(
            "operations_lag_seconds", "Age of the oldest operation that has not ended; 0: there is none.", ("kind",)
        )
        self.consolidation_backlog = self._gauge(
            "consolidation_backlog",
            "What consolidation has yet to do: new facts of the banks that are due, observations to write anew.",
            ("kind",),
        )
        self.consolidation_wait = self._gauge(
            "consolidation_wait_seconds", "How long the bank has waited that has been due for longest.", ()
        )
        self.webhook_posts = self._counter(
            "webhook_posts_total",
            "Posts of events to webhooks: delivered, or failed and to be tried again.",
            ("outcome",),
        )

    def _models(self) -> None:
        self.model_batch = self._histogram(
            "model_batch_texts", "Texts or pairs of one call of a model.", ("part", "place"), BATCHES
        )
        self.model_wait = self._histogram(
            "model_wait_seconds",
            "How long one text or pair waited for a thread of the model.",
            ("part",),
            MODEL_SECONDS,
        )
        self.model_run = self._histogram(
            "model_run_seconds", "How long the model took for one text or pair.", ("part",), MODEL_SECONDS
        )
        self.model_together = self._histogram(
            "model_together_texts", "Texts or pairs that the model took at once.", ("part",), BATCHES
        )
        self.model_remembered = self._counter(
            "model_remembered_total",
            "Queries and pairs by whether their answer was remembered, or computed for another call just then.",
            ("part", "state"),
        )
        self.model_waiting = self._gauge(
            "model_waiting_texts", "Texts and pairs that wait for a thread of the model.", ("part",)
        )
        self.model_tokens = self._counter(
            "language_model_tokens_total", "Tokens that a language model read and wrote.", ("model",)
        )

    def _servers(self) -> None:
        self.rpc = self._histogram(
            "rpc_seconds",
            "Time of one RPC as the server saw it. Unknown methods are all called unknown.",
            ("method", "code"),
            SECONDS,
        )
        self.rpc_in_flight = self._gauge(
            "rpc_in_flight",
            "RPCs in hand: within the mesh (call), of callers that read and write, waiting ones too; streams open.",
            ("kind",),
        )
        self.rpc_limit = self._gauge(
            "rpc_in_flight_limit", "The most RPCs of a kind in hand at once; more are refused.", ("kind",)
        )
        self.callers_refused = self._counter(
            "callers_refused_total",
            "Calls refused for who made them: unauthenticated, forbidden, or the bound of the tenant that they met.",
            ("why",),
        )
        self.http = self._histogram(
            "http_seconds",
            "Time of one request at the JSON door; status 499 is of a client that left.",
            ("method", "status"),
            SECONDS,
        )
        self.unready = self._gauge(
            "unready_services", "Hosted services whose check did not return; the process is ready when it is 0.", ()
        )
        self.loop_lag = self._histogram(
            "event_loop_lag_seconds", "How much later than asked the event loop woke, once a second.", (), LAG_SECONDS
        )
        self.certificate_expiry = self._gauge(
            "certificate_expiry_timestamp_seconds",
            "When the certificate expires that a setting names, in seconds since 1970.",
            ("setting",),
        )
        self.build = self._gauge("build_info", "1, and what runs.", ("version", "python"))
        self.build.labels(version("recallmesh"), platform.python_version()).set(1)

    def observe_load(self, part: str, method: str, load: Load) -> None:
        """Count what went to a part elsewhere, and what came back."""
        self.port_bytes.labels(part, method, "sent").inc(load.sent)
        self.port_bytes.labels(part, method, "received").inc(load.received)

    def observe_phases(self, phases: tuple[Phase, ...]) -> None:
        """Count where the time of a recall went."""
        for phase in phases:
            self.recall_phase.labels(phase.name).observe(phase.duration.total_seconds())

    def observe_recalled(self, answer: RecallAnswer) -> None:
        """Count how a recall that was answered here fared."""
        for report in answer.arms:
            self.recall_arms.labels(report.arm.value, report.state.value).inc()
            if report.latency:
                self.recall_arm.labels(report.arm.value).observe(report.latency.total_seconds())
        for model in answer.models:
            self.recall_models.labels(model.part, model.state.value).inc()
        self.recall_memories.observe(len(answer.memories))
        self.recall_tokens.observe(answer.tokens)

    def observe_retained(self, answer: RetainAnswer) -> None:
        """Count the documents of one call by what came of them, and who has them."""
        outcomes: dict[str, str] = {}
        for item in answer.items:
            outcome = "unchanged" if item.unchanged else "changed"
            if item.memory_ids or item.document_id not in outcomes:
                outcomes[item.document_id] = outcome if item.memory_ids else "empty"
        for outcome in outcomes.values():
            self.retained_documents.labels(outcome).inc()
        self.retained_memories.inc(answer.memory_count)
        self.retain_items.observe(len(answer.items))
        self._observe_deliveries(answer.deliveries)

    def _observe_deliveries(self, deliveries: tuple[Delivery, ...]) -> None:
        for one in deliveries:
            self.retain_arms.labels(one.arm.value, one.state.value).inc()

    def observe_outbox(self, lag: Sequence[tuple[ArmName, int, timedelta]]) -> None:
        """Set what waits for each arm."""
        known = {arm: (rows, age) for arm, rows, age in lag}
        for arm in ArmName:
            rows, age = known.get(arm, (0, timedelta()))
            self.outbox_rows.labels(arm.value).set(rows)
            self.outbox_lag.labels(arm.value).set(age.total_seconds())

    def observe_operations(self, lag: Sequence[tuple[OperationKind, int, timedelta]]) -> None:
        """Set which operations have not ended."""
        known = {kind: (number, age) for kind, number, age in lag}
        for kind in OperationKind:
            number, age = known.get(kind, (0, timedelta()))
            self.operations.labels(kind.value).set(number)
            self.operations_lag.labels(kind.value).set(age.total_seconds())

    def observe_backlog(self, backlog: Backlog) -> None:
        """Set what consolidation has yet to do."""
        self.consolidation_backlog.labels("facts").set(backlog.facts)
        self.consolidation_backlog.labels("observations").set(backlog.observations)
        self.consolidation_wait.set(backlog.age.total_seconds())

    def span_of_call(self, method: str) -> AbstractContextManager[Callable[[str], None]]:
        """Begin the span of a call that is served; what is given is told its status code."""
        serving: Serving | None = self.tracing.serve(method) if self.tracing is not None else None
        return serving or nullcontext(_unheard)

    def observe_rpc(self, method: str, code: str, seconds: float) -> None:
        """Count one finished RPC."""
        self.rpc.labels(method, code).observe(seconds)

    def observe_refused(self, why: str) -> None:
        """Count a call that was refused for who made it."""
        self.callers_refused.labels(why).inc()

    def observe_http(self, method: str, status: int, seconds: float) -> None:
        """Count one finished request of HTTP."""
        self.http.labels(method, str(status)).observe(seconds)

    def observe_certificate(self, setting: str, until: datetime) -> None:
        """Set when a certificate expires."""
        self.certificate_expiry.labels(setting).set(until.timestamp())

    def watch_in_flight(self, kind: str, inside: Callable[[], float], limit: int) -> None:
        """Tell with every scrape how many calls, or streams, are worked on."""
        self.rpc_in_flight.labels(kind).set_function(inside)
        self.rpc_limit.labels(kind).set(limit)

    def _histogram(self, name: str, meaning: str, labels: tuple[str, ...], buckets: Sequence[float]) -> Histogram:
        self._describe(name, "histogram", meaning, labels)
        return Histogram(PREFIX + name, meaning, labels, buckets=buckets, registry=self.registry)

    def _counter(self, name: str, meaning: str, labels: tuple[str, ...]) -> Counter:
        self._describe(name, "counter", meaning, labels)
        return Counter(PREFIX + name, meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, labels: tuple[str, ...]) -> Gauge:
        self._describe(name, "gauge", meaning, labels)
        return Gauge(PREFIX + name, meaning, labels, registry=self.registry)

    def _describe(self, name: str, kind: str, meaning: str, labels: tuple[str, ...]) -> None:
        self.described.append(Described(PREFIX + name, kind, labels, meaning))


def _unheard(_code: str) -> None:
    """Hear what is not recorded."""
