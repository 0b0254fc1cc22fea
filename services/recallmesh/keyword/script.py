"""Characters: what is one letter under two spellings, and which scripts write without spaces."""

import re
import unicodedata

SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
"""Thai, Lao, Burmese, Khmer, kana and Han: no spaces between words, so words are found by pairs of characters."""
HANGUL = "\uac00-\ud7a3"
"""Spaces, but particles grow on the nouns: 끝말잇기를 must be found by 끝말잇기."""
ASTRAL_HAN = "\U00020000-\U0003134f"
PAIRED = f"{SPACELESS}{HANGUL}{ASTRAL_HAN}"
MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u0f00-\u0f0a\u0f18-\u0fbc\u200c\u200d"
"""Vowel signs and joiners that Python's ``\\w`` does not count as letters; the dandas, full stops, are left out."""
PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
"""Emoji and other pictures: each a word of its own."""

_FOLDED_BELOW = "\u0400"
"""Marks are taken off Latin and Greek letters only: elsewhere they are vowels."""
_MARK = re.compile("[\u0300-\u036f]+")
_UNMARKED = str.maketrans(
    {
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ł": "l",
        "ħ": "h",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ё": "е",
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2212": "-",
        "\u2019": "'",
        "\u02bc": "'",
        "\u00ad": None,
        "\u0640": None,
        "\u200b": None,
        "\u2060": None,
        "\ufeff": None,
    }
    | dict.fromkeys(range(0x0591, 0x05C8))
    | dict.fromkeys(range(0x064B, 0x0660))
)
"""Letters that no decomposition opens; dashes and apostrophes made one; invisible signs and vowel points left out."""


def fold(text: str) -> str:
    """Return the text as it is compared: compatibility forms, case and accents made one."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_UNMARKED)
    if folded.isascii():
        return folded
    opened = "".join(
        unicodedata.normalize("NFD", letter) if "\u00c0" <= letter < _FOLDED_BELOW or letter in _GREEK else letter
        for letter in folded
    )
    return unicodedata.normalize("NFC", _MARK.sub("", opened))


_GREEK = frozenset(map(chr, range(0x1E00, 0x2000)))
"""Latin letters with two marks, as in Vietnamese, and polytonic Greek."""
