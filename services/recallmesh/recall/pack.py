"""Packing: the best memories that fit a token budget, an observation in the place of what it was built from."""

from collections.abc import Sequence
from dataclasses import dataclass

from recallmesh.core.memory import FactType, Memory, Outline


@dataclass(frozen=True, slots=True)
class Packed:
    """Places in the ranking, best first; what observations replaced; the tokens used; whether the one is too long."""

    places: tuple[int, ...]
    superseded: frozenset[int]
    tokens: int
    oversized: bool = False


def pack(
    ranking: Sequence[Memory | Outline],
    sizes: Sequence[int],
    *,
    max_tokens: int,
    limit: int = 0,
    observations: bool = False,
) -> Packed:
    """Take memories in order as long as they fit; one too long for what is left is skipped and packing goes on.

    With ``observations``, a packed observation takes the place and the tokens of its sources, and what they free is
    filled from the top: nothing is left out in the end that would still fit. If nothing fits, the best comes whole,
    unless no tokens were asked for at all.
    """
    if not ranking or max_tokens == 0:
        return Packed((), frozenset(), 0)
    load = _Load(ranking, sizes, max_tokens, limit or len(ranking))
    load.fill(observations=observations)
    if not load.chosen:
        return Packed((0,), frozenset(), sizes[0], oversized=True)
    return Packed(tuple(sorted(load.chosen)), frozenset(load.superseded), max_tokens - load.left)


class _Load:
    """A pack being filled."""

    def __init__(self, ranking: Sequence[Memory | Outline], sizes: Sequence[int], left: int, room: int) -> None:
        self.ranking = ranking
        self.sizes = sizes
        self.left = left
        self.room = room
        self.chosen: set[int] = set()
        self.superseded: set[int] = set()

    def fill(self, *, observations: bool) -> None:
        """Walk down until a walk frees nothing. Each further walk has superseded something more, so it ends."""
        if not observations:
            for place in range(len(self.sizes)):
                self._take(place)
            return
        places = {memory.id: place for place, memory in enumerate(self.ranking)}
        freed = True
        while freed:
            freed = False
            for place, memory in enumerate(self.ranking):
                if place in self.chosen or place in self.superseded:
                    continue
                if memory.fact_type is not FactType.OBSERVATION:
                    self._take(place)
                    continue
                sources = {places[source] for source in memory.sources if source in places} - {place}
                freed |= self._replace(place, sources)
            freed = freed and self.room > 0

    def _take(self, place: int) -> None:
        if self.room > 0 and self.sizes[place] <= self.left:
            self._add(place)

    def _replace(self, place: int, sources: set[int]) -> bool:
        out = sources & self.chosen
        gain = sum(self.sizes[source] for source in out)
        if self.room + len(out) <= 0 or self.sizes[place] > self.left + gain:
            return False
        for source in out:
            self.chosen.remove(source)
        self.left += gain
        self.room += len(out)
        self._add(place)
        self.superseded |= sources
        return bool(out)

    def _add(self, place: int) -> None:
        self.chosen.add(place)
        self.left -= self.sizes[place]
        self.room -= 1
