"""Causal cues: which fact of a passage is said to have come of which (SPEC T7)."""

import re
from collections.abc import Sequence

from recallmesh.retain.extraction import Cause

# A sentence that opens with one of these says that it came of the one before.
_OPENING = re.compile(
    r"""(?ix)^(?:and\s|,\s)?(?:
      therefore | thus | hence | consequently | accordingly | as\sa\s(?:result|consequence) | for\s(?:this|that)\sreason
    | because\sof\s(?:this|that|it) | due\sto\s(?:this|that) | that(?:'s|’s|\sis|\swas)\swhy
    | this\sis\swhy | which\sis\swhy | so\b(?!\s(?:much|many|far|good|cool))
    | deshalb | daher | darum | deswegen | folglich | infolgedessen
    | donc | c'est\spourquoi | par\sconséquent
    | por\s(?:eso|lo\stanto) | así\sque | per\squesto | quindi | perciò | por\sisso | portanto | daarom | dus
    )\b | ^(?:所以|因此|だから|そのため|그래서|따라서)"""
)
_STRONG = re.compile(
    r"(?i)^(?:and\s)?(?:therefore|consequently|as a (?:result|consequence)|for (?:this|that) reason"
    r"|deshalb|daher|folglich)\b"
)
# What follows one of these names a cause, up to the next comma or end.
_NAMING = re.compile(
    r"""(?ix)\b(?:because(?:\sof)? | 'cause | cuz | due\sto | owing\sto | thanks\sto | as\sa\sresult\sof
    | caused\sby | triggered\sby | wegen | weil | aufgrund | infolge | à\scause\sde | parce\sque? | grâce\sà | debido\sa
    | porque | a\scausa\sd[ei] | perché | por\scausa\sd[eoa] | omdat | vanwege
    )\b\s*(?P<cause>[^,.;!?\n]{3,120})"""
)
_WORD = re.compile(r"[^\W\d_]{4,}|\d{3,}")
_OPENING_WEIGHT = 0.9
_NAMING_WEIGHT = 0.6
_COMMON_WORDS = """
that this with have been were they them their there what when which would could should about from into because
really very just some more than then also like good great much many time thing things make made your mine ours
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def opens_with_effect(sentence: str) -> bool:
    """Tell whether a sentence says that it came of the one before."""
    return _OPENING.search(sentence) is not None


def opens_new_fact(sentence: str) -> bool:
    """Tell whether such a sentence is one that stands by itself ("Therefore the board closed the plant.")."""
    return _STRONG.search(sentence) is not None


def find_causes(facts: Sequence[tuple[str, bool]]) -> tuple[tuple[Cause, ...], ...]:
    """Return each fact's causes among the others; a fact is its bare text and whether it opens with an effect."""
    words = [_content_words(text) for text, _ in facts]
    found: list[tuple[Cause, ...]] = []
    for index, (text, opens) in enumerate(facts):
        weights: dict[int, float] = {}
        if opens and index:
            weights[index - 1] = _OPENING_WEIGHT
        for match in _NAMING.finditer(text):
            named = _content_words(match["cause"])
            for other, theirs in enumerate(words):
                # A cause is told before its effect; the fact itself says the rest.
                if other < index and named & theirs:
                    weight = _NAMING_WEIGHT * len(named & theirs) / len(named)
                    weights[other] = max(weights.get(other, 0.0), weight)
        found.append(tuple(Cause(other, weight) for other, weight in sorted(weights.items())))
    return tuple(found)


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.casefold()) if word not in _COMMON)
