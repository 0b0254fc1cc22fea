"""Taking wall and CPU time of many like calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time

from bench.usage import workers_cpu_s


@dataclass(slots=True)
class Clock:
    """The wall time of each call in ms, and the CPU time of all: of this process and of its workers."""

    walls: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0
    worker_ms: float = 0.0

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Time what happens inside."""
        cpu, worker, wall = process_time(), workers_cpu_s(), perf_counter()
        yield
        self.walls.append((perf_counter() - wall) * 1000)
        self.cpu_ms += (process_time() - cpu) * 1000
        self.worker_ms += (workers_cpu_s() - worker) * 1000

    @property
    def p50(self) -> float:
        """The median wall time."""
        return median(self.walls)

    @property
    def p95(self) -> float:
        """The wall time that one in twenty exceeds."""
        return sorted(self.walls)[int(0.95 * (len(self.walls) - 1))]

    @property
    def cpu_each(self) -> float:
        """The CPU time of a call, workers included."""
        return (self.cpu_ms + self.worker_ms) / len(self.walls)
