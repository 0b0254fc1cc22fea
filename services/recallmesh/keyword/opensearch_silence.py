"""A server that takes connections and says nothing: noticed once, so that not every call waits for it in vain."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONG_S = 0.2
"""An answer that does not come within this was waited for; one that is refused at once costs nobody anything."""
PAUSE_S = 1.0
"""How long nobody asks again after it was asked in vain."""


class Silence:
    """Who may ask: everybody, until one has waited in vain; then one at a time, with pauses, until there is an answer.

    For one event loop.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with a server that answers."""
        self._now = now
        self._listening = 0
        self._in_vain = False
        self._ask_again_at = 0.0

    @property
    def reigns(self) -> bool:
        """Tell whether it would be in vain to ask now."""
        return self._in_vain and (self._listening > 0 or self._now() < self._ask_again_at)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Ask within this, and let an error out if there is no answer; to be given up counts as none."""
        began, answered = self._now(), False
        self._listening += 1
        try:
            yield
            answered = True
        finally:
            self._listening -= 1
            if answered:
                self._in_vain = False
            elif self._now() - began >= LONG_S:
                self._in_vain, self._ask_again_at = True, self._now() + PAUSE_S
