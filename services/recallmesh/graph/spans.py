"""Spans: the stretches of a query that may be names, and the keys to ask the store for."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recallmesh.graph.names import EDGES, POSSESSIVE, TITLES, name_key, name_keys

WORDS_PER_NAME = 6
CLOSE_WORDS = 32
"""Only queries of at most this many words are read for names spelt or inflected otherwise: a pasted document is not."""
WORDS_FORGIVEN = 3
"""The most words of a name that may be spelt or inflected otherwise."""
FUZZY_CHARS = 6
"""Shorter names are too near to one another: Mira and Mina, Maria and Mario."""
FUZZY_WORD_CHARS = 5
"""The same for one word of several, the others being right."""
FUZZY_PREFIX = 2
"""The letters at the start that must be right, which also makes the look-up a range of the index."""
CJK_CHARS = 8
PLURAL_CHARS = 3
"""The fewest letters of the singular of what is taken for a plural."""
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can could did do does for from had has have he her his how i if in is it its may "
        "me my no not of on or our she so that the their them they this to us was we were what when where who why will "
        "with would yes you your",
    )
)
"""Words that are names only when written as names: Will, May, Us."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query that may be a name: a key, and the characters [start, end) of the folded query it covers.

    Several spans may cover the same characters, each with another key.
    """

    key: str
    start: int
    end: int
    fuzzy: bool = False
    """Whether a name spelt nearly like it may be meant."""
    alone: bool = False
    """Whether it is one word with no capitalised word beside it, so that it may be a given name."""
    capital: bool = False
    """Whether it is also written with a capital letter, so that it may be a family name."""
    other_numbers: tuple[str, ...] = ()
    """The keys of its plural or singular."""
    unspaced: bool = False
    """Whether it is a part of a word, as names are in text without spaces."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the query: as written, folded, and in the other forms that may be meant."""

    raw: str
    plain: str
    owning: str = ""
    """Folded with its apostrophe, where it has one at the end."""
    spelt: str = ""
    """Folded as it is written without umlauts, where it has some."""
    other_numbers: tuple[str, ...] = ()
    """Its plural or singular; none in long texts."""
    function: bool = False
    digits: bool = False


def spans(text: str) -> tuple[Span, ...]:
    """Return the stretches of a query that may be names, longer ones first; of one stretch the likeliest key first."""
    said = text.split()
    words = [_word(word, close=len(said) <= CLOSE_WORDS) for word in said]
    starts = _starts(words)
    found: list[Span] = []
    for size in range(min(WORDS_PER_NAME, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            if all(word.plain for word in words[first : first + size]):
                found += _stretch(words, starts, first, size)
    found += _unspaced(words, starts)
    return tuple(found)


def _stretch(words: list[_Word], starts: list[int], first: int, size: int) -> Iterator[Span]:
    covered = words[first : first + size]
    start, end = starts[first], starts[first + size] - 1
    last = covered[-1]
    before = "".join([f"{word.plain} " for word in covered[:-1]])
    alone = size == 1 and not _has_capital_neighbour(words, first)
    if size == 1 and _is_function_word(words, first):
        return
    if last.owning:
        yield Span(before + last.owning, start, end)
    key = before + last.plain
    yield Span(
        key,
        start,
        end,
        fuzzy=len(words) <= CLOSE_WORDS and len(key) >= FUZZY_CHARS and _may_be_misspelt(covered),
        alone=alone,
        capital=alone and last.raw[:1].isupper(),
        other_numbers=tuple([before + word for word in last.other_numbers]) if size <= WORDS_FORGIVEN else (),
    )
    if any(word.spelt for word in covered):
        yield Span(" ".join([word.spelt or word.plain for word in covered]), start, end)
    if size == 2:  # noqa: PLR2004 - a last and a first name
        yield Span(f"{covered[0].plain}, {last.plain}", start, end)


def keys(stretches: Iterable[Span]) -> tuple[str, ...]:
    """Return the keys that would be exactly what a stretch says."""
    return tuple(sorted({key for span in stretches for key in (span.key, *span.other_numbers)}))


def prefixes(stretches: Iterable[Span]) -> tuple[str, ...]:
    """Return the beginnings under which misspelt names, given names and family names may stand in the index."""
    starts = {span.key[:FUZZY_PREFIX] for span in stretches if span.fuzzy}
    given = {f"{span.key} " for span in stretches if span.alone}
    family = {f"{span.key}, " for span in stretches if span.capital}
    # A beginning yields so many names at most: the longer ones are asked for by themselves.
    return tuple(sorted(starts | given | family))


def _word(said: str, *, close: bool) -> _Word:
    raw = said.strip(EDGES)
    bare = POSSESSIVE.sub("", raw)
    plain = name_key(bare)
    spelt = "" if bare.isascii() else next(iter(name_keys(bare) - {plain}), "")
    return _Word(
        raw,
        plain,
        owning=name_key(raw) if bare != raw else "",
        spelt=spelt,
        other_numbers=tuple(_other_numbers(plain)) if close and plain.isalpha() and plain.isascii() else (),
        function=plain in FUNCTION_WORDS,
        digits=any(char.isdigit() for char in plain),
    )


def _starts(words: list[_Word]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word.plain) + 1)
    return starts


def _other_numbers(word: str) -> Iterator[str]:
    if len(word) < PLURAL_CHARS:
        return
    yield from (f"{word}s", f"{word}es")
    if word.endswith("y"):
        yield f"{word[:-1]}ies"
    for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= PLURAL_CHARS - len(instead):
            yield word.removesuffix(ending) + instead


def _may_be_misspelt(words: list[_Word]) -> bool:
    # A digit makes an identifier, and identifiers that differ in one character are different things.
    ends = {words[0].plain, words[-1].plain} - {"the"}
    return (
        len(words) <= WORDS_FORGIVEN
        and not any(word.digits for word in words)
        and (len(words) == 1 or FUNCTION_WORDS.isdisjoint(ends))
    )


def _has_capital_neighbour(words: list[_Word], place: int) -> bool:
    beside = [words[i] for i in (place - 1, place + 1) if 0 <= i < len(words)]
    return any(
        word.raw[:1].isdigit() or (word.raw[:1].isupper() and word.raw != words[0].raw and word.plain not in TITLES)
        for word in beside
    )


def _is_function_word(words: list[_Word], place: int) -> bool:
    word = words[place]
    if not word.function:
        return False
    return place == 0 or not word.raw[:1].isupper() or word.plain == "i"


def _unspaced(words: list[_Word], starts: list[int]) -> Iterator[Span]:
    for word, begin in zip((word.plain for word in words), starts, strict=False):
        for run in _CJK.finditer(word):
            whole = run.group()
            for size in range(min(CJK_CHARS, len(whole)), 1, -1):
                for first in range(len(whole) - size + 1):
                    at = begin + run.start() + first
                    if size < len(word):
                        yield Span(whole[first : first + size], at, at + size, unspaced=True)
