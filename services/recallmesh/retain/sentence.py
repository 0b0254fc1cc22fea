"""Sentences of a text, as stretches of it, in scripts with and without spaces."""

import re
from dataclasses import dataclass

# Words before a full stop that do not end a sentence: titles, Latin abbreviations, months, legal forms.
_ABBREVIATION_WORDS = """
mr mrs ms dr prof st sr jr hr fr vs etc e.g i.e z.b d.h u.a bzw ca cf fig no nr vol dept approx inc ltd co corp
jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m u.s u.k sra dra mme mlle gen col sgt lt capt rev hon
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_WORDS.split())
# "No. 5" is a number, "Oh no." is not.
_BEFORE_FIGURES = frozenset({"no", "fig", "nr", "vol"})
_FIGURE = re.compile(r"\s*\d")
_END = re.compile(
    r"""(?<![.!?\u2026])[.!?\u2026]+["'\u201d\u2019)\]]*(?=\s)   # an end mark, closing quotes, then space
      | [\u3002\uff01\uff1f]+[\u300d\u300f\u201d\uff09]*   # an end mark of a script without spaces
      | \n+
      | (?<=[^\s])(?=\s\[[^\]\n]{3,400}\])   # before a stage direction in brackets
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"([\w.]+)\.$")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text: ``text[begin:end]``."""

    begin: int
    end: int


def split_sentences(text: str, begin: int = 0, end: int | None = None) -> tuple[Stretch, ...]:
    """Return the sentences between two places, in order, trimmed of spaces; nothing but spaces lies between them."""
    limit = len(text) if end is None else end
    found: list[Stretch] = []
    start = begin
    for match in _END.finditer(text, begin, limit):
        if match.group().startswith(".") and _is_abbreviation(text, start, match.end()):
            continue
        _add(found, text, start, match.end())
        start = match.end()
    _add(found, text, start, limit)
    return tuple(found)


def trim(text: str, begin: int, end: int) -> Stretch:
    """Return the stretch without the spaces at its ends."""
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return Stretch(begin, end)


def _add(found: list[Stretch], text: str, begin: int, end: int) -> None:
    stretch = trim(text, begin, end)
    if stretch.begin < stretch.end:
        found.append(stretch)


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    # Only the last word matters: looking at more would make a text without full stops quadratic.
    match = _LAST_WORD.search(text[max(start, end - 24) : end])
    if match is None:
        return False
    word = match.group(1).casefold()
    if word in _BEFORE_FIGURES:
        return _FIGURE.match(text, end) is not None
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i")
