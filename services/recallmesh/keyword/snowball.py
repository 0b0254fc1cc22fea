"""Stems: the Snowball stemmers, made safe for threads and quick for words met before."""

import threading

import snowballstemmer

_CACHED_WORDS = 100_000
"""Words whose stems are kept: a large vocabulary, some 10 MB."""
_BY_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0531", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""Scripts that give the language away, or nearly: their words are stemmed whatever language was set."""

LANGUAGES: tuple[str, ...] = tuple(sorted(snowballstemmer.algorithms()))
"""The languages that have a stemmer."""


class Stemmer:
    """Reduces words to their stems; those of a language without a stemmer stay as they are."""

    def __init__(self, language: str) -> None:
        """Stem Latin words by the rules of this language; no name that Snowball knows: not at all."""
        self._language = language
        self._lock = threading.Lock()  # Snowball's stemmers keep their state in themselves
        self._stemmers = {name: snowballstemmer.stemmer(name) for name in _wanted(language)}
        self._cache: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """Return the stem of a folded word."""
        known = self._cache.get(word)
        if known is not None:
            return known
        stemmer = self._stemmers.get(self._language_of(word))
        if stemmer is None:
            return word
        with self._lock:
            stem = str(stemmer.stemWord(word))
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = stem
        return stem

    def _language_of(self, word: str) -> str:
        first = word[0]
        if first < "\u0370":
            return self._language
        return next((name for low, high, name in _BY_SCRIPT if low <= first <= high), "")


def _wanted(language: str) -> set[str]:
    return {language, *(name for _, _, name in _BY_SCRIPT)} & set(LANGUAGES)
