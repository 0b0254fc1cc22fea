"""Names: how they are compared, and the keys under which an entity is found."""

import re
import unicodedata
from collections.abc import Iterable

from recallmesh.core.entity import PERSON

EDGES = "\"'`.,;:!?()[]{}<>«»„“”‘’…、。，；：！？「」『』（）¿¡*_~|"  # noqa: RUF100
POSSESSIVE = re.compile(r"['’]s?$")
TITLES = frozenset(
    re.findall(r"\w+", "dr mr mrs ms miss prof professor sir herr frau mme monsieur madame senor senora sr sra")
)
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UMLAUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""How names are written where the letters are missing: Müller, Mueller; Aarhus, Århus."""
_LATIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
"""Letters that Unicode does not take apart and that people type without their strokes."""


def name_key(name: str) -> str:
    """Fold a name for comparing: case, accents, widths, runs of space and the punctuation around words go."""
    words = (word.strip(EDGES) for word in _folded(name).split())
    return " ".join(word for word in words if word)


def name_keys(name: str) -> frozenset[str]:
    """Return the keys that mean a name: its own, and the one of how it is written without umlauts."""
    composed = unicodedata.normalize("NFC", name).casefold()
    return frozenset({name_key(name), name_key(composed.translate(_UMLAUT))}) - {""}


def stored_keys(names: Iterable[str], kind: str) -> frozenset[str]:
    """Return the keys under which an entity of these names is kept: persons also without title and last name first."""
    keys = frozenset(key for name in names for key in name_keys(name))
    if kind != PERSON:
        return keys
    keys |= {_untitled(key) for key in keys}
    return keys | {turned(key) for key in keys if " " in key}


def turned(key: str) -> str:
    """Put the last word first. No name has a comma after a word, so that these are told from keys as they are said."""
    rest, _, last = key.rpartition(" ")
    return f"{last}, {rest}"


def _untitled(key: str) -> str:
    # Mr Chen and Mrs Chen are two: before a single name a title stays.
    title, _, rest = key.partition(" ")
    return rest if title in TITLES and " " in rest else key


def _folded(text: str) -> str:
    # What no store can hold or compare, lone surrogates and control characters, parts words.
    clean = _UNSTORABLE.sub(" ", text)
    wide = unicodedata.normalize("NFKD", clean)
    bare = "".join(char for char in wide if not unicodedata.combining(char) or "\u3040" <= char <= "\u30ff")
    folded = unicodedata.normalize("NFC", bare).casefold().translate(_LATIN)
    return folded.replace("\u3099", "").replace("\u309a", "")
