"""Surroundings: how much of what was read close by, in the same document, answers too."""

from collections import defaultdict
from collections.abc import Sequence

from recallmesh.core.memory import Memory

REACH = 10
"""How many positions away something still counts; at a distance d it counts 1/d."""


class Surroundings:
    """Sums up the voices around each candidate; what has no document has no surroundings."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        """Take the candidates."""
        self._memories = memories
        self._at: dict[tuple[str, int], list[int]] = defaultdict(list)
        for place, memory in enumerate(memories):
            if memory.document_id:
                self._at[memory.document_id, memory.position].append(place)
        self._sums = [0.0] * len(memories)

    def add(self, place: int, voice: float) -> None:
        """Count what one candidate says, which was read, for those around it."""
        memory = self._memories[place]
        if not memory.document_id:
            return
        for distance in range(1, REACH + 1):
            for position in (memory.position - distance, memory.position + distance):
                for near in self._at.get((memory.document_id, position), ()):
                    self._sums[near] += voice / distance

    def factor(self, place: int, weight: float) -> float:
        """Return the factor on the odds: ``(1 + sum of the voices around)^weight``, 1 where none was read."""
        around = self._sums[place]
        return 1.0 if around == 0.0 else float((1.0 + around) ** weight)
