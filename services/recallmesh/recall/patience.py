"""Which arms let recalls wait in vain: one recall at a time asks such an arm, and the others do not wait for it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from recallmesh.core.arm import ArmName

VAIN = 3
"""So many recalls in a row that an arm did not answer; fewer are chance."""
LONG_S = 1.0
"""What counts as waiting: a caller in more of a hurry says nothing of the arm."""
TOLD = f"{VAIN} recalls in a row waited for it in vain; another one asks it now"


class Patience:
    """Keeps account of the arms that hang.

    Only silence counts: who says at once that it cannot answer costs no time. One answer restores an arm at once.
    """

    def __init__(self) -> None:
        """Begin with patience for everybody."""
        self._vain = Counter[ArmName]()
        self._waiting = Counter[ArmName]()

    def spared(self, asked: frozenset[ArmName]) -> frozenset[ArmName]:
        """Return those of the arms asked for which a recall should not wait; never all of them."""
        spent = frozenset(name for name in asked if self._vain[name] >= VAIN)
        return frozenset(name for name in spent if self._waiting[name]) if spent < asked else frozenset()

    @contextmanager
    def waiting(self, name: ArmName) -> Iterator[None]:
        """Count a recall among those that wait for the arm meanwhile."""
        self._waiting[name] += 1
        try:
            yield
        finally:
            self._waiting[name] -= 1

    def silent(self, name: ArmName, waited_s: float) -> None:
        """Take note that a recall waited so many seconds in vain."""
        self._vain[name] += waited_s >= LONG_S

    def spoke(self, name: ArmName) -> None:
        """Take note that the arm said something."""
        self._vain[name] = 0
