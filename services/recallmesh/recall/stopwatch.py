"""Taking the time of each stretch of a recall, and of each call that it makes."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from time import perf_counter

from recallmesh.core.hop import Hop, HopLog, noting
from recallmesh.core.recall import Phase


class Stopwatch:
    """Notes when each phase began after the call came in, and how long it took."""

    def __init__(self) -> None:
        """Start."""
        self._zero = perf_counter()
        self._laps: list[tuple[str, float, float]] = []
        self._log = HopLog(self._zero)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        begun = perf_counter()
        try:
            yield
        finally:
            self._laps.append((name, begun, perf_counter()))

    def noting(self) -> AbstractContextManager[None]:
        """Take note of what is called inside."""
        return noting(self._log)

    def hops(self) -> tuple[Hop, ...]:
        """Return the calls that have ended, in the order in which they began."""
        return self._log.hops()

    def phases(self) -> tuple[Phase, ...]:
        """Return the phases in the order in which they began."""
        laps = sorted(self._laps, key=lambda lap: lap[1])
        return tuple(
            Phase(name, timedelta(seconds=begun - self._zero), timedelta(seconds=ended - begun))
            for name, begun, ended in laps
        )
