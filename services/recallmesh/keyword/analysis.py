"""Text to terms: the same for what is stored and for what is asked, so that equal words meet."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from recallmesh.keyword.script import HANGUL, plain, unaccented
from recallmesh.keyword.snowball import LANGUAGES, TERM_CHARS, Stemmer
from recallmesh.keyword.stopwords import ALSO_ENGLISH
from recallmesh.keyword.tokens import Kind, Unit, units
from recallmesh.keyword.tongue import SAMPLE_WORDS, STOPS, language_of

ANALYSIS_VERSION = 2
"""To be raised with every change that makes other terms: stores then analyse anew what they hold."""
QUERY_TERMS = 1_000
"""Distinct words of a query that are looked up: twice what the longest allowed query has in English."""
WHOLE_WEIGHT = 2.0
"""An identifier met whole counts as two words, so that it outranks one that shares a part."""

_ANY_TEXT_STOPS = STOPS["russian"] | STOPS["greek"] | STOPS["arabic"] | STOPS["hindi"]
"""Function words that their script gives away, whatever the language of the rest."""
_PARTICLE = re.compile(rf"([{HANGUL}])(?:은|는|이|가|을|를|에|에서|에게|의|도|로|으로|와|과|만|부터|까지|하고|랑|이랑)")
"""A Korean noun of one syllable with its particle: no pair of it is the noun."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """The terms of a text with their numbers, its length in words, and the language whose stems they are."""

    counts: dict[str, int]
    length: int
    language: str


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word asked for: the terms any of which is the word, the word itself, what it counts, whether it only helps."""

    forms: tuple[str, ...]
    word: str
    weight: float
    stop: bool


class Analyser:
    """Turns text into terms; pure, total (any string will do) and safe for threads.

    Words are folded and stemmed by the language of their text. Scripts without spaces, and Hangul, give pairs of
    neighbouring characters. What is joined by signs or sewn together (``A-20391``, ``10.7/x.y``, ``c++``, addresses,
    ``camelCase``) gives the whole, its segments and its parts.
    """

    def __init__(self, language: str = "english") -> None:
        """Take this language where a text's own cannot be told; by a name that Snowball has not, none is stemmed."""
        self.language = language
        self._stemmer = Stemmer()

    def document(self, text: str, language: str = "") -> Analysed:
        """Return the terms of a text to store, function words too; by this language's stems, or by the text's own."""
        found = list(units(plain(text)))
        spoken = language or self._language_of(found)
        counts: dict[str, int] = {}
        length = 0
        for unit in found:
            for term in self._terms(unit, spoken):
                counts[term] = counts.get(term, 0) + 1
            if unit.kind is Kind.RUN:
                length += max(1, len(unit.text) - 1)
            elif unit.kind is not Kind.WHOLE and not unit.long:
                length += 1
        return Analysed(counts, length, spoken)

    def query(self, text: str, languages: tuple[str, ...] = ()) -> tuple[QueryTerm, ...]:
        """Return the distinct words of a query in its order, in the forms they have in these languages and the set one.

        One met twice counts twice.
        """
        units_found = list(units(plain(text)))
        spoken = self._language_of(units_found, languages)
        among = tuple(sorted({self.language, *languages}))
        stops = _stops(spoken, languages)
        found: dict[tuple[str, ...], QueryTerm] = {}
        for term in (term for unit in units_found for term in self._asked(unit, among, stops)):
            known = found.get(term.forms)
            if known is not None:
                found[term.forms] = QueryTerm(term.forms, known.word, known.weight + term.weight, known.stop)
            elif len(found) < QUERY_TERMS:
                found[term.forms] = term
        return tuple(found.values())

    def _language_of(self, found: list[Unit], among: tuple[str, ...] | None = None) -> str:
        if self.language not in LANGUAGES:
            return self.language
        words = (unit.text for unit in islice(found, SAMPLE_WORDS) if unit.kind is Kind.WORD)
        return language_of(words, self.language) if among is None else language_of(words, self.language, among)

    def _terms(self, unit: Unit, language: str) -> tuple[str, ...]:
        match unit.kind:
            case Kind.WORD:
                return self._stemmer.forms(unit.text, language)
            case Kind.WHOLE:
                squeezed = self._stemmer.forms(unit.squeezed, language) if unit.squeezed else ()
                return (unit.text[:TERM_CHARS], *squeezed)
            case Kind.RUN:
                return (*unit.text, *_pairs(unit.text))
            case Kind.PICTURE:
                return (unit.text,)

    def _asked(self, unit: Unit, languages: tuple[str, ...], stops: frozenset[str]) -> Iterator[QueryTerm]:
        match unit.kind:
            case Kind.RUN if len(unit.text) > 1:
                yield from (QueryTerm((pair,), pair, 1.0, stop=False) for pair in _pairs(unit.text))
                noun = _PARTICLE.fullmatch(unit.text)
                if noun is not None:
                    yield QueryTerm((noun[1],), noun[1], 1.0, stop=False)
            case Kind.RUN | Kind.PICTURE:
                yield QueryTerm((unit.text,), unit.text, 1.0, stop=False)
            case _:
                forms = tuple(dict.fromkeys(form for name in languages for form in self._terms(unit, name)))
                heavy = unit.long or unit.kind is Kind.WHOLE
                stop = unit.kind is Kind.WORD and (unit.weak or unaccented(unit.text) in stops)
                shown = unaccented(unit.text)[:TERM_CHARS]
                yield QueryTerm(forms, shown, WHOLE_WEIGHT if heavy else 1.0, stop=stop)


@lru_cache(maxsize=1_000)
def _stops(spoken: str, languages: tuple[str, ...]) -> frozenset[str]:
    """Return the function words of the language that is spoken, and of the others what means nothing in English."""
    others = (STOPS.get(language, frozenset()) - ALSO_ENGLISH for language in languages)
    return STOPS.get(spoken, frozenset()).union(_ANY_TEXT_STOPS, *others)


def _pairs(run: str) -> Iterator[str]:
    return map("".join, pairwise(run))
