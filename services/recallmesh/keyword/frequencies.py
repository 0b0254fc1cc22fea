"""Every combination of counts in fields that occurs in a bank, once: postings hold its number."""

from array import array

import numpy as np
import numpy.typing as npt

from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.ranking import frequencies

WORTHLESS = 0
"""The number of counts that weigh nothing, all being in fields of weight 0: such a term is not indexed."""


class Frequencies:
    """A term's frequency in text and in the other fields by number; a bank has some hundred of them."""

    def __init__(self, ranking: Ranking) -> None:
        """Weigh fields as this ranking does."""
        self._ranking = ranking
        self._number_of: dict[int, int] = {}
        self._text = array("d", [0.0])
        self._beside = array("d", [0.0])

    @property
    def text(self) -> npt.NDArray[np.float64]:
        """Frequencies in the text."""
        return np.frombuffer(self._text)

    @property
    def beside(self) -> npt.NDArray[np.float64]:
        """Weighted frequencies in the fields beside the text."""
        return np.frombuffer(self._beside)

    def number(self, packed: int) -> int:
        """Return the number of packed counts."""
        known = self._number_of.get(packed)
        if known is None:
            text, beside = frequencies(packed, self._ranking)
            if not text + beside > 0:
                return WORTHLESS
            known = self._number_of[packed] = len(self._text)
            self._text.append(text)
            self._beside.append(beside)
        return known

    def numbers(self, packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """Return the numbers of very many packed counts."""
        distinct, places = np.unique(packed, return_inverse=True)
        return np.array([self.number(each) for each in distinct.tolist()], np.uint32)[places]
