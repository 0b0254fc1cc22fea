"""Gists: what a fact says, word for word, so that two facts can be held against each other without a model."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from recallmesh.core.entity import LABEL
from recallmesh.core.memory import Memory

# Words that change nothing of what is said: articles, prepositions, "and", the present of to be and to have, adverbs of
# degree. What is in no list is content, in any language.
_FILLING_WORDS = """
a an the this that these those of to in on at for with from by into onto about over under through during and as
is are am be been being has have do does it's there here
just also really very quite actually currently recently finally now always still already too so truly simply
"""
_FILLING = frozenset(_FILLING_WORDS.split())
_SPEAKER_WORDS = "i i'm i've i'd me my mine myself we we're we've us our ours"
# The speaker of a text, once its label says who that is.
_SPEAKER = frozenset(_SPEAKER_WORDS.split())
_DENYING_WORDS = "not no never none nobody nothing nor without stopped quit quits ceased"
# Words that deny what the rest says. An even number of them denies nothing.
_DENYING = frozenset(_DENYING_WORDS.split())
# What is said in two words and denies once, or in one and is two.
_PHRASES = (
    ("can't ", "can not "),
    ("cannot ", "can not "),
    ("won't ", "will not "),
    ("n't ", " not "),
    (" no longer ", " never "),
    (" not anymore ", " never "),
    (" gave up ", " never "),
)
_TURNING_WORDS = "if unless until till or except than instead but though although while before after when"
# Where what follows makes another statement of what stands before.
_TURNING = frozenset(_TURNING_WORDS.split())
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
# Written as words in one text and as figures in another.
_FIGURES = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())} | {"dozen": "12"}
_LABEL = re.compile(r"\s*(?:\[[^\]]*\]\s*)?([^\W\d_][\w .'\u2019-]{0,40}):\s+")
_WORD = re.compile(r"[^\W_]+(?:['\u2019.,:/-][^\W_]+)*", re.UNICODE)
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word that says something, by its stem; ``after_filling``: one that says nothing stands before it."""

    stem: str
    after_filling: bool


@dataclass(frozen=True, slots=True)
class Gist:
    """What a fact says.

    ``words`` in order; ``figures`` are those of its words that have digits; ``names`` the ids of the people, places and
    things it mentions; ``denied``: it says that something is not so; ``asked``: it is a question.
    """

    words: tuple[Word, ...]
    figures: frozenset[str]
    names: frozenset[str]
    denied: bool
    asked: bool

    @property
    def stems(self) -> tuple[str, ...]:
        """The words alone."""
        return tuple(word.stem for word in self.words)


def gist_of(memory: Memory) -> Gist:
    """Return what a memory says."""
    text = unicodedata.normalize("NFKC", memory.text).replace("\u2019", "'")
    label = _LABEL.match(text)
    filling = _FILLING | _SPEAKER if label else _FILLING
    words, denials = _words(text, filling)
    figures = frozenset(word.stem for word in words if any(char.isdigit() for char in word.stem))
    # Concepts are what rules make of any noun; to whom a fact belongs, the others say.
    names = frozenset(one.entity_id for one in memory.mentions if one.kind not in ("concept", ""))
    labels = frozenset(one.name for one in memory.mentions if one.kind == LABEL)
    return Gist(tuple(words), figures, names | labels, denials % 2 == 1, text.rstrip(" \"')").endswith(("?", "\uff1f")))


def _words(text: str, filling: Iterable[str]) -> tuple[list[Word], int]:
    plain = f" {' '.join(_WORD.findall(text.casefold().replace('any more', 'anymore')))} "
    for phrase, word in _PHRASES:
        plain = plain.replace(phrase, word)
    words: list[Word] = []
    denials, after = 0, True
    for token in plain.split():
        if token in _DENYING:
            denials += 1
        elif token in filling:
            after = True
        else:
            words.append(Word(_stem(token), after))
            after = False
    return words, denials


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """Return a word without what its place in an English sentence adds: 's, the s of a person or number, -ing.

    Not without -ed: what was so is another fact than what is.
    """
    word = _FIGURES.get(word, word).removesuffix("'s").replace(",", "")
    if not word.isascii() or any(char.isdigit() for char in word):
        return word
    for ending, left in (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("s", ""), ("ing", "")):
        kept = word.removesuffix(ending) + left
        if word.endswith(ending) and not word.endswith("ss") and len(kept) >= _SHORTEST_STEM:
            word = kept
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def is_turning(stems: Iterable[str]) -> bool:
    """Tell whether words make another statement of what stands before them."""
    return not _TURNING_STEMS.isdisjoint(stems)


_TURNING_STEMS = frozenset(_stem(word) for word in _TURNING)
