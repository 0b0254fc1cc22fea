"""Chunking: cuts a text by tokens on the bounds of speaker turns, paragraphs and sentences (SPEC T2)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from recallmesh.core.tokens import TokenCounter
from recallmesh.retain.sentence import Stretch, split_sentences, trim
from recallmesh.retain.speaker import turn_starts

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
# A token of a common vocabulary has four characters or so; a piece of this many a token surely holds more than enough.
_CHARS_PER_TOKEN = 8
_NARROW_GAP = 2


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk's text, word for word, its number of tokens, and behind how many characters of the whole it begins."""

    text: str
    tokens: int
    begin: int = 0


def cut(text: str, limit: int, counter: TokenCounter) -> tuple[Piece, ...]:
    """Return pieces of at most ``limit`` tokens that hold the whole text but the spaces between them.

    Turns and paragraphs stay whole where they fit, else sentences do; a sentence beyond the limit is cut between words,
    a word beyond it between characters. Pure computing, long for long texts: call it off the event loop.
    """
    pieces: list[Piece] = []
    begin = end = 0
    held = 0
    for stretch, tokens in _units(text, limit, counter):
        # A space or newline may cost a token or none, by vocabulary; a wide gap costs what it costs.
        gap = 1 if stretch.begin - end <= _NARROW_GAP else counter.count(text[end : stretch.begin])
        if held and held + gap + tokens > limit:
            pieces.append(_piece(text, begin, end, counter))
            held = 0
        if not held:
            begin = stretch.begin
            gap = 0
        end = stretch.end
        held += gap + tokens
    if held:
        pieces.append(_piece(text, begin, end, counter))
    return tuple(pieces)


def _piece(text: str, begin: int, end: int, counter: TokenCounter) -> Piece:
    part = text[begin:end]
    # The sum over the parts is an upper bound; what is stored is exact.
    return Piece(part, counter.count(part), begin)


def _units(text: str, limit: int, counter: TokenCounter) -> Iterator[tuple[Stretch, int]]:
    for block in _blocks(text):
        tokens = counter.count(text[block.begin : block.end])
        if tokens <= limit:
            yield block, tokens
            continue
        for sentence in split_sentences(text, block.begin, block.end):
            count = counter.count(text[sentence.begin : sentence.end])
            if count <= limit:
                yield sentence, count
            else:
                yield from _hard(text, sentence, limit, counter)


def _blocks(text: str) -> Iterator[Stretch]:
    """Yield speaker turns where the text has them, else paragraphs."""
    starts = turn_starts(text)
    ends = [match.end() for match in _PARAGRAPH_END.finditer(text)] if len(starts) <= 1 else starts
    bounds = sorted({0, *ends, len(text)})
    for begin, end in pairwise(bounds):
        stretch = trim(text, begin, end)
        if stretch.begin < stretch.end:
            yield stretch


def _hard(text: str, stretch: Stretch, limit: int, counter: TokenCounter) -> Iterator[tuple[Stretch, int]]:
    at = stretch.begin
    while at < stretch.end:
        ahead = text[at : min(stretch.end, at + limit * _CHARS_PER_TOKEN)]
        part = counter.truncate(ahead, limit) or ahead[:1]
        if at + len(part) < stretch.end and (space := part.rfind(" ")) > len(part) // 2:
            part = part[:space]
        piece = trim(text, at, at + len(part))
        if piece.begin < piece.end:
            yield piece, counter.count(text[piece.begin : piece.end])
        at += len(part)
