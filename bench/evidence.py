"""How much of the evidence a pack of memories holds, when a turn may be many memories or part of one; pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from bench.measure import packed

PACKS = (1024, 2048, 4096)
CARRIED = 0.5
"""Which share of a turn's words a memory of the next turn must hold to carry that turn too (a question it quotes)."""
_WORD = re.compile(r"\w+")
# Words of an answer that are in every pack.
_COMMON_WORDS = "a an the and or of to in on at for with is was are were be been by from he she it her his"
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory: its text, its length, and the turns that it came from."""

    text: str
    tokens: int
    turns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """One question, one pack: the share of its evidence in it, and the share of its answer's words."""

    evidence: float
    answer: float


def turns_of(text: str, own: str, before: tuple[str, str] | None) -> frozenset[str]:
    """Return the turns a memory came from: its item's, and the one before (key, text) if it holds most of its words."""
    if before is None:
        return frozenset({own})
    theirs = words_of(before[1])
    return frozenset({own, before[0]} if len(theirs & words_of(text)) > CARRIED * len(theirs) else {own})


def words_of(text: str) -> frozenset[str]:
    """Return the folded words of a text."""
    return frozenset(word.casefold() for word in _WORD.findall(text))


def find(ranking: Sequence[str], kept: Mapping[str, Kept], evidence: frozenset[str], answer: str) -> tuple[Found, ...]:
    """Judge a ranking by what fits in each of ``PACKS``; a memory costs what its text costs."""
    tokens = {memory_id: one.tokens for memory_id, one in kept.items()}
    wanted = words_of(answer) - _COMMON
    found = []
    for limit in PACKS:
        held = [kept[memory_id] for memory_id in packed(ranking, tokens, limit)]
        turns = frozenset(turn for one in held for turn in one.turns)
        said = frozenset(word for one in held for word in words_of(one.text))
        share = len(wanted & said) / len(wanted) if wanted else 1.0
        found.append(Found(len(evidence & turns) / len(evidence), share))
    return tuple(found)


def average(found: Iterable[tuple[Found, ...]]) -> dict[str, dict[str, float]]:
    """Return the mean shares by pack."""
    rows = list(found)
    return {
        str(limit): {
            "evidence": round(mean(row[place].evidence for row in rows), 4),
            "answer": round(mean(row[place].answer for row in rows), 4),
        }
        for place, limit in enumerate(PACKS)
    }
