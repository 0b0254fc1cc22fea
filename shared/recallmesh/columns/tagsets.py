"""Which sets of tags occur in a bank, and which of them pass a test: its cost is that of the asked tags alone."""

from array import array
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import assert_never

import numpy as np
import numpy.typing as npt

from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest

Mask = npt.NDArray[np.bool_]


class TagSets:
    """Numbers the distinct sets of tags; a mask over these numbers answers a test as ``core.tags.passes`` would."""

    def __init__(self) -> None:
        """Start empty."""
        self._number_of: dict[frozenset[str], int] = {}
        self._holding: dict[str, array[int]] = {}

    def __len__(self) -> int:
        """Return how many sets have a number."""
        return len(self._number_of)

    def __iter__(self) -> Iterator[frozenset[str]]:
        """List the sets, in the order of their numbers."""
        return iter(self._number_of)

    def number(self, tags: Iterable[str]) -> int:
        """Return the number of this set, a new one if it is new."""
        tag_set = frozenset(tags)
        known = self._number_of.get(tag_set)
        if known is None:
            known = self._number_of[tag_set] = len(self._number_of)
            for tag in tag_set:
                self._holding.setdefault(tag, array("I")).append(known)
        return known

    def passing(self, test: TagTest) -> Mask:
        """Return for each number whether its set passes."""
        match test:
            case TagLeaf():
                return self._leaf(test)
            case TagAnd(parts):
                return reduce(np.logical_and, map(self.passing, parts), self._all())
            case TagOr(parts):
                return reduce(np.logical_or, map(self.passing, parts), self._none())
            case TagNot(part):
                return ~self.passing(part)
            case _:
                assert_never(test)

    def _leaf(self, leaf: TagLeaf) -> Mask:
        if leaf.mode is TagMode.EXACT:
            return self._only(leaf.tags)
        if not leaf.tags:
            return self._all()
        enough = 1 if leaf.mode in (TagMode.ANY, TagMode.ANY_STRICT) else len(leaf.tags)
        mask = np.asarray(self._held(leaf.tags) >= enough)
        return mask | self._only(frozenset()) if leaf.mode in (TagMode.ANY, TagMode.ALL) else mask

    def _held(self, tags: frozenset[str]) -> npt.NDArray[np.intp]:
        """Count how many of the tags each set holds."""
        holding = b"".join(self._holding[tag].tobytes() for tag in tags if tag in self._holding)
        return np.asarray(np.bincount(np.frombuffer(holding, np.uint32), minlength=len(self._number_of)))

    def _all(self) -> Mask:
        return np.ones(len(self._number_of), np.bool_)

    def _none(self) -> Mask:
        return np.zeros(len(self._number_of), np.bool_)

    def _only(self, tags: frozenset[str]) -> Mask:
        mask = self._none()
        if tags in self._number_of:
            mask[self._number_of[tags]] = True
        return mask
