"""BM25 and what a document's words count, as plain arithmetic."""

import math
from array import array
from dataclasses import dataclass

from recallmesh.keyword.analysis import ANALYSIS_VERSION, Analyser
from recallmesh.keyword.store import KeywordDocument


@dataclass(frozen=True, slots=True)
class Ranking:
    """The numbers of BM25 and the weights of fields.

    Each weight is what one occurrence counts in term frequency; the text's is 1. Names and labels count only
    for words that the text lacks, and never in its length: a memory is not verbose for having many aliases.
    """

    k1: float = 0.9
    b: float = 0.4
    function_words: float = 0.3
    names: float = 1.0
    labels: float = 1.0
    dates: float = 1.0


RANKING = Ranking()
"""The defaults: measured on short turns of conversation, docs/adr/0005."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A document as the index holds it: its distinct terms, the weighted frequency of each, its length in words."""

    terms: tuple[str, ...]
    frequencies: "array[float]"
    length: int


def fingerprint(ranking: Ranking, language: str) -> str:
    """Return what must stay equal for stored terms to be good: analysis, language and field weights."""
    return f"{ANALYSIS_VERSION} {language} {ranking.names} {ranking.labels} {ranking.dates}"


def terms_of(document: KeywordDocument, analyser: Analyser, ranking: Ranking) -> Terms:
    """Analyse a document's fields into one weighted bag of terms."""
    text = analyser.document(document.text)
    dates = analyser.document(document.dates)
    counts: dict[str, float] = dict(text.counts)
    for term, count in dates.counts.items():
        counts[term] = counts.get(term, 0.0) + count * ranking.dates
    beside: dict[str, float] = {}
    for field, weight in ((document.labels, ranking.labels), (document.names, ranking.names)):
        for value in field:
            beside |= dict.fromkeys(analyser.document(value).counts, weight)
    weighted = {term: weight for term, weight in (beside | counts).items() if weight > 0}
    return Terms(tuple(weighted), array("f", weighted.values()), text.length + dates.length)


def idf(memories: int, holding: int) -> float:
    """Return a term's weight by its rarity in the bank: ln(1 + (N − n + ½) / (n + ½)), always positive."""
    return math.log1p((memories - holding + 0.5) / (holding + 0.5))


def length_norm(length: float, average: float, ranking: Ranking) -> float:
    """Return the part of BM25's denominator that a document's length makes."""
    return ranking.k1 * (1 - ranking.b + ranking.b * length / average) if average else ranking.k1


def contribution(frequency: float, norm: float, k1: float) -> float:
    """Return what a term's frequency is worth, before its idf: tf · (k1 + 1) / (tf + norm)."""
    return frequency * (k1 + 1) / (frequency + norm)
