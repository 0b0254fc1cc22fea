"""Text to terms: the same for what is stored and for what is asked, so that equal words meet."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from recallmesh.keyword.script import ASTRAL_HAN, HANGUL, MARKS, PAIRED, PICTURES, SPACELESS, fold
from recallmesh.keyword.snowball import Stemmer
from recallmesh.keyword.stopwords import stop_words

ANALYSIS_VERSION = 1
"""To be raised with every change that makes other terms: stores then analyse anew what they hold."""
TERM_CHARS = 64
"""Longer terms are cut: what people type is shorter, and an index key must end somewhere."""
QUERY_TERMS = 1_000
"""Distinct terms of a query that are looked up: twice what the longest allowed query has in English."""
WHOLE_WEIGHT = 2.0
"""An identifier met whole counts as two words, so that it outranks one that shares a part."""

_WORD = rf"[^\W_{PAIRED}]+(?:[{MARKS}]+[^\W_{PAIRED}]*)*"
_ATOM = rf"{_WORD}(?:'{_WORD})*"
_JOINER = r"(?:://|[-_./:@+#&=?%~\\]|(?<=\d),(?=\d))"
_TOKEN = re.compile(
    rf"(?P<pairs>[{SPACELESS}{ASTRAL_HAN}]+|[{HANGUL}]+)"
    rf"|(?P<picture>[{PICTURES}])"
    rf"|(?P<words>{_ATOM}(?:{_JOINER}{_ATOM})*(?:\+\+|[+#])?)"
)
_SEGMENT = re.compile(r"[/:@?&=#~\\]+")
"""Cuts of an address whose pieces are names themselves: the host of a URL, the domain of an e-mail."""
_PART = re.compile(_ATOM)
_POSSESSIVE = "'s"


@dataclass(frozen=True, slots=True)
class Analysed:
    """The terms of a text with their numbers, and its length in words."""

    counts: dict[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term asked for: the word it came from, what it counts, and whether it is a function word."""

    term: str
    word: str
    weight: float
    stop: bool


class Analyser:
    """Turns text into terms; pure, total (any string will do) and safe for threads.

    Words are folded and stemmed. Scripts without spaces, and Hangul, give pairs of neighbouring characters.
    What is joined by signs (``A-20391``, ``10.7/x.y``, ``c++``, addresses) gives the whole, its segments and its parts.
    """

    def __init__(self, language: str = "english") -> None:
        """Stem by the rules of this Snowball language; any other name: no stemming."""
        self._english = language == "english"
        self._stemmer = Stemmer(language)
        self._stops = frozenset(map(fold, stop_words(language)))

    def document(self, text: str) -> Analysed:
        """Return the terms of a text to store; function words too."""
        counts: Counter[str] = Counter()
        length = 0
        for token in _TOKEN.finditer(fold(text)):
            value = token[0]
            if token.lastgroup == "pairs":
                counts.update(value)
                counts.update(_pairs(value))
                length += max(1, len(value) - 1)
            elif token.lastgroup == "picture":
                counts[value] += 1
                length += 1
            else:
                parts = tuple(self._parts(value))
                counts.update(stem for _, stem in parts)
                counts.update(_compounds(value, parts))
                length += len(parts)
        return Analysed(dict(counts), length)

    def query(self, text: str) -> tuple[QueryTerm, ...]:
        """Return the distinct terms of a query in its order; one met twice counts twice."""
        found: dict[str, QueryTerm] = {}
        for term in self._asked(fold(text)):
            known = found.get(term.term)
            if known is not None:
                found[term.term] = QueryTerm(term.term, known.word, known.weight + term.weight, known.stop)
            elif len(found) < QUERY_TERMS:
                found[term.term] = term
        return tuple(found.values())

    def _asked(self, folded: str) -> Iterator[QueryTerm]:
        for token in _TOKEN.finditer(folded):
            value = token[0]
            if token.lastgroup == "pairs" and len(value) > 1:
                yield from (QueryTerm(pair, pair, 1.0, stop=False) for pair in _pairs(value))
            elif token.lastgroup == "words":
                parts = tuple(self._parts(value))
                for whole in _compounds(value, parts):
                    yield QueryTerm(whole, whole, WHOLE_WEIGHT, stop=False)
                for word, stem in parts:
                    yield QueryTerm(stem, word, 1.0, stop=word in self._stops)
            else:
                yield QueryTerm(value, value, 1.0, stop=False)

    def _parts(self, compound: str) -> Iterator[tuple[str, str]]:
        for atom in _PART.findall(compound):
            if self._english:
                word = atom.removesuffix(_POSSESSIVE)[:TERM_CHARS]
                yield word, self._stem(word)
            else:
                yield from ((word, self._stem(word)) for word in (piece[:TERM_CHARS] for piece in atom.split("'")))

    def _stem(self, word: str) -> str:
        return self._stemmer.stem(word)


def _pairs(run: str) -> Iterator[str]:
    return map("".join, pairwise(run))


def _compounds(value: str, parts: tuple[tuple[str, str], ...]) -> list[str]:
    if len(parts) == 1 and value[-1] not in "+#":
        return []
    if value.isalnum():
        return []
    pieces = [value, *(piece for piece in _SEGMENT.split(value) if piece != value and _is_compound(piece))]
    return [piece[:TERM_CHARS] for piece in pieces]


def _is_compound(piece: str) -> bool:
    return len(_PART.findall(piece)) > 1
