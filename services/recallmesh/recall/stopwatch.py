"""Taking the time of each stretch of a recall."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import perf_counter

from recallmesh.core.recall import Phase


class Stopwatch:
    """Notes when each phase began after the call came in, and how long it took."""

    def __init__(self) -> None:
        """Start."""
        self._zero = perf_counter()
        self._laps: list[tuple[str, float, float]] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        begun = perf_counter()
        try:
            yield
        finally:
            self._laps.append((name, begun, perf_counter()))

    def phases(self) -> tuple[Phase, ...]:
        """Return the phases in the order in which they began."""
        laps = sorted(self._laps, key=lambda lap: lap[1])
        return tuple(
            Phase(name, timedelta(seconds=begun - self._zero), timedelta(seconds=ended - begun))
            for name, begun, ended in laps
        )
