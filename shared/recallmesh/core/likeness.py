"""Likeness: how far two different keys are the same name, and by which rule (SPEC T6). Strict: in doubt, they are two.

The scores are steps, not a measure of letters: what tells two names apart is which letters differ, not how many. What
is sure is above ``resolution.THRESHOLD`` by itself, what is possible needs neighbours, all else cannot reach it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from recallmesh.core.entity import CONCEPT, PERSON
from recallmesh.core.key import words_of

_LEGAL_FORMS = frozenset({"inc", "ltd", "llc", "gmbh", "ag", "corp", "corporation", "co", "company", "plc", "sa", "bv"})
_VOWELS = frozenset("aeiouy")
_RUN_TOGETHER = 6
"""The fewest letters of a name that may be spaced otherwise."""
_SLIP_WORD = 7
"""The fewest letters of a word with a slip of the pen: Carol and Carlo, Marian and Marina are two."""
_LETTER_WORD = 8
"""The fewest letters of a word of which one letter may differ, and then only with neighbours in common."""
_END = 2
"""How many letters at a word's end must be equal: Christian and Christina, Martin and Martina differ there."""
_TWO_WORDS = 2
_KEPT = 4096
"""Keys whose parts are kept: the same candidates come again and again."""
_UNLIKE_MOST = 0.45
"""The most that other names have: with all that neighbours and time can add they stay below the threshold."""


class Rule(StrEnum):
    """What decided, in words."""

    SAME = "the same name"
    ALIAS = "one of its other names"
    FORM = "the same but for an article or a legal form"
    ORDER = "the same, last name first"
    SPACING = "the same letters, spaced otherwise"
    SLIP = "a slip of the pen in a long word"
    INITIAL = "one word is the other's initial"
    PERHAPS_INITIAL = "one word may be the other's initial"
    LETTER = "one vowel of a long word differs"
    NUMBER = "a name with a number is another, unless it is the same"
    UNLIKE = "another name"
    APART = "told apart by a split"
    TAKEN = "that short form is another's already"
    AS_NEAR = "another is as near"


SCORES = {
    Rule.SAME: 1.0,
    Rule.ALIAS: 1.0,
    Rule.FORM: 0.95,
    Rule.ORDER: 0.95,
    Rule.SPACING: 0.95,
    Rule.SLIP: 0.9,
    Rule.INITIAL: 0.85,
    Rule.PERHAPS_INITIAL: 0.6,
    Rule.LETTER: 0.6,
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name to compare: its key, what it is, and whether it is written with a full stop at its end (Alice C.)."""

    key: str
    kind: str = CONCEPT
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Likeness:
    """How far two names are the same, in [0, 1], and the rule that says so."""

    score: float
    rule: Rule


def likeness(one: Spelling, other: Spelling) -> Likeness:
    """Compare two names whose keys differ; the same whichever comes first."""
    rule = _rule(one, other)
    if rule is Rule.UNLIKE:
        return Likeness(round(_UNLIKE_MOST * _shared_pairs(one.key, other.key), 4), rule)
    return Likeness(SCORES.get(rule, 0.0), rule)


def expands(long: str, short: str) -> bool:
    """Tell whether a key is another with its initial written out: alice chen, alice c."""
    pair = _one_unequal(_words(long), _words(short))
    return pair is not None and len(pair[1]) == 1 < len(pair[0]) and pair[0].startswith(pair[1])


def _rule(one: Spelling, other: Spelling) -> Rule:
    mine, theirs = _words(one.key), _words(other.key)
    if any(char.isdigit() for char in one.key + other.key):
        return Rule.NUMBER
    if not mine or not theirs:
        return Rule.UNLIKE
    kinds = {one.kind, other.kind}
    rules = (
        (Rule.FORM, mine == theirs or (PERSON not in kinds and _core(mine) == _core(theirs))),
        (Rule.ORDER, _is_reordered(one.key, mine, theirs) or _is_reordered(other.key, theirs, mine)),
        (Rule.SPACING, _is_run_together(mine, theirs)),
    )
    sure = next((rule for rule, holds in rules if holds), None)
    return sure or _rule_of_word(one, other, _one_unequal(mine, theirs), len(mine))


def _rule_of_word(one: Spelling, other: Spelling, pair: tuple[str, str] | None, words: int) -> Rule:
    """Return the rule for names of which one word differs."""
    if pair is None:
        return Rule.UNLIKE
    short, long = sorted(pair, key=len)
    if words >= _TWO_WORDS and len(short) == 1 < len(long) and long.startswith(short):
        return _rule_of_initial(one, other)
    if _is_slip(short, long):
        return Rule.SLIP
    return Rule.LETTER if _is_letter(short, long) else Rule.UNLIKE


def _rule_of_initial(one: Spelling, other: Spelling) -> Rule:
    """Room A is not Room Alpha, and Vitamin C hardly Vitamin Complex: people are who go by initials."""
    kinds = {one.kind, other.kind}
    if not kinds <= {PERSON, CONCEPT}:
        return Rule.UNLIKE
    shorter = min(one, other, key=lambda spelling: len(spelling.key))
    return Rule.INITIAL if PERSON in kinds or shorter.stopped else Rule.PERHAPS_INITIAL


def _one_unequal(mine: Sequence[str], theirs: Sequence[str]) -> tuple[str, str] | None:
    if len(mine) != len(theirs):
        return None
    unequal = [pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]]
    return unequal[0] if len(unequal) == 1 else None


def _core(words: Sequence[str]) -> tuple[str, ...]:
    kept = [word for index, word in enumerate(words) if not (index == 0 and word == "the" and len(words) > 1)]
    while len(kept) > 1 and kept[-1] in _LEGAL_FORMS:
        kept.pop()
    return tuple(kept)


def _is_reordered(key: str, words: Sequence[str], others: Sequence[str]) -> bool:
    """Chen, Alice."""
    return "," in key and len(words) == _TWO_WORDS and list(reversed(words)) == list(others)


def _is_run_together(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """DoorDash for Door Dash, Jean-Luc for Jean Luc."""
    joined = "".join(mine)
    return len(joined) >= _RUN_TOGETHER and joined == "".join(theirs)


def _is_slip(short: str, long: str) -> bool:
    """Two neighbouring letters swapped, or one doubled, in a long word."""
    if len(short) < _SLIP_WORD or short[0] != long[0]:
        return False
    at = _first_difference(short, long)
    if len(short) == len(long):
        swapped = short[:at] + short[at + 1 : at + 2] + short[at : at + 1] + short[at + 2 :] == long
        return swapped and at + 1 < len(short) - 1
    return len(long) == len(short) + 1 and long[at] == long[at - 1] and short[at:] == long[at + 1 :]


def _is_letter(short: str, long: str) -> bool:
    """Katherine, Katharine: one vowel for another; a consonant makes another name (Pedersen, Petersen)."""
    if len(short) != len(long) or len(short) < _LETTER_WORD or short[0] != long[0] or short[-_END:] != long[-_END:]:
        return False
    at = _first_difference(short, long)
    return short[at + 1 :] == long[at + 1 :] and {short[at], long[at]} <= _VOWELS


def _first_difference(short: str, long: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))


def _shared_pairs(one: str, other: str) -> float:
    """Return the share of neighbouring letters that two keys have in common (Dice's coefficient), in [0, 1]."""
    mine, theirs = _pairs(one), _pairs(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine and theirs else 0.0


@lru_cache(_KEPT)
def _words(key: str) -> tuple[str, ...]:
    return tuple(words_of(key))


@lru_cache(_KEPT)
def _pairs(key: str) -> frozenset[str]:
    return frozenset(key[i : i + 2] for i in range(len(key) - 1))
