"""Prompt injection: text that speaks to the model that will read it.

A list of phrases finds those who use them. It does not find an instruction that is worded anew, cut into pieces or
written in a language that is not there, and it is no proof that what passes is harmless.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from recallmesh.core.defense import DefenseDetector, Severity
from recallmesh.retain.defense.finding import Finding, Kind
from recallmesh.retain.defense.phrases import MARKUP, OBJECTS, OVERRIDE, TAGS, UNSPACED, VERBS

INSTRUCTION = Kind("prompt injection", DefenseDetector.PROMPT_INJECTION, Severity.HIGH)
CHAT_MARKUP = Kind("chat markup", DefenseDetector.PROMPT_INJECTION, Severity.HIGH)
HIDDEN = Kind("hidden text", DefenseDetector.PROMPT_INJECTION, Severity.MEDIUM)

_FLAG = "\U0001f3f4"
"""A black flag begins the flags of regions (Scotland, Wales …), which are spelt with tags and are let be."""
_SENTENCE_END = re.compile(r"[.!?。！？\n]")
_SENTENCE_REACH = 300
_DRESSED = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]")
"""Signs that hide a word from whoever compares letters: of no width, of full width, of mathematics."""

Places = Callable[[int], int]
"""Gives where a character of a plain text stood in the text as it came."""


def scan(text: str) -> Iterator[Finding]:
    """Find instructions to a model; what follows one to the end of its sentence is part of it."""
    plain, places = _undressed(text)
    lowered = _lowered(plain)
    spaced = any(word in lowered for word in VERBS) and any(word in lowered for word in OBJECTS)
    for pattern in (OVERRIDE, UNSPACED) if spaced else (UNSPACED,):
        for found in pattern.finditer(lowered):
            stop = _SENTENCE_END.search(plain, found.end(), found.end() + _SENTENCE_REACH)
            end = stop.start() if stop else min(len(plain), found.end() + _SENTENCE_REACH)
            yield Finding(places(found.start()), places(end - 1) + 1, INSTRUCTION)
    for found in MARKUP.finditer(text):
        yield Finding(found.start(), found.end(), CHAT_MARKUP)
    for found in TAGS.finditer(text):
        if not text.startswith(_FLAG, max(0, found.start() - 1)):
            yield Finding(found.start(), found.end(), HIDDEN)


def _lowered(text: str) -> str:
    """Return a text in lower case, each letter in its place: "İ" in lower case is two."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := sign.lower()) == 1 else sign for sign in text)


def _undressed(text: str) -> tuple[str, Places]:
    """Return a text without signs of no width and with plain letters, and where each was."""
    if not _DRESSED.search(text):
        return text, int
    letters: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        plain = sign
        if _DRESSED.match(sign):
            plain = "" if unicodedata.category(sign) == "Cf" else unicodedata.normalize("NFKC", sign)
        letters.extend(plain)
        places.extend([place] * len(plain))
    return "".join(letters), places.__getitem__
