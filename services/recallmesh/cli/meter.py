"""How far a long command is: a bar on a terminal, a line now and then in a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.progress import Progress, TaskID

from recallmesh.cli.screen import share_progress
from recallmesh.core.errors import MeshError

EVERY_S = 10.0
"""Seconds between two lines in a pipe; what is done sooner says nothing."""


@dataclass(slots=True)
class Meter:
    """Counts items and bytes; ``total`` bytes are unknown of a stream."""

    total: int | None
    _bar: Progress
    _task: TaskID
    now: Callable[[], float]
    _began: float
    _offset: int
    _items: int = 0
    _told: float = field(default=0.0)

    def show(self, items: int, offset: int) -> None:
        """Show that so many more items are done, and all up to so many bytes."""
        self._items += items
        now = self.now()
        rate = self._items / max(now - self._began, 1e-6)
        self._bar.update(self._task, completed=offset, items=f"{self._items:,}", rate=f"{rate:,.0f}/s")
        if self._bar.disable and now - max(self._told, self._began) >= EVERY_S:
            self._told = now
            print(self._line(offset, rate, now), file=sys.stderr, flush=True)

    def _line(self, offset: int, rate: float, now: float) -> str:
        said = f"recallmesh: {self._items:,} items, {rate:,.0f}/s"
        done = offset - self._offset
        if not self.total or done <= 0:
            return said
        left = (self.total - offset) / done * (now - self._began)
        return f"{said}, {offset / self.total:.0%}, {left // 60:.0f}:{left % 60:02.0f} left"


def tell_pause(error: MeshError, pause_s: float) -> None:
    """Say why a load waits, and how long."""
    print(f"recallmesh: {error.message}; trying again in {pause_s:g} s", file=sys.stderr, flush=True)


@contextmanager
def metering(total: int | None, offset: int = 0, *, now: Callable[[], float] = time.monotonic) -> Iterator[Meter]:
    """Show how far the work inside is; ``offset`` bytes are done already."""
    with share_progress() as bar:
        task = bar.add_task("retaining", total=total, completed=offset, items="0", rate="")
        yield Meter(total, bar, task, now, now(), offset)
