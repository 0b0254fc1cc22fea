"""Cutting texts where the model's tokenizer is elsewhere: by an estimate of what its tokens will be."""

import math
import re
from collections.abc import Iterator
from unicodedata import east_asian_width

from recallmesh.reranker.passage import OVERLAP

LETTERS_PER_TOKEN = 4
"""Of alphabets, in a vocabulary of English; rather too few, so that a passage is rather too short."""
LONGEST_WORD = 32
"""Letters after which a word is cut: what is longer is none."""

_WORD = re.compile(r"\S+")
Piece = tuple[int, int, float]
"""Where a piece of text begins and ends, and how many tokens it is taken for."""


def passages(text: str, tokens: int) -> tuple[str, ...]:
    """Return a text's passages of so many tokens: one if it fits, else several that cover all of it and overlap."""
    pieces = list(_pieces(text))
    if sum(size for *_, size in pieces) <= tokens:
        return (text,)
    found: list[str] = []
    first = 0
    while first < len(pieces):
        last = _reach(pieces, first, tokens)
        found.append(text[pieces[first][0] : pieces[last][1]])
        if last == len(pieces) - 1:
            break
        first = max(first + 1, _reach(pieces, first, tokens * (1 - 1 / OVERLAP)) + 1)
    return tuple(found)


def shortened(query: str, tokens: int) -> str:
    """Return a query of at most so many tokens: its two ends, since what is asked stands at one of them."""
    pieces = list(_pieces(query))
    if sum(size for *_, size in pieces) <= tokens:
        return query
    head = _reach(pieces, 0, tokens / 2)
    backwards = pieces[::-1]
    tail = len(pieces) - 1 - _reach(backwards, 0, tokens / 2)
    return f"{query[: pieces[head][1]]} {query[pieces[tail][0] :]}"


def _reach(pieces: list[Piece], first: int, tokens: float) -> int:
    """Return the last piece that still fits when these are read from the first; that one always does."""
    total = 0.0
    for place in range(first, len(pieces)):
        total += pieces[place][2]
        if total > tokens:
            return max(first, place - 1)
    return len(pieces) - 1


def _pieces(text: str) -> Iterator[Piece]:
    for word in _WORD.finditer(text):
        begin = word.start()
        for place in range(word.start(), word.end()):
            if east_asian_width(text[place]) in "WF":  # a token by itself
                yield from _letters(begin, place)
                yield place, place + 1, 1.0
                begin = place + 1
            elif place - begin >= LONGEST_WORD:
                yield from _letters(begin, place)
                begin = place
        yield from _letters(begin, word.end())


def _letters(begin: int, end: int) -> Iterator[Piece]:
    if begin < end:
        yield begin, end, float(max(1, math.ceil((end - begin) / LETTERS_PER_TOKEN)))
