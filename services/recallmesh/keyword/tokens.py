"""Text to the things in it: words, identifiers with their parts, runs without spaces, pictures, telephone numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from recallmesh.keyword.script import (
    ASTRAL_HAN,
    FLAGS,
    HANGUL,
    MARKS,
    PAIRED,
    PICTURES,
    SPACELESS,
    lowered,
    unaccented,
)

_WORD = rf"[^\W_{PAIRED}]+(?:[{MARKS}]+[^\W_{PAIRED}]*)*"
_ATOM = rf"{_WORD}(?:'{_WORD})*"
_JOINER = r"(?:://|::|:\\|->|[-_./:@+#&=?%~\\]|(?<=\d),(?=\d))"
_TOKEN = re.compile(
    rf"(?P<run>[{SPACELESS}{ASTRAL_HAN}]+|[{HANGUL}]+)"
    rf"|(?P<picture>[{FLAGS}]{{2}}|[{FLAGS}{PICTURES}])"
    rf"|(?P<name>(?:(?<![\w.])\.(?=[^\W\d]))?{_ATOM}(?:{_JOINER}{_ATOM})*(?:\+\+|[+#])?)"
)
_PHONE_BEGINS = r"[+(]\(?\d|0(?=[\d (/-])|\d{3}[ .-](?=\d{3}[ .-]\d{4}\b)"
_PHONE = re.compile(rf"(?<![\w.])(?:(?:{_PHONE_BEGINS})(?:[ ()./-]{{0,3}}\d){{6,14}}|\d{{10,15}})(?!\w)")
_PHONE_TAIL = 7
"""Last digits by which a telephone number is known, with or without the codes of country and area."""
_SEGMENT = re.compile(r"[/:@?&=~\\]+|#(?=.)")
"""Cuts of an address whose pieces are names themselves: the host of a URL, the domain of an e-mail."""
_FIND_ATOM = re.compile(_ATOM)
_SQUEEZED = re.compile(r"[-_.,']")
"""Signs that one writer sets and the next leaves out: e-mail, wi-fi, 1,000."""
_SEAM = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
"""Where a name is sewn together: camelCase, HTTPServer, UA123."""
_PIECES = 6
"""More pieces than this are no name but a checksum."""
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_CONTRACTED = re.compile(r".+(?:n't|'(?:m|re|ve|ll|d))")
_KNOWN_CHARS = 40
"""Longer names are not remembered: they seldom come again."""
_ELIDED_CHARS = 2
"""Letters at most before an apostrophe that are an article or pronoun: l'amour, qu'il, d'accord."""


class Kind(Enum):
    """What a unit is: a word to be stemmed, a whole that is met as written, a run of characters, one picture."""

    WORD = auto()
    WHOLE = auto()
    RUN = auto()
    PICTURE = auto()


@dataclass(frozen=True, slots=True)
class Unit:
    """A thing in a text. ``text`` is in lower case; a whole's is without accents.

    ``squeezed`` is a whole's other spelling, to be stemmed; ``long`` says that a word is itself a whole of parts that
    follow; ``weak`` that it is no name by itself: the rest of an article (l'amour), the letters of a number (UA123).
    """

    kind: Kind
    text: str
    squeezed: str = ""
    long: bool = False
    weak: bool = False


def units(text: str) -> Iterator[Unit]:
    """Yield what is in a plain text, in its order; a whole before its parts."""
    for token in _TOKEN.finditer(text):
        value = token[0]
        match token.lastgroup:
            case "run":
                yield Unit(Kind.RUN, value)
            case "picture":
                yield Unit(Kind.PICTURE, value)
            case _:
                yield from _known_name(value) if len(value) <= _KNOWN_CHARS else _name(value)
    for number in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", number[0])
        yield Unit(Kind.WHOLE, f"tel:{digits[-_PHONE_TAIL:]}")


@lru_cache(maxsize=50_000)
def _known_name(value: str) -> tuple[Unit, ...]:
    return tuple(_name(value))


def _name(value: str) -> Iterator[Unit]:
    if value.islower() and value.isalpha():
        yield Unit(Kind.WORD, value if value.isascii() else lowered(value))
        return
    value = value.removesuffix("'s").removesuffix("'S")
    atoms = _FIND_ATOM.findall(value)
    if len(atoms) > 1 or atoms[0] != value:
        yield from _wholes(value)
    for atom in atoms:
        yield from _atom(atom)


def _wholes(value: str) -> Iterator[Unit]:
    whole = unaccented(lowered(value))
    bare = _SQUEEZED.sub("", whole)
    yield Unit(Kind.WHOLE, whole, bare if bare != whole and bare.isalnum() else "")
    if whole[0] == "v" and whole[1].isdigit():
        yield Unit(Kind.WHOLE, whole[1:])
    for piece in _SEGMENT.split(whole):
        if piece != whole and piece and (len(_FIND_ATOM.findall(piece)) > 1 or piece[-1] in "+#"):
            yield Unit(Kind.WHOLE, piece)


def _atom(atom: str) -> Iterator[Unit]:
    atom = atom.removesuffix("'s").removesuffix("'S")
    if "'" not in atom:
        yield from _word(atom)
        return
    word = lowered(atom)
    if _CONTRACTED.fullmatch(word):
        yield Unit(Kind.WORD, word)
        return
    first, *rest = atom.split("'")
    yield Unit(Kind.WHOLE, unaccented(word), unaccented(word).replace("'", ""))
    yield Unit(Kind.WORD, lowered(first), weak=len(first) <= _ELIDED_CHARS)
    for piece in rest:
        yield from _word(piece)


def _word(word: str) -> Iterator[Unit]:
    pieces = () if (word.isalpha() and word[1:].islower()) or _ORDINAL.fullmatch(word) else _SEAM.split(word)
    if 1 < len(pieces) <= _PIECES:
        yield Unit(Kind.WORD, lowered(word), long=True)
        numbered = not word.isalpha()
        yield from (Unit(Kind.WORD, lowered(piece), weak=numbered and piece.isalpha()) for piece in pieces)
    else:
        yield Unit(Kind.WORD, lowered(word))
