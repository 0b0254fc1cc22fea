"""Resolution: which entity of the bank a name means (SPEC T6). Strict: two names stay two unless they must be one."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recallmesh.core.entity import LABEL

_TITLES = frozenset(
    {"dr", "mr", "mrs", "ms", "miss", "prof", "professor", "sir", "madam", "herr", "frau", "mme", "sr", "sra", "dott"}
)
_LEGAL_FORMS = frozenset({"inc", "ltd", "llc", "gmbh", "ag", "corp", "corporation", "co", "company", "plc", "sa", "bv"})
_POSSESSIVE = re.compile(r"['\u2019]s$")
_WORD = re.compile(r"[^\W_]+")
# A slip of the pen (two letters swapped, one doubled) is believed only in names at least this long.
_LONG_NAME = 9
_RUN_TOGETHER = 6
_TWO_WORDS = 2


@dataclass(frozen=True, slots=True)
class Known:
    """An entity that the bank has, or that this call makes: its id and all keys that mean it."""

    id: str
    key: str
    kind: str
    name: str
    aliases: tuple[str, ...] = ()


def fold(name: str) -> str:
    """Return a name's key: without case, accents, titles, possessive and superfluous space.

    A title stays when a single word follows: Mr Chen and Mrs Chen are two. Accents go only from letters that are
    the same letter without (Latin, Greek, Cyrillic), never from kana.
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    parts: list[str] = []
    for char in unicodedata.normalize("NFKD", plain):
        if unicodedata.combining(char) and parts and ord(parts[-1][0]) < 0x0590:  # noqa: PLR2004 (where Hebrew begins)
            continue
        parts.append(char)
    words = unicodedata.normalize("NFC", "".join(parts)).split()
    words = [_POSSESSIVE.sub("", word) for word in words]
    while len(words) > _TWO_WORDS and words[0].rstrip(".") in _TITLES:
        words = words[1:]
    key = " ".join(words).strip(" .,;:!?\"'")
    return key or plain.strip() or name


def key_of(name: str, kind: str) -> str:
    """Return the key by which a bank keeps an entity: a label as it stands, anything else folded."""
    return name if kind == LABEL else fold(name)


def resolve(name: str, kind: str, known: Iterable[Known]) -> Known | None:
    """Return the entity that a name means, ``None`` when it is a new one.

    Exact by key or alias first; else the only one whose name must be the same. Labels are compared exactly alone.
    """
    key = key_of(name, kind)
    rivals = [one for one in known if (one.kind == LABEL) == (kind == LABEL)]
    for one in rivals:
        if key == one.key or any(key == key_of(alias, kind) for alias in one.aliases):
            return one
    if kind == LABEL:
        return None
    alike = {one.id: one for one in rivals if any(same(key, other) for other in (one.key, *map(fold, one.aliases)))}
    # Alice C. is Alice Chen only while no Alice Cole is about.
    return next(iter(alike.values())) if len(alike) == 1 else None


def words_of(key: str) -> list[str]:
    """Return the words of a key."""
    return _WORD.findall(key)


def same(one: str, other: str) -> bool:
    """Tell whether two different keys must be the same name: never when a number differs."""
    if any(char.isdigit() for char in one + other):
        return False
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    if not mine or not theirs:
        return False
    return (
        _core(mine) == _core(theirs)
        or _is_reordered(one, mine, theirs)
        or _is_reordered(other, theirs, mine)
        or _is_abbreviated(mine, theirs)
        or _is_run_together(mine, theirs)
        or _is_slip(one, other)
    )


def _core(words: Sequence[str]) -> tuple[str, ...]:
    kept = [word for index, word in enumerate(words) if not (index == 0 and word == "the" and len(words) > 1)]
    while len(kept) > 1 and kept[-1] in _LEGAL_FORMS:
        kept.pop()
    return tuple(kept)


def _is_reordered(key: str, words: Sequence[str], others: Sequence[str]) -> bool:
    """Chen, Alice."""
    return "," in key and len(words) == _TWO_WORDS and list(reversed(words)) == list(others)


def _is_abbreviated(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Alice C. for Alice Chen, A. Chen too: one word an initial, every other word equal."""
    if len(mine) != len(theirs) or len(mine) < _TWO_WORDS:
        return False
    unequal = [pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]]
    if len(unequal) != 1:
        return False
    short, long = sorted(unequal[0], key=len)
    return len(short) == 1 < len(long) and long.startswith(short)


def _is_run_together(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """DoorDash for Door Dash, Jean-Luc for Jean Luc."""
    joined = "".join(mine)
    return len(joined) >= _RUN_TOGETHER and joined == "".join(theirs)


def _is_slip(one: str, other: str) -> bool:
    """Two neighbouring letters swapped, or one doubled; any other letter may make another name (Martin, Martina)."""
    if min(len(one), len(other)) < _LONG_NAME or one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return one[:at] + one[at + 1 : at + 2] + one[at : at + 1] + one[at + 2 :] == other
    return at > 0 and long[at] == long[at - 1] and short[at:] == long[at + 1 :]
