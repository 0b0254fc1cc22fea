"""Keys: names folded, so that the spellings of one name that differ in nothing that matters are equal."""

import re
import unicodedata

from recallmesh.core.entity import LABEL

TITLES = frozenset(
    {"dr", "mr", "mrs", "ms", "miss", "prof", "professor", "sir", "madam", "herr", "frau", "mme", "sr", "sra", "dott"}
)
_POSSESSIVE = re.compile(r"['\u2019]s$")
_WORD = re.compile(r"[^\W_]+")
_TWO_WORDS = 2


def fold(name: str) -> str:
    """Return a name's key: without case, accents, titles, possessive and superfluous space.

    A title stays when a single word follows: Mr Chen and Mrs Chen are two. Accents go only from letters that are
    the same letter without (Latin, Greek, Cyrillic), never from kana.
    """
    plain = name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()
    words = plain.split() if name.isascii() else _bare(plain).split()
    words = [_POSSESSIVE.sub("", word) for word in words]
    while len(words) > _TWO_WORDS and words[0].rstrip(".") in TITLES:
        words = words[1:]
    key = " ".join(words).strip(" .,;:!?\"'")
    return key or plain.strip() or name


def _bare(text: str) -> str:
    """Take the accents from a text's letters."""
    parts: list[str] = []
    for char in unicodedata.normalize("NFKD", text):
        if unicodedata.combining(char) and parts and ord(parts[-1][0]) < 0x0590:  # noqa: PLR2004 (where Hebrew begins)
            continue
        parts.append(char)
    return unicodedata.normalize("NFC", "".join(parts))


def key_of(name: str, kind: str) -> str:
    """Return the key by which a bank keeps an entity: a label as it stands, anything else folded."""
    return name if kind == LABEL else fold(name)


def words_of(key: str) -> list[str]:
    """Return the words of a key."""
    return _WORD.findall(key)
