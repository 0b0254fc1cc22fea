"""Which of a query's words each hit holds, kept as bits while the words are scored."""

import numpy as np
import numpy.typing as npt

from recallmesh.keyword.store import MATCHED_WORDS

_BITS = 63


class Matches:
    """The words of a query, the rarest first, and for each row of a bank which of them it holds."""

    def __init__(self, words: list[str], rows: int) -> None:
        """Expect notes about these words and so many rows."""
        self._words = words
        self._marks = np.zeros((max(1, -(-len(words) // _BITS)), rows), np.int64)
        self._known: dict[tuple[int, ...], tuple[str, ...]] = {}

    def note(self, number: int, rows: npt.NDArray[np.intp]) -> None:
        """Note that these rows hold the word of this number."""
        block, bit = divmod(number, _BITS)
        self._marks[block, rows] |= 1 << bit

    def words(self, rows: npt.NDArray[np.intp]) -> list[tuple[str, ...]]:
        """Return the words that each of these rows holds, as many as are reported."""
        return [
            self._known.get(marks) or self._read(marks) for marks in zip(*self._marks[:, rows].tolist(), strict=True)
        ]

    def _read(self, marks: tuple[int, ...]) -> tuple[str, ...]:
        # Few combinations occur, so each is read once and its tuple shared by all hits that have it.
        found: list[str] = []
        for block, mark in enumerate(marks):
            left = mark
            while left and len(found) < MATCHED_WORDS:
                word = self._words[block * _BITS + (left & -left).bit_length() - 1]
                left &= left - 1
                if word not in found:
                    found.append(word)
        self._known[marks] = tuple(found)
        return self._known[marks]
