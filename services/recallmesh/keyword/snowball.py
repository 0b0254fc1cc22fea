"""Stems: the Snowball stemmers, made safe for threads and quick for words met before."""

import threading
from typing import Protocol

import snowballstemmer

from recallmesh.keyword.script import spelled_out, unaccented

TERM_CHARS = 64
"""Longer terms are cut: what people type is shorter, and an index key must end somewhere."""
_CACHED_WORDS = 100_000
"""Words whose forms are kept: a large vocabulary, some 20 MB."""
_BY_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0531", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""Scripts that give the language away, or nearly: their words are stemmed whatever language was set."""

LANGUAGES: frozenset[str] = frozenset(snowballstemmer.algorithms())
"""The languages that have a stemmer."""


class _Stems(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 -- Snowball's name


class Stemmer:
    """Reduces words to the forms under which they are stored and found."""

    def __init__(self) -> None:
        """Start with no word met."""
        self._lock = threading.Lock()  # Snowball's stemmers keep their state in themselves
        self._stemmers: dict[str, _Stems] = {}
        self._cache: dict[tuple[str, str], tuple[str, ...]] = {}

    def forms(self, word: str, language: str) -> tuple[str, ...]:
        """Return the forms of a lower-case word, the one without accents first; Latin words by the language's rules.

        A word with accents has more than one where the rules need the accents (ações, ação: "aç") or where people
        without the keys write two letters (Zürich, Zuerich). A language without a stemmer leaves words as they are.
        """
        key = (language, word)
        known = self._cache.get(key)
        if known is not None:
            return known
        spoken = _language_of(word, language)
        bare = unaccented(word)
        forms = [self._stem(bare, spoken)]
        if bare != word:
            forms += [unaccented(self._stem(word, spoken)), self._stem(spelled_out(word), spoken)]
        found = tuple(dict.fromkeys(form[:TERM_CHARS] for form in forms if form))
        with self._lock:
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[key] = found
        return found

    def _stem(self, word: str, language: str) -> str:
        if language not in LANGUAGES:
            return word
        with self._lock:
            stemmer = self._stemmers.get(language)
            if stemmer is None:
                stemmer = self._stemmers[language] = snowballstemmer.stemmer(language)
            return str(stemmer.stemWord(word)) or word


def _language_of(word: str, language: str) -> str:
    first = word[0]
    if first < "\u0370":
        return language
    return next((name for low, high, name in _BY_SCRIPT if low <= first <= high), "")
