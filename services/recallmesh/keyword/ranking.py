"""BM25F and what a document's words count in each field, as plain arithmetic."""

import math
from array import array
from collections import Counter
from dataclasses import dataclass

from recallmesh.keyword.analysis import ANALYSIS_VERSION, Analyser
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.store import KeywordDocument

FIELD_BITS = 16
"""Bits of a packed count: a word more often in one memory counts as 65,535 times."""
_MOST = (1 << FIELD_BITS) - 1


@dataclass(frozen=True, slots=True)
class Terms:
    """A document as the index holds it: its distinct terms, how often each is in each field, its length in words.

    A count is packed: 16 bits each for text, names, labels and dates, the text's lowest. ``language`` is the one whose
    stems the text has.
    """

    terms: tuple[str, ...]
    counts: "array[int]"
    length: int
    language: str = ""


def fingerprint(language: str) -> str:
    """Return what must stay equal for stored terms to be good: the analysis and its language."""
    return f"{ANALYSIS_VERSION} {language}"


def terms_of(document: KeywordDocument, analyser: Analyser) -> Terms:
    """Analyse a document's fields; a name or label that several aliases or tags share is there once."""
    text = analyser.document(document.text)
    names = _distinct(document.names, analyser, text.language)
    labels = _distinct(document.labels, analyser, text.language)
    dates = analyser.document(document.dates, analyser.language).counts
    packed = {term: min(count, _MOST) for term, count in text.counts.items()}
    for field, counts in enumerate((names, labels, dates), start=1):
        for term, count in counts.items():
            packed[term] = packed.get(term, 0) + (min(count, _MOST) << FIELD_BITS * field)
    return Terms(tuple(packed), array("Q", packed.values()), text.length, text.language)


def frequencies(packed: int, ranking: Ranking) -> tuple[float, float]:
    """Return a term's frequency in the text, and the weighted one in the fields without a length norm."""
    text, names, labels, dates = (packed >> FIELD_BITS * field & _MOST for field in range(4))
    return float(text), names * ranking.names + labels * ranking.labels + dates * ranking.dates


def idf(memories: int, holding: int) -> float:
    """Return a term's weight by its rarity in the bank: ln(1 + (N − n + ½) / (n + ½)), always positive."""
    return math.log1p((memories - holding + 0.5) / (holding + 0.5))


def _distinct(values: tuple[str, ...], analyser: Analyser, language: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for value in values:
        counts.update(analyser.document(value, language).counts)
    return dict.fromkeys(counts, 1)
