"""Models that find names as a port: what the rules find is asked of a model too, where one is set up."""

from collections.abc import Sequence
from typing import Protocol

from recallmesh.core.key import fold, words_of
from recallmesh.retain.extraction import FoundName

CONCEPT = "concept"


class NameFinder(Protocol):
    """Finds the people, organisations, places and products that a text names."""

    @property
    def fingerprint(self) -> str:
        """Name the model: equal fingerprints, equal names of equal texts."""
        ...

    def find(self, texts: Sequence[str]) -> tuple[tuple[FoundName, ...], ...]:
        """Return each text's names in order; computing, to be called off the event loop.

        A kind is ``person``, ``organisation``, ``place``, ``product`` or ``concept``.

        Raises:
            StoreUnavailable: the model failed.

        """
        ...


def agree(ruled: Sequence[FoundName], told: Sequence[FoundName]) -> tuple[FoundName, ...]:
    """Return the names that the rules found, and what a model adds to them.

    A name of the rules stays as it is; the model tells its kind where the rules cannot. What only the model found is
    added unless it is a piece of one of theirs, or one is a piece of it.
    """
    kinds = {fold(name.name): name.kind for name in told}
    found = {
        fold(name.name): FoundName(
            name.name, kinds.get(fold(name.name), CONCEPT) if name.kind == CONCEPT else name.kind
        )
        for name in ruled
    }
    held = {word for key in found for word in words_of(key)}
    for name in told:
        if name.kind != CONCEPT and held.isdisjoint(words_of(fold(name.name))):
            found.setdefault(fold(name.name), name)
    return tuple(found.values())
