"""What is told of a model: who waits for its threads, how long it takes, and what it need not be asked."""

from recallmesh.telemetry.metrics import Metrics


class ModelWatch:
    """Counts the work of one model; fulfils ``onnx.pool.PoolWatch`` and ``core.remembered.MemoryWatch``."""

    def __init__(self, part: str, metrics: Metrics) -> None:
        """Count as this part."""
        self._wait = metrics.model_wait.labels(part)
        self._run = metrics.model_run.labels(part)
        self._waiting = metrics.model_waiting.labels(part)
        self._together = metrics.model_together.labels(part)
        self._known = metrics.model_remembered.labels(part, "known")
        self._computed = metrics.model_remembered.labels(part, "computed")

    def queued(self, waiting: int) -> None:
        """Take note of how many items wait."""
        self._waiting.set(waiting)

    def ran(self, together: int) -> None:
        """Take note of how many items were worked on together."""
        self._together.observe(together)

    def done(self, waited_s: float, ran_s: float) -> None:
        """Take note of an item that is done."""
        self._wait.observe(waited_s)
        self._run.observe(ran_s)

    def asked(self, known: int, computed: int) -> None:
        """Take note of how many answers were known, and how many not."""
        self._known.inc(known)
        self._computed.inc(computed)
