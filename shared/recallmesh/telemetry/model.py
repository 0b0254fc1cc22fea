"""What is told of a model's threads: who waits for them, how long, and how long the model takes."""

from recallmesh.telemetry.metrics import Metrics


class ModelWatch:
    """Counts the work of one model; fulfils ``onnx.pool.PoolWatch``."""

    def __init__(self, part: str, metrics: Metrics) -> None:
        """Count as this part."""
        self._wait = metrics.model_wait.labels(part)
        self._run = metrics.model_run.labels(part)
        self._waiting = metrics.model_waiting.labels(part)

    def queued(self, waiting: int) -> None:
        """Take note of how many items wait."""
        self._waiting.set(waiting)

    def done(self, waited_s: float, ran_s: float) -> None:
        """Take note of an item that is done."""
        self._wait.observe(waited_s)
        self._run.observe(ran_s)
