"""Which language a text is written in, told by its commonest words and letters: enough to choose stems, and quick."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import chain

from recallmesh.keyword.script import fold
from recallmesh.keyword.stopwords import ALSO_ENGLISH, TELLING, WORDS

STOPS: dict[str, frozenset[str]] = {language: frozenset(map(fold, words.split())) for language, words in WORDS.items()}
"""Function words of each language, folded."""
SAMPLE_WORDS = 200
"""Words looked at: a longer text does not become clearer."""
_ENOUGH = 0.5
"""What a text must show of another language than the expected one: a word that only two languages have. A text taken
for another language loses little, since a question is looked up by the stems of all languages that the bank holds."""
_SHARE = 0.1
"""What it must show for each of its words: running text has more, a list of names and loan words has not."""
_EQUAL = 1e-6
"""Sums this near to one another are equal."""
_LETTERS = {
    "german": "äöüß",
    "french": "çéèêàùœî",
    "spanish": "ñáéíóú¿",
    "italian": "àèìòù",
    "portuguese": "ãõçáéíóú",
    "swedish": "åäö",
    "danish": "åæø",
    "norwegian": "åæø",
    "finnish": "äö",
    "hungarian": "őűáéíóöúü",
    "polish": "łąęśźżćń",
    "czech": "řěůščžýáíé",
    "romanian": "șțăâî",
    "turkish": "ğışçöü",
    "catalan": "çàèéíòóú",
}
_LETTER_WORTH = 0.5
"""A letter counts half of what a word does: names bring their accents into any language."""


Evidence = dict[str, tuple[tuple[str, float], ...]]


def _shared_out(own: dict[str, Iterable[str]], worth: float) -> Evidence:
    """Return for each sign what it is worth to each language that has it: the fewer, the more."""
    having: dict[str, list[str]] = defaultdict(list)
    for language, signs in own.items():
        for sign in signs:
            having[sign].append(language)
    return {sign: tuple((name, worth / len(names)) for name in names) for sign, names in having.items()}


_OF_WORD = _shared_out(
    {name: {*words.split(), *TELLING.get(name, "").split()} - ALSO_ENGLISH for name, words in WORDS.items()}, 1.0
)
_OF_LETTER = _shared_out({name: set(letters) for name, letters in _LETTERS.items()}, _LETTER_WORTH)


def language_of(words: Iterable[str], expected: str, among: Collection[str] = WORDS) -> str:
    """Return the language that these lower-case words speak for most; the expected one unless another has more."""
    found: dict[str, float] = defaultdict(float)
    distinct = dict.fromkeys(words)  # no set: sums must not hang on a process's hashes
    letters = dict.fromkeys(letter for word in distinct if not word.isascii() for letter in word)
    told = [*filter(None, map(_OF_WORD.get, distinct)), *filter(None, map(_OF_LETTER.get, letters))]
    for language, worth in chain.from_iterable(told):
        found[language] += worth
    best, reached = expected, max(found.get(expected, 0.0), _ENOUGH - 2 * _EQUAL, _SHARE * len(distinct))
    for language in sorted(found.keys() & among):
        if found[language] > reached + _EQUAL:
            best, reached = language, found[language]
    return best
